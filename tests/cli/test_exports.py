"""What real systems wrote, exported in every format and read again."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.support.shared_data import shared_data
from tracedance_sdk.cli.export_formats import FORMATS, Export, write_lines
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.trace import Call, Trace

FOLDERS = (
    "agent-sessions-fixtures",
    "atif-fixtures",
    "claude-code-log",
    "inspect-logs",
    "langfuse-framework-traces",
    "openclaw-sessions",
    "openhands-swebench",
    "otel-spans",
    "swe-agent-demos",
    "tau2-judge-verdicts",
)


@cache
def real_traces(folder: str) -> dict[str, Trace]:
    found = collect_paths([shared_data(folder)])
    return {item.trace.id: item.trace for item in found if item.trace is not None}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_exported_is_read_again_without_losing_a_call(
    tmp_path: Path, folder: str, form: str
) -> None:
    traces = real_traces(folder)
    work = Export(form)
    write_lines(tmp_path / "out.jsonl", work.lines(traces.values()))
    assert (work.problems, work.written) == ([], len(traces))
    again = list(collect_paths([tmp_path / "out.jsonl"]))
    assert [str(item.problem) for item in again if item.problem is not None] == []
    found = [item.trace for item in again if item.trace is not None]
    if form == "openai-chat":
        # A conversation has no place for the calls of others; where ids of calls repeat, a result
        # may go to another call of the same id.
        for copy, trace in zip(found, traces.values(), strict=True):
            assert copy.source is not None
            assert copy.source.native_id == trace.id
            assert set(copy.fidelity.fit_for) <= set(trace.fidelity.fit_for)
        asked = [(names(trace.actions), answers(trace.actions)) for trace in traces.values()]
        assert [(names(trace.calls), answers(trace.calls)) for trace in found] == asked
    else:
        assert {trace.id: trace for trace in found} == traces


def names(calls: tuple[Call, ...]) -> list[str]:
    return sorted(call.name for call in calls)


def answers(calls: tuple[Call, ...]) -> int:
    return sum(call.result is not None for call in calls)
