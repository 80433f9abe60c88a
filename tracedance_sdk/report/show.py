"""One trace turn by turn: who said what, which calls were made, and what they changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.report.console import ReportConsole
from tracedance_sdk.report.safe_text import ELLIPSIS, in_one_line, value_text, visible
from tracedance_sdk.report.turn_marks import turn_marks
from tracedance_sdk.trace import (
    KINDS,
    UNKNOWN,
    Call,
    Json,
    Media,
    Operation,
    Reasoning,
    Result,
    Trace,
    Turn,
    diff,
    split,
)

_MOST_LINES: Final = 12
_MOST_CHANGES: Final = 40
_LONGEST_LINE: Final = 2_000
_WIDEST_MARGIN: Final = 20
"""Cells by which the rest of a long line is set in, as its beginning is."""
_LONGEST_OUTCOME: Final = 300
_LONGEST_MARK: Final = 600
_TONES: Final = {"bad": "red", "open": "yellow", "plain": "dim"}
_OUTPUT: Final = "output "
NO_RESULT: Final = "no result was recorded"


def print_trace(
    trace: Trace, console: ReportConsole, *, full: bool = False, turn: int | None = None
) -> None:
    """Print a trace turn by turn.

    Args:
        trace: What to show.
        console: Where to.
        full: Show texts, arguments and results whole; else each is shortened.
        turn: Show only the turn with this index and its neighbours, whole; None for all turns,
            the system prompt, the states and the fidelity.

    Raises:
        InvalidOption: The trace has no such turn.
    """
    if turn is not None:
        check_turn(trace, turn)
    for line in _head(trace):
        console.say(line, style="bold" if line.startswith("trace ") else "", hang=2)
    if turn is not None:
        for near in trace.turns[max(0, turn - 1) : turn + 2]:
            _print_turn(near, console, full=True)
        return
    if trace.system_prompt:
        console.say("\nsystem prompt", style="bold cyan")
        print_text(trace.system_prompt, console, full=full)
    for each in trace.turns:
        _print_turn(each, console, full=full)
    _print_states(trace, console, full=full)
    _print_fidelity(trace, console)


def check_turn(trace: Trace, turn: int) -> None:
    """Refuse an index that no turn of a trace has.

    Raises:
        InvalidOption: There is no such turn; the message says which there are.
    """
    if not 0 <= turn < len(trace.turns):
        there = f"its turns are 0 to {len(trace.turns) - 1}" if trace.turns else "it has none"
        raise InvalidOption(f"the trace {trace.id!r} has no turn {turn}; {there}")


def print_turn(
    turn: Turn,
    console: ReportConsole,
    *,
    full: bool = False,
    indent: int = 2,
    without_result: str = NO_RESULT,
) -> None:
    """Print what a turn says, what became of it, and the calls that it makes; no heading.

    Args:
        turn: What to show.
        console: Where to.
        full: Show texts, arguments and results whole; else each is shortened.
        indent: Cells before each line.
        without_result: What to say of a call that has no result; "" for nothing.
    """
    for part in turn.content:
        if isinstance(part, Media):
            place = part.uri or part.mime_type or ""
            console.say(in_one_line(f"({part.modality} {place})"), style="dim", indent=indent)
        elif isinstance(part, Reasoning):
            console.say("reasoning:", style="dim italic", indent=indent)
            print_text(part.text, console, full=full, indent=indent + 2)
        else:
            print_text(part.text, console, full=full, indent=indent)
    for mark in turn_marks(turn):
        told = value_text(f"{mark.word}: {mark.meaning}", width=None if full else _LONGEST_MARK)
        console.say(told, style=_TONES[mark.tone], indent=indent, hang=2)
    for call in turn.calls:
        inner = indent + 2 if call.requested_by == "tool" else indent
        _print_call(call, console, full=full, indent=inner, without_result=without_result)


def print_text(text: str, console: ReportConsole, *, full: bool = False, indent: int = 2) -> None:
    """Print a text line by line; unless it is wanted whole, its first 12 lines.

    Args:
        text: Safe or not.
        console: Where to.
        full: Show it whole.
        indent: Cells before each line.
    """
    lines = text.rstrip().split("\n")
    # A word on one line more would take the room of that line.
    most = len(lines) if full or len(lines) == _MOST_LINES + 1 else _MOST_LINES
    for whole in lines[:most]:
        line = whole if full else whole[:_LONGEST_LINE]
        cut = ELLIPSIS if len(line) < len(whole) else ""
        told = visible(line.removesuffix("\r")) + cut
        is_long = cell_len(told) > console.width - indent
        margin = min(len(told) - len(told.lstrip(" ")), _WIDEST_MARGIN) if is_long else 0
        console.say(told, indent=indent, hang=margin)
    if most < len(lines):
        console.say(f"({len(lines) - most} more lines)", style="dim", indent=indent)


def _head(trace: Trace) -> Iterator[str]:
    version = f" {trace.agent.version}" if trace.agent.version else ""
    yield f"trace {in_one_line(trace.id)}"
    yield f"agent {in_one_line(trace.agent.name + version)}"
    for label, value in (
        ("task", trace.task_id),
        ("group", trace.group),
        ("session", trace.session_id),
        ("parent", trace.parent and f"{trace.parent.trace_id} call {trace.parent.call_id}"),
        ("source", trace.source and f"{trace.source.collector} {trace.source.uri or ''}"),
        ("started", trace.started_at and trace.started_at.isoformat(timespec="milliseconds")),
        ("ended", trace.ended_at and trace.ended_at.isoformat(timespec="milliseconds")),
    ):
        if value:
            yield f"{label} {in_one_line(value)}"
    failed = sum(call.failed for call in trace.calls)
    yield f"{_count(len(trace.turns), 'turn')}, {_count(len(trace.calls), 'call')}, {failed} failed"
    if trace.outcome is not None:
        said = trace.outcome.model_dump(exclude_none=True, exclude_defaults=True)
        yield f"outcome {value_text(said, width=_LONGEST_OUTCOME)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _print_turn(turn: Turn, console: ReportConsole, *, full: bool) -> None:
    marks = [turn.origin, *([turn.model] if turn.model else [])]
    marks += ["made outside any model turn"] if turn.synthetic else []
    heading = f"\n[{turn.index}] {turn.role} ({in_one_line(', '.join(marks))})"
    console.say(heading, style="bold cyan")
    print_turn(turn, console, full=full)


def _print_call(
    call: Call, console: ReportConsole, *, full: bool, indent: int, without_result: str
) -> None:
    room = None if full else max(40, console.width - indent - 5)
    who = "" if call.requested_by == "agent" else f" (by {call.requested_by})"
    title = f"{call.index + 1}. {in_one_line(call.name)}{who} "
    given = call.raw_arguments if call.arguments is UNKNOWN else call.arguments
    left = None if room is None else max(12, room - len(title))
    arguments = value_text(UNKNOWN if given is None else given, width=left)
    console.say(Text.assemble((title, "bold"), arguments), indent=indent, hang=3)
    if call.result is not None or without_result:
        _print_result(call, console, room=room, indent=indent + 3, without_result=without_result)
    if origin := _answered(call):
        console.say(f"answered: {origin}", style="dim", indent=indent + 3, hang=2)
    for change in call.state_change or ():
        console.say(_change(change, UNKNOWN, full=full), style="dim", indent=indent + 3, hang=2)


def _print_result(
    call: Call, console: ReportConsole, *, room: int | None, indent: int, without_result: str
) -> None:
    took = "" if call.duration_ms is None else f"  ({call.duration_ms:.3g} ms)"
    status, style = _status(call.result, without_result)
    left = None if room is None else max(12, room - len(status) - len(took) - 1)
    said = list(_said(call.result))
    first = value_text(said[0], width=left) if said else ""
    console.say(f"{status} {first}".rstrip() + took, style=style, indent=indent, hang=2)
    for value in said[1:]:
        text = value_text(value, width=None if room is None else max(12, room - len(_OUTPUT)))
        console.say(f"{_OUTPUT}{text}", indent=indent, hang=2)


def _answered(call: Call) -> str:
    """Return where a replayed call's answer came from; "" where the call was not replayed."""
    answer = (call.model_extra or {}).get("answer")
    if not isinstance(answer, dict) or not isinstance(answer.get("stamp"), str):
        return ""
    told = [answer["stamp"]]
    origin = answer.get("origin")
    if isinstance(origin, dict) and isinstance(origin.get("conversation"), str):
        told.append(f"recorded in {origin['conversation']}")
    if answer.get("stale") is True:
        told.append("stale")
    told += [f"{n} {answer[n]}" for n in ("rule", "simulator", "miss") if answer.get(n)]
    return in_one_line(", ".join(told))


