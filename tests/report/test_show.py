"""A trace turn by turn: everything is there, nothing is obeyed, long things are shortened."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot

from tracedance_sdk.report import print_trace, report_console
from tracedance_sdk.trace import (
    Agent,
    Call,
    ErrorInfo,
    Media,
    Outcome,
    Parent,
    Reasoning,
    Result,
    Source,
    Text,
    Trace,
    Turn,
    assess,
)


def test_a_replayed_call_shows_where_its_answer_came_from() -> None:
    answers = (
        {"stamp": "other", "origin": {"conversation": "t\x1b[2J7"}, "stale": True},
        {"stamp": "failed", "miss": "something_new"},
        {"stamp": 7},
    )
    calls = tuple(
        Call.model_validate({"index": n, "id": f"c{n}", "name": "look", "answer": answer})
        for n, answer in enumerate(answers)
    )
    turn = Turn(index=0, role="assistant", origin="agent", calls=calls)
    out = io.StringIO()
    print_trace(Trace(id="t", turns=(turn,)), report_console(out, width=100))
    told = [line.strip() for line in out.getvalue().splitlines() if "answered:" in line]
    assert len(told) == 2
    assert told[0].startswith("answered: other, recorded in t")
    assert told[0].endswith(", stale")
    assert "\x1b" not in told[0]
    assert told[1] == "answered: failed, miss something_new"


EVERYTHING = Trace(
    id="3f2a",
    agent=Agent(name="mailer", version="2"),
    task_id="revenue-email",
    parent=Parent(trace_id="77", call_id="c1"),
    source=Source(collector="traceeval", uri="runs/a.json"),
    started_at=datetime(2026, 1, 17, 9, 30, tzinfo=UTC),
    system_prompt="Be brief.",
    outcome=Outcome(success=True, reward=1.0),
    initial_state={"email": {"sent": False}, "draft": 1},
    final_state={"email": {"sent": True, "to": "Sam"}},
    turns=(
        Turn(index=0, role="user", origin="human", content=(Text(text="Mail [b]Sam[/b].\nNow."),)),
        Turn(
            index=1,
            role="assistant",
            origin="agent",
            model="m-1",
            content=(Reasoning(text="First look."), Media(modality="image", uri="a.png")),
            calls=(
                Call(
                    index=0,
                    id="1",
                    name="look",
                    arguments={"what": "contacts " * 30},
                    result=Result(ok=True, content={"found": ["Sam"]}),
                    duration_ms=1.26,
                ),
                Call(
                    index=1,
                    id="2",
                    name="nested",
                    arguments={},
                    requested_by="tool",
                    parent_call_id="1",
                    result=Result(ok=False, error=ErrorInfo(type="ValueError", message="no\nway")),
                ),
                Call(index=2, id="3", name="send", raw_arguments='{"to": ', arguments={"to": "S"}),
                Call(index=3, id="4", name="stop", result=Result(interrupted=True)),
            ),
        ),
        Turn(
            index=2,
            role="assistant",
            origin="agent",
            synthetic=True,
            calls=(
                Call(
                    index=4,
                    id="5",
                    name="wipe",
                    arguments={"text": "\x1b[2J"},
                    result=Result(content="\x1b]0;owned\x07"),
                    state_change=[{"op": "remove", "path": "/draft"}],
                ),
            ),
        ),
    ),
)


def shown(trace: Trace, *, width: int = 80, full: bool = False) -> str:
    stream = io.StringIO()
    print_trace(trace, report_console(stream, width=width), full=full)
    return stream.getvalue()


def test_every_part_of_a_trace_is_shown() -> None:
    assert shown(assess(EVERYTHING)) == snapshot("""\
trace 3f2a
agent mailer 2
task revenue-email
parent 77 call c1
source traceeval runs/a.json
started 2026-01-17T09:30:00.000+00:00
3 turns, 5 calls, 1 failed
outcome {"success":true,"reward":1.0}

system prompt
  Be brief.

[0] user (human)
  Mail [b]Sam[/b].
  Now.

[1] assistant (agent, m-1)
  reasoning:
    First look.
  (image a.png)
  1. look {"what":"contacts contacts contacts contacts contacts contacts...
     ok {"found":["Sam"]}  (1.26 ms)
    2. nested (by tool) {}
       failed ValueError: no way
  3. send {"to":"S"}
     no result was recorded
  4. stop (unknown)
     interrupted

[2] assistant (agent, made outside any model turn)
  5. wipe {"text":"\\u001b[2J"}
     returned \\x1b]0;owned\\x07
     remove /draft

