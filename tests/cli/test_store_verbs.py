"""The verbs on a store, as their users run them."""

from __future__ import annotations

import csv
import gzip
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from inline_snapshot import snapshot

import tracedance_sdk as td
from tests.cli.conftest import Tracedance
from tracedance_sdk.errors import StoreError
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import (
    UNKNOWN,
    Agent,
    Call,
    ErrorInfo,
    Outcome,
    Parent,
    Result,
    Source,
    Text,
    Trace,
    Turn,
    assess,
    note,
)

NOW = datetime.now(UTC)


def trace(name: str, *, days: int | None = 0, agent: str = "helper") -> Trace:
    call = Call(
        index=0, id="c1", name="look", arguments={"at": 7}, result=Result(ok=True, content="x")
    )
    return Trace(
        id=name,
        agent=Agent(name=agent),
        task_id="task-1",
        started_at=None if days is None else NOW - timedelta(days=days),
        outcome=Outcome(success=True),
        turns=(
            Turn(index=0, role="user", origin="human", content=(Text(text="Look."),)),
            Turn(index=1, role="assistant", origin="agent", model="m-1", calls=(call,)),
        ),
    )


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand beside a store with four traces."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    store = TraceStore.create("kept")
    store.add([trace("aa-1"), trace("aa-2", days=40), trace("bb-1", days=None, agent="codex")])
    store.add([trace("cc-1", days=400)])
    return Path("kept")


