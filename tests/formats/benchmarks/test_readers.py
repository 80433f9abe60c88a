"""What each benchmark's record becomes, on small invented ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.formats.benchmarks import examples
from tracedance_sdk.formats import Place
from tracedance_sdk.formats.benchmarks import (
    Verdict,
    split_react_log,
    trace_from_adp,
    trace_from_agentdojo,
    trace_from_alfworld,
    trace_from_completion_log,
    trace_from_events,
    trace_from_few_shot,
    trace_from_mini_swe_agent,
    trace_from_nebius_row,
    trace_from_openhands_row,
    trace_from_react,
    trace_from_simulation,
    trace_from_swe_agent,
    trace_from_who_and_when,
)
from tracedance_sdk.trace import UNKNOWN, ErrorInfo, Trace

PLACE = Place("example")


def outline(trace: Trace) -> list[str]:
    """Return a line for each turn and call."""
    lines = []
    for turn in trace.turns:
        parts = [f"{part.type}:{getattr(part, 'text', '')!r}" for part in turn.content]
        lines.append(" ".join([f"{turn.role}/{turn.origin}", *parts]))
        for call in turn.calls:
            arguments = call.raw_arguments if call.arguments is UNKNOWN else call.arguments
            result = call.result
            came = "-" if result is None else f"{result.ok} {result.content!r}"
            lines.append(f"  {call.requested_by}: {call.name} {arguments!r} -> {came}")
    return lines


def extra(record: Any, key: str) -> Any:
    return (record.model_extra or {}).get(key)


def test_swe_agent_steps_and_what_stands_around_them() -> None:
    verdict = Verdict(resolved=False, details={"resolved": False}, file="r.json")
    trace = trace_from_swe_agent(
        examples.SWE_AGENT, PLACE, instance="lib__lib-7", verdict=verdict, uri="a.traj"
    )
    assert outline(trace) == snapshot(
        [
            "user/harness text:'Example.'",
            "assistant/harness text:'Shown.'",
            "user/human text:'Fix it.'",
            "assistant/agent text:'I look.\\n'",
            "  agent: open {'command': 'open a.py\\n'} -> None '[File: a.py]'",
            "assistant/agent text:'I list.\\n'",
            "  agent: bash {'command': 'ls -F'} -> None ''",
            "assistant/harness text:'Exit due to cost limit'",
        ]
    )
    first = trace.calls[0]
    assert extra(first.result, "swe_agent") == snapshot(
        {
            "state": {"open_file": "a.py", "working_dir": "/r"},
            "shown": {
                "before": "",
                "after": """\

(Open file: a.py)
bash-$\
""",
            },
        }
    )
    assert extra(trace.turns[3], "swe_agent") == snapshot(
        {
            "response": {
                "before_action": "```\n",
                "after_action": """\

