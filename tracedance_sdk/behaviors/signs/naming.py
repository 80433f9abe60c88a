"""Whether a name was there before: as a word of somebody else than the agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.behaviors.signs.seen import shown_texts

COMPACTED: Final = frozenset(
    {"flag-compaction", "compaction", "accepted-plan", "terminus-handover"}
)
"""Rules of origin after whose turns the agent has only a summary of what was before."""


def base_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]


def was_named(run: Run, name: str, *, before: int, since: int = 0) -> int | None:
    """Return the index of the first turn that shows a name, upper and lower case the same.

    What counts is what `shown_texts` gives: no words of the agent.

    Args:
        run: The run.
        name: Looked for as a whole word.
        before: Only turns before this index, with the results of their calls.
        since: Only turns from this index.
    """
    wanted = name.casefold()
    if not wanted:
        return None
    for index, text in shown_texts(run, before=before, since=since):
        if name in text or wanted in text.casefold():
            for found in _places(text.casefold(), wanted):
                if is_whole(text.casefold(), found, len(wanted)):
                    return index
    return None


def is_whole(text: str, place: int, length: int) -> bool:
    """Whether what stands at a place of a text is no piece of a longer word."""
    left = text[place - 1] if place else " "
    end = place + length
    right = text[end] if end < len(text) else " "
    return not (left.isalnum() or left == "_") and not (right.isalnum() or right == "_")


def _places(text: str, wanted: str, *, most: int = 50) -> Iterator[int]:
    place = text.find(wanted)
    while place >= 0 and most > 0:
        yield place
        most -= 1
        place = text.find(wanted, place + 1)


def last_compaction(run: Run, *, before: int) -> int:
    """Return the index of the last turn that holds a summary of what was before; 0 without one."""
    rules = ((turn.index, turn.signs["origin_rule"]) for turn in run.turns[:before])
    return max((index for index, rule in rules if rule in COMPACTED), default=0)


def earlier_calls(run: Run, call: SeenCall) -> Iterator[SeenCall]:
    """Yield the calls of the turns before a call's own."""
    return run.calls(before=call.turn)


def same_path(one: str, other: str) -> bool:
    """Whether two paths can mean the same file, one of them relative or both the same."""
    left, right = _plain(one), _plain(other)
    if left == right:
        return bool(left)
    if len(left) < len(right):
        left, right = right, left
    return bool(right) and left.endswith(f"/{right}")


def _plain(path: str) -> str:
    path = path.replace("\\", "/").strip("'\"").rstrip("/")
    while path.startswith("./"):
        path = path[2:]
    return path
