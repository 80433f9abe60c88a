"""What hooks saw of an agent's work: calls that nobody answered, and turns in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Final, NamedTuple

from tracedance_sdk.recording import SeenWork
from tracedance_sdk.trace import UNKNOWN, Call, Turn, call_key

NUMBER: Final = "number"
"""In the note of an answer: which of the run's it is, from 0."""

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Reply(NamedTuple):
    """How a run came by one of the agent's replies.

    Attributes:
        start: Index of the first turn that came of it.
        n_own: How many turns of calls that the agent made itself come before the reply.
        seen: What hooks saw of it.
        turn: The reply; None where the run was over before.
    """

    start: int
    n_own: int
    seen: SeenWork
    turn: Turn | None = None


def answer_number(call: Call) -> int | None:
    """Return which of a run's answers a call was given; None where it was given none."""
    note = (call.model_extra or {}).get("answer")
    number = note.get(NUMBER) if isinstance(note, dict) else None
    return number if isinstance(number, int) else None


def calls_outside(reply: Reply, turns: Sequence[Turn]) -> list[str]:
    """Return the tools of which a model asked for calls that were answered by somebody else.

    In a framework's agent these are calls whose result its model was told. Others are the
    framework's own, such as the tool that takes an agent's output. In a loop of the user's own they
    are all calls, but those of a tool that the model had to call, whose arguments may be all that
    is wanted; and where the run was over before, those that may not have been made.

    Args:
        reply: What the agent was seen to do.
        turns: The run's; those before the reply were told to the agent.
    """
    known = {call.id for turn in turns[: reply.start] for call in turn.calls}
    asked_back: Counter[str] = Counter()
    for call in () if reply.turn is None else reply.turn.calls:
        known.add(call.id)
        asked_back[call_key(call.name, call.arguments)] += 1
    traces = reply.seen.traces
    known |= {trace.parent.call_id or "" for trace in traces if trace.parent is not None}
    found: list[str] = []
    for trace in traces:
        asking = [turn for turn in trace.turns if _is_models(turn)]
        for turn in asking:
            for call in _unanswered(turn):
                key = call_key(call.name, call.arguments)
                if call.id in known:
                    continue
                if asked_back[key] and not _was_brought(call):
                    asked_back[key] -= 1
                elif _counts(call, turn, reply, is_last=turn is asking[-1]):
                    found.append(call.name)
    return found


def _is_models(turn: Turn) -> bool:
    return turn.role == "assistant" and not turn.copied_context


def _unanswered(turn: Turn) -> Iterator[Call]:
    """Yield the calls of a turn that got no answer, by whatever name they were made."""
    spare = [call for call in turn.calls if answer_number(call) is not None and _is_unasked(call)]
    for call in turn.calls:
        if answer_number(call) is not None or _is_unasked(call):
            continue
        made = next((other for other in spare if _is_made_by(call, other)), None)
        if made is None:
            yield call
        else:
            spare.remove(made)


def _is_unasked(call: Call) -> bool:
    return call.bound_by == "synthetic"


def _is_made_by(asked: Call, made: Call) -> bool:
    """Whether a call was made by a function of another name, such as one without a prefix."""
    return asked.name.endswith(made.name) or asked.arguments == made.arguments


def _was_brought(call: Call) -> bool:
    result = call.result
    return result is not None and (
        result.ok is not None or result.error is not None or result.content is not UNKNOWN
    )


def _counts(call: Call, turn: Turn, reply: Reply, *, is_last: bool) -> bool:
    if reply.seen.is_of_framework:
        failed = call.result is not None and call.result.ok is False
        return _was_brought(call) and not failed and not is_last
    if _was_brought(call):
        return True
    return reply.turn is not None and not _is_forced(turn, call.name)


def _is_forced(turn: Turn, name: str) -> bool:
    """Whether a model had to call this tool, as it has to where its arguments are the reply."""
    choice = (turn.settings or {}).get("tool_choice")
    if not isinstance(choice, dict):
        return False
    function = choice.get("function")
    named = function.get("name") if isinstance(function, dict) else choice.get("name")
    return named == name