```
""",
            }
        }
    )
    assert trace.outcome is not None
    assert trace.outcome.model_dump(exclude_unset=True, exclude_none=True) == snapshot(
        {
            "success": False,
            "ended": False,
            "error": {"type": "exit_cost"},
            "details": {
                "exit_status": "submitted (exit_cost)",
                "submission": "diff",
                "report": {"resolved": False, "file": "r.json"},
            },
        }
    )
    assert [tool.name for tool in trace.tools] == ["open"]
    assert trace.metadata["model_stats"] == {"instance_cost": 1.5}


def test_a_run_of_swe_agent_that_grows_stays_the_same_where_steps_have_times() -> None:
    steps = [{**step, "execution_time": 0.5} for step in examples.SWE_AGENT["trajectory"]]
    whole = {**examples.SWE_AGENT, "trajectory": steps}
    part = {**whole, "trajectory": steps[:1], "info": {}}
    other = {**whole, "trajectory": [{**steps[0], "execution_time": 0.6}]}
    ids = [trace_from_swe_agent(run, PLACE, instance="a").id for run in (whole, part, other)]
    assert ids[0] == ids[1] != ids[2]


def test_mini_swe_agent_keeps_costs_codes_and_broken_arguments() -> None:
    trace = trace_from_mini_swe_agent(examples.MINI_SWE_AGENT, PLACE, instance="x")
    assert outline(trace) == snapshot(
        [
            "user/human text:'Fix it.'",
            "assistant/agent text:'I list.'",
            "  agent: bash {'command': 'ls'} -> False '<returncode>2</returncode>'",
            "  agent: bash '{\"command\": ' -> -",
        ]
    )
    reply = trace.turns[1]
    assert reply.usage is not None
    assert reply.usage.model_dump(exclude_none=True) == snapshot(
        {"input_tokens": 10, "output_tokens": 3, "cache_read_tokens": 4, "cost_usd": 0.25}
    )
    assert (reply.model, reply.finish_reason) == ("m-1-0", "tool_calls")
    assert extra(trace.calls[0].result, "mini_swe_agent") == {"raw_output": "whole output"}
    assert trace.outcome is not None
    assert (trace.outcome.ended, trace.outcome.error) == snapshot(
        (False, ErrorInfo(type="LimitsExceeded"))
    )


def test_openhands_log_of_a_call() -> None:
    trace = trace_from_completion_log(examples.OPENHANDS_LOG, PLACE, instance="lib__lib-7")
    assert outline(trace) == snapshot(
        ["user/human text:'Fix it.'", "assistant/agent", "  agent: finish {} -> -"]
    )
    assert trace.system_prompt == "You are OpenHands agent."
    assert trace.outcome is not None
    assert (trace.outcome.success, trace.outcome.ended) == (None, True)


def test_openhands_events_of_one_reply_are_one_turn() -> None:
    trace = trace_from_events(examples.OPENHANDS_EVENTS, PLACE, name="x")
    assert outline(trace) == snapshot(
        [
            "user/human text:'Look.' media:''",
            "assistant/agent text:'Both.'",
            "  agent: execute_bash {'command': 'ls'} -> False 'no shell'",
            "  agent: execute_bash {'command': 'ls'} -> False 'second'",
            "user/human",
            "  user: run {'command': 'pwd'} -> None '/r'",
        ]
    )
    assert [event["id"] for event in trace.metadata["events"]] == [7]


def test_openhands_rows_of_older_releases_pair_action_and_observation() -> None:
    events = examples.OPENHANDS_EVENTS
    row = {
        "instance_id": "lib__lib-7",
        "history": [[events[0], events[7]], [events[1], events[4]]],
        "test_result": {"report": {"resolved": True}},
        "instance": {"patch": "diff"},
    }
    trace = trace_from_openhands_row(row, PLACE)
    assert [call.name for call in trace.calls] == ["execute_bash"]
    assert trace.outcome is not None
    assert trace.outcome.success is True
    assert trace.metadata["reference"] == {"patch": "diff"}


@pytest.mark.parametrize(
    ("injection", "expected"),
    [(None, {}), ("injection_task_1", {"injection_succeeded": True})],
    ids=["without attack", "with attack"],
)
def test_agentdojo_security_means_something_in_attacks_alone(
    injection: str | None, expected: dict[str, bool]
) -> None:
    told = {**examples.AGENTDOJO["metadata"], "injection_task_id": injection}
    trace = trace_from_agentdojo({**examples.AGENTDOJO, "metadata": told}, PLACE)
    assert trace.outcome is not None
    assert trace.outcome.details == expected
    assert trace.metadata["security"] is True


def test_agentdojo_errors_are_failed_calls() -> None:
    trace = trace_from_agentdojo(examples.AGENTDOJO, PLACE, header={"name": "m-1", "accuracy": 0.5})
    assert outline(trace) == snapshot(
        ["user/human text:'Pay.'", "assistant/agent", "  agent: pay {'n': 1} -> False ''"]
    )
    result = trace.calls[0].result
    assert result is not None
    assert result.error is not None
    assert (result.error.type, result.error.message) == ("ValueError", "no money")
    assert trace.metadata["run"] == {"name": "m-1", "accuracy": 0.5}


def test_the_same_conversation_of_two_agentdojo_runs_is_two_traces() -> None:
    one, other = (
        trace_from_agentdojo(examples.AGENTDOJO, PLACE, header={"name": name}) for name in "ab"
    )
    assert one.id != other.id


def test_tau2_users_use_tools_of_their_own() -> None:
    trace = trace_from_simulation(
        examples.TAU2, PLACE, info=examples.TAU2_INFO, task={"id": "7", "evaluation_criteria": {}}
    )
    assert outline(trace) == snapshot(
        [
            "assistant/harness text:'Hi! How can I help you today?'",
            "user/human text:'No signal.'",
            "  user: toggle {'on': True} -> True 'On'",
            "assistant/agent reasoning:'Hm.'",
            "  agent: look {} -> False 'Error: no line'",
        ]
    )
    assert [call.name for call in trace.actions] == ["look"]
    assert (trace.task_id, trace.system_prompt) == ("phone/7", "Be kind.")
    assert trace.outcome is not None
    assert trace.outcome.model_dump(exclude_unset=True, exclude_none=True) == snapshot(
        {
            "success": False,
            "reward": 0.0,
            "ended": False,
            "error": {"type": "max_steps"},
            "details": {"db_check": {"db_match": False}, "termination_reason": "max_steps"},
        }
    )


def test_who_and_when_thoughts_and_terminals() -> None:
    trace = trace_from_who_and_when(examples.WHO_AND_WHEN, PLACE)
    assert outline(trace) == snapshot(
        [
            "user/human text:'How many?'",
            "assistant/agent reasoning:'A plan.'",
            "assistant/agent text:'Count.'",
            "assistant/agent text:'```python\\nprint(6)\\n```'",
            "user/environment text:'6'",
        ]
    )
    assert [turn.name for turn in trace.turns] == snapshot(
        ["human", "Orchestrator", "Orchestrator", "Coder", "ComputerTerminal"]
    )
    assert trace.metadata["annotations"]["mistake_step"] == "3"


def test_adp_actions_and_whatever_is_observed() -> None:
    trace = trace_from_adp(examples.ADP, PLACE)
    assert outline(trace) == snapshot(
        [
            "user/human text:'Fix it.'",
            "assistant/agent text:'Try.'",
            "  agent: python {'code': 'print(1)'} -> None '1'",
            "assistant/agent",
            "  agent: browse {'url': 'u'} -> None {'class_': 'web_observation', 'html': '<p>'}",
            "assistant/agent text:'Done.'",
        ]
    )
    assert trace.outcome is not None
    assert trace.outcome.success is True


def test_nebius_takes_the_last_code_block() -> None:
    trace = trace_from_nebius_row(examples.NEBIUS, PLACE)
    assert outline(trace) == snapshot(
        [
            "user/human text:'Fix it.'",
            "assistant/agent text:'No:\\n```\\nls\\n```\\nbut:\\n'",
            "  agent: open {'command': 'open a.py\\n'} -> None '[File: a.py]'",
            "assistant/agent text:'I give up.'",
            "user/harness text:'Your output was not formatted correctly.'",
        ]
    )
    assert trace.outcome is not None
    assert (trace.outcome.success, trace.outcome.ended) == (False, False)


def test_alfworld_has_an_outcome_and_nothing_else() -> None:
    trace = trace_from_alfworld(examples.ALFWORLD, PLACE, run="base", trial=2)
    assert (trace.turns, trace.fidelity.fit_for) == ((), ())
    assert trace.metadata == {"memory": ["Look first."], "trial": 2}
    assert trace.session_id == "base/env_1"


def test_few_shot_texts_name_no_tool() -> None:
    trace = trace_from_few_shot(examples.FEW_SHOT, PLACE)
    assert outline(trace) == snapshot(
        [
            "user/human text:'Hi\\nthere'",
            "assistant/agent",
            "  agent: unknown None -> False 'Error: gone'",
            "assistant/agent text:'Sorry.'",
        ]
    )
    assert trace.fidelity.count("boundary_guessed") == 1


def test_react_texts_reflections_and_actions_that_are_none() -> None:
    (run,) = split_react_log(examples.REACT.split("\n"))
    assert (run.trial, run.section, run.line) == (1, "INCORRECT", 8)
    trace = trace_from_react(run, log="x", where="x")
    assert [line.split("\\n")[-1] for line in outline(trace)] == snapshot(
        [
            "user/human text:'Who?'",
            "- I guessed.'",
            "assistant/agent reasoning:'I look.'",
            "is it'} -> None 'Somebody.'",
            "assistant/agent reasoning:'I know.' text:'answer it'",
            "user/environment text:'Invalid Action.'",
        ]
    )
    assert trace.metadata == snapshot(
        {"trial": 1, "memory": ["I was hasty.", "I guessed."], "reference": {"answer": "Nobody"}}
    )
    assert trace.outcome is not None
    assert (trace.outcome.success, trace.outcome.ended) == (False, False)


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        ("Your proposed edit has introduced new syntax error(s). Please", "edit_rejected"),
        ("\nEXECUTION TIMED OUT", "timeout"),
        ("The command 'x' was cancelled because it took more than 30 seconds. Please", "timeout"),
        ("a log says: The command was cancelled because it took more than", None),
        ("Error: no such file", None),
        ("", None),
    ],
)
def test_swe_agent_says_of_few_failures_that_they_are(
    observation: str, expected: str | None
) -> None:
    step = {"action": "edit 1:1", "observation": observation, "response": "", "thought": ""}
    trace = trace_from_swe_agent({"trajectory": [step]}, PLACE, instance="a")
    result = trace.calls[0].result
    assert result is not None
    assert (result.ok, result.error.type if result.error else None) == (
        False if expected else None,
        expected,
    )


@pytest.mark.parametrize(
    "read",
    [
        lambda name: trace_from_swe_agent(examples.SWE_AGENT, PLACE, instance=name),
        lambda name: trace_from_mini_swe_agent(examples.MINI_SWE_AGENT, PLACE, instance=name),
        lambda name: trace_from_completion_log(examples.OPENHANDS_LOG, PLACE, instance=name),
        lambda name: trace_from_events(examples.OPENHANDS_EVENTS, PLACE, name=name),
    ],
    ids=["swe_agent", "mini_swe_agent", "openhands log", "openhands events"],
)
def test_a_renamed_file_is_the_same_trace(read: Callable[[str], Trace]) -> None:
    assert read("one").id == read("other").id
