"""A real small model as the agent in five rebuilt tests of the demo's office: at most 20 calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.local_model import local_model
from tracedance_sdk.demo import RevenueEmail
from tracedance_sdk.grading import Verdict
from tracedance_sdk.recording import TraceRecorder
from tracedance_sdk.replay import (
    STAMPS,
    FunctionAgent,
    FunctionGrader,
    JudgedRun,
    Players,
    RuleCustomer,
    RunLimits,
    Suite,
    SuiteSettings,
    rebuild,
    rows_of_runs,
    run_all,
)
from tracedance_sdk.replay.running import PROPER_ENDS
from tracedance_sdk.trace import Trace, call_key

pytestmark = pytest.mark.timeout(600)

MOST_TURNS = 4
MOST_TOKENS = 600
MOST_CALLS = 20
LEAST_FOUND = 2
"""Runs of the five that make a recorded call; four do, and the fifth breaks off with a call that
the model's server cannot read."""

Step = tuple[str, dict[str, str]]

OPEN: Step = ("open_spreadsheet", {"name": "Q3 Revenue"})
SELECT: Step = ("select_range", {"range": "B4:B11"})
SUM: Step = ("calculate_sum", {})
SAM: Step = ("select_contact", {"name": "Sam"})
WRITE: Step = ("compose_email", {"body": "See you on Monday."})

ASKED: dict[str, tuple[str, tuple[Step, ...]]] = {
    "sheet": ("Please open the spreadsheet named 'Q3 Revenue'.", (OPEN,)),
    "contact": ("Please select the contact named 'Sam'.", (SAM,)),
    "mail": ("Please write a mail with the body 'See you on Monday.'", (WRITE,)),
    "range": (
        "Please open the spreadsheet 'Q3 Revenue', then select the range 'B4:B11'.",
        (OPEN, SELECT),
    ),
    "total": (
        "Please open the spreadsheet 'Q3 Revenue', select 'B4:B11', and calculate its sum.",
        (OPEN, SELECT, SUM),
    ),
}
ABOUT = {
    "open_spreadsheet": ("Open a spreadsheet.", "name"),
    "select_range": ("Select a range of cells in the open spreadsheet.", "range"),
    "calculate_sum": ("Calculate the sum of the selected range.", None),
    "select_contact": ("Select the contact who gets the mail.", "name"),
    "compose_email": ("Write the body of the mail.", "body"),
}


def tools() -> list[dict[str, Any]]:
    """Return the office's tools, defined; all of them change what is on the screen."""
    found = []
    for name, (description, argument) in ABOUT.items():
        names = [argument] if argument else []
        schema = {
            "type": "object",
            "properties": {word: {"type": "string"} for word in names},
            "required": names,
        }
        given = {"description": description, "parameters": schema}
        found.append({"name": name, "effect": "write", "origin": "recorded", **given})
    return found


def recorded(name: str) -> Trace:
    """Return a short conversation in the office, recorded."""
    request, steps = ASKED[name]
    office = RevenueEmail()
    with TraceRecorder(session_id=name, agent="clerk", journal=False, tools=tools()) as recorder:
        recorder.record_turn("user", request)
        for number, (kind, given) in enumerate(steps):
            with recorder.call(kind, given, id=f"{name}-{number}") as call:
                call.result = office.execute({"type": kind, "input": given})
        recorder.record_turn("assistant", "It is done.")
    return recorder.trace


class LocalAgent:
    """Asks the model for the next message, and counts what it sent."""

    def __init__(self, address: str) -> None:
        from openai import OpenAI

        self._client = OpenAI(
            base_url=f"{address}/v1", api_key="unused", max_retries=0, timeout=120
        )
        self.n_asked = 0
        self.prompt_tokens: list[int] = []

    def __call__(self, messages: list[Any], tools: list[Any]) -> dict[str, Any]:
        self.n_asked += 1
        assert self.n_asked <= MOST_CALLS
        reply = self._client.chat.completions.create(
            model="local", messages=messages, tools=tools, temperature=0, max_tokens=120
        )
        assert reply.usage is not None
        self.prompt_tokens.append(reply.usage.prompt_tokens)
        return reply.model_dump(mode="json")


def did_all(trace: Trace) -> bool:
    """Whether the office, asked to do what the run did, does all that the recorded clerk did."""
    office = RevenueEmail()
    done = [
        call_key(call.name, call.arguments)
        for call in trace.actions
        if office.execute({"type": call.name, "input": call.arguments})["success"]
    ]
    wanted = ASKED[str(trace.metadata["rebuilt_test"])][1]
    return {call_key(name, given) for name, given in wanted} <= set(done)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with local_model() as found:
        yield found


def test_a_model_is_put_into_five_rebuilt_conversations(address: str) -> None:
    suite = Suite(rebuild([recorded(name) for name in ASKED]).tests)
    agent = LocalAgent(address)
    players = Players(
        agent=lambda: FunctionAgent(agent, "local"),
        customer=RuleCustomer,
        grader=FunctionGrader(did_all, "did-all"),
    )
    limits = RunLimits(max_turns=MOST_TURNS)
    found = run_all(suite, players, SuiteSettings(concurrency=1, retries=0, limits=limits))
    runs = [item for item in found if isinstance(item, JudgedRun)]
    assert [item.run.test.id for item in runs] == list(ASKED)
    for item in runs:
        check(item)
    n_turns = sum(turn.role == "assistant" for item in runs for turn in item.run.trace.turns)
    n_failed = sum(item.run.ended == "agent_error" for item in runs)
    assert agent.n_asked == n_turns + n_failed <= MOST_CALLS
    assert max(agent.prompt_tokens) <= MOST_TOKENS
    assert sum(item.run.stamps["same"] > 0 for item in runs) >= LEAST_FOUND
    rows = list(rows_of_runs(found))
    assert [row.subject.trace_id for row in rows] == [item.run.trace.id for item in runs]


def check(item: JudgedRun) -> None:
    """Every answer is stamped and recorded, and the verdict keeps to what it rests on."""
    run = item.run
    calls = run.trace.actions
    assert [(call.model_extra or {})["answer"]["stamp"] for call in calls] == [
        answer.stamp for answer in run.answers
    ]
    assert {answer.stamp for answer in run.answers} <= set(STAMPS) - {"pure", "simulated"}
    assert run.trace.metadata["rebuilt_test"] == run.test.id
    assert run.trace.turns[0].text == ASKED[run.test.id][0]
    if run.ended in PROPER_ENDS:
        assert item.raw_verdict is (Verdict.PASS if did_all(run.trace) else Verdict.FAIL)
    else:
        assert item.raw_verdict is Verdict.FAIL
    barred = "failed" in item.doubts or "stale" in item.doubts
    assert item.verdict is (Verdict.INCONCLUSIVE if barred else item.raw_verdict)
