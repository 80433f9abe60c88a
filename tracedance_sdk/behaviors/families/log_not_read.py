"""F03: something failed and its log could be read; it is tried again or guessed at instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Hit, Judged
from tracedance_sdk.behaviors.run import SeenCall, SeenTurn
from tracedance_sdk.behaviors.signs.reactions import failed_call, reaction_to
from tracedance_sdk.behaviors.signs.retries import retries

_EDGE: Final = 4_000
_LOG_FILE: Final = re2.compile(
    r"(?i)(?:^|[\s'\"`(=:>])((?:[\w.~@+-]*/)*[\w.@+-]+\.(?:log|out|err)\b|"
    r"(?:[\w.~@+-]*/)+logs/[\w./@+-]+)"
)
_JOB: Final = re2.compile(
    r"(?i)(?:\b(?:task|job|shell|process|bash|run)[ _-]?(?:id)?['\"]?[\s:=#>]{1,3}['\"]?)"
    r"([a-z]*_?[0-9][\w-]{2,40}|[0-9a-f]{6,40})\b|actions/runs/(\d{4,})"
)
_POINTS: Final = re2.compile(
    r"(?i)(?:see|check|view|inspect|consult|open|read|tail|details? (?:are )?in|output (?:is|"
    r"was) (?:being )?"
    r"written to|logs? (?:is|are|can be found|available|written|saved)|full log|log file|"
    r"logged (?:to|in)|"
    r"output (?:saved|redirected) (?:to|in))"
)
_FAILED: Final = re2.compile(
    r"(?i)\bfail(?:ed|ure|s)?\b|exited with (?:code|status) [1-9]|exit code:? [1-9]|\bcrashed\b|"
    r"<status>failed|status['\"]?: ?['\"]?fail|conclusion['\"]?: ?['\"]?failure|non-zero|"
    r"\baborted\b"
)
_READERS: Final = re2.compile(r"(?i)output|logs?\b|log_|_log|journal")
_SHOWS: Final = 6
"""A result with more lines than this beside the pointer shows the failure itself."""


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the reaction acts without opening the log."""
    reaction = reaction_to(candidate)
    if reaction is None:
        return None
    failed, turn = reaction.failed, reaction.turn
    logs = list(dict.fromkeys(_logs_of(failed)))
    if not logs or failed.signs["reads_log"] or _READERS.search(failed.name):
        return None
    if not _has_failed(failed) or _shows_cause(failed):
        return None
    if any(_opens(call, logs) for call in turn.calls) or _names(turn, logs):
        return None
    acting = next((call for call in turn.calls if _acts(call, failed)), None)
    if acting is None:
        return None
    return reaction.hit(acting, f"{logs[0]} is there and is not opened", quote=logs[0])


def judge(answered: Answered) -> Judged:
    """Score a reaction: 5 for opening the log first, 0 for starting again without it."""
    failed, turn = failed_call(answered), answered.run.turns[answered.turn]
    if failed is None:
        return Judged(3, "the failed call is not in the context")
    logs = list(dict.fromkeys(_logs_of(failed)))
    for call in turn.calls:
        if _opens(call, logs):
            return Judged(5, "the log is opened first")
        if _acts(call, failed):
            return Judged(0, f"{call.name} is called before the log is opened")
    if turn.calls:
        return Judged(2, "looks elsewhere than in the log")
    return Judged(3 if _names(turn, logs) else 1, "nothing is called")


def _logs_of(failed: SeenCall) -> Iterator[str]:
    """Yield files and jobs in which the failure is told at length."""
    text = _edges(failed.result)
    for line in text.splitlines():
        if len(line) <= 1_000 and (_POINTS.search(line) or _FAILED.search(line)):
            for found in _LOG_FILE.finditer(line):
                yield found[1]
            for found in _JOB.finditer(line):
                yield found[1] or found[2]
    for found in _LOG_FILE.finditer(failed.command[:2_000]):
        place = failed.command.find(found[1])
        if failed.command[:place].rstrip().endswith((">", "tee", "tee -a", "-o")):
            yield found[1]


def _edges(text: str) -> str:
    return text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"


def _has_failed(call: SeenCall) -> bool:
    return bool(call.signs["failed"]) or _FAILED.search(_edges(call.result)) is not None


def _shows_cause(call: SeenCall) -> bool:
    """Whether the result itself shows at length what went wrong."""
    told = [line for line in _edges(call.result).splitlines() if line.strip()]
    return len(told) > _SHOWS


def _opens(call: SeenCall, logs: list[str]) -> bool:
    if call.signs["reads_log"] or _READERS.search(call.name):
        return True
    looks = call.signs["kind"] in ("read", "search") or any(
        head.split(" ", 1)[0] in ("cat", "tail", "head", "less", "grep", "sed", "gh", "docker")
        for head in call.signs["heads"] or ()
    )
    told = call.arguments_text
    return looks and any(log.rsplit("/", 1)[-1] in told for log in logs)


def _names(turn: SeenTurn, logs: list[str]) -> bool:
    return any(log in turn.text for log in logs)


def _acts(call: SeenCall, failed: SeenCall) -> bool:
    """Whether a call tries again or changes something."""
    return bool(call.signs["changes"]) or retries(call, failed)
