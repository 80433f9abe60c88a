"""Find whole records in a line that as a whole is none."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.journal.decoding import decode_line
from tracedance_sdk.journal.encoding import EVENT_OPENING, SPAN_OPENING
from tracedance_sdk.journal.records import EvidenceRecord

_OPENING: Final = re.compile(b"|".join(map(re.escape, (SPAN_OPENING, EVENT_OPENING))))
_MOST_ENDS: Final = 8


def has_inner_opening(line: bytes) -> bool:
    """Whether a record begins within a line, which no write that was cut off leaves behind."""
    return _OPENING.search(line, 1) is not None


def salvage(line: bytes) -> list[EvidenceRecord]:
    """Return the whole records in a damaged line.

    A newline that was lost joins two lines, and a machine that stops can leave zeros before or
    after a line; a record's opening cannot occur inside another, as its quotes would be escaped.
    """
    starts = [found.start() for found in _OPENING.finditer(line)]
    pieces = pairwise((*starts, len(line)))
    return [record for start, end in pieces for record in _whole_records(line[start:end])]


def _whole_records(piece: bytes) -> list[EvidenceRecord]:
    end = len(piece)
    for _ in range(_MOST_ENDS):
        end = piece.rfind(b"}", 0, end)
        if end < 0:
            break
        try:
            return decode_line(piece[: end + 1], where="line")
        except InvalidJSON:
            continue
    return []
