"""Which decisions were taken in nearly the same context: MinHash over words.

Source: Broder, "On the resemblance and containment of documents", 1997; datasketch's MinHash, LSH.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.errors import MissingDependency

_SCHEME: Final = "affine32"
_PERMUTATIONS: Final = 64
_WORDS: Final = 5
"""In a row, for one shingle."""

_CHARACTERS: Final = 6_000
THRESHOLD: Final = 0.9
"""Contexts whose shingles are to this share the same are near-duplicates, about."""


def signature(run: Run, turn: int) -> tuple[int, ...]:
    """Return the MinHash of what comes right before a turn.

    Args:
        run: The run.
        turn: Index of the turn; the last 6,000 characters before it count.

    Returns:
        64 numbers. Contexts that share most of their words, in order, share most of the numbers.

    Raises:
        MissingDependency: datasketch is not installed.
    """
    words = _context(run, turn).split()
    last = max(1, len(words) - _WORDS + 1)
    shingles = {" ".join(words[place : place + _WORDS]) for place in range(last)}
    hashed = _empty().copy()
    hashed.update_batch([shingle.encode("utf-8", "backslashreplace") for shingle in shingles])
    return tuple(int(value) for value in hashed.hashvalues)


def near_duplicates(
    signatures: Sequence[tuple[int, ...]], *, threshold: float = THRESHOLD
) -> list[int | None]:
    """Return, for each signature, the place of an earlier one that it nearly equals, or None.

    One that nearly equals a near-duplicate only is compared with the first of its kind, so chains
    do not grow away from where they began.

    Args:
        signatures: As `signature` returns them, in the order in which they are preferred.
        threshold: Share of equal shingles, from 0 to 1.
    """
    import numpy as np

    sketch = _sketch()
    index = sketch.MinHashLSH(num_perm=_PERMUTATIONS, params=_bands(threshold))
    kept: dict[int, Any] = {}
    found: list[int | None] = []
    for place, values in enumerate(signatures):
        own = _empty().copy()
        own.hashvalues = np.array(values, dtype=own.hashvalues.dtype)
        near = sorted(other for other in index.query(own) if kept[other].jaccard(own) >= threshold)
        found.append(near[0] if near else None)
        if not near:
            kept[place] = own
            index.insert(place, own)
    return found


def _context(run: Run, turn: int) -> str:
    pieces: list[str] = []
    left = _CHARACTERS
    for seen in reversed(run.turns[:turn]):
        told = [seen.text]
        for call in seen.calls:
            told += [call.name, call.arguments_text[:left], call.result[:left]]
        piece = "\n".join(told)[-left:]
        pieces.append(piece)
        left -= len(piece)
        if left <= 0:
            break
    return "\n".join(reversed(pieces))


@cache
def _empty() -> Any:
    """Return a MinHash of nothing: copies share its permutations, which take long to draw."""
    return _sketch().MinHash(num_perm=_PERMUTATIONS, seed=1, scheme=_SCHEME, hashfunc=zlib.crc32)


@cache
def _bands(threshold: float) -> tuple[int, int]:
    """Return how an index is best divided for a threshold, which takes long to find."""
    index = _sketch().MinHashLSH(threshold=threshold, num_perm=_PERMUTATIONS)
    return index.b, index.r


@cache
def _sketch() -> Any:
    try:
        return importlib.import_module("datasketch")
    except ImportError as error:
        raise MissingDependency.for_extra("datasketch", extra="behaviors") from error
