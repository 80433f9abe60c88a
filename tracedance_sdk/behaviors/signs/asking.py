"""What people said: what they asked for, and what they agreed to when the agent asked.

Only what a person wrote counts. What a harness put into a person's turn is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.run import Run, SeenTurn

_EDGE: Final = 20_000
_INSERTED: Final = re2.compile(
    r"(?is)<system-reminder>.*?</system-reminder>|<local-command-[a-z]+>.*?</local-command-[a-z]+>|"
    r"<command-[a-z]+>.*?</command-[a-z]+>|<environment_context>.*?</environment_context>|"
    r"<task-notification>.*?</task-notification>"
)
_DENIED: Final = re2.compile(
    r"(?i)\b(no|not|never|don.?t|do not|without|avoid|stop|mustn.?t|shouldn.?t|cannot|can.?t|"
    r"instead of|rather than|forbidden|prohibited)\b[^.;\n]{0,60}$"
)
_YES: Final = re2.compile(
    r"(?i)\b(yes|yep|yeah|ok|okay|sure|go ahead|please do|proceed|do it|confirm(ed)?|approved?|"
    r"lgtm|sounds good|correct|fine|works for me|i agree|that.s right|absolutely|definitely|"
    r"perfect|great|please)\b"
)
_NO: Final = re2.compile(
    r"(?i)^\W*(no|nope|don.?t|do not|stop|wait|cancel that|never ?mind|not yet|hold on)\b"
)
_ASKS: Final = re2.compile(
    r"(?i)\?\s*$|\?\s|\b(shall i|should i|may i|would you like|do you want|please confirm|"
    r"let me know (if|whether)|reply (with )?['\"]?yes|confirm(ation)?|"
    r"with your (approval|okay|ok)|go ahead\?)"
)

_ELSEWHERE: Final = re2.compile(
    r"(?i)\b(follow|do|complete|execute|carry out|perform|work through|take care of|handle)\b"
    r"[^.\n]{0,60}\b(instructions?|tasks?|to-?dos?|steps|actions|checklist|what it says)\b"
)


def edges(text: str) -> str:
    """Return a text, or its beginning and end where it is long."""
    return text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"


def human_words(turn: SeenTurn) -> str:
    """Return what a person wrote in a turn: empty for a turn of anybody else."""
    if not turn.is_human:
        return ""
    text = edges(turn.text)
    return str(_INSERTED.sub(" ", text)) if "<" in text else text


def humans(run: Run, *, before: int) -> Iterator[tuple[int, str]]:
    """Yield what people wrote, with the index of the turn, in order."""
    for turn in run.turns[:before]:
        if words := human_words(turn):
            yield turn.index, words


def says(text: str, pattern: Any) -> str | None:
    """Return the words of a text that a pattern finds where they are not denied, or None.

    Args:
        text: Any text.
        pattern: A compiled expression of re2.
    """
    for found in pattern.finditer(text):
        line = text[max(0, found.start() - 90) : found.start()]
        if not _DENIED.search(line):
            return str(found.group(0))
    return None


def ordered(run: Run, pattern: Any, *, before: int) -> int | None:
    """Return the index of the last turn in which a person asked for something, or None.

    Args:
        run: The run.
        pattern: A compiled expression of re2 for words that name it. Where they are denied ("don't
            push"), they ask for nothing.
        before: Only turns before this index.
    """
    last = None
    for index, words in humans(run, before=before):
        if says(words, pattern):
            last = index
    return last


def approved(run: Run, pattern: Any, *, before: int) -> int | None:
    """Return the index of the last turn in which a person agreed to what the agent had asked.

    Args:
        run: The run.
        pattern: A compiled expression of re2 for words with which the agent named what it is about,
            in the turn with the question.
        before: Only turns before this index.
    """
    asked: SeenTurn | None = None
    last = None
    for turn in run.turns[:before]:
        if turn.is_agent and turn.text:
            asked = turn
        elif words := human_words(turn):
            if asked is not None and _is_yes(words) and asks(asked):
                told = edges(asked.text)
                if pattern.search(told):
                    last = turn.index
            asked = None
    return last


def allowed(run: Run, pattern: Any, *, before: int) -> int | None:
    """Return the index of a turn in which a person asked for something or agreed to it, or None."""
    found = ordered(run, pattern, before=before)
    return found if found is not None else approved(run, pattern, before=before)


def delegated(run: Run, *, before: int) -> int | None:
    """Return the index of a turn in which a person told the agent to do what is written elsewhere.

    What such instructions are is not the person's own words, and may be anything.
    """
    return ordered(run, _ELSEWHERE, before=before)


def asks(turn: SeenTurn) -> bool:
    """Whether a turn of the agent asks a person something."""
    if any(call.signs["kind"] == "ask" for call in turn.calls):
        return True
    return bool(_ASKS.search(edges(turn.text)))


def _is_yes(words: str) -> bool:
    head = words[:600]
    return bool(_YES.search(head)) and not _NO.search(head)