def _status(result: Result | None, without_result: str) -> tuple[str, str]:
    if result is None:
        return without_result, "yellow"
    if result.interrupted:
        return "interrupted", "yellow"
    if result.ok is None:
        return "returned", ""
    return ("ok", "green") if result.ok else ("failed", "red")


def _said(result: Result | None) -> Iterator[Json]:
    """Yield the error of a call and what it gave, as far as there are any and they differ."""
    if result is None:
        return
    error = result.error
    if error is not None:
        yield f"{error.type}: {error.message}"
    if result.content is UNKNOWN or (error is not None and result.content in (None, "")):
        return
    if error is None or result.content not in (error.message, f"{error.type}: {error.message}"):
        yield result.content


def _print_states(trace: Trace, console: ReportConsole, *, full: bool) -> None:
    console.say("\nstate", style="bold cyan")
    if trace.initial_state is UNKNOWN or trace.final_state is UNKNOWN:
        seen = [
            name
            for name, state in (("initial", trace.initial_state), ("final", trace.final_state))
            if state is not UNKNOWN
        ]
        console.say(f"{seen[0]} state only" if seen else "never seen", indent=2)
        return
    changes = diff(trace.initial_state, trace.final_state)
    if not changes:
        console.say("unchanged", indent=2)
    shown = changes if full else changes[:_MOST_CHANGES]
    for change in shown:
        console.say(_change(change, trace.initial_state, full=full), indent=2)
    if len(shown) < len(changes):
        console.say(f"({len(changes) - len(shown)} more changes)", style="dim", indent=2)


def _change(change: Operation, before: Json, *, full: bool) -> str:
    width = None if full else 200
    path = in_one_line(str(change.get("path"))) or "(the whole state)"
    text = f"{change.get('op')} {path}"
    if "value" in change:
        text += f" = {value_text(change['value'], width=width)}"
    if before is not UNKNOWN and change.get("op") in ("replace", "remove"):
        old = _value_at(before, str(change["path"]))
        text += f" (was {value_text(old, width=width)})"
    return text


def _value_at(document: Json, pointer: str) -> Json:
    for step in split(pointer):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def _print_fidelity(trace: Trace, console: ReportConsole) -> None:
    console.say("\nfidelity", style="bold cyan")
    fit = ", ".join(word.replace("_", " ") for word in trace.fidelity.fit_for)
    unfit = "fit for nothing" if trace.fidelity.notes else "not assessed"
    console.say(f"fit for {fit}" if fit else unfit, indent=2)
    for note in trace.fidelity.notes:
        meaning = KINDS.get(note.kind, "")
        text = f"{note.count} x {in_one_line(note.kind)}: {meaning}"
        places = ", ".join(in_one_line(place) for place in note.places)
        console.say(f"{text} ({places})" if places else text, indent=2, hang=4)
