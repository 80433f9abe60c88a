"""What readers say of places in real runs, who did not know what an anchor says of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import orjson


class Label(NamedTuple):
    """What a reader says of one place.

    Attributes:
        trace_id: The trace.
        turn: Index of the turn that may show the behaviour.
        shows: Whether it does; None where the window does not tell.
        quote: Words of the trace, up to that turn with its results, that decide it.
        why: In one line.
    """

    trace_id: str
    turn: int
    shows: bool | None
    quote: str
    why: str

    @property
    def place(self) -> tuple[str, int]:
        return self.trace_id, self.turn


def labels() -> dict[str, list[Label]]:
    """Return the labels by behaviour."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.jsonl")):
        first, *lines = map(orjson.loads, path.read_bytes().splitlines())
        assert first["format"] == "tracedance.behavior_labels"
        assert (first["version"], first["behavior"]) == (1, path.stem)
        found[path.stem] = [Label(**line) for line in lines]
    return found
