"""Whether what is kept tells what comes: words of the withheld turn that nobody could know yet.

What a model said may well repeat what stands before it: a command from the task, a path from a
listing. Its *distinctive* words are those that no ordinary turn before it holds. They may stand in
nothing that was written afterwards and got in front of the cut: a summary of a compaction or a
resumed session, a title, a message whose time is later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.trace import UNKNOWN, Json, Trace, Turn, canonical_json

SHINGLE: Final = 8
"""Tokens in a row that no two texts share by chance."""

_FEWEST: Final = 4
_TOKENS: Final = re.compile(r"\w+")
_SUMMARY_RULES: Final = ("compaction", "summary", "handover")
_TITLE: Final = re2.compile(
    r"(?i)^[#* ]*(?:session |conversation |chat |previous )?(?:title|summary)[* ]*(?::|$)"
)
_LONGEST_PROMPT: Final = 200_000


def leak(trace: Trace, cut: int, *, size: int = SHINGLE) -> str | None:
    """Return what of the withheld turn stands before the cut and was written after it, or None.

    Args:
        trace: The whole run, as it was recorded.
        cut: Index of the withheld turn.
        size: Tokens in a row that make a leak; a withheld text of fewer, but at least 4, leaks as
            a whole.
    """
    source = trace.turns[cut]
    late = [turn for turn in trace.turns[:cut] if _is_later(turn, source.started_at)]
    for turn in late:
        if is_summary(turn):
            return f"turn {turn.index} is a summary that was written after the cut"
    doubtful = {turn.index for turn in late}
    doubtful |= {
        turn.index
        for turn in trace.turns[:cut]
        if is_summary(turn) and (turn.started_at is None or source.started_at is None)
    }
    titled = _titled(trace.system_prompt or "")
    if not doubtful and not titled:
        return None
    sound = [turn for turn in trace.turns[:cut] if turn.index not in doubtful]
    distinctive = distinctive_shingles(source, sound, size=size)
    for turn in trace.turns[:cut]:
        if turn.index in doubtful and (shared := _shared(distinctive, told_by(turn))):
            return f"turn {turn.index} holds words of the withheld turn: {shared!r}"
    if shared := _shared(distinctive, [titled]):
        return f"the system prompt holds words of the withheld turn: {shared!r}"
    return None


def _titled(prompt: str) -> str:
    """Return the paragraphs of a system prompt that call themselves a title or a summary."""
    found: list[str] = []
    is_inside = False
    for line in prompt[:_LONGEST_PROMPT].splitlines():
        is_inside = bool(line.strip()) and (is_inside or _TITLE.search(line[:80]) is not None)
        if is_inside:
            found.append(line)
    return "\n".join(found)


def distinctive_shingles(
    withheld: Turn, before: Iterable[Turn], *, size: int = SHINGLE
) -> dict[str, None]:
    """Return the shingles of a turn's text and arguments that no turn before it holds.

    Args:
        withheld: The turn.
        before: Turns whose words it may rightly repeat.
        size: Tokens in one.
    """
    width = _width(_said_by(withheld), size)
    own = _shingles(_said_by(withheld), width)
    for turn in before:
        for known in _shingles(told_by(turn), width):
            own.pop(known, None)
    return own


def is_summary(turn: Turn) -> bool:
    """Whether a turn sums up what was said, by what its source or its beginning says of it."""
    extra = turn.model_extra or {}
    rule = extra.get("origin_rule")
    if extra.get("compaction") is True:
        return True
    if isinstance(rule, str) and any(word in rule for word in _SUMMARY_RULES):
        return True
    start = turn.text[:400].lstrip("#* \n<").lower() if turn.role != "assistant" else ""
    return start.startswith(
        ("summary", "session summary", "conversation summary", "this session is being continued")
    )


def told_by(turn: Turn) -> Iterator[str]:
    """Yield what a turn shows: text, arguments, results."""
    yield from _said_by(turn)
    for call in turn.calls:
        if call.result is not None:
            yield _words(call.result.content)
            if call.result.error is not None:
                yield call.result.error.message


def _said_by(turn: Turn) -> Iterator[str]:
    yield turn.text
    for call in turn.calls:
        yield _words(call.arguments)
        yield call.raw_arguments or ""


def _words(value: Json) -> str:
    """Return the texts of a value, each on its line."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(map(_words, value.values()))
    if isinstance(value, list):
        return "\n".join(map(_words, value))
    return "" if value is UNKNOWN else canonical_json(value).decode()


def _shingles(texts: Iterable[str], width: int) -> dict[str, None]:
    found: dict[str, None] = {}
    for text in texts:
        tokens = _TOKENS.findall(text.lower())
        for place in range(len(tokens) - width + 1):
            found[" ".join(tokens[place : place + width])] = None
    return found


def _width(texts: Iterable[str], size: int) -> int:
    longest = max((len(_TOKENS.findall(text)) for text in texts), default=0)
    return min(size, max(longest, _FEWEST))


def _shared(distinctive: dict[str, None], texts: Iterable[str]) -> str | None:
    if not distinctive:
        return None
    width = len(next(iter(distinctive)).split(" "))
    return next((one for one in _shingles(texts, width) if one in distinctive), None)


def _is_later(turn: Turn, moment: datetime | None) -> bool:
    return moment is not None and turn.started_at is not None and turn.started_at > moment
