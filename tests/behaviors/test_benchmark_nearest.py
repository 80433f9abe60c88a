"""A benchmark that cannot be built names a request near to it that can; each is tried out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.benchmark_stores import retrying, store_of
from tests.behaviors.test_benchmark_building import built, confirming
from tests.support.scripted_models import scripted_models
from tracedance_sdk.behaviors import Caps, Confirmer, read_benchmark
from tracedance_sdk.cli.benchmark_build_jobs import BuildPlan
from tracedance_sdk.errors import BenchmarkRejected
from tracedance_sdk.llm import Asker, chat_model
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Trace


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> tuple[TraceStore, list[int]]:
    """Return a store of contexts that are unlike in length, and their lengths in tokens."""
    folder = tmp_path_factory.mktemp("nearest")
    store = TraceStore.create(folder / "runs")
    store.add([longer(retrying(number), number) for number in range(6)])
    store.index()
    built(store, folder / "b.jsonl")
    found = read_benchmark(folder / "b.jsonl").instances
    lengths = sorted((one.model_extra or {})["tokens"] for one in found)
    assert len(set(lengths)) == 6
    return store, lengths


def longer(trace: Trace, number: int) -> Trace:
    return saying(trace, " and so on" * 100 * number)


def saying(trace: Trace, more: str) -> Trace:
    first = trace.turns[0]
    text = first.content[0].model_copy(update={"text": first.text + more})
    turns = (first.model_copy(update={"content": (text,)}), *trace.turns[1:])
    return trace.model_copy(update={"turns": turns})


def rejection(store: TraceStore, out: Path, **how: Any) -> BenchmarkRejected:
    with pytest.raises(BenchmarkRejected) as caught:
        built(store, out, **how)
    assert caught.value.reason == "too_few_instances"
    assert list(out.parent.iterdir()) == []
    return caught.value


@pytest.mark.parametrize(("n_short", "kmin"), [(0, 1), (0, 4), (2, 4), (5, 6)])
def test_of_contexts_that_are_too_long_the_limit_is_named_that_is_just_enough(
    sizes: tuple[TraceStore, list[int]], tmp_path: Path, n_short: int, kmin: int
) -> None:
    store, lengths = sizes
    most = lengths[n_short] - 1
    error = rejection(store, tmp_path / "b.jsonl", kmin=kmin, most_tokens=most)
    named = f"--max-context-tokens {lengths[kmin - 1]}"
    fewer = f"--kmin {n_short}, or " if n_short else ""
    assert error.nearest == f"would work: {fewer}{named}"
    limit = lengths[kmin - 1]
    with pytest.raises(BenchmarkRejected):
        built(store, tmp_path / "b.jsonl", kmin=kmin, most_tokens=limit - 1)
    made = built(store, tmp_path / "b.jsonl", kmin=kmin, most_tokens=limit)
    assert made.about["instances"] == kmin


def test_where_no_limit_is_enough_fewer_are_named_with_the_limit_that_takes_all(
    sizes: tuple[TraceStore, list[int]], tmp_path: Path
) -> None:
    store, lengths = sizes
    error = rejection(store, tmp_path / "b.jsonl", kmin=7, most_tokens=1)
    assert error.nearest == f"would work: --kmin 6 --max-context-tokens {lengths[-1]}"


def test_what_a_model_has_not_confirmed_is_not_promised(
    sizes: tuple[TraceStore, list[int]], tmp_path: Path
) -> None:
    store, lengths = sizes
    with scripted_models(confirming({str(number): True for number in range(6)})) as server:
        model = chat_model(server.name("openai"))
        confirmer = Confirmer(Asker(model), model_name=model.name)
        error = rejection(
            store, tmp_path / "b.jsonl", kmin=3, most_tokens=lengths[0], confirmer=confirmer
        )
    assert error.nearest == (
        "would work: --kmin 1; the model might confirm enough with "
        f"--max-context-tokens {lengths[2]}"
    )


def test_weaker_definitions_of_tools_are_named_where_they_are_enough(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    store_of(tmp_path / "runs", 2)
    store = TraceStore.open(str(tmp_path / "runs"), tools="recorded")
    error = rejection(store, folder / "b.jsonl", kmin=2, tools="recorded")
    (limit,) = re.findall(r"^would work: --tools (known|inferred)$", error.nearest)
    weaker = TraceStore.open(str(tmp_path / "runs"), tools=limit)
    assert built(weaker, folder / "b.jsonl", kmin=2, tools=limit).about["instances"] == 2


@pytest.mark.parametrize(
    ("caps", "told"),
    [
        (Caps(session=1), "--kmin 1, or --per-session 0"),
        (Caps(session=None, project=1), "--kmin 1, or no --per-project"),
    ],
)
def test_caps_are_named_where_lifting_one_is_enough(tmp_path: Path, caps: Caps, told: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    store = TraceStore.create(tmp_path / "runs")
    fields: dict[str, Any] = {"session_id": "one", "metadata": {"project": "p"}}
    store.add([retrying(number, **fields) for number in range(3)])
    error = rejection(store, folder / "b.jsonl", kmin=3, caps=caps)
    assert error.nearest == f"would work: {told}"


def test_near_duplicates_are_named_where_keeping_them_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    store = TraceStore.create(tmp_path / "runs")
    words = " ".join(f"more{place}" for place in range(400))
    one = saying(retrying(1), words)
    store.add([one, saying(one, " Thanks.").model_copy(update={"id": "other"})])
    error = rejection(store, folder / "b.jsonl", kmin=2)
    assert error.nearest == "would work: --kmin 1, or --keep-duplicates"


def test_every_option_that_is_named_is_one_of_the_verb() -> None:
    fields = set(BuildPlan._fields)
    assert {"max_context_tokens", "tools", "per_session", "per_project", "keep_duplicates"} < fields