def in_full(turns: Sequence[Turn], replies: Sequence[Reply]) -> tuple[list[Turn], list[int]]:
    """Return a run's turns with what hooks saw: models, tokens, words beside calls.

    Calls keep the answers that they were given. Turns and calls are numbered anew.

    Args:
        turns: As the run made them: each call that an agent made itself in a turn of its own.
        replies: Where the agent was asked, in order.

    Returns:
        The turns, and the number of its answer for each call that has one.
    """
    found = list(turns if not replies else turns[: replies[0].start])
    ends = [*(reply.start for reply in replies[1:]), len(turns)]
    for reply, end in zip(replies, ends, strict=True) if replies else ():
        border = reply.start + reply.n_own
        found += _in_full(turns[reply.start : border], turns[border:end], reply.seen)
    order = [call.index for turn in found for call in turn.calls if _has_answer(call)]
    return _numbered(found), order


def _has_answer(call: Call) -> bool:
    return "answer" in (call.model_extra or {})


def _in_full(own: Sequence[Turn], rest: Sequence[Turn], seen: SeenWork) -> Iterator[Turn]:
    left = {call.index: turn for turn in own for call in turn.calls}
    shown = _shown(seen)
    last = None
    if rest:
        last = shown.pop() if shown and _is_reply(shown[-1]) else _said_in(seen, rest[0].text)
    for turn in shown:
        numbers = _numbers(turn)
        # Calls that no hook saw, such as those of a bare thread, stand where they were made.
        for number in [n for n in left if numbers and n < min(numbers)]:
            yield left.pop(number)
        calls = [_answered(call, left) for call in turn.calls]
        yield turn.model_copy(update={"origin": "agent", "calls": tuple(calls)})
    yield from left.values()
    if rest:
        yield rest[0] if last is None else _with_facts(rest[0], last)
        yield from rest[1:]


def _numbers(turn: Turn) -> list[int]:
    return [number for number in map(answer_number, turn.calls) if number is not None]


def _shown(seen: SeenWork) -> list[Turn]:
    """Return the turns of the agent, and those of sub-agents that made calls, as they came."""
    found = [turn for trace in seen.traces[:1] for turn in trace.turns if _is_models(turn)]
    others = [turn for trace in seen.traces[1:] for turn in trace.turns]
    inner = [turn for turn in others if _is_models(turn) and _numbers(turn)]
    if not inner:
        return found
    return sorted(found + inner, key=lambda turn: turn.started_at or _LONG_AGO)


def _said_in(seen: SeenWork, text: str) -> Turn | None:
    """Return the turn of a sub-agent, such as one that took over, that said the reply."""
    found = [
        turn
        for trace in seen.traces[1:]
        for turn in trace.turns
        if _is_models(turn) and _is_reply(turn) and turn.text.strip() == text.strip()
    ]
    return found[-1] if found else None


def _is_reply(turn: Turn) -> bool:
    """Whether a turn may be what the agent replied with: nothing came after it."""
    return not any(answer_number(call) is not None or _was_brought(call) for call in turn.calls)


def _answered(call: Call, left: dict[int, Turn]) -> Call:
    """Return a call as it was answered, with the id and the text that the model gave it."""
    number = answer_number(call)
    turn = None if number is None else left.pop(number, None)
    if turn is None:
        return call
    return turn.calls[0].model_copy(update={"id": call.id, "raw_arguments": call.raw_arguments})


def _with_facts(reply: Turn, seen: Turn) -> Turn:
    """Return the reply, with its words and calls, and all else that is known of it."""
    return seen.model_copy(
        update={"origin": reply.origin, "content": reply.content, "calls": reply.calls}
    )


def _numbered(turns: Sequence[Turn]) -> list[Turn]:
    number = count()
    return [
        turn.model_copy(
            update={
                "index": index,
                "calls": tuple(
                    call.model_copy(update={"index": next(number)}) for call in turn.calls
                ),
            }
        )
        for index, turn in enumerate(turns)
    ]
