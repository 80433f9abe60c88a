"""Spans of real agents in real files, counted apart and compared with what is expected of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tracedance_collectors.otlp import collector

from tests.counters.otel_spans import SpanCounts, count
from tests.support.shared_data import shared_data
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.otel import assemble, otlp_lines, spans_of_document
from tracedance_sdk.trace import Trace, parse_json

ROOT = shared_data("otel-spans")

OTHERS = {
    "eval_set_helm.json": "what is expected of a run",
    "evalset_helm_3_2026-02-23.json": "what is expected of a run",
    "evalset_k8s_2026-02-20.json": "what is expected of a run",
    "capture-results.json": "a report about how the spans were captured",
    "claude_code_skill_tool.json": "messages of a client",
    "codex_exec_json.json": "a client's own log",
    "codex_session_rollout.json": "a client's own log",
    "google_adk_load_skill.json": "contents of several requests under names of their own",
    "strands_agent_skills.json": "messages of several requests under names of their own",
}
"""Files without spans."""

WITHOUT_RUNS = {"ai-embed.json", "ai-embed-doEmbed.json"}
"""Files whose only spans are of embeddings."""

FILES = sorted(path for path in ROOT.glob("*/*.json") if path.name not in OTHERS)


def named(path: Path) -> str:
    return path.stem


def traces_of(path: Path) -> list[Trace]:
    found = list(collector.collect(path))
    assert [item for item in found if not isinstance(item, Trace)] == []
    return [item for item in found if isinstance(item, Trace)]


def spans_in(value: Any) -> int:
    """Count the spans that a turn or call was read from."""
    return len((value.model_extra or {}).get("otel", {}).get("spans", ()))


def imported(traces: list[Trace], trace_id: str) -> SpanCounts:
    models = tools = errors = spans = agents = 0
    tokens: list[int] = []
    for trace in (t for t in traces if t.otel is not None and t.otel.trace_id == trace_id):
        kept = trace.metadata.get("otel", {})
        agents += "root" in kept
        spans += ("root" in kept) + len(kept.get("steps", ()))
        for which in ("structure", "around"):
            spans += sum(kept.get(which, {}).values())
        for turn in trace.turns:
            models += spans_in(turn) > 0
            spans += spans_in(turn)
            if spans_in(turn) and turn.usage is not None and turn.usage.input_tokens is not None:
                tokens.append(turn.usage.input_tokens)
        for call in trace.calls:
            tools += spans_in(call) > 0
            spans += spans_in(call)
            errors += spans_in(call) > 0 and call.failed
    return SpanCounts(
        trace_id, spans, agents, models, tools, errors, sum(tokens) if tokens else None
    )


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_span_is_told_and_counts_agree(path: Path) -> None:
    if path.name in WITHOUT_RUNS:
        [problem] = collector.collect(path)
        assert "none of an agent, model or tool" in str(problem)
        return
    traces = traces_of(path)
    compared = 0
    for counts in count(path):
        trace_id = counts.trace
        mine = imported(traces, trace_id)
        if not (counts.agents or counts.models or counts.tools):
            assert mine.spans == 0
            continue
        around = {
            name
            for trace in traces
            if trace.otel is not None and trace.otel.trace_id == trace_id
            for name in trace.metadata.get("otel", {}).get("around", {})
        }
        wrappers = counts.agents - mine.agents
        # Agents that only hold other agents are workflows, told as what is around the runs.
        assert wrappers == 0 or (wrappers == 1 and around & {"Agent workflow"})
        assert mine._replace(agents=counts.agents) == counts
        compared += 1
    assert compared


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_files_without_spans_are_not_taken_for_spans(name: str) -> None:
    [path] = ROOT.glob(f"*/{name}")
    assert not collector.sniff(path, path.read_bytes())


@pytest.mark.parametrize("name", [name for name, why in OTHERS.items() if "expected" in why])
def test_evaluation_sets_belong_to_runs(name: str) -> None:
    [path] = ROOT.glob(f"*/{name}")
    [found] = collect_paths([path], collectors=[collector])
    assert "belongs to runs that 'otlp' reads" in str(found.problem)


def test_no_other_collector_takes_a_file_of_spans() -> None:
    for found in collect_paths(FILES):
        assert found.collector == "otlp", found


GOLDEN = {
    "helm.json": "eval_set_helm.json",
    "helm_3.json": "evalset_helm_3_2026-02-23.json",
    "k8s.json": "evalset_k8s_2026-02-20.json",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_calls_and_answers_are_the_expected_ones(name: str) -> None:
    [path] = ROOT.glob(f"*/{name}")
    [trace] = traces_of(path)
    expected = json.loads(path.with_name(GOLDEN[name]).read_text("utf-8"))
    [case] = expected["eval_cases"]
    [turn] = case["conversation"]
    uses = turn["intermediate_data"]["tool_uses"]
    assert [(call.name, call.arguments) for call in trace.actions] == [
        (use["name"], use["args"]) for use in uses
    ]
    assert trace.turns[0].text == turn["user_content"]["parts"][0]["text"]
    if name == "helm.json":
        # Written by hand: the same answer without its last sentence, the table shortened.
        assert trace.turns[-1].text.startswith(turn["final_response"]["parts"][0]["text"])
        return
    assert trace.turns[-1].text == turn["final_response"]["parts"][0]["text"]
    assert [call.id for call in trace.actions] == [use["id"] for use in uses]
    answers = [response["response"] for response in turn["intermediate_data"]["tool_responses"]]
    for call, answer in zip(trace.actions, answers, strict=True):
        assert call.result is not None
        assert isinstance(call.result.content, dict)
        assert call.result.content["content"] == answer["content"]


@pytest.mark.parametrize("path", FILES, ids=named)
def test_traces_of_spans_survive_our_own_otlp_files(path: Path) -> None:
    for trace in (item for item in collector.collect(path) if isinstance(item, Trace)):
        records: list[Any] = []
        for line in otlp_lines(trace):
            records += spans_of_document(parse_json(line, where="line"), where="line")
        assert assemble(records) == [trace]


def test_runs_of_one_file_are_told_apart_and_linked() -> None:
    [path] = ROOT.glob("*/openai_agents_openinference_live_spans.json")
    outer, inner = traces_of(path)
    assert (outer.agent.name, inner.agent.name) == ("coordinator", "math_specialist")
    assert inner.parent is not None
    assert (inner.parent.trace_id, inner.parent.call_id) == (outer.id, outer.calls[0].id)
    assert [call.name for call in inner.calls] == [
        "multiply_numbers",
        "divide_numbers",
        "divide_numbers",
    ]


def test_tokens_that_leave_the_cache_out_get_it_back() -> None:
    [path] = ROOT.glob("*/claude_adot_spans.json")
    trace = traces_of(path)[0]
    assert trace.metadata["usage"] == {
        "input_tokens": 4 + 29447 + 2861,
        "output_tokens": 767,
        "cache_read_tokens": 29447,
        "cache_write_tokens": 2861,
        "cost_usd": 0.0712653,
    }