def test_a_store_is_listed_by_agent_by_trace_and_by_file(
    kept: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("ls", kept)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Agent")
    assert [line.split()[:4] for line in ran.out.splitlines()[1:4]] == [
        ["codex", "-", "1", "1"],
        ["helper", "-", "3", "3"],
        ["all", "4", "4", "8"],
    ]
    ran = tracedance(
        "ls", kept, "--where", "agent = 'helper' AND started_at < now() - INTERVAL 9 DAY"
    )
    assert [line.split()[0] for line in ran.out.splitlines()] == ["Trace", "cc-1", "aa-2", "2"]
    ran = tracedance("ls", kept, "--files")
    paths = [Path(line) for line in ran.out.splitlines()]
    assert paths
    assert all(path.is_file() for path in paths)
    listed = json.loads(tracedance("ls", kept, "--json").out)
    assert (listed["format"], sum(item["traces"] for item in listed["sources"])) == (
        "tracedance.listing",
        4,
    )
    listed = json.loads(tracedance("ls", kept, "--json", "--where", "true").out)
    assert {item["trace_id"] for item in listed["traces"]} == {"aa-1", "aa-2", "bb-1", "cc-1"}


def test_a_store_is_asked_in_sql(kept: Path, tracedance: Tracedance) -> None:
    query = "SELECT agent, count(*) AS n FROM traces GROUP BY agent ORDER BY n"
    assert tracedance("sql", kept, query).out == snapshot("""\
agent   n
codex   1
helper  3
2 rows
""")
    rows = [json.loads(line) for line in tracedance("sql", kept, query, "--json").out.splitlines()]
    assert rows == [{"agent": "codex", "n": 1}, {"agent": "helper", "n": 3}]
    found = list(csv.reader(io.StringIO(tracedance("sql", kept, query, "--csv").out)))
    assert found == [["agent", "n"], ["codex", "1"], ["helper", "3"]]


@pytest.mark.parametrize(
    "arguments",
    [
        ("ls", "none"),
        ("ls", "kept", "--where", "nonsense ("),
        ("ls", "kept", "--where", "true) UNION SELECT 1 --"),
        ("ls", "kept", "--files", "--where", "true"),
        ("sql", "kept", "DROP TABLE traces"),
        ("sql", "kept", "SELECT * FROM read_csv('/etc/passwd')"),
        ("sql", "none", "SELECT 1"),
        ("rm", "kept", "aa", "--yes"),
        ("rm", "kept", "--yes"),
        ("rm", "kept", "aa-1", "--where", "true", "--yes"),
        ("rm", "kept", "--where", "nonsense (", "--yes"),
        ("rm", "kept", "aa-1"),
        ("show", "kept", "--trace", "aa"),
        ("export", "kept", "--to", "atif", "--out", "x.jsonl", "--trace", "aa"),
        ("evaluate", "kept", "--spec", "x.yaml", "--trace", "aa"),
        ("evaluate", "kept", "--spec", "x.yaml", "--where", "nonsense ("),
        ("rm", "kept", "aa-1", "zz", "--yes"),
        ("show", "kept", "--trace", "x' OR 'a' = 'a"),
        ("compact", "none"),
        ("index", "none"),
        ("export", "none", "--to", "atif", "--out", "x.jsonl"),
        ("export", "kept", "--to", "word", "--out", "x.jsonl"),
        ("export", "kept", "--to", "atif", "--out", "none/x.jsonl"),
        ("export", "kept", "--to", "atif", "--out", "x.jsonl", "--trace", "zz"),
    ],
    ids=" ".join,
)
def test_wrong_use_is_said_and_changes_nothing(
    kept: Path,
    tracedance: Tracedance,
    arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    Path("x.yaml").write_text("format: tracedance.task\nversion: 1\nid: task-1\n")
    ran = tracedance(*arguments)
    assert ran.code == 2
    assert ran.out in ("", "aa-1 (agent helper, task task-1)\n")
    assert "Traceback" not in ran.err
    assert ran.err.splitlines()[-1].startswith("tracedance: ")
    assert len(TraceStore.open(kept)) == 4
    assert sorted(path.name for path in Path().iterdir()) == ["kept", "x.yaml"]


def test_traces_are_taken_out_when_confirmed(
    kept: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    ran = tracedance("rm", kept, "aa-1")
    assert (ran.code, len(TraceStore.open(kept))) == (1, 4)
    assert "aa-1" in ran.out
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert tracedance("rm", kept, "aa-1").code == 0
    ran = tracedance("rm", kept, "aa", "bb-1", "--yes")
    assert (ran.code, ran.out) == (0, "2 traces taken out\n")
    assert [item.id for item in TraceStore.open(kept)] == ["cc-1"]


def test_traces_are_taken_out_by_a_condition(
    kept: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tracedance("rm", kept, "--where", "agent = 'none'")
    assert (ran.code, ran.out) == (0, "0 traces taken out: the condition holds for none\n")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    ran = tracedance("rm", kept, "--where", "agent = 'helper'")
    assert (ran.code, ran.out.count("\n"), "--yes" in ran.err) == (2, 3, True)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    ran = tracedance("rm", kept, "--where", "agent = 'helper'")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "3 traces taken out")
    assert [item.id for item in TraceStore.open(kept)] == ["bb-1"]


def sourced(name: str, native_id: str) -> Trace:
    source = Source(collector="chats", native_id=native_id)
    return trace(name).model_copy(update={"source": source})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("abc", "abc"),
        ("abcd", "abcd"),
        ("abcde", "abcdef"),
        ("abcdef", "abcdef"),
        ("run-1", "abc"),
        ("run", ["abcd", "zz"]),
        ("ab", ["abc", "abcd", "abcdef"]),
        ("none", []),
        ("%", []),
    ],
)
def test_every_verb_finds_the_trace_that_is_meant_or_names_those_that_may_be(
    tmp_path: Path,
    tracedance: Tracedance,
    monkeypatch: pytest.MonkeyPatch,
    wanted: str,
    found: str | list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    traces = [
        sourced("abc", "run-1"),
        sourced("abcd", "run"),
        sourced("abcdef", "abc"),
        sourced("zz", "run"),
    ]
    TraceStore.create("kept").add(traces)
    for item in traces:
        td.save_trace(item, f"files/{item.id}.json")
    Path("task.yaml").write_text("format: tracedance.task\nversion: 1\nid: task-1\n")
    for place in ("kept", "files"):
        export = ("export", place, "--to", "trace-json", "--out", "-")
        graded = ("evaluate", place, "--spec", "task.yaml", "--json")
        for verb in (("show", place), export, graded, ("init", place)):
            ran = tracedance(*verb, "--trace", wanted)
            if isinstance(found, str):
                said = "1 trace written to '-'\n" if verb[0] == "export" else ""
                assert (ran.code, ran.err) == (0, said)
                if verb[0] == "export":
                    assert json.loads(ran.out)["id"] == found
                elif verb[0] == "evaluate":
                    (row,) = json.loads(ran.out)["rows"]
                    assert row["report"]["trace_id"] == found
                elif verb[0] == "show":
                    assert ran.out.startswith(f"trace {found}\n")
            else:
                assert ran.code == 2
                assert ("several traces" in ran.err) is bool(found)
                assert all(name in ran.err for name in found)
    store = TraceStore.open("kept")
    if isinstance(found, str):
        assert store.get(wanted).id == found
        assert tracedance("rm", "kept", wanted, "--yes").code == 0
        assert len(store) == 3
    else:
        with pytest.raises(StoreError):
            store.get(wanted)


def test_a_stores_traces_are_graded_by_agent_task_and_a_short_id(
    kept: Path, tracedance: Tracedance
) -> None:
    long = [trace(letter * 32) for letter in "de"]
    TraceStore.open(kept).add(long)
    Path("task.yaml").write_text("format: tracedance.task\nversion: 1\nid: task-1\n")
    ran = tracedance("evaluate", kept, "--spec", "task.yaml", "--where", "agent = 'helper'")
    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in ran.out.splitlines()[1:6]] == [
        "helper/task-1#aa-1",
        "helper/task-1#aa-2",
        "helper/task-1#cc-1",
        "helper/task-1#dddddddd",
        "helper/task-1#eeeeeeee",
    ]
    ran = tracedance("evaluate", "task.yaml", "--spec", "task.yaml", "--where", "true")
    assert (ran.code, ran.err) == (
        2, "tracedance: --where SQL needs a store, and 'task.yaml' is none\n"
    )  # fmt: skip


def test_old_traces_are_pruned_and_undated_ones_stay(kept: Path, tracedance: Tracedance) -> None:
    would = tracedance("prune", kept, "--older-than", "30d", "--dry-run")
    assert would.out == "would take out 2 traces; 1 without any time stay\n"
    assert len(TraceStore.open(kept)) == 4
    ran = tracedance("prune", kept, "--older-than", "30d", "--json")
    found = json.loads(ran.out)
    assert (found["format"], found["removed"], found["undated"]) == ("tracedance.pruning", 2, 1)
    assert {item.id for item in TraceStore.open(kept)} == {"aa-1", "bb-1"}
    assert tracedance("prune", kept, "--older-than", "30").code == 2


def test_a_store_is_compacted_and_indexed(kept: Path, tracedance: Tracedance) -> None:
    before = list(TraceStore.open(kept))
    ran = tracedance("compact", kept)
    assert ran.out.startswith("2 partitions became 1, 0 rows left behind, ")
    assert sorted(TraceStore.open(kept), key=str) == sorted(before, key=str)
    assert tracedance("index", kept).out.startswith("features of 1 partition derived, 0 kept; ")
    assert tracedance("index", kept).out.startswith("features of 0 partitions derived, 1 kept; ")
    again = tracedance("index", kept, "--force")
    assert again.out.startswith("features of 1 partition derived, 0 kept; ")
    assert tracedance("sql", kept, "SELECT count(*) FROM features").code == 0


def test_a_query_for_features_derives_them_first(kept: Path, tracedance: Tracedance) -> None:
    ran = tracedance("sql", kept, "SELECT count(*) FROM features", "--csv")
    assert (ran.code, ran.out) == (0, "count_star()\n12\n")


def test_one_trace_of_a_store_is_shown_and_all_are_graded(
    kept: Path, tracedance: Tracedance
) -> None:
    shown = tracedance("show", kept, "--trace", "bb")
    assert (shown.code, shown.err) == (0, "")
    assert "trace bb-1" in shown.out
    Path("task.yaml").write_text("format: tracedance.task\nversion: 1\nid: task-1\n")
    graded = tracedance("evaluate", kept, "--spec", "task.yaml", "--json")
    assert {row["report"]["trace_id"] for row in json.loads(graded.out)["rows"]} == {
        "aa-1",
        "aa-2",
        "bb-1",
        "cc-1",
    }


def test_sub_agents_in_a_store_are_graded_when_asked(kept: Path, tracedance: Tracedance) -> None:
    child = trace("dd-1").model_copy(update={"parent": Parent(trace_id="aa-1", call_id="c1")})
    TraceStore.open(kept).add([child])
    Path("task.yaml").write_text("format: tracedance.task\nversion: 1\nid: task-1\n")
    ran = tracedance("evaluate", kept, "--spec", "task.yaml", "--json")
    assert len(json.loads(ran.out)["rows"]) == 4
    assert "1 sub-agent trace not graded" in ran.err
    ran = tracedance("evaluate", kept, "--spec", "task.yaml", "--json", "--sub-agents")
    assert len(json.loads(ran.out)["rows"]) == 5
    ran = tracedance("evaluate", kept, "--spec", "task.yaml", "--json", "--trace", "dd")
    assert [row["report"]["trace_id"] for row in json.loads(ran.out)["rows"]] == ["dd-1"]


@pytest.mark.parametrize("form", ["atif", "otlp", "trace-json", "openai-chat"])
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_what_is_exported_is_read_again_with_every_call(
    kept: Path, tracedance: Tracedance, form: str, name: str
) -> None:
    ran = tracedance("export", kept, "--to", form, "--out", name)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"4 traces written to '{name}'\n")
    assert (Path(name).read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    again = [item.trace for item in collect_paths([name])]
    assert all(again)
    found = [item for item in again if item is not None]
    assert len(found) == 4
    original = list(TraceStore.open(kept))
    assert [
        [(c.name, c.arguments, c.result and c.result.content) for c in t.calls] for t in found
    ] == [[(c.name, c.arguments, c.result and c.result.content) for c in t.calls] for t in original]
    ran = tracedance("import", name, "--store", kept, "--quiet")
    if form != "openai-chat":
        assert sorted(item.id for item in found) == ["aa-1", "aa-2", "bb-1", "cc-1"]
        assert ran.out.startswith("0 traces added, ")
    else:
        # What lacks something must not take the original's place.
        assert {item.source and item.source.native_id for item in found} == {
            "aa-1", "aa-2", "bb-1", "cc-1"
        }  # fmt: skip
        assert ran.out == "4 traces added, 0 replaced, 0 unchanged\n"
    assert len(list(TraceStore.open(kept).traces("task_id = 'task-1'"))) == 4


def test_an_exported_conversation_passes_for_no_better_one_than_it_was(
    tmp_path: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = (
        Call(index=0, id="a", name="look", result=Result(content="x", truncated=True)),
        Call(index=1, id="b", name="look", arguments={}),
        Call(index=2, id="c", name="look", arguments={}, result=Result(interrupted=True)),
        Call(
            index=3, id="d", name="look", arguments={},
            result=Result(ok=False, error=ErrorInfo(type="OSError", message="no"), content="y"),
        ),
    )  # fmt: skip
    turns = (
        Turn(index=0, role="user", origin="harness", content=(Text(text="Look."),)),
        Turn(index=1, role="assistant", origin="agent", synthetic=True, calls=calls),
        Turn(index=2, role="assistant", origin="agent", content=(Text(text="Seen."),)),
    )
    before = assess(Trace(id="t", turns=turns), notes=[note("record_lost", count=2)])
    td.save_trace(before, "t.json")
    ran = tracedance("export", "t.json", "--to", "openai-chat", "--out", "x.jsonl")
    assert ran.out == snapshot("""\
1 trace written to 'x.jsonl'
  no place in openai-chat for a call's error: 1
  no place in openai-chat for that a call was interrupted: 1
  no place in openai-chat for whether a call succeeded: 1
  written all the same: calls without a result, as none was recorded: 1
  written all the same: calls without arguments, as they are unknown: 1
  written all the same: results without content, as none was seen: 1
""")
    (found,) = collect_paths(["x.jsonl"])
    after = found.trace
    assert after is not None
    assert [call.arguments for call in after.calls] == [UNKNOWN, {}, {}, {}]
    assert [(turn.origin, turn.synthetic) for turn in after.turns] == [
        (turn.origin, turn.synthetic) for turn in turns
    ]
    kinds = {item.kind: item.count for item in before.fidelity.notes}
    assert {item.kind: item.count for item in after.fidelity.notes} == kinds
    assert after.fidelity.fit_for == before.fidelity.fit_for == ("reading",)


def test_what_a_format_has_no_place_for_is_counted(kept: Path, tracedance: Tracedance) -> None:
    ran = tracedance("export", kept, "--to", "openai-chat", "--out", "x.jsonl")
    assert ran.out == snapshot("""\
4 traces written to 'x.jsonl'
  no place in openai-chat for a turn's model: 4
  no place in openai-chat for the trace's agent: 4
  no place in openai-chat for the trace's outcome: 4
  no place in openai-chat for the trace's started_at: 3
  no place in openai-chat for the trace's task_id: 4
  no place in openai-chat for whether a call succeeded: 4
""")


def test_an_export_chooses_and_replaces_nothing_unasked(kept: Path, tracedance: Tracedance) -> None:
    arguments = ("export", kept, "--to", "trace-json", "--out", "x.jsonl")
    assert tracedance(*arguments, "--where", "agent = 'codex'").code == 0
    (line,) = Path("x.jsonl").read_bytes().splitlines()
    assert json.loads(line)["id"] == "bb-1"
    ran = tracedance(*arguments, "--trace", "cc")
    assert (ran.code, "--force replaces it" in ran.err) == (2, True)
    assert tracedance(*arguments, "--trace", "cc", "--force").code == 0
    assert json.loads(Path("x.jsonl").read_bytes())["id"] == "cc-1"


def test_an_export_of_what_can_be_read_in_part_says_so(kept: Path, tracedance: Tracedance) -> None:
    good = json.dumps({"messages": [{"role": "user", "content": "Hi"}]})
    Path("a.jsonl").write_text(f"{good}\n{{\n")
    ran = tracedance("export", "a.jsonl", "--to", "atif", "--out", "x.jsonl.gz")
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert len(gzip.decompress(Path("x.jsonl.gz").read_bytes()).splitlines()) == 1


def test_a_journal_goes_through_a_store_and_spans_and_is_the_same(
    tmp_path: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    @td.tool
    def add(first: int, second: int) -> int:
        return first + second

    for number in range(3):
        with td.TraceRecorder(journal="runs", task_id=f"task-{number}", state=lambda: {"n": 1}):
            assert add(number, 2) == number + 2
    assert tracedance("import", "runs", "--store", "kept", "--quiet").code == 0
    first = sorted(TraceStore.open("kept", tools="recorded"), key=lambda item: item.id)
    assert len(first) == 3
    assert [call.arguments["first"] for item in first for call in item.calls].count(0) == 1
    assert tracedance("export", "kept", "--to", "otlp", "--out", "spans.jsonl").code == 0
    assert tracedance("import", "spans.jsonl", "--store", "again", "--quiet").code == 0
    second = sorted(TraceStore.open("again", tools="recorded"), key=lambda item: item.id)
    assert [item.turns for item in second] == [item.turns for item in first]
    assert [item.final_state for item in second] == [item.final_state for item in first]
    ran = tracedance("import", "spans.jsonl", "--store", "kept", "--quiet")
    assert "0 traces added" in ran.out


def test_a_session_of_several_agents_is_one_session_of_the_store(
    kept: Path, tracedance: Tracedance
) -> None:
    both = [trace(f"s-{name}", agent=name) for name in ("planner", "researcher")]
    TraceStore.open(kept).add([item.model_copy(update={"session_id": "s"}) for item in both])
    ran = tracedance("ls", kept)
    sessions = [line.split()[-9] for line in ran.out.splitlines()[1:6]]
    assert sessions == ["1", "3", "1", "1", "5"]


def test_ids_and_agents_stay_readable_in_a_narrow_table(kept: Path, tracedance: Tracedance) -> None:
    long = trace("0123456789abcdef" * 2, agent="mini-swe-agent-with-a-name")
    twin = trace("0123456789abcdfe" * 2)
    tasked = long.model_copy(update={"task_id": "django__django-" * 9})
    TraceStore.open(kept).add([tasked, twin])
    lines = tracedance("ls", kept, "--where", "starts_with(trace_id, '0')").out.splitlines()
    assert {line.split()[0] for line in lines[1:3]} == {"0123456789abcde", "0123456789abcdf"}
    assert max(map(len, lines)) <= 80
    (row,) = (line for line in lines if "..." in line)
    assert len(row.split()[1]) == 12
    alone = tracedance("ls", kept, "--where", "agent NOT IN ('helper', 'codex')").out
    assert alone.splitlines()[1].split()[0] == "0123456789ab"


def test_traces_whose_ids_leave_no_room_for_a_table_are_blocks(
    kept: Path, tracedance: Tracedance
) -> None:
    names = [f"run-of-a-benchmark-with-a-long-name-2026-11-30-instance-{n}" for n in range(2)]
    TraceStore.open(kept).add([trace(name, agent="a" * 30) for name in names])
    out = tracedance("ls", kept, "--where", "starts_with(trace_id, 'run-of')").out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith(f"Trace    {names[0]}\nagent    {'a' * 30}\n")
    assert out.endswith("\n2 traces\n")


def test_an_answer_with_more_columns_than_fit_is_a_block_for_each_row(
    kept: Path, tracedance: Tracedance
) -> None:
    query = "SELECT trace_id, agent, 'x' AS a, NULL AS none FROM traces ORDER BY trace_id LIMIT 2"
    assert tracedance("sql", kept, query).out.startswith("trace_id")
    wide = query.replace("'x' AS a", ", ".join(f"repeat('x', 20) AS column_{n}" for n in range(9)))
    out = tracedance("sql", kept, wide).out
    assert out.startswith("trace_id  aa-1\nagent     helper\ncolumn_0  xxxxxxxxxxxxxxxxxxxx\n")
    assert "none" not in out
    assert out.endswith("\n2 rows\n")
    assert "..." not in out
