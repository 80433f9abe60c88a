"""Turns and windows of a trace as a page shows them, with evidence marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tracedance_sdk.report.html.page import CallView, PageBounds, TurnView, Window
from tracedance_sdk.report.html.texts import cut, cut_json, name_text
from tracedance_sdk.report.turn_marks import turn_marks
from tracedance_sdk.trace import UNKNOWN, Call, Media, Reasoning, Result, Text, Trace, Turn


class EvidenceMark(NamedTuple):
    """What is marked: a turn, or a call of it, and the words; no words mark all of it."""

    turn: int
    call: int | None = None
    quote: str = ""


class DecisionPlace(NamedTuple):
    """A decision in a run.

    Attributes:
        trace: The run, at least up to there.
        turn: Index of the turn that is decided; the number of turns where it is not there.
        origin: Where the trace was read, in words.
        marks: Evidence.
        source: The turn that stood there in the recording, where it may be shown.
        note: What is to be known of it.
        is_decision: Whether a turn is decided, or the whole run is what matters.
    """

    trace: Trace
    turn: int
    origin: str
    marks: tuple[EvidenceMark, ...] = ()
    source: Turn | None = None
    note: str = ""
    is_decision: bool = True


_Quotes = Callable[[int | None], list[str]]


def window(place: DecisionPlace, bounds: PageBounds) -> Window:
    """Return the last turns before a decision, and those with evidence."""
    before = place.trace.turns[: place.turn]
    start = max(0, len(before) - bounds.turns)
    marked = sorted({mark.turn for mark in place.marks if 0 <= mark.turn < start})
    chosen = [*marked[-bounds.turns :], *range(start, len(before))]
    turns = tuple(turn_view(before[index], bounds, marks=place.marks) for index in chosen)
    title = "What came before" if place.is_decision else "How the run ended"
    return Window(title, turns, len(before) - len(turns), place.origin, place.note)


def source_view(place: DecisionPlace, bounds: PageBounds) -> TurnView | None:
    """Return the turn that stood there in the recording; None where it is not to be shown."""
    return None if place.source is None else turn_view(place.source, bounds, marks=place.marks)


def turn_view(turn: Turn, bounds: PageBounds, *, marks: Sequence[EvidenceMark] = ()) -> TurnView:
    """Return a turn.

    Args:
        turn: The turn.
        bounds: How much of it.
        marks: Evidence of the whole trace.
    """
    own = [mark for mark in marks if mark.turn == turn.index]

    def quotes(call: int | None) -> list[str]:
        return [mark.quote for mark in own if call is None or mark.call in (call, None)]

    texts = []
    for part in turn.content:
        if isinstance(part, Media):
            what = name_text(part.mime_type or part.modality)
            texts.append(("media", cut(f"[{what}, not shown]", bounds.characters)))
        elif isinstance(part, (Text, Reasoning)):
            shown = cut(part.text, bounds.characters, quotes=quotes(None))
            texts.append((part.type, shown))
    calls = _chosen_calls(turn.calls, own, bounds.calls)
    who = turn.role if turn.name is None else f"{turn.role} {name_text(turn.name)}"
    if turn.origin not in ("agent", "human"):
        who += f", from the {turn.origin}"
    return TurnView(
        f"turn {turn.index}: {who}",
        tuple(texts),
        tuple(_call(call, bounds, quotes, own) for call in calls),
        len(turn.calls) - len(calls),
        any(mark.call is None and not mark.quote for mark in own),
        tuple((m.word, m.tone, cut(m.meaning, bounds.characters)) for m in turn_marks(turn)),
    )


def _chosen_calls(calls: Sequence[Call], marks: Sequence[EvidenceMark], most: int) -> list[Call]:
    """Return the first calls, and those with evidence among the rest."""
    pointed = {mark.call for mark in marks}
    rest = [call for call in calls[most:] if call.index in pointed]
    return [*calls[: most - len(rest[:most])], *rest[:most]]


def _call(
    call: Call, bounds: PageBounds, quotes: _Quotes, marks: Sequence[EvidenceMark]
) -> CallView:
    wanted, name = quotes(call.index), name_text(call.name)
    told = call.arguments if call.raw_arguments is None else call.raw_arguments
    arguments = cut("(not recorded)" if told is UNKNOWN else "", bounds.characters)
    if told is not UNKNOWN:
        arguments = cut_json(told, bounds.characters, quotes=wanted)
    pointed = any(mark.call == call.index for mark in marks)
    if call.result is None:
        return CallView(name, arguments, is_marked=pointed)
    result = cut(_result_text(call.result), bounds.characters, quotes=wanted)
    if call.result.interrupted:
        return CallView(name, arguments, result, "interrupted", "open", pointed)
    if call.result.ok is False:
        return CallView(name, arguments, result, "failed", "bad", pointed)
    return CallView(name, arguments, result, is_marked=pointed)


def _result_text(result: Result) -> str:
    said = []
    if result.error is not None:
        said.append(": ".join(filter(None, (result.error.type, result.error.message))))
    if result.exit_code is not None:
        said.append(f"exit code {result.exit_code}")
    if result.content is not UNKNOWN and result.content not in (None, ""):
        whole = 10**9
        said.append("".join(piece.text for piece in cut_json(result.content, whole).pieces))
    return "\n".join(said) or ("(empty)" if result.ok else "")
