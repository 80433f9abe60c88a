"""Real sessions of Claude Code: what an independent count finds in the files is in the traces."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from tracedance_collectors.claude_code import collector

from tests.counters.claude_code import count, records
from tests.counters.counts import Counts
from tests.support.shared_data import shared_data
from tracedance_sdk.formats import Document, ImportProblem, collect_paths, documents
from tracedance_sdk.formats.coding import read_claude_code
from tracedance_sdk.trace import Trace, Turn, encode

FOLDERS = ("claude-code-log", "entire-cli-sessions", "agent-sessions-fixtures/claude")
FILES = [
    (folder, str(path.relative_to(shared_data(folder))))
    for folder in FOLDERS
    for path in sorted(shared_data(folder).rglob("*.jsonl*"))
    if path.name != "journal.jsonl"
]
TRIMMED = "small.jsonl"
"""A hand-made file in which 45 records have one and the same id, time and session: which of them
were one message, and which follows which, is anybody's guess."""

SAMPLES = "message-types/"
"""Single records cut out of sessions: most begin in the middle of one."""


@cache
def found_in(folder: str, name: str) -> list[Trace | ImportProblem]:
    return list(collector.collect(shared_data(folder) / name))


def traces_in(folder: str, name: str) -> list[Trace]:
    return [item for item in found_in(folder, name) if isinstance(item, Trace)]


def own_turns(trace: Trace) -> tuple[Turn, ...]:
    """Return the turns that no other trace of the file has."""
    branch = trace.metadata["claude_code"].get("branch", {})
    return trace.turns[branch.get("trunk_turns", 0) :]


def is_attached(turn: Turn) -> bool:
    return "attachment" in ((turn.__pydantic_extra__ or {}).get("claude_code") or {})


def thread_of(trace: Trace) -> str:
    kept = trace.metadata["claude_code"]
    if "subagent" not in kept:
        return "main"
    return f"agent:{kept['agentId']}" if "agentId" in kept else f"side:{kept['subagent']}"


