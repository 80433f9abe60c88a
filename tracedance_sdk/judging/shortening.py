"""Lines of JSON within a number of characters: long values are cut in the middle, and say so.

Whatever a value holds, a line stays one line of valid JSON, so that nothing in it can pass for
another line. Only whole characters and whole escapes are cut off.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import orjson

from tracedance_sdk.trace import Json, spelled_out

LEAST: Final = 56
"""Characters that any value of an entry can be shortened to."""

GAP: Final = 90
"""Characters that the line about entries left out takes at most."""

_NOMINAL: Final = 120
_DEPTH: Final = 3
_LEAST_PART: Final = 32
"""Characters that any text can be shortened to, and any part of a value."""

_ESCAPED: Final = re.compile(r"\\u[0-9a-f]{4}|\\.|[^\\]", re.DOTALL)
_BREAKS: Final = {
    code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029)
}  # what some readers take for the end of a line, or obey
_MARK: Final = 12


def json_line(value: Json) -> str:
    """Return a value as one line of compact JSON: no line break of any kind is in it."""
    try:
        text = orjson.dumps(value).decode()
    except (TypeError, ValueError):
        spelled = spelled_out(value)
        text = json.dumps(spelled, ensure_ascii=False, separators=(",", ":"), default=repr)
    return text if text.isascii() and "\x7f" not in text else text.translate(_BREAKS)


def fenced(label: str, lines: Iterable[str]) -> str:
    """Return lines between two marks that nothing in them can have foreseen.

    Args:
        label: What they are, in a word.
        lines: None of them holds a line break, as `json_line` makes them.

    Example:
        >>> print(fenced("answer", [json_line({"text": "Done."})]))
        <<<answer 2d312237395b
        {"text":"Done."}
        answer 2d312237395b>>>
    """
    body = "\n".join(lines)
    mark = hashlib.sha256(body.encode()).hexdigest()[:_MARK]
    return f"<<<{label} {mark}\n{body}\n{label} {mark}>>>"


def fence_size(label: str) -> int:
    """Return how many characters `fenced` adds."""
    return 2 * (len(label) + _MARK + len("<<< \n"))


class Entry(NamedTuple):
    """One line: what stays, and what may be shortened.

    Attributes:
        fields: Short values, kept as they are.
        values: Shortened where there is no room for them.
        is_call: Whether it is a call, and no text.
        is_failed: Whether it is a call that failed; kept before others.
    """

    fields: dict[str, Json]
    values: dict[str, Json]
    is_call: bool = False
    is_failed: bool = False

    @property
    def whole(self) -> str:
        """The line with everything in it."""
        return json_line({**self.fields, **self.values})

    @property
    def least(self) -> int:
        """Characters that it can be shortened to."""
        return self._around() + sum(min(LEAST, len(json_line(v))) for v in self.values.values())

    def within(self, room: int) -> str:
        """Return the line with its values shortened to a number of characters, at least `least`."""
        names = list(self.values)
        texts = _share(list(self.values.values()), room - self._around())
        tail = ",".join(f"{json_line(n)}:{text}" for n, text in zip(names, texts, strict=True))
        head = json_line(self.fields)[:-1]
        return f"{head}{',' if self.fields and names else ''}{tail}}}"

    def _around(self) -> int:
        return len(json_line({**self.fields, **dict.fromkeys(self.values, 0)})) - len(self.values)


def fitted(
    entries: Sequence[Entry], wholes: Sequence[str], room: int, *, order: Iterable[int]
) -> list[str | None]:
    """Return lines that take no more than a number of characters, line breaks included.

    Args:
        entries: All of them.
        wholes: Their whole lines.
        room: Characters.
        order: Places of the entries, those first that are to be kept where not all can be.

    Returns:
        A line for each entry, shortened where need be; None for one that is left out. Each run of
        those leaves `GAP` characters for the line that tells of it.
    """
    if sum(map(len, wholes)) + len(wholes) <= room:
        return list(wholes)
    costs = [
        min(len(whole), max(entry.least, _NOMINAL)) + 1
        for entry, whole in zip(entries, wholes, strict=True)
    ]
    kept = list(range(len(entries)))
    spent = sum(costs)
    if spent > room:
        kept, spent = _chosen(costs, order, room)
    floors = [costs[place] - 1 for place in kept]
    lengths = [len(wholes[place]) - floor for place, floor in zip(kept, floors, strict=True)]
    more = level(lengths, room - spent)
    lines: list[str | None] = [None] * len(entries)
    for place, floor in zip(kept, floors, strict=True):
        whole, most = wholes[place], floor + more
        lines[place] = whole if len(whole) <= most else entries[place].within(most)
    return lines


def level(lengths: Sequence[int], room: int) -> int:
    """Return the longest that each may be for all of them to fit: short ones leave room to others.

    Example:
        >>> level([10, 200, 300], 110)
        50
    """
    left = room
    for place, length in enumerate(ordered := sorted(lengths)):
        share = left // (len(ordered) - place)
        if length > share:
            return max(0, share)
        left -= length
    return max(ordered, default=0)


def cut(text: str, room: int) -> str:
    """Return text as a JSON string of at most `room` characters, 32 or more, quotes included.

    Example:
        >>> cut("a" * 400 + "end", 50)
        '"aaaaaaaaaaaaaaaa…(371 left out)…aaaaaaaaaaaaaend"'
    """
    if len(text) <= room and len(whole := json_line(text)) <= room:
        return whole
    text = spelled_out(text)
    left = room - 2 - len(f"…({len(text)} left out)…")
    head = _pieces(text[: left - left // 2], left - left // 2)
    tail = _pieces(text[-(left // 2) :][::-1], left // 2)
    tail.reverse()
    gone = len(text) - len(head) - len(tail)
    return f'"{"".join(head)}…({gone} left out)…{"".join(tail)}"'


def _pieces(text: str, room: int) -> list[str]:
    """Return the escaped characters of a text, from its start, that fit."""
    found, left = [], room
    for piece in _ESCAPED.findall(json_line(text)[1:-1]):
        left -= len(piece)
        if left < 0:
            break
        found.append(piece)
    return found


def _chosen(costs: Sequence[int], order: Iterable[int], room: int) -> tuple[list[int], int]:
    """Return the places that are kept, ascending, and what they and the gaps cost."""
    kept, spent = [], GAP
    for place in order:
        # Each entry that is kept ends at most one gap.
        if spent + costs[place] + GAP <= room:
            spent += costs[place] + GAP
            kept.append(place)
    return sorted(kept), spent


def _share(
    values: Sequence[Json], room: int, *, least: int = LEAST, depth: int = _DEPTH
) -> list[str]:
    """Return values as JSON that together takes no more than `room`, `least` for each at least."""
    texts = [json_line(value) for value in values]
    floors = [min(least, len(text)) for text in texts]
    lengths = [len(text) - floor for text, floor in zip(texts, floors, strict=True)]
    more = level(lengths, room - sum(floors))
    return [
        text if len(text) <= floor + more else _shortened(value, text, floor + more, depth)
        for value, text, floor in zip(values, texts, floors, strict=True)
    ]


def _shortened(value: Json, text: str, room: int, depth: int) -> str:
    """Return JSON of the same shape with its texts cut, or the cut text where that is too long."""
    if isinstance(value, str):
        return cut(value, room)
    if not depth:
        return cut(text, room)
    if isinstance(value, dict) and value:
        names = [json_line(str(name)) for name in value]
        if (around := sum(map(len, names)) + 2 * len(names) + 1) + _LEAST_PART * len(names) <= room:
            texts = _share(list(value.values()), room - around, least=_LEAST_PART, depth=depth - 1)
            return f"{{{','.join(f'{n}:{t}' for n, t in zip(names, texts, strict=True))}}}"
    if isinstance(value, (list, tuple)) and (_LEAST_PART + 1) * len(value) + 1 <= room:
        around = len(value) + 1
        texts = _share(value, room - around, least=_LEAST_PART, depth=depth - 1)
        return f"[{','.join(texts)}]"
    return cut(text, room)
