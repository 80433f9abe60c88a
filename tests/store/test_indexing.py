"""Features are derived later, once, and again when they must be; duplicates are a harness's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.stored import agent, call, files_of, human, run
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.store import IndexSummary, TraceStore, feature_columns

PROMPT = "You are the nightly job. Read the inbox and report what is new, please."


def origins(store: TraceStore) -> dict[str, tuple[str, str | None]]:
    rows = store.select("SELECT trace_id, origin, origin_rule FROM features WHERE turn = 0").rows
    return {row[0]: (row[1], row[2]) for row in rows}


def test_only_what_is_missing_is_derived(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    assert store.index() == IndexSummary(0, 0, 0)
    store.add([run("one")])
    assert store.index() == IndexSummary(derived=1, kept=0, duplicates=0)
    store.add([run("two")])
    assert store.index() == IndexSummary(derived=1, kept=1, duplicates=0)
    before = files_of(tmp_path)
    assert store.index() == IndexSummary(derived=0, kept=2, duplicates=0)
    assert files_of(tmp_path) == before


def test_features_of_another_version_are_derived_again_without_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = TraceStore.create(tmp_path)
    store.add([run("one"), run("two")])
    store.index()
    for module in ("indexing", "queries", "compaction"):
        version = feature_columns.FEATURES_VERSION + 1
        monkeypatch.setattr(f"tracedance_sdk.store.{module}.FEATURES_VERSION", version)
    assert store.index().derived == 1
    assert store.select("SELECT count(*) FROM features").rows == ((2,),)
    assert any(name.startswith("features-v3-") for name in files_of(tmp_path))
    store.add([run("three")])
    assert store.compact().partitions == 1
    assert store.index().derived == 1


def test_the_same_message_in_several_sessions_is_a_harness_s(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    store.add([run(f"t{n}", human(PROMPT), human(f"but only {n}")) for n in range(2)])
    store.index()
    assert set(origins(store).values()) == {("human", None)}
    store.add([run("t2", human(PROMPT)), run("short", human("yes"))])
    assert store.index() == IndexSummary(derived=2, kept=0, duplicates=3)
    found = origins(store)
    assert found == {
        "t0": ("harness", "duplicate"),
        "t1": ("harness", "duplicate"),
        "t2": ("harness", "duplicate"),
        "short": ("human", None),
    }
    rows = store.select("SELECT origin FROM turns WHERE turn = 0").rows
    assert set(rows) == {("human",)}, "what was imported stays as it was"
    before = store.select("SELECT human_turns_before FROM features WHERE turn = 1").rows
    assert before == ((0,), (0,))
    store.remove(["t2"])
    assert store.index() == IndexSummary(derived=1, kept=1, duplicates=0)
    assert set(origins(store).values()) == {("human", None)}


@pytest.mark.parametrize(
    ("fields", "turn", "expected"),
    [
        ([{"session_id": "s"}] * 3, human(PROMPT), "human"),
        ([{"group": "task"}] * 3, human(PROMPT), "human"),
        ([{"group": f"g{n}"} for n in range(3)], human(PROMPT), "harness"),
        ([{}] * 3, human("Yes, please go on with it now, thanks"), "human"),
        ([{}] * 3, human("Yes, please proceed with the cancellation of both. ###STOP###"), "human"),
        ([{}] * 3, human("x" * 79), "human"),
        ([{}] * 3, human("x" * 80), "harness"),
        ([{}] * 3, human("<note>Look at the list before you go on</note>"), "harness"),
        ([{"task_id": f"t{n}"} for n in range(3)], human(PROMPT), "human"),
        ([{"source": {"collector": "tau_bench_few_shot"}}] * 3, human(PROMPT), "human"),
        ([{"source": {"collector": "codex"}}] * 3, human(PROMPT), "harness"),
        ([{}] * 3, human(PROMPT, origin_rule="typed"), "human"),
        ([{}] * 3, human(PROMPT, origin_rule="none"), "harness"),
        ([{}] * 2, human(PROMPT), "human"),
        ([{}] * 3, agent(PROMPT), "agent"),
    ],
    ids=[
        "one-session",
        "trials",
        "groups",
        "short",
        "closing",
        "79",
        "80",
        "marked",
        "tasks",
        "simulated",
        "client",
        "known",
        "no-rule",
        "two",
        "agent",
    ],
)
def test_what_counts_as_the_same_message_elsewhere(
    tmp_path: Path, fields: list[dict[str, str]], turn: dict[str, object], expected: str
) -> None:
    store = TraceStore.create(tmp_path)
    store.add([run(f"t{n}", turn, **own) for n, own in enumerate(fields)])
    store.index()
    assert {origin for origin, _ in origins(store).values()} == {expected}


def test_a_query_for_features_derives_those_that_are_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = TraceStore.create(tmp_path)
    store.add([run("one")])
    assert store.select("SELECT count(*) FROM turns").rows == ((1,),)
    assert caplog.messages == []
    assert store.select("SELECT count(*) FROM features").rows == ((1,),)
    (message,) = caplog.messages
    assert message.startswith("deriving the features of 1 of 1 partitions of ")
    assert store.select("SELECT count(*) FROM features").rows == ((1,),)
    assert len(caplog.messages) == 1
    store.add([run("two")])
    assert store.select("SELECT count(*) FROM features").rows == ((2,),)
    assert caplog.messages[1].startswith("deriving the features of 1 of 2 partitions of ")


def test_another_table_of_tools_derives_all_features_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = TraceStore.create(tmp_path / "store")
    store.add([run("one", agent("", call("frob", {"command": "ls"})))])
    kinds = "SELECT kind FROM features WHERE event = 'call'"
    assert store.select(kinds).rows == (("other",),)
    own = tmp_path / "tools.yaml"
    own.write_text("tools: [{name: frob, kind: shell}]")
    monkeypatch.setenv("TRACEDANCE_TOOLS", str(own))
    assert store.select(kinds).rows == (("shell",),)
    assert store.index() == IndexSummary(derived=0, kept=1, duplicates=0)
    own.write_text("tools: [{name: frob, kind: read}]")
    assert store.index() == IndexSummary(derived=1, kept=0, duplicates=0)
    assert store.select(kinds).rows == (("read",),)
    own.write_text("tools: 7")
    with pytest.raises(InvalidOption, match="TRACEDANCE_TOOLS"):
        store.select(kinds)


def test_features_with_another_table_of_tools_are_not_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = TraceStore.create(tmp_path / "store")
    own = tmp_path / "tools.yaml"
    for number in range(2):
        store.add([run(f"t{number}")])
        store.index()
        own.write_text("tools: [{name: frob, kind: shell}]")
        monkeypatch.setenv("TRACEDANCE_TOOLS", str(own))
        if not number:
            store.add([run("t2")])
    store.compact()
    assert store.index() == IndexSummary(derived=0, kept=1, duplicates=0)
    monkeypatch.delenv("TRACEDANCE_TOOLS")
    store.add([run("t3")])
    store.compact()
    assert store.index() == IndexSummary(derived=1, kept=0, duplicates=0)


def test_all_features_are_derived_again_when_asked_for(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    for number in range(2):
        store.add([run(f"t{number}")])
        store.index()
    assert store.index(force=True) == IndexSummary(derived=2, kept=0, duplicates=0)


def test_several_processes_derive_what_one_does(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path)
    for number in range(3):
        store.add([run(f"t{number}", human(PROMPT), agent("", call("ls", {"n": number})))])
    assert store.index(processes=2) == IndexSummary(derived=3, kept=0, duplicates=3)
    rows = store.select("SELECT * FROM features ORDER BY trace_id, turn, call").rows
    other = TraceStore.create(tmp_path / "other")
    other.add(list(TraceStore.open(tmp_path, tools="recorded")))
    other.index()
    assert other.select("SELECT * FROM features ORDER BY trace_id, turn, call").rows == rows
