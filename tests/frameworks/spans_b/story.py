"""One agent's day, played in every framework: what its model says, what its tools bring."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tests.support.scripted_models import Answer, Request, ScriptedModels, scripted_models
from tests.support.scripted_streams import streamed
from tracedance_sdk.trace import Call, Trace, Turn

MODEL: Final = "gpt-x"
ANSWERING: Final = "gpt-x-1"
SYSTEM: Final = "You book trains. Look at the weather first."
USER: Final = "Book me a train to Rome."
WEATHER: Final = {"sky": "clear", "degrees": 21}
BOOKED: Final = {"ticket": "T-1"}
NO_SEATS: Final = "no seats left today"
FINAL: Final = "Booked: T-1 to Rome, tomorrow."
SECRET: Final = "sk-proj-" + "Ab3dEf6h" * 6

Call3 = tuple[str, str, dict[str, Any]]
"""Id, name and arguments of a call."""


def look_up_weather(city: str) -> dict[str, Any]:
    """Tell the weather in a city."""
    return WEATHER


def book_train(to: str, day: str) -> dict[str, Any]:
    """Book a train to a city on a day."""
    if day == "today":
        raise RuntimeError(NO_SEATS)
    return BOOKED


def reply(text: str | None, *calls: Call3, tokens: tuple[int, int]) -> dict[str, Any]:
    """Return a reply of the chat completions API."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if calls:
        message["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for i, n, a in calls
        ]
    given, made = tokens
    reason = "tool_calls" if calls else "stop"
    return {
        "id": f"chatcmpl-{given}",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": ANSWERING,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": given,
            "completion_tokens": made,
            "total_tokens": given + made,
        },
    }


_ROME: Final = ("call_w1", "look_up_weather", {"city": "Rome"})

STORY: Final = (
    reply("First the weather.", _ROME, tokens=(101, 11)),
    reply(None, ("call_b1", "book_train", {"to": "Rome", "day": "today"}), tokens=(102, 12)),
    reply(None, ("call_b2", "book_train", {"to": "Rome", "day": "tomorrow"}), tokens=(103, 13)),
    reply(FINAL, tokens=(104, 14)),
)
"""A look at the weather, a booking that fails, one that does not, and the answer."""

BOTH: Final = (
    reply(None, _ROME, ("call_w2", "look_up_weather", {"city": "Paris"}), tokens=(101, 11)),
    reply("Both are clear.", tokens=(102, 12)),
)
"""Two calls in one turn."""

BROKEN: Final = (
    STORY[0],
    Answer({"error": {"message": "too long", "type": "invalid_request_error"}}, status=400),
)
"""The model's second answer is a refusal of the API."""

GUIDE: Final = "You guide people."
TELLER: Final = "You tell the weather."
QUESTION: Final = "How is Rome?"
TASK: Final = "Weather in Rome?"
TOLD: Final = "It is clear in Rome."


def delegating(name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return the replies of a guide that asks another agent, and of that one."""
    return (
        reply(None, ("call_d1", name, arguments), tokens=(201, 21)),
        reply(None, _ROME, tokens=(301, 31)),
        reply(TOLD, tokens=(302, 32)),
        reply("Rome is clear.", tokens=(202, 22)),
    )


@contextmanager
def playing(replies: Sequence[dict[str, Any] | Answer]) -> Iterator[ScriptedModels]:
    """Serve the replies one after the other, streamed to those who ask for it."""

    def script(request: Request, number: int) -> Answer:
        answer = replies[number]
        if isinstance(answer, Answer):
            return answer
        return streamed("openai", answer) if request.body.get("stream") else Answer(answer)

    with scripted_models(script) as models:
        yield models
    assert len(models.requests) == len(replies)


def told(trace: Trace) -> list[tuple[Any, ...]]:
    """Return what the turns of a trace say, and the calls beneath the turns that ask for them."""
    return [line for turn in trace.turns for line in (_turn(turn), *map(_call, turn.calls))]


def _turn(turn: Turn) -> tuple[Any, ...]:
    if turn.role != "assistant":
        return (turn.role, turn.origin, turn.text)
    usage = turn.usage
    tokens = None if usage is None else (usage.input_tokens, usage.output_tokens)
    return (turn.role, turn.text, turn.model, tokens, turn.finish_reason)


def _call(call: Call) -> tuple[Any, ...]:
    result = call.result
    if result is None:
        return (call.id, call.name, call.arguments, None, None)
    error = None if result.error is None else (result.error.type, result.error.message)
    said = result.content if error is None else (result.content, error)
    return (call.id, call.name, call.arguments, result.ok, said)


def whole_story(
    *,
    model: str,
    reasons: tuple[str | None, str | None],
    brought: tuple[Any, Any],
    failed: tuple[Any, tuple[str, str]],
) -> list[tuple[Any, ...]]:
    """Return what `told` says of the story.

    Args:
        model: What the turns call the model.
        reasons: Why a turn with a call ended, and why the last did.
        brought: How the results of the two tools look.
        failed: Content and error of the call that failed.
    """
    asking, end = reasons
    return [
        ("user", "human", USER),
        ("assistant", "First the weather.", model, (101, 11), asking),
        ("call_w1", "look_up_weather", {"city": "Rome"}, True, brought[0]),
        ("assistant", "", model, (102, 12), asking),
        ("call_b1", "book_train", {"to": "Rome", "day": "today"}, False, failed),
        ("assistant", "", model, (103, 13), asking),
        ("call_b2", "book_train", {"to": "Rome", "day": "tomorrow"}, True, brought[1]),
        ("assistant", FINAL, model, (104, 14), end),
    ]


def notes(trace: Trace) -> set[str]:
    """Return what kinds of notes the trace's fidelity has, those on state left out."""
    kinds = {note.kind for note in trace.fidelity.notes}
    return kinds - {"initial_state_unknown", "final_state_unknown"}
