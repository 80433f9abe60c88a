"""A run is cut right before an occurrence, or refused by one of nine checks.

The checks, in order:

1. *position*: the source turn is a turn of the agent's model, and something comes before it;
2. *speaker*: the last thing kept is a user's message or a call's result, so that it is the agent's
   turn to speak. A reminder of the harness's in between stays, as the source saw it;
3. *results*: every kept call has its result, whole, and every result its call; none came after the
   source turn began (see `arrivals`);
4. *frame*: what the frame of the behaviour asks (see `frames`);
5. *leak*: nothing kept tells what comes (see `leaks`), or came itself after the source turn began;
6. *reasoning*: none is left, in whatever shape (see `reasoning`);
7. *tools*: those that an appropriate answer needs are offered, their definitions of an origin that
   is allowed;
8. *size*: the context fits;
9. *same again*: cutting the kept part again changes no byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.cutting.arrivals import late_result, late_turn
from tracedance_sdk.behaviors.cutting.frames import frame_problem
from tracedance_sdk.behaviors.cutting.kept import kept_bytes, kept_trace, kept_turn
from tracedance_sdk.behaviors.cutting.leaks import leak
from tracedance_sdk.behaviors.cutting.reasoning import has_span, reasoning_in
from tracedance_sdk.behaviors.cutting.sizes import MOST_TOKENS, rough_tokens
from tracedance_sdk.behaviors.cutting.tools import tools_problem, without_imagined
from tracedance_sdk.behaviors.hits import Hit
from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.errors import InvalidTrace
from tracedance_sdk.replay import Cut, DecisionPoint, ToolLimit, decision_points
from tracedance_sdk.trace import UNKNOWN, Call, Reasoning, Text, Trace, Turn

CHECKS: Final = {
    1: "position",
    2: "speaker",
    3: "results",
    4: "frame",
    5: "leak",
    6: "reasoning",
    7: "tools",
    8: "size",
    9: "same again",
}
"""What a cut is checked for, by number."""


class CutContext(NamedTuple):
    """A context that ends right before a decision.

    Attributes:
        trace: What is kept; its turns are those before the cut, their indices as they were.
        turn: Index of the withheld turn, which is the number of kept turns.
        withheld: The source turn with its calls and their results, without reasoning.
        n_later: How many turns after it are withheld as well.
        tokens: About how many the context takes.
        sha256: Of the kept trace's bytes.
    """

    trace: Trace
    turn: int
    withheld: Turn
    n_later: int
    tokens: int
    sha256: str


class Refusal(NamedTuple):
    """Why there is no cut.

    Attributes:
        check: Number of the check, a key of `CHECKS`.
        name: Its name.
        why: In one line.
    """

    check: int
    name: str
    why: str

    def __str__(self) -> str:
        return f"check {self.check} ({self.name}): {self.why}"


def cut(
    trace: Trace,
    hit: Hit,
    behavior: Behavior,
    *,
    tools: ToolLimit = "inferred",
    most_tokens: int = MOST_TOKENS,
    run: Run | None = None,
) -> CutContext | Refusal:
    """Cut a run right before the turn that shows a behaviour.

    Args:
        trace: The run, with the definitions of tools that its store completes.
        hit: The occurrence.
        behavior: What it is one of.
        tools: The weakest origin that definitions may have.
        most_tokens: Of the context, by `rough_tokens`.
        run: The same run as anchors see it, where it is at hand.
    """
    why = _position(trace, hit)
    if why is not None:
        return _refusal(1, why)
    point = next(decision_points(trace, Cut(turn=hit.turn), tools=tools))
    offered = point.trace if isinstance(point, DecisionPoint) else trace
    seen = run or Run.of(trace)
    kept = kept_trace(without_imagined(offered, seen), hit.turn)
    checks: tuple[tuple[int, Callable[[], str | None]], ...] = (
        (2, lambda: _speaker(kept)),
        (3, lambda: _results(kept) or _not_whole(point, is_of_tools=False)),
        (3, lambda: late_result(trace, hit.turn)),
        (4, lambda: frame_problem(seen, hit, behavior.frame)),
        (5, lambda: leak(trace, hit.turn) or late_turn(trace, hit.turn)),
        (6, lambda: _reasoning(kept)),
        (7, lambda: _not_whole(point, is_of_tools=True)),
        (7, lambda: tools_problem(kept, seen, hit, behavior)),
        (8, lambda: _size(kept, most_tokens)),
    )
    for number, check in checks:
        why = check()
        if why is not None:
            return _refusal(number, why)
    try:
        data = kept_bytes(kept)
        is_same = kept_bytes(kept_trace(kept, len(kept.turns))) == data
    except InvalidTrace as error:
        return _refusal(9, str(error))
    if not is_same:
        return _refusal(9, "cutting the kept part again gives other bytes")
    return CutContext(
        trace=kept,
        turn=hit.turn,
        withheld=kept_turn(trace.turns[hit.turn]),
        n_later=len(trace.turns) - hit.turn - 1,
        tokens=rough_tokens(kept),
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _refusal(number: int, why: str) -> Refusal:
    return Refusal(number, CHECKS[number], why)


def _position(trace: Trace, hit: Hit) -> str | None:
    if not 0 <= hit.turn < len(trace.turns):
        return f"there is no turn {hit.turn} in a run of {len(trace.turns)} turns"
    source = trace.turns[hit.turn]
    if source.role != "assistant" or source.synthetic:
        return f"turn {hit.turn} is none of the agent's model"
    if hit.turn == 0:
        return "nothing comes before turn 0"
    return None


def _speaker(kept: Trace) -> str | None:
    last = next((turn for turn in reversed(kept.turns) if _says_something(turn)), None)
    if last is None:
        return "nobody has said anything before the cut"
    if last.role == "user" or any(call.requested_by == "agent" for call in last.calls):
        return None
    return f"the last thing kept is the agent's own message in turn {last.index}"


def _says_something(turn: Turn) -> bool:
    """Whether a turn counts as the last speaker: not a system's reminder, nor an emptied turn."""
    return turn.role != "system" and bool(turn.content or turn.calls)


