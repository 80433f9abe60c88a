"""A03: arguments break the tool's definition."""

from __future__ import annotations

from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Evidence, Hit, Judged
from tracedance_sdk.behaviors.run import SeenCall
from tracedance_sdk.behaviors.signs.answers import asks_instead, decisive, new_turn

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
_HEAD: Final = 600


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
    )
    return Hit(call.turn, evidence, f"the arguments of {call.name} were refused")


def judge(answered: Answered) -> Judged:
    """Score a turn: 0 for arguments that break a definition, 5 for ones that meet it."""
    turn = new_turn(answered)
    broken = [call for call in turn.calls if _is_broken(call) or _lacks(call, answered)]
    if broken:
        kind = "are no JSON" if broken[0].arguments is None else "break its definition"
        return Judged(0, f"the arguments of {broken[0].name} {kind}")
    if turn.calls:
        known = all(call.signs["arguments_valid"] for call in turn.calls)
        told = "meet" if known else "are not known to break"
        return Judged(5 if known else 3, f"the arguments {told} the definitions")
    if asks_instead(turn):
        return Judged(5, "it asks for what is missing")
    return Judged(3, f"nothing is called ({decisive(answered)!r} before)")


def _is_broken(call: SeenCall) -> bool:
    if call.arguments is None:
        return bool(call.arguments_text)
    return call.signs["arguments_valid"] is False


def _lacks(call: SeenCall, answered: Answered) -> bool:
    """Whether a call lacks the argument whose absence was told of the tool before."""
    if len(answered.hit.evidence) < 2 or answered.hit.evidence[1].quote != call.name:
        return False
    told = _ABSENT.search(answered.hit.evidence[0].quote)
    if told is None or not isinstance(call.arguments, dict):
        return False
    name = next(group for group in told.groups() if group)
    same = call.arguments.get("command")
    return name not in call.arguments and (same is None or str(same) in told.string)


def _line(text: str, place: int) -> str:
    """Return the line of a text in which a place lies, at most 200 characters of it."""
    start = text.rfind("\n", 0, place) + 1
    return text[start:].split("\n", 1)[0][:200].strip()


def _by_client(call: SeenCall) -> bool:
    """Whether the client refused the call, and no program that a shell ran."""
    return "InputValidationError" in call.result[:_HEAD] or (
        call.signs["exit_code"] is None and "tool_use_error" in call.result[:_HEAD]
    )
