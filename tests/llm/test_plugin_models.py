"""Models of other packages, found by entry points of a package that is really installed."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.llm.contexts import CONTEXT, MESSAGES, TOOLS
from tracedance_sdk.cli import run
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.llm import Asker, Limits, PluginModel, Question, Reply, ReplyCache, chat_model
from tracedance_sdk.llm.endpoints import GROUP

MODULE = '''
from tracedance_sdk.errors import InvalidOption, Unsendable
from tracedance_sdk.llm import Missing, Reply
from tracedance_sdk.trace import Text, Turn, Usage

LOG = []


class Parrot:
    """Says again what was said last."""

    name = "whatever"

    def __init__(self, endpoint, **options):
        LOG.append((endpoint, options))
        if endpoint.model == "unknown":
            raise InvalidOption("acme has no model 'unknown'; it has 'parrot'")
        if endpoint.model == "broken":
            raise KeyError("config\\nfile")
        self.is_local = endpoint.model == "here"
        self.what = endpoint.model

    async def complete(self, context, *, tools, settings):
        if self.what == "raising":
            raise ConnectionError("line 1\\nline 2")
        if self.what == "odd":
            return "Polly"
        if self.what == "silent":
            return Reply(None, None, None)
        if self.what == "narrow":
            raise Unsendable("no images", kind="images")
        if self.what == "refusing":
            return Reply(None, None, None, Missing("refused", "no", True))
        said = context.turns[-1].calls[-1].result.content
        turn = Turn(index=0, role="assistant", origin="agent", content=(Text(text=said),))
        return Reply(turn, Usage(input_tokens=9, output_tokens=1, cost_usd=0.25), None)

    async def close(self):
        LOG.append("closed")


def nothing(endpoint, **options):
    return object()
'''
POINTS = {
    "acme": "acme_models:Parrot",
    "acme-empty": "acme_models:nothing",
    "acme-gone": "acme_gone:Parrot",
    "openai": "acme_models:Parrot",
    "recorded": "acme_models:Parrot",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    install(folder, "acme", POINTS)
    (folder / "acme_models.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "acme_models", raising=False)
    return folder


def install(folder: Path, name: str, points: dict[str, str]) -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{key} = {value}" for key, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))


def ask(name: str, number: int = 1, **options: Any) -> list[Reply]:
    async def work() -> list[Reply]:
        asker = Asker(chat_model(name), concurrency=1, **options)
        replies = [reply async for _, reply in asker.ask_all([Question(CONTEXT, TOOLS)] * number)]
        await asker.close()
        return replies

    return asyncio.run(work())


@pytest.mark.usefixtures("site")
def test_a_model_of_another_package_goes_by_its_providers_name() -> None:
    model = chat_model("acme:parrot@http://127.0.0.1:9/v1/", timeout_s=3, retries=1)
    assert isinstance(model, PluginModel)
    assert model.name == "acme:parrot@http://127.0.0.1:9/v1"
    (reply,) = ask("acme:parrot")
    assert reply.missing is None
    assert reply.turn is not None
    assert reply.turn.text == "clouds"
    (first, options), (second, _), closed = sys.modules["acme_models"].LOG
    assert (first.model, first.base_url) == ("parrot", "http://127.0.0.1:9/v1")
    assert options == {"timeout_s": 3, "retries": 1}
    assert (second.base_url, closed) == ("", "closed")


@pytest.mark.usefixtures("site")
def test_its_replies_are_counted_and_not_cached(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "cache", "acme:parrot")
    replies = ask("acme:parrot", 3, limits=Limits(max_calls=2), cache=cache)
    assert [reply.missing and reply.missing.kind for reply in replies] == [None, None, "not_asked"]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("raising", "error: acme:raising raised ConnectionError: line 1 line 2"),
        ("odd", "error: acme:odd gave str, which is no Reply"),
        ("silent", "empty"),
        ("narrow", "error: the model cannot be asked this: no images"),
        ("refusing", "refused: no"),
    ],
)
@pytest.mark.usefixtures("site")
def test_whatever_it_does_ends_as_a_reply(what: str, told: str) -> None:
    (reply,) = ask(f"acme:{what}")
    assert str(reply.missing) == told


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("acme:unknown", "acme has no model 'unknown'; it has 'parrot'"),
        ("acme:broken", "acme:broken cannot be made by acme_models:Parrot: KeyError: "),
        ("acme-empty:x", "what acme_models:nothing makes has no async complete()"),
        ("acme-gone:x", "acme-gone:x cannot be made by acme_gone:Parrot: ModuleNotFoundError"),
        ("acme:", "'acme:' names no model; give acme:model[@base_url]"),
        ("acme:x@http://u:secret@h", "holds more than a place"),
        (
            "other:x",
            "one of anthropic, openai, openai-responses, acme, acme-empty, acme-gone, recorded",
        ),
    ],
)
@pytest.mark.usefixtures("site")
def test_what_cannot_be_made_is_one_line(name: str, wrong: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        chat_model(name)
    assert wrong in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("site")
def test_this_librarys_own_providers_cannot_be_replaced() -> None:
    assert not isinstance(chat_model("openai:m@http://127.0.0.1:1/v1"), PluginModel)


def test_two_packages_of_one_provider_are_an_error(site: Path) -> None:
    install(site, "acme2", {"acme": "acme_models:nothing"})
    with pytest.raises(InvalidOption, match="two packages offer models of the provider 'acme'"):
        chat_model("acme:parrot")


@pytest.mark.usefixtures("site")
def test_offline_takes_what_is_on_this_machine_by_address_or_by_its_word() -> None:
    assert chat_model("acme:here", offline=True).name == "acme:here"
    assert (
        chat_model("acme:parrot@http://[::1]:8", offline=True).name == "acme:parrot@http://[::1]:8"
    )
    with pytest.raises(InvalidOption, match="--offline refuses all others"):
        chat_model("acme:parrot", offline=True)


@pytest.mark.usefixtures("site")
def test_the_command_asks_it(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps([*MESSAGES, {"role": "assistant", "content": "Clouds."}]))
    out = tmp_path / "out"
    assert run(["next-turn", str(path), "--model", "acme:parrot", "--out", str(out)]) == 0
    (row,) = map(json.loads, (out / "rows.jsonl").read_text().splitlines())
    assert row["model"] == "acme:parrot"
    assert row["reply"]["content"][0]["text"] == "clouds"
    assert not (tmp_path / "out.replies").exists()
