"""Paths into records, as people write them: ``a.b[0].c``, ``a[].b``, or a JSON Pointer."""

from __future__ import annotations

import re
from typing import Final

from tracedance_sdk.formats.places import Misfit
from tracedance_sdk.trace import UNKNOWN, Json, Unknown, split

WHOLE: Final = "$"
"""The path of the record itself."""

Steps = tuple[str | int | None, ...]
"""Keys, places in lists, and None for every item of a list."""

_PART: Final = re.compile(r"([^.\[\]]+)|\[(\d*)\]|\.")


def parse_path(text: str) -> Steps:
    """Return the steps of a path.

    Args:
        text: Keys parted by dots, ``[2]`` for a place in a list, ``[]`` for all of its items; or a
            JSON Pointer, which starts with ``/``, for keys with dots in them; or ``$``.

    Raises:
        Misfit: It is no path.

    Example:
        >>> parse_path("steps[].tool.name"), parse_path("/a.b/0")
        (('steps', None, 'tool', 'name'), ('a.b', 0))
    """
    if text == WHOLE:
        return ()
    if text.startswith("/"):
        return tuple(int(step) if step.isdecimal() else step for step in split(text))
    steps: list[str | int | None] = []
    place = 0
    while place < len(text):
        found = _PART.match(text, place)
        is_dot = found is not None and found.group() == "."
        if found is None or (is_dot and (place == 0 or found.end() == len(text))):
            raise Misfit(f"{text!r} is no path: expected such as 'a.b[0].c', 'a[].b' or '/a/b'")
        if found.group(1) is not None:
            steps.append(found.group(1))
        elif not is_dot:
            steps.append(int(found.group(2)) if found.group(2) else None)
        place = found.end()
    if not steps:
        raise Misfit("an empty path")
    return tuple(steps)


def follow(value: Json, steps: Steps) -> Json | Unknown:
    """Return what stands at a path; `UNKNOWN` when nothing does.

    A path with ``[]`` gives the list of what stands there in each item, lists of lists flattened.
    """
    found: list[Json] = [value]
    is_many = False
    for step in steps:
        if step is None:
            is_many = True
            found = [item for entry in found if isinstance(entry, list) for item in entry]
        else:
            found = [entry[step] for entry in found if _has(entry, step)]
    if is_many:
        return found
    return found[0] if found else UNKNOWN


def is_absent(value: Json, steps: Steps) -> bool:
    """Whether nothing stands at a path: an empty list is something, where it is there itself."""
    found = follow(value, steps)
    if found != []:
        return found is UNKNOWN or found is None
    return None in steps and follow(value, steps[: steps.index(None)]) != []


def written_path(steps: Steps) -> str:
    """Return a path as people write it."""
    text = ""
    for step in steps:
        if isinstance(step, str):
            text += f".{step}" if text else step
        else:
            text += "[]" if step is None else f"[{step}]"
    return text or WHOLE


def _has(value: Json, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)
