"""A real model judges, behind its OpenAI and its Anthropic endpoint: at most fifteen calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_context_writing import call, numbered, turn
from tests.support.local_model import count_calls, local_model, name_at
from tests.support.shared_data import shared_data
from tracedance_sdk.cli import run
from tracedance_sdk.formats import save_trace
from tracedance_sdk.grading import read_results
from tracedance_sdk.judging import rows_of_rubric
from tracedance_sdk.trace import ToolDefinition, Trace, Turn, assess

pytestmark = pytest.mark.timeout(600)
REAL = ("openai-agents-2025", "langgraph-python-2025", "claude-agent-2025")
"""Small real traces with tools, of at most 2,500 tokens."""

OPTIONS = ("--temperature", "0", "--concurrency", "1", "--retries", "0", "--offline")
RUBRIC = """\
format: tracedance.rubric
version: 1
id: sound-step
title: A sound next step
about: turn
question: >-
  Does the response give the user what was asked for, as the results in the trace have it?
levels:
  0: It is wrong, off the subject, or against what the user said.
  2: It is right, but only a part of what was asked for.
  5: It gives the user what was asked for, as the results have it.
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with local_model() as found:
        yield found


def asked(command: list[str], out: Path) -> int:
    """Run a verb, count what it sent, and return its exit code."""
    code = run([*command, "--out", str(out), *OPTIONS])
    count_calls(out)
    return code


def test_what_a_model_goes_on_with_is_judged(address: str, tmp_path: Path) -> None:
    folder = shared_data("langfuse-framework-traces")
    sources = [str(next(folder.rglob(f"{name}*.trace.json"))) for name in REAL]
    taken, out = tmp_path / "taken", tmp_path / "out"
    model = name_at(address, "openai")
    code = asked(["next-turn", *sources, "--model", model, "--max-tokens", "150"], taken)
    replies = read_results(taken).rows
    # A small model now and then writes a call that its server cannot read.
    answers = [row for row in replies if row.missing_reason is None]
    assert len(replies) == 3
    assert len(answers) >= 2
    assert code == (0 if len(answers) == 3 else 3)

    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    judge = ["--rubric", str(tmp_path / "rubric.yaml"), "--model", name_at(address, "anthropic")]
    limits = ["--max-tokens", "400", "--max-characters", "4000", "--max-calls", "3"]
    traces = [option for source in sources for option in ("--traces", source)]
    asked(["judge", str(taken), *traces, *judge, *limits], out)
    rows = rows_of_rubric(read_results(out).rows, "sound-step")
    assert len(rows) == len(answers)
    scores = [(row.model_extra or {}).get("rubric_score") for row in rows]
    # Behind this API it may write prose before the call that was asked for, to the cap on tokens.
    assert any(score is not None for score in scores)
    assert all(score is None or 0 <= score <= 5 for score in scores)
    missing = read_results(out).manifest["missing"]
    assert missing.keys() <= {"cut_off", "unparsable", "not_asked"}


MAIL = ToolDefinition(
    name="send_mail",
    description="Sends a mail.",
    parameters={"type": "object", "properties": {"to": {"type": "string"}}},
)


def run_with(name: str, worth: str) -> Trace:
    """Return a run that ends with one turn of a pair."""
    asked_for, result, *ends = PAIRS[name]
    last = ends[worth == "bad"]
    look = call("look_up", result, ok=True, what="it")
    turns = numbered(turn("user", asked_for), turn("assistant", calls=[look]), last)
    tools = (ToolDefinition(name="look_up", description="Looks something up."), MAIL)
    return assess(Trace(id=f"{name} {worth}", task_id=name, turns=turns, tools=tools))


SENDING = call("send_mail", to="sam@example.org").model_copy(update={"index": 1})
PAIRS: dict[str, tuple[str, Any, Turn, Turn]] = {
    "a total": (
        "What is the total of the invoice?",
        {"total": 482.5, "currency": "EUR"},
        turn("assistant", "The total is 482.50 EUR."),
        turn("assistant", "The total is 9,999.00 EUR."),
    ),
    "off the subject": (
        "Is the shop open on Sunday?",
        {"sunday": "closed"},
        turn("assistant", "No, the shop is closed on Sunday."),
        turn("assistant", "Bananas are yellow, and I like to sing."),
    ),
    "a prohibition": (
        "Find Sam's address. Do not send any mail.",
        {"name": "Sam", "address": "sam@example.org"},
        turn("assistant", "Sam's address is sam@example.org. I sent no mail."),
        turn("assistant", "I do not care.", calls=[SENDING]),
    ),
    "the weather": (
        "What is the weather like in Oslo?",
        {"weather": "rain", "celsius": 4},
        turn("assistant", "It rains in Oslo, at 4 degrees."),
        turn("assistant", "It is sunny in Oslo, at 31 degrees."),
    ),
}


def test_the_better_of_two_turns_scores_higher(address: str, tmp_path: Path) -> None:
    for name in PAIRS:
        for worth in ("good", "bad"):
            save_trace(run_with(name, worth), tmp_path / "traces" / f"{name} {worth}.json")
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    out = tmp_path / "out"
    judge = ["--rubric", str(tmp_path / "rubric.yaml"), "--model", name_at(address, "openai")]
    limits = ["--max-tokens", "400", "--max-calls", "9"]
    asked(["judge", str(tmp_path / "traces"), *judge, *limits], out)
    rows = rows_of_rubric(read_results(out).rows, "sound-step")
    scores = {row.subject.trace_id: (row.model_extra or {}).get("rubric_score") for row in rows}
    assert len(scores) == 8
    better = {}
    for name in PAIRS:
        good, bad = scores[f"{name} good"], scores[f"{name} bad"]
        better[name] = good is not None and bad is not None and good > bad
    assert sum(better.values()) >= 3, scores
