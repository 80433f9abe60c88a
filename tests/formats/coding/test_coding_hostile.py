"""Sessions that no client wrote: fields of any type, cycles, names that lead elsewhere."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.shared_data import SHARED_DATA, shared_data
from tracedance_sdk.formats import (
    Collector,
    collect_paths,
    load_collectors,
    trace_from_document,
)
from tracedance_sdk.trace import Trace, encode

FIXTURES = shared_data("agent-sessions-fixtures")
CLIENTS = ("antigravity", "codex", "cursor", "droid", "gemini", "grok", "hermes", "openclaw", "pi")
FILES = [
    *(path for client in CLIENTS for path in sorted((FIXTURES / client).glob("*.json*"))),
    *sorted(FIXTURES.glob("*.jsonl")),
    *sorted((shared_data("otel-spans") / "strands-evals").glob("codex_*.json")),
]
FILES = [path for path in FILES if path.name != "summary.json"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "id"]), inner, max_size=2)
    ),
    max_leaves=5,
)


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    pending = [value]
    while pending:
        item = pending.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item))
        for key in keys:
            yield item, key
            if isinstance(item[key], (dict, list)):
                pending.append(item[key])


def collector_of(path: Path) -> Collector:
    name = next(item.collector for item in collect_paths([path]))
    return next(reader for reader in load_collectors() if reader.name == name)


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(SHARED_DATA)) for p in FILES])
def test_a_field_of_any_type_breaks_no_session(path: Path, tmp_path: Path) -> None:
    lines = path.read_text("utf-8").splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    records = [json.loads(line) for line in lines if line.strip()]
    reader = collector_of(path)
    target = tmp_path / path.name

    @given(st.data())
    @settings(
        max_examples=10,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    def check(data: st.DataObject) -> None:
        changed = copy.deepcopy(records)
        places = list(spots(changed))
        for index in data.draw(st.lists(st.integers(0, len(places) - 1), min_size=1, max_size=3)):
            holder, key = places[index]
            holder[key] = data.draw(JSON)
        target.write_text("\n".join(json.dumps(record) for record in changed))
        for trace in (found for found in reader.collect(target) if isinstance(found, Trace)):
            assert trace_from_document(encode(trace), where="") == trace

    check()


def session(folder: Path, *entries: dict[str, Any], name: str = "s.jsonl") -> Path:
    header = {"type": "session", "id": name, "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}
    path = folder / name
    path.write_text("\n".join(json.dumps(entry) for entry in (header, *entries)))
    return path


def said(name: str, parent: str | None, text: str = "") -> dict[str, Any]:
    message = {"role": "user", "content": text or name}
    return {"type": "message", "id": name, "parentId": parent, "message": message}


def collected(path: Path) -> tuple[list[Trace], list[str]]:
    found = list(collect_paths([path]))
    problems = [str(item.problem).removeprefix(f"{path}: ") for item in found if item.problem]
    return [item.trace for item in found if item.trace], problems


def test_parents_in_a_circle_are_parents_that_the_file_does_not_hold(tmp_path: Path) -> None:
    path = session(tmp_path, said("a", "c"), said("b", "a"), said("c", "b"), said("d", "d"))
    (trace,), problems = collected(path)
    assert problems == []
    assert [turn.text for turn in trace.turns] == ["a", "b", "c", "d"]
    assert trace.fidelity.count("record_lost") == 2


def test_thousands_of_branches_on_a_long_trunk_are_left_out_and_named(tmp_path: Path) -> None:
    trunk = [said(f"t{i}", f"t{i - 1}" if i else None) for i in range(2_000)]
    forks = [said(f"f{i}", "t1999") for i in range(2_000)]
    traces, (problem,) = collected(session(tmp_path, *trunk, *forks))
    assert len(traces) == 99
    assert problem == "1,901 branches left out, as they repeat too much"


def test_sessions_of_opencode_cannot_lead_out_of_their_storage(tmp_path: Path) -> None:
    for name in ("session/p", "message", "part"):
        (tmp_path / "storage" / name).mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "m.json").write_text('{"id": "m", "role": "user"}')
    for index, name in enumerate(["../../elsewhere", "..", "/", "a\0b", ""]):
        text = json.dumps({"id": name, "parentID": name, "time": {"created": 1}})
        (tmp_path / "storage" / "session" / "p" / f"{index}.json").write_text(text)
    traces, problems = collected(tmp_path / "storage")
    assert problems == []
    assert [len(trace.turns) for trace in traces] == [0] * 5


def test_openclaw_sessions_that_started_each_other_end_somewhere(tmp_path: Path) -> None:
    one, two = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "12")
    index = {
        "agent:1": {"sessionId": one, "updatedAt": 1, "spawnedBy": "agent:2"},
        "agent:2": {"sessionId": two, "updatedAt": 1, "spawnedBy": "agent:1"},
    }
    (tmp_path / "sessions.json").write_text(json.dumps(index))
    header = {"type": "session", "id": one, "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}
    (tmp_path / f"{one}.jsonl").write_text(json.dumps(header))
    traces, problems = collected(tmp_path)
    assert problems == []
    assert [trace.session_id for trace in traces] == [one]
