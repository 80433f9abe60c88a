"""JSON Pointers (RFC 6901), and patterns over them with ``*`` and ``**``.

``*`` stands for one step of any name, ``**`` for any number of steps, none included.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.trace.markers import Json


def join(path: str, step: str | int) -> str:
    """Return the pointer one step below `path`."""
    text = str(step)
    if "~" in text or "/" in text:
        text = text.replace("~", "~0").replace("/", "~1")
    return f"{path}/{text}"


def split(pointer: str) -> tuple[str, ...]:
    """Return the steps of a pointer, unescaped; the empty pointer is the whole document.

    Raises:
        InvalidOption: A pointer that is not empty and does not start with ``/``.
    """
    if pointer and not pointer.startswith("/"):
        raise InvalidOption(f"{pointer!r} is not a JSON Pointer; write it as '/name/name'")
    steps = pointer.split("/")[1:]
    if "~" not in pointer:
        return tuple(steps)
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def matches(pattern: str, pointer: str) -> bool:
    """Whether a pointer fits a pattern.

    Example:
        >>> matches("/users/*/email", "/users/7/email"), matches("/users/**", "/users")
        (True, True)
    """
    return _matches(split(pattern), split(pointer))


def covers(pattern: str, pointer: str) -> bool:
    """Whether a pointer fits a pattern or lies below a place that does."""
    steps = split(pointer)
    wanted = split(pattern)
    return any(_matches(wanted, steps[:length]) for length in range(len(steps) + 1))


def _matches(pattern: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    reachable = {0}
    for wanted in pattern:
        if wanted == "**":
            reachable = set(range(min(reachable), len(steps) + 1))
        else:
            reachable = {
                place + 1
                for place in reachable
                if place < len(steps) and wanted in ("*", steps[place])
            }
        if not reachable:
            return False
    return len(steps) in reachable


def find(pattern: str, document: Json) -> Iterator[tuple[str, Json]]:
    """Yield ``(pointer, value)`` for every place of the document that fits the pattern."""
    yield from _find(split(pattern), document, "")


def _find(pattern: tuple[str, ...], node: Json, path: str) -> Iterator[tuple[str, Json]]:
    if not pattern:
        yield path, node
        return
    head, rest = pattern[0], pattern[1:]
    if head == "**":
        yield from _find_below(rest, node, path)
    elif head == "*":
        for step, child in _children(node):
            yield from _find(rest, child, join(path, step))
    else:
        for step, child in _children(node):
            if str(step) == head:
                yield from _find(rest, child, join(path, step))


def _find_below(rest: tuple[str, ...], node: Json, path: str) -> Iterator[tuple[str, Json]]:
    seen: set[str] = set()
    pending = [(path, node)]
    while pending:
        place, item = pending.pop()
        for found in _find(rest, item, place):
            if found[0] not in seen:
                seen.add(found[0])
                yield found
        pending.extend((join(place, step), child) for step, child in _children(item))


def _children(node: Json) -> list[tuple[str | int, Json]]:
    if isinstance(node, dict):
        return list(node.items())
    if isinstance(node, list):
        return list(enumerate(node))
    return []