def numbers(traces: list[Trace]) -> list[Counts]:
    """Return the counts of each thread; what a synthetic call or an attachment adds left out."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for trace in traces:
        here = found[thread_of(trace)]
        for turn in own_turns(trace):
            here["user_turns"] += turn.role == "user" and not is_attached(turn)
            here["assistant_turns"] += turn.role == "assistant" and not turn.synthetic
            here["calls"] += sum(call.bound_by != "synthetic" for call in turn.calls)
            results = [call.result for call in turn.calls if call.result]
            here["results"] += len(results)
            here["errors"] += sum(result.ok is False for result in results)
    return [
        Counts(name, *(values[field] for field in Counts._fields[1:]))
        for name, values in found.items()
    ]


@pytest.mark.parametrize(("folder", "name"), FILES, ids=[name for _, name in FILES])
def test_every_file_agrees_with_the_counter(folder: str, name: str) -> None:
    found = numbers(traces_in(folder, name))
    expected = count(shared_data(folder) / name)
    if name == TRIMMED:
        assert [counts.calls for counts in found] == [counts.calls for counts in expected]
        return
    assert sorted(found) == sorted(expected)


def test_the_sums_are_those_that_the_folders_name() -> None:
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for folder, name in FILES:
        kind = name.split("/")[0] if name.startswith(("real_projects", "message-types")) else ""
        here = sums[f"{folder}/{kind}".rstrip("/")]
        for trace in traces_in(folder, name):
            is_sub = trace.metadata["claude_code"].get("subagent") is not None
            prefix = "sub-agents'" if is_sub else "own"
            here["sub-agents" if is_sub else "traces"] += 1
            for turn in own_turns(trace):
                done = [call for call in turn.calls if call.bound_by != "synthetic"]
                here[f"{prefix} calls"] += len(done)
                here[f"{prefix} errors"] += sum(call.failed for call in turn.calls)
        here["problems"] += sum(isinstance(item, ImportProblem) for item in found_in(folder, name))
    assert {name: dict(values) for name, values in sums.items()} == snapshot(
        {
            "claude-code-log": {
                "sub-agents": 11,
                "sub-agents' calls": 7,
                "sub-agents' errors": 0,
                "problems": 8,
                "traces": 32,
                "own calls": 50,
                "own errors": 2,
            },
            "claude-code-log/message-types": {
                "traces": 44,
                "own calls": 14,
                "own errors": 9,
                "problems": 4,
                "sub-agents": 9,
                "sub-agents' calls": 3,
                "sub-agents' errors": 1,
            },
            "claude-code-log/real_projects": {
                "traces": 17,
                "own calls": 365,
                "own errors": 39,
                "problems": 2,
                "sub-agents": 22,
                "sub-agents' calls": 77,
                "sub-agents' errors": 3,
            },
            "entire-cli-sessions": {
                "traces": 46,
                "own calls": 1199,
                "own errors": 57,
                "problems": 0,
                "sub-agents": 6,
                "sub-agents' calls": 108,
                "sub-agents' errors": 5,
            },
            "agent-sessions-fixtures/claude": {
                "traces": 5,
                "own calls": 4,
                "own errors": 0,
                "problems": 0,
                "sub-agents": 3,
                "sub-agents' calls": 2,
                "sub-agents' errors": 1,
            },
        }
    )
    real, entire = sums["claude-code-log/real_projects"], sums["entire-cli-sessions"]
    assert real["own calls"] + real["sub-agents' calls"] == 442
    assert (entire["own calls"], entire["own errors"]) == (1199, 57)


def test_a_folder_is_read_whole_and_by_this_collector_alone() -> None:
    for folder in FOLDERS:
        found = list(collect_paths([shared_data(folder)]))
        assert {item.collector for item in found if item.trace} == {"claude_code"}
        problems = [str(item.problem).rsplit("/", 1)[-1] for item in found if item.problem]
        assert [text for text in problems if "no collector" in text] == []


def test_traces_of_one_id_are_the_same_session_cut_at_different_lines() -> None:
    seen: dict[str, set[str]] = defaultdict(set)
    for folder, name in FILES:
        for trace in traces_in(folder, name):
            seen[trace.id].add(name.rsplit("/", 1)[-1])
    assert sorted(sorted(names) for names in seen.values() if len(names) > 1) == snapshot(
        [
            ["4379d1bf-ccb1-414e-a856-9791b73f3af2.jsonl", "user_slash_command.jsonl"],
            ["AskUserQuestion-tool_result.jsonl", "AskUserQuestion-tool_result_error.jsonl"],
            ["Edit-tool_result.jsonl", "Edit-tool_result_error.jsonl"],
            ["agent-b1f5d80e.jsonl", "user_sidechain.jsonl"],
            ["b25638d7-b104-4f06-a797-70ac33d069ed.jsonl", "user.jsonl"],
            ["dag_fork.jsonl", "dag_resume.jsonl"],
            ["dag_fork.jsonl", "dag_resume.jsonl"],
            ["dag_simple.jsonl", "dag_within_fork.jsonl"],
        ]
    )


def test_the_call_that_started_a_sub_agent_is_in_its_parent() -> None:
    traces = [trace for folder, name in FILES for trace in traces_in(folder, name)]
    known = {trace.id: trace for trace in traces}
    names: Counter[str] = Counter()
    for trace in traces:
        if trace.parent is not None and trace.parent.call_id is not None:
            above = known[trace.parent.trace_id]
            call = above.find_call(trace.parent.call_id)
            assert call is not None
            assert above.session_id == trace.session_id
            names[call.name] += 1
    assert dict(names) == snapshot({"Task": 11, "Agent": 6, "Workflow": 3})
    unlinked = [trace for trace in traces if trace.parent and trace.parent.call_id is None]
    assert Counter(trace.turns[0].text[:6] for trace in unlinked).most_common(1) == snapshot(
        [("Warmup", 9)]
    )


def test_a_good_part_of_what_stands_in_the_users_role_is_no_humans() -> None:
    shares: dict[str, dict[str, int]] = {}
    for folder in FOLDERS[:2]:
        origins: Counter[str] = Counter()
        for other, name in FILES:
            if other != folder or name.startswith(SAMPLES):
                continue
            for trace in traces_in(folder, name):
                origins.update(turn.origin for turn in own_turns(trace) if turn.role == "user")
        shares[folder] = dict(sorted(origins.items()))
    assert shares == snapshot(
        {
            "claude-code-log": {"agent": 15, "harness": 63, "human": 85},
            "entire-cli-sessions": {"agent": 6, "harness": 44, "human": 152},
        }
    )


def test_a_skill_read_by_strands_is_a_session_without_an_id() -> None:
    path = shared_data("otel-spans") / "strands-evals" / "claude_code_skill_tool.json"
    (item,) = collect_paths([path])
    assert item.collector == "claude_code"
    assert item.trace is not None
    assert item.trace.session_id is None
    assert [(turn.role, turn.origin) for turn in item.trace.turns] == [
        ("user", "human"),
        ("assistant", "agent"),
        ("user", "harness"),
    ]
    (call,) = item.trace.calls
    assert call.result is not None
    assert (call.name, call.result.content) == ("Skill", "Launching skill: pdf-processing")


WHOLE = [
    (folder, name)
    for folder, name in FILES
    if not name.startswith(SAMPLES) and name != "edge_cases.jsonl"
]
"""All but samples and the file with records that are refused."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_SAID_BY_FORM = {"assistant", "base64", "message", "thinking", "tool_result", "tool_use", "user"}
"""Types of records, messages and blocks that a turn, a call or a result is by being one."""


def leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the texts and numbers of a value with their paths."""
    pending = [("", value)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, dict):
            pending.extend((f"{path}.{key}", inner) for key, inner in item.items())
        elif isinstance(item, list):
            pending.extend((f"{path}[]", inner) for inner in item)
        elif isinstance(item, (str, int, float)) and not isinstance(item, bool):
            yield path, item


@pytest.mark.parametrize(
    ("folder", "name"),
    WHOLE,
    ids=[name for _, name in WHOLE],
)
def test_no_text_and_no_number_of_a_record_is_lost(folder: str, name: str) -> None:
    traces = traces_in(folder, name)
    if not traces:
        return
    kept = {leaf for trace in traces for _, leaf in leaves(encode(trace))}
    lines = {text for leaf in kept if isinstance(leaf, str) for text in leaf.split("\n")}
    lost = [
        (record["type"], path, leaf)
        for record in records(shared_data(folder) / name)
        for path, leaf in leaves(record)
        if leaf not in kept
        and not (path.endswith((".type", ".role")) and leaf in _SAID_BY_FORM)
        and not (isinstance(leaf, str) and _TIME.match(leaf))
        and not path.endswith("tokens")
        and not (isinstance(leaf, str) and set(leaf.split("\n")) <= lines)
    ]
    assert lost == []


SIZES = {(folder, name): len(list(documents(shared_data(folder) / name))) for folder, name in FILES}
CUTTABLE = [row for row in FILES if row[1] != TRIMMED and SIZES[row] > 2]


def is_start(part: Turn, whole: Turn) -> bool:
    """Whether a turn is the other one, or what of it was written first."""
    return (
        (part.role, part.origin) == (whole.role, whole.origin)
        and part.content == whole.content[: len(part.content)]
        and [call.id for call in part.calls] == [call.id for call in whole.calls][: len(part.calls)]
        and all(
            call.result in (None, other.result)
            for call, other in zip(part.calls, whole.calls, strict=False)
        )
    )


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(CUTTABLE), st.data())
def test_a_session_read_before_it_grew_is_the_start_of_the_same_traces(
    row: tuple[str, str], data: st.DataObject
) -> None:
    folder, name = row
    path = shared_data(folder) / name
    given_documents = [item for item in documents(path) if isinstance(item, Document)]
    cut = data.draw(st.integers(1, len(given_documents)))
    whole = {trace.id: trace for trace in traces_in(folder, name)}
    for trace in read_claude_code(given_documents[:cut], path):
        if isinstance(trace, ImportProblem):
            continue
        later = whole[trace.id]
        assert len(trace.turns) <= len(later.turns)
        pairs = zip(trace.turns, later.turns, strict=False)
        assert [part.index for part, full in pairs if not is_start(part, full)] == []


def test_what_came_of_every_checkpoint_stands_with_its_session() -> None:
    annotated = attributed = 0
    for folder in sorted(shared_data("entire-cli-sessions").iterdir()):
        if not folder.is_dir():
            continue
        traces = [item.trace for item in collect_paths([folder]) if item.trace]
        annotated += any("annotations" in trace.metadata for trace in traces)
        attributed += any(
            "initial_attribution" in trace.outcome.details for trace in traces if trace.outcome
        )
    assert (annotated, attributed) == (45, 35)
