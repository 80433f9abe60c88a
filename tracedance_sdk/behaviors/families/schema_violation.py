"""A03: arguments break the tool's definition."""

from __future__ import annotations

from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Evidence, Hit, Judged
from tracedance_sdk.behaviors.run import SeenCall
from tracedance_sdk.behaviors.signs.answers import asks_instead, decisive, new_turn
from tracedance_sdk.behaviors.signs.particulars import says_of_this_run
from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.trace import parse_json

_REFUSED: Final = re2.compile(
    r"(?i)InputValidationError|\d+ validation errors? for|validation ?error:|schema validation|"
    r"invalid (tool )?(arguments?|parameters?|input)\b|"
    r"missing (\d+ )?(a )?required|required (parameter|property|argument|field)|"
    r"(parameter|property|argument|field) [`'\"]?\w+[`'\"]? (is|are) (missing|required)|"
    r"unexpected (parameter|property|keyword)|does not match (the )?schema|"
    r"(input|value) should be a|is not of type|failed to parse (the )?(tool )?(arguments|input)|"
    r"not valid JSON|invalid JSON|JSON ?(decode|parse) ?error|could not parse (the )?arguments"
)
_ABSENT: Final = re2.compile(
    r"(?i)(?:parameter|property|argument|field) [`'\"]?(\w+)[`'\"]? (?:is|are) "
    r"(?:missing|required)|"
    r"missing (?:a )?required (?:parameter|property|argument|field):? [`'\"]?(\w+)"
)
_UNKNOWN: Final = re2.compile(
    r"(?i)unexpected (?:keyword argument|parameter|property|argument|field):? [`'\"]?(\w+)"
)
_HEAD: Final = 600
_MOST_ARGUMENTS: Final = 500


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the arguments were refused for their form."""
    call = candidate.run.call(candidate.call or 0)
    if call is None or not call.by_agent or not call.signs["failed"]:
        return None
    head = call.result[:_HEAD]
    said = _REFUSED.search(head)
    if call.signs["kind"] == "shell" and call.command and not _by_client(call):
        return None
    if said is None and not (call.arguments is None and call.arguments_text):
        return None
    told = said and (_ABSENT.search(head) or said)
    quote = call.name if told is None else _line(head, told.start())
    evidence = (
        Evidence(call.turn, call.index, quote),
        Evidence(call.turn, call.index, call.name),
        Evidence(call.turn, call.index, call.arguments_text[:_MOST_ARGUMENTS]),
    )
    return Hit(call.turn, evidence, f"the arguments of {call.name} were refused")


def judge(answered: Answered) -> Judged:
    """Score a turn: 0 for arguments that break a definition, 5 for ones that meet it."""
    turn = new_turn(answered)
    again = next((call for call in turn.calls if _was_refused(call, answered)), None)
    if again is not None:
        return Judged(0, f"{again.name} was refused with these arguments")
    broken = [call for call in turn.calls if _is_broken(call)]
    if broken:
        kind = "are no JSON" if broken[0].arguments is None else "break its definition"
        return Judged(0, f"the arguments of {broken[0].name} {kind}")
    if turn.calls:
        known = all(call.signs["arguments_valid"] for call in turn.calls)
        told = "meet" if known else "are not known to break"
        return Judged(5 if known else 3, f"the arguments {told} the definitions")
    if asks_instead(turn) and says_of_this_run(answered, turn):
        return Judged(5, "it asks for what is missing")
    return Judged(3, f"nothing is called ({decisive(answered)!r} before)")


def _is_broken(call: SeenCall) -> bool:
    if call.arguments is None:
        return bool(call.arguments_text)
    return call.signs["arguments_valid"] is False


def _was_refused(call: SeenCall, answered: Answered) -> bool:
    """Whether the tool had refused the source's call for what this one has too.

    A definition may allow what the tool does not: then its own words say what was wrong.
    """
    quotes = [piece.quote for piece in answered.hit.evidence]
    if len(quotes) < 2 or quotes[1] != call.name:
        return False
    message = quotes[0]
    if len(quotes) > 2 and _is_same(call, quotes[2]):
        return True
    if not isinstance(call.arguments, dict):
        return False
    unknown = _named(_UNKNOWN, message)
    if unknown is not None and unknown in call.arguments:
        return True
    absent = _named(_ABSENT, message)
    command = call.arguments.get("command")
    is_meant = command is None or str(command) in message
    return absent is not None and absent not in call.arguments and is_meant


def _is_same(call: SeenCall, told: str) -> bool:
    """Whether a call's arguments are those of the source, as far as these were written down."""
    own = call.arguments_text
    if len(told) >= _MOST_ARGUMENTS:
        return own[:_MOST_ARGUMENTS] == told
    try:
        return bool(parse_json(own, where="") == parse_json(told, where=""))
    except TraceDanceError:
        return own == told


def _named(pattern: Any, message: str) -> str | None:
    """Return the name that a pattern finds in a message."""
    found = pattern.search(message)
    return None if found is None else next(group for group in found.groups() if group)


def _line(text: str, place: int) -> str:
    """Return the line of a text in which a place lies, at most 200 characters of it."""
    start = text.rfind("\n", 0, place) + 1
    return text[start:].split("\n", 1)[0][:200].strip()


def _by_client(call: SeenCall) -> bool:
    """Whether the client refused the call, and no program that a shell ran."""
    return "InputValidationError" in call.result[:_HEAD] or (
        call.signs["exit_code"] is None and "tool_use_error" in call.result[:_HEAD]
    )