def _results(kept: Trace) -> str | None:
    for place, call in kept.places():
        if call.requested_by == "user":
            continue
        if call.bound_by == "synthetic":
            return f"{place} is a result of {call.name} that no turn asked for"
        if not _has_result(call):
            return f"{place}, a call of {call.name}, has no result"
    return None


def _has_result(call: Call) -> bool:
    result = call.result
    if result is None:
        return False
    return not (result.content is UNKNOWN and result.error is None and result.interrupted)


def _not_whole(point: object, *, is_of_tools: bool) -> str | None:
    """Return what next-turn would exclude the place for, if it is of this sort."""
    if isinstance(point, DecisionPoint):
        return None
    reason, detail = str(getattr(point, "reason", "")), str(getattr(point, "detail", ""))
    if reason.startswith("tools without") != is_of_tools:
        return None
    return f"{reason}: {detail}" if detail else reason


def _reasoning(kept: Trace) -> str | None:
    for turn in kept.turns:
        for where, what in _reasoning_of(turn):
            return f"turn {turn.index} holds reasoning ({what}) in {where}"
    return None


def _reasoning_of(turn: Turn) -> Iterator[tuple[str, str]]:
    for part in turn.content:
        if isinstance(part, Reasoning):
            yield "its content", "a part"
        elif isinstance(part, Text):
            own = (part.model_extra or {}).get("origin", turn.origin)
            if own != "human" and has_span(part.text):
                yield "its text", "a tagged span"
        elif what := reasoning_in(part.data):
            yield "its media", what
    for call in turn.calls:
        for where, value in (
            ("the arguments", call.arguments),
            ("the raw arguments", call.raw_arguments),
            ("the result", call.result.content if call.result is not None else None),
        ):
            what = reasoning_in(value)
            if what is not None:
                yield f"{where} of {call.name}", what


def _size(kept: Trace, most: int) -> str | None:
    tokens = rough_tokens(kept)
    return f"about {tokens:,} tokens, {most:,} at most" if tokens > most else None
