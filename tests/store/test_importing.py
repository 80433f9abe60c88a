"""The import pipeline: what is kept, what is masked, what is counted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tracedance_sdk.formats import (
    ImportProblem,
    Place,
    RecordCollector,
    Signature,
    TraceSource,
    find_sources,
    tool_table,
)
from tracedance_sdk.recording import SecretRedactor
from tracedance_sdk.store import (
    ImportPlan,
    ImportReport,
    SourceProblem,
    Tally,
    TraceStore,
    import_sources,
)
from tracedance_sdk.trace import Agent, Call, Json, Result, Trace, Turn, assess, parse_json

KEY = b"k" * 32


def read(value: Json, place: Place, uri: str) -> Trace:
    """A record says its id, its session, its tool, and what the tool answered."""
    call = Call(
        index=0,
        id="c",
        name=value.get("tool", "Bash"),
        arguments={"password": value.get("password", "none")},
        result=Result(ok=value.get("ok"), content=value.get("answer", "x")),
    )
    turn = Turn(index=0, role="assistant", origin="agent", calls=(call,))
    return assess(
        Trace(
            id=value["id"],
            session_id=value.get("session"),
            agent=Agent(name=value.get("agent", "claude-code")),
            turns=(turn,),
        )
    )


READER = RecordCollector(
    "records", [Signature.of("id")], read, companions=[Signature.of(names=["*.policy"])]
)


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def run(
    tmp_path: Path, *paths: Path, store: TraceStore | None = None, **plan: Any
) -> tuple[ImportReport, TraceStore]:
    kept = TraceStore.create(tmp_path / "store") if store is None else store
    sources = find_sources(paths, collectors=[READER])
    report = import_sources(sources, kept, plan=ImportPlan((READER,), roots=paths, **plan))
    return report, kept


def test_what_is_read_is_counted_by_folder_one_step_below_what_was_named(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.jsonl", {"id": "1"}, {"id": "2", "session": "s", "ok": False})
    write(tmp_path / "logs" / "x" / "deep" / "b.jsonl", {"id": "3", "session": "s"})
    write(tmp_path / "logs" / "x" / "c.jsonl", {"id": "4", "session": "s"})
    (tmp_path / "logs" / "x" / "d.policy").write_text("be kind")
    report, _ = run(tmp_path, tmp_path / "logs")
    found = {
        (Path(folder).name, collector): (tally.sources, tally.sessions, tally.traces, tally.errors)
        for (folder, collector), tally in report.tallies.items()
    }
    assert found == {("logs", "records"): (1, 2, 2, 1), ("x", "records"): (2, 1, 2, 0)}
    assert (report.total.sources, report.total.sessions, report.total.calls) == (3, 2, 4)
    assert report.companions == {"records": 1}
    assert report.is_whole


def test_every_source_is_told_when_it_is_done(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", {"id": "1"})
    write(tmp_path / "b.jsonl", {"id": "2"})
    told: list[TraceSource] = []
    sources = list(find_sources([tmp_path], collectors=[READER]))
    store = TraceStore.create(tmp_path / "store")
    import_sources(sources, store, plan=ImportPlan((READER,)), on_done=told.append)
    assert told == sources


def test_a_masked_trace_says_so_and_an_unmasked_one_is_kept_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"id": "1", "password": "hunter2-Xy"}, {"id": "2"})
    report, store = run(tmp_path, path, redactor=SecretRedactor(key=KEY))
    first, second = (store.get(name) for name in "12")
    assert re.fullmatch(r"\[MASKED:password:[0-9a-f]{12}\]", first.calls[0].arguments["password"])
    assert (first.fidelity.count("value_masked"), second.fidelity.count("value_masked")) == (1, 0)
    assert second.calls[0].arguments == {"password": "none"}
    assert report.masks == {"password": 1}
    assert report.fidelity["value_masked"] == (1, 1)


class Failing:
    """A redactor that masks a whole document, as one that fails does."""

    def redact(self, data: bytes) -> bytes:
        return b'"[MASKED:error:0a0a]"' if b"hunter2" in data else data


def test_a_trace_that_cannot_be_masked_is_left_out_with_a_problem(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"id": "1", "password": "hunter2"}, {"id": "2"})
    report, store = run(tmp_path, path, redactor=Failing())
    assert [trace.id for trace in store] == ["2"]
    (problem,) = report.problems
    assert problem.reason.startswith("trace 1 left out: masked: not a trace")
    assert "hunter2" not in str(problem)
    assert not report.is_whole


def test_masked_documents_are_the_same_on_the_next_import(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"id": "1", "password": "hunter2-Xy"})
    redactor = SecretRedactor(key=KEY)
    _, store = run(tmp_path, path, redactor=redactor)
    again, _ = run(tmp_path, path, store=store, redactor=redactor)
    assert again.stored.unchanged == 1
    other, _ = run(tmp_path, path, store=store, redactor=SecretRedactor(key=b"o" * 32))
    assert other.stored.replaced + other.stored.older == 1


@pytest.mark.parametrize(
    ("record", "origin"),
    [
        ({"tool": "Bash"}, "known"),
        ({"tool": "frobnicate"}, "inferred"),
        ({"tool": "Bash", "agent": "nobody"}, "inferred"),
    ],
    ids=["known", "unknown tool", "unknown agent"],
)
def test_it_is_told_where_definitions_of_tools_come_from(
    tmp_path: Path, record: dict[str, Any], origin: str
) -> None:
    path = write(tmp_path / "a.jsonl", {"id": "1", **record})
    report, store = run(tmp_path, path)
    assert report.total.next_turn_tools == {origin: 1}
    assert TraceStore.open(tmp_path / "store", tools="recorded").get("1").tools == ()
    (tool,) = store.get("1").tools
    assert tool.origin == origin


def test_with_a_table_known_definitions_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"id": "1"})
    report, _ = run(tmp_path, path, table=tool_table())
    (tool,) = TraceStore.open(tmp_path / "store", tools="recorded").get("1").tools
    assert (tool.name, tool.origin) == ("Bash", "known")
    assert report.total.next_turn_tools == {"known": 1}


@pytest.mark.parametrize(
    ("problem", "shown"),
    [
        (ImportProblem("a.jsonl", "a.jsonl:3: not JSON", 3), "a.jsonl:3: not JSON (read as r)"),
        (ImportProblem("a.jsonl", "odd @ $.x", 3), "a.jsonl:3: odd @ $.x (read as r)"),
        (ImportProblem("a", "a: odd"), "a: odd (read as r)"),
        (ImportProblem("a", "'a' does not exist"), "'a' does not exist (read as r)"),
    ],
    ids=["place in the reason", "place apart", "no line", "quoted"],
)
def test_a_problem_names_its_place_once(problem: ImportProblem, shown: str) -> None:
    assert str(SourceProblem.of(problem, "r")) == shown


def test_reports_of_parts_add_up(tmp_path: Path) -> None:
    for name in "abcd":
        write(tmp_path / "logs" / name / "a.jsonl", {"id": name, "session": "s"}, {})
    whole, store = run(tmp_path, tmp_path / "logs")
    store.remove(list("abcd"))
    parts = ImportReport()
    for name in "abcd":
        sources = find_sources([tmp_path / "logs" / name], collectors=[READER])
        plan = ImportPlan((READER,), roots=(tmp_path / "logs",))
        parts.add(import_sources(sources, store, plan=plan))
    assert parts.to_dict() == whole.to_dict()
    assert parse_json(json.dumps(whole.to_dict()), where="report") == whole.to_dict()
    assert whole.total.sessions == 1
    assert isinstance(parts.total, Tally)