state
  replace /email/sent = true (was false)
  add /email/to = Sam
  remove /draft (was 1)

fidelity
  fit for reading, state grading, next turn
  1 x arguments_unknown: a call whose arguments were not recorded
      (turns[1].calls[3])
  1 x result_interrupted: a call that never came to its end
      (turns[1].calls[3])
  1 x result_missing: a call whose result was never recorded
      (turns[1].calls[2])
  5 x tools_missing: calls of a tool without a definition
      (turns[1].calls[0], turns[1].calls[1], turns[1].calls[2],
      turns[1].calls[3], turns[2].calls[0])
""")


def test_turns_are_counted_as_the_trace_counts_them() -> None:
    turns = tuple(Turn(index=n, role="user", origin="human") for n in range(3))
    headings = [line for line in shown(Trace(id="t", turns=turns)).splitlines() if line[:1] == "["]
    assert headings == [f"[{turn.index}] user (human)" for turn in turns]


def test_nothing_in_a_trace_reaches_the_terminal_as_a_command() -> None:
    text = shown(EVERYTHING, full=True)
    assert "\x1b" not in text
    assert "[b]Sam[/b]" in text


def test_full_shows_what_is_shortened_otherwise() -> None:
    long = "x" * 5_000
    turn = Turn(index=0, role="user", origin="human", content=(Text(text=f"{long}\n" * 20),))
    trace = Trace(id="t", turns=(turn,))
    assert shown(trace).count("x") < 30_000
    assert "(8 more lines)" in shown(trace)
    assert shown(trace, full=True).count("x") == 100_000


def test_the_rest_of_a_long_line_is_set_in_as_its_beginning_and_one_line_more_is_no_word() -> None:
    text = f"    - {'word ' * 20}\n" + "\n".join(f"line {n}" for n in range(12))
    turn = Turn(index=0, role="user", origin="human", content=(Text(text=text),))
    told = shown(Trace(id="t", turns=(turn,)), width=60)
    block = told.split("[0] user (human)\n")[1].split("\n\n")[0].splitlines()
    assert [line[:10] for line in block[:3]] == ["      - wo", "      word", "  line 0"]
    assert block[-1] == "  line 11"
    longer = Turn(index=0, role="user", origin="human", content=(Text(text=f"{text}\nlast"),))
    assert "  (2 more lines)\n" in shown(Trace(id="t", turns=(longer,)), width=60)


@pytest.mark.parametrize("width", [10, 20, 40, 200])
def test_lines_fit_the_terminal(width: int) -> None:
    longest = max(len(line) for line in shown(EVERYTHING, width=width).splitlines())
    assert longest <= max(width, 16)


def test_a_state_never_seen_and_one_seen_once_are_told_apart() -> None:
    assert "never seen" in shown(Trace(id="t"))
    assert "final state only" in shown(Trace(id="t", final_state=None))
    assert "unchanged" in shown(Trace(id="t", initial_state=None, final_state=None))


@pytest.mark.parametrize("full", [False, True], ids=["shortened", "whole"])
def test_a_failed_call_shows_its_error_and_what_it_gave(full: bool) -> None:
    def failing(**result: object) -> Call:
        kept = Result.model_validate({"ok": False, **result})
        return Call(index=0, id="1", name="pytest", arguments={}, result=kept)

    error = {"type": "ExitCode", "message": "2"}
    both = failing(error=error, content="2 failed, 7 passed")
    assert call_shown(both, full=full) == "failed ExitCode: 2\noutput 2 failed, 7 passed"
    for content in ("2", "ExitCode: 2", "", None):
        same = failing(error=error, content=content)
        assert call_shown(same, full=full) == "failed ExitCode: 2"
    assert call_shown(failing(content="none"), full=full) == "failed none"


def call_shown(call: Call, *, full: bool) -> str:
    """What is printed below the call's own line."""
    turn = Turn(index=0, role="assistant", origin="agent", calls=(call,))
    text = shown(Trace(id="t", turns=(turn,)), full=full)
    block = text.split("pytest {}\n")[1].split("\n\n")[0]
    return "\n".join(line.strip() for line in block.splitlines())
