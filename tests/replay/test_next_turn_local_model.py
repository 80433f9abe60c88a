"""A real model takes the next turn, through all three APIs: five calls, no network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.replay.test_next_turn_verb import CHAT, rows
from tests.support.local_model import CONTEXT_TOKENS, count_calls, local_model, name_at
from tests.support.scripted_models import APIS
from tracedance_sdk.cli import run

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with local_model() as found:
        yield found


def ask(address: str, api: str, out: Path, *sources: Path) -> tuple[int, list[Any]]:
    options = ("--max-tokens", "150", "--temperature", "0", "--concurrency", "1", "--retries", "0")
    names = map(str, sources)
    model = name_at(address, api)
    code = run(["next-turn", *names, "--model", model, "--out", str(out), "--offline", *options])
    count_calls(out)
    return code, rows(out)


@pytest.mark.parametrize("api", APIS)
def test_a_model_goes_on_where_a_room_was_to_be_booked(
    api: str, address: str, tmp_path: Path
) -> None:
    source = tmp_path / "chat.json"
    # Without the last turn and its call, the call is the turn to take.
    source.write_text(json.dumps({**CHAT, "messages": CHAT["messages"][:-1]}))
    code, (row,) = ask(address, api, tmp_path / "out", source)
    assert (code, row.missing_reason) == (0, None)
    (call,) = row.model_extra["reply"]["calls"]
    assert call["name"] == "book_room"
    assert row.usage["output_tokens"] > 5


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_context_that_is_too_long_is_told_apart(api: str, address: str, tmp_path: Path) -> None:
    long = {"role": "user", "content": "word " * (2 * CONTEXT_TOKENS)}
    source = tmp_path / "chat.json"
    source.write_text(json.dumps({"messages": [long, {"role": "assistant", "content": "Yes."}]}))
    code, (row,) = ask(address, api, tmp_path / "out", source)
    assert (code, row.model_extra["missing"]) == (3, "context_too_long")
