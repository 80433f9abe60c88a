"""Contexts that a program rewrites: what repeats is told once, calls are made once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.formats import Message, request_from_chat, request_from_responses
from tracedance_sdk.recording.integrating import ModelReply, ToolUse, start_agent, start_model_call
from tracedance_sdk.trace import Trace, encode_json

Body = dict[str, Any]

ONE = ("c1", 1)
TWO = ("c2", 2)


def user(text: str) -> Body:
    return {"role": "user", "content": text}


def words(text: str) -> Body:
    return {"role": "assistant", "content": text}


def asking(call_id: str, number: int, text: str | None = None) -> Body:
    function = {"name": "look", "arguments": f'{{"n": {number}}}'}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


def answer(call_id: str, text: str = "seen") -> Body:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def ask(messages: Sequence[Body], reply: str | Body, **more: Any) -> None:
    call = start_model_call(lambda: request_from_chat({"messages": list(messages), **more}))
    assert call is not None
    body = words(reply) if isinstance(reply, str) else reply
    call.succeed(lambda: ModelReply(request_from_chat({"messages": [body]}).messages[0]))


def told(trace: Trace) -> list[Any]:
    """Return each turn in short: a reply to a context that is marked begins with a star."""
    found: list[Any] = []
    for turn in trace.turns:
        mark = "*" if turn.context_rewritten else "+" if turn.copied_context else ""
        calls = [(call.id, call.result and call.result.content) for call in turn.calls]
        found.append((mark + turn.role[0], turn.text, *calls))
    return found


@pytest.mark.parametrize("way", ["told", "seen"])
@pytest.mark.parametrize("edited", ["first", "last"])
def test_calls_are_made_once_however_messages_are_edited(edited: str, way: str) -> None:
    @td.tool
    def look(n: int) -> str:
        return "seen"

    with td.TraceRecorder() as recorder:
        history = [user("Look.")]
        for step, reply in enumerate((asking(*ONE), asking(*TWO), words("Done."))):
            sent = [dict(message) for message in history]
            place = 0 if edited == "first" else -1
            sent[place]["content"] += f" It is {step} o'clock."
            ask(sent, reply)
            history.append(reply)
            for call_id, number in (ONE, TWO)[step : step + 1]:
                history.append(answer(call_id))
                if way == "seen":
                    look(number)
    trace = recorder.trace
    assert [call.id for call in trace.actions] == ["c1", "c2"]
    assert [call.id for call in trace.calls] == ["c1", "c2"]
    assert all(call.result is not None for call in trace.calls)
    marks = [turn.context_rewritten for turn in trace.turns if turn.role == "assistant"]
    assert marks == [False, True, True]
    kinds = {note.kind for note in trace.fidelity.notes}
    assert not kinds & {"duplicate_call_id", "result_missing"}


def test_after_an_edit_only_the_edited_message_is_new() -> None:
    rest = (asking(*ONE), answer("c1"), asking(*TWO), answer("c2"))
    with td.TraceRecorder() as recorder:
        ask([user("Look."), *rest[:0]], rest[0])
        ask([user("Look."), *rest[:2]], rest[2])
        ask([user("Look, it is noon."), *rest], "Done.")
        ask([user("Look, it is noon."), *rest, words("Done."), user("Sure?")], "Yes.")
    assert told(recorder.trace) == [
        ("u", "Look."),
        ("a", "", ("c1", "seen")),
        ("a", "", ("c2", "seen")),
        ("u", "Look, it is noon."),
        ("*a", "Done."),
        ("u", "Sure?"),
        ("*a", "Yes."),
    ]


def test_a_reply_that_was_edited_asks_for_nothing_again() -> None:
    with td.TraceRecorder() as recorder:
        ask([user("Look.")], asking(*ONE, text="I look, my dear."))
        ask([user("Look."), asking(*ONE, text="I look."), answer("c1")], "Done.")
    assert told(recorder.trace) == [
        ("u", "Look."),
        ("a", "I look, my dear.", ("c1", "seen")),
        ("+a", "I look."),
        ("*a", "Done."),
    ]


def test_a_reply_whose_thoughts_were_cut_out_is_no_second_turn() -> None:
    with td.TraceRecorder() as recorder:
        ask([user("Look.")], asking(*ONE, text="<think>Hm.</think>I look."))
        ask([user("Look."), asking(*ONE, text="I look."), answer("c1")], "<think>So.</think>Done.")
        grown = [user("Look."), asking(*ONE, text="I look."), answer("c1"), words("Done.")]
        ask([*grown, user("Sure?")], "Yes.")
    texts = [(mark, text) for mark, text, *_ in told(recorder.trace)]
    assert texts == [
        ("u", "Look."),
        ("a", "<think>Hm.</think>I look."),
        ("*a", "<think>So.</think>Done."),
        ("u", "Sure?"),
        ("*a", "Yes."),
    ]


def test_words_that_are_left_out_take_no_call_away_where_ids_are_used_again() -> None:
    history = [user("Look.")]
    with td.TraceRecorder() as recorder:
        for number in range(3):
            ask(history, asking("call_0", number, text="I look."))
            history += [asking("call_0", number), answer("call_0", f"seen {number}")]
        ask(history, "Done.")
    assert told(recorder.trace) == [
        ("u", "Look."),
        ("a", "I look.", ("call_0", "seen 0")),
        ("*a", "I look.", ("call_0", "seen 1")),
        ("*a", "I look.", ("call_0", "seen 2")),
        ("*a", "Done."),
    ]


def test_a_result_that_was_cleared_is_marked() -> None:
    history = [user("Look."), asking(*ONE), answer("c1", "a long text")]
    with td.TraceRecorder() as recorder:
        ask(history[:1], history[1])
        ask(history, asking(*TWO))
        ask([*history[:2], answer("c1", "[cleared]"), asking(*TWO), answer("c2")], "Done.")
    assert told(recorder.trace) == [
        ("u", "Look."),
        ("a", "", ("c1", "a long text")),
        ("a", "", ("c2", "seen")),
        ("*a", "Done."),
    ]


def test_a_summary_in_the_place_of_the_history_leaves_its_calls_what_they_are() -> None:
    history = [user("Look."), asking(*ONE), answer("c1"), asking(*TWO), answer("c2")]
    with td.TraceRecorder() as recorder:
        ask(history[:1], history[1])
        ask(history[:3], history[3])
        ask([user("In short: it looked."), *history[3:]], "Done.")
    assert told(recorder.trace) == [
        ("u", "Look."),
        ("a", "", ("c1", "seen")),
        ("a", "", ("c2", "seen")),
        ("u", "In short: it looked."),
        ("*a", "Done."),
    ]


def windows() -> Iterator[tuple[str, list[list[Body]], list[tuple[str, str]]]]:
    a, b, c, d = (user(letter) for letter in "abcd")
    r0, r1, r2 = (words(f"r{n}") for n in range(3))
    yield "the same again", [[a], [a]], [("u", "a"), ("a", "r0"), ("*a", "r1")]
    yield (
        "a sliding window",
        [[a], [a, r0, b], [r0, b, r1, c], [c, r2, d]],
        [
            *(("u", "a"), ("a", "r0"), ("u", "b"), ("a", "r1")),
            *(("u", "c"), ("*a", "r2"), ("u", "d"), ("*a", "r3")),
        ],
    )
    yield (
        "a window that only slides",
        [[a, r2, b], [r2, b, r0, c]],
        [("u", "a"), ("+a", "r2"), ("u", "b"), ("a", "r0"), ("u", "c"), ("*a", "r1")],
    )
    yield (
        "another last message",
        [[a], [a, r0, b], [a, r0, c]],
        [("u", "a"), ("a", "r0"), ("u", "b"), ("a", "r1"), ("u", "c"), ("*a", "r2")],
    )
    yield (
        "words of an earlier one",
        [[a], [b], [a]],
        [("u", "a"), ("a", "r0"), ("u", "b"), ("*a", "r1"), ("u", "a"), ("*a", "r2")],
    )
    yield (
        "another conversation that uses the same words",
        [[a], [a, r0, b], [c], [c, r2, b]],
        [
            *(("u", "a"), ("a", "r0"), ("u", "b"), ("a", "r1")),
            *(("u", "c"), ("*a", "r2"), ("u", "b"), ("*a", "r3")),
        ],
    )
    yield (
        "as it was told",
        [[a], [a, r0, a], [a, r0, a, r1, a]],
        [("u", "a"), ("a", "r0"), ("u", "a"), ("a", "r1"), ("u", "a"), ("a", "r2")],
    )


@pytest.mark.parametrize(
    ("requests", "wanted"), [(r, w) for _, r, w in windows()], ids=[i for i, *_ in windows()]
)
def test_a_context_that_is_not_the_turns_before_is_marked(
    requests: list[list[Body]], wanted: list[tuple[str, str]]
) -> None:
    with td.TraceRecorder() as recorder:
        for number, messages in enumerate(requests):
            ask(messages, f"r{number}")
    assert told(recorder.trace) == wanted
    noted = recorder.trace.fidelity.count("boundary_guessed")
    assert noted == sum(mark == "*a" for mark, _ in wanted)


def test_a_request_that_is_sent_again_because_it_failed_is_not_marked() -> None:
    with td.TraceRecorder() as recorder:
        call = start_model_call(lambda: request_from_chat({"messages": [user("Look.")]}))
        assert call is not None
        call.fail(ConnectionError("gone"))
        ask([user("Look.")], "Done.")
    assert told(recorder.trace) == [("u", "Look."), ("a", ""), ("a", "Done.")]


def test_calls_of_copied_context_are_no_actions_of_the_trace(tmp_path: Path) -> None:
    with td.TraceRecorder() as recorder:
        ask([user("Look."), asking(*ONE), answer("c1"), user("Again.")], asking(*TWO))
        ToolUse("look", {"n": 2}, "c2").run(lambda: "seen")
    trace = recorder.trace
    assert told(trace) == [
        ("u", "Look."),
        ("+a", "", ("c1", "seen")),
        ("u", "Again."),
        ("a", "", ("c2", "seen")),
    ]
    assert [call.id for call in trace.calls] == ["c1", "c2"]
    assert [call.id for call in trace.actions] == ["c2"]
    path = tmp_path / "trace.json"
    path.write_bytes(encode_json(trace))
    assert [call.id for call in td.load_trace(path).actions] == ["c2"]
    never = {"id": "x", "critical_errors": [{"action": "look", "matches": {"n": 1}}]}
    assert td.evaluate(trace, never).verdict == "pass"


def test_a_call_that_an_earlier_run_asked_for_and_this_one_made_is_an_action() -> None:
    shown = [user("Look."), asking(*ONE)]
    with td.TraceRecorder() as recorder:
        start_agent("clerk").recall(lambda: request_from_chat({"messages": shown}))
        ToolUse("look", {"n": 1}, "c1").run(lambda: "seen")
        ask([*shown, answer("c1")], "Done.")
    trace = recorder.trace
    assert told(trace) == [("u", "Look."), ("+a", "", ("c1", "seen")), ("a", "Done.")]
    (call,) = trace.actions
    assert call.made_here
    never = {"id": "x", "critical_errors": [{"action": "look", "matches": {"n": 1}}]}
    assert td.evaluate(trace, never).verdict == "critical"


def test_the_call_of_a_handoff_is_an_action_of_the_first_trace_alone() -> None:
    with td.TraceRecorder(agent="clerk") as recorder:
        ask([user("Look.")], asking(*ONE))
        ToolUse("look", {"n": 1}, "c1").run(lambda: "over to you")
        helper = start_agent("helper", call_id="c1")
        tokens = helper.enter()
        ask([user("Look."), asking(*ONE), answer("c1", "over to you")], "Done.")
        helper.leave(tokens)
        helper.succeed(None)
    first, second = recorder.traces
    assert [call.id for call in first.actions] == ["c1"]
    assert told(second) == [("u", "Look."), ("+a", "", ("c1", "over to you")), ("a", "Done.")]
    assert second.actions == ()


def test_calls_of_loops_at_once_go_to_the_requests_with_their_arguments() -> None:
    @td.tool
    def look(who: str, n: int) -> str:
        return f"{who}{n}"

    def loop(who: str) -> Iterator[None]:
        history = [user(who)]
        for n in range(2):
            function = {"name": "look", "arguments": f'{{"who": "{who}", "n": {n}}}'}
            call = {"id": f"{who}{n}", "type": "function", "function": function}
            reply = {"role": "assistant", "content": None, "tool_calls": [call]}
            ask(history, reply)
            yield
            history += [reply, answer(f"{who}{n}", look(who, n))]
            yield
        ask(history, f"{who} is done.")

    with td.TraceRecorder() as recorder:
        first, second = loop("a"), loop("b")
        for _ in range(6):
            next(first, None)
            next(second, None)
    found = [
        (call.id, call.arguments, call.bound_by, call.result and call.result.content)
        for call in recorder.trace.actions
    ]
    assert sorted(found, key=str) == [
        (f"{who}{n}", {"who": who, "n": n}, "key", f"{who}{n}") for who in "ab" for n in range(2)
    ]


def test_a_call_with_other_arguments_goes_to_the_open_turn_by_its_name() -> None:
    with td.TraceRecorder() as recorder:
        ask([user("a")], asking(*ONE))
        ask([user("b")], asking(*TWO))
        for number in (3, 1):
            with recorder.call("look", {"n": number}) as call:
                call.result = "seen"
    found = [(call.id, call.arguments, call.bound_by) for call in recorder.trace.calls]
    assert found == [("c1", {"n": 1}, "key"), ("c2", {"n": 3}, "order")]


def test_all_that_a_sub_agent_is_asked_before_it_replies_is_its_callers() -> None:
    def work() -> None:
        agent = start_agent("helper")
        tokens = agent.enter()
        asked = [user("You get a question."), user("What is it?")]
        failed = start_model_call(lambda: request_from_chat({"messages": asked[:1]}))
        assert failed is not None
        failed.fail(ConnectionError("gone"))
        ask(asked, "Noon.")
        ask([*asked, words("Noon."), user("Sure?")], "Yes.")
        agent.leave(tokens)
        agent.succeed(None)

    with td.TraceRecorder(agent="clerk") as recorder:
        ToolUse("ask", {}).run(work)
    helper = recorder.traces[1]
    origins = [turn.origin for turn in helper.turns if turn.role == "user"]
    assert origins == ["agent", "agent", "human"]


def respond(reply: str, **body: Any) -> None:
    call = start_model_call(lambda: request_from_responses({"model": "m", **body}))
    assert call is not None
    said = Message("assistant", ({"type": "text", "text": reply},))
    call.succeed(lambda: ModelReply(said, response_id=reply))


def test_a_reply_that_follows_another_one_than_the_last_is_marked() -> None:
    with td.TraceRecorder() as recorder:
        respond("r0", input="a")
        respond("r1", input="b", previous_response_id="r0")
        respond("r2", input="c", previous_response_id="r1")
        respond("r3", input="d", previous_response_id="r1")
        respond("r4", input="e", previous_response_id="from another run")
    replies = [
        (turn.text, turn.context_rewritten)
        for turn in recorder.trace.turns
        if turn.role == "assistant"
    ]
    assert replies == [("r0", False), ("r1", False), ("r2", False), ("r3", True), ("r4", True)]
