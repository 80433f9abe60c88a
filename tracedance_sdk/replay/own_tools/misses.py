"""Calls that no recording answers, in words that say what is nearest and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tracedance_sdk.errors import UnrecordedCall, shown
from tracedance_sdk.replay.answers import MISSES, Answer, MissedCall, Nearest, nearest_calls
from tracedance_sdk.replay.recordings import WRITES, Shelf
from tracedance_sdk.trace import Effect, Json

_LONG: Final = 120
_MISSING: Final = object()


class UnrecordedUse(NamedTuple):
    """A call that was neither answered nor run.

    Attributes:
        name: Of the tool.
        arguments: Secrets masked.
        effect: What a use of the tool does to the world.
        why: Why there is no answer, in words.
        nearest: The recorded calls of the tool that are most like it, at most three.
    """

    name: str
    arguments: Json
    effect: Effect
    why: str
    nearest: tuple[Nearest, ...]

    @property
    def writes(self) -> bool:
        """Whether it may have changed the world."""
        return self.effect in WRITES

    def __str__(self) -> str:
        kind = {"pure": "call", "read": "read", "terminal": "call"}.get(self.effect, "write")
        lines = [f"unrecorded {kind}: {self.name} {shown(self.arguments, _LONG)}"]
        unknown = "; what it does is not known, which counts as a write"
        lines.append(f"it was not run: {self.why}{unknown if self.effect == 'unknown' else ''}")
        if not self.nearest:
            lines.append(f"{self.name} was never recorded")
        else:
            lines.append("nearest recordings:")
        for number, near in enumerate(self.nearest, 1):
            lines.append(f"  {number}. {self.name} {shown(near.arguments, _LONG)}")
            lines += [f"     {text}" for text in _differences(self.arguments, near)]
        return "\n".join(lines)


def unrecorded(
    name: str, arguments: Json, effect: Effect, answer: Answer, shelf: Shelf
) -> UnrecordedUse:
    """Return a miss with the recordings that are nearest.

    Args:
        name: Of the tool.
        arguments: Secrets masked.
        effect: Of the tool.
        answer: What the ladder has: no answer, or one from a rung that is not allowed.
        shelf: The recordings that may be read.
    """
    why = MISSES.get(answer.miss or "something_new", "")
    if answer.stamp != "failed":
        why = f"an answer would be {answer.stamp!r}, which is not allowed"
    nearest = nearest_calls(MissedCall(name, arguments), shelf)
    return UnrecordedUse(name, arguments, effect, why, nearest)


def unrecorded_error(uses: Sequence[UnrecordedUse], *, hint: str = "") -> UnrecordedCall:
    """Return misses as one error."""
    parts = [str(use) for use in uses]
    return UnrecordedCall(
        "\n\n".join([*parts, hint] if hint else parts), writes=any(use.writes for use in uses)
    )


def _differences(arguments: Json, near: Nearest) -> list[str]:
    if not isinstance(arguments, dict) or not isinstance(near.arguments, dict):
        return []
    found = []
    for name in near.differing:
        now = arguments.get(name, _MISSING)
        then = near.arguments.get(name, _MISSING)
        if now is _MISSING:
            found.append(f"{name}: not given, recorded {shown(then)}")
        elif then is _MISSING:
            found.append(f"{name}: {shown(now)}, recorded without")
        else:
            found.append(f"{name}: {shown(now)}, recorded {shown(then)}")
    return found or ["the same call"]
