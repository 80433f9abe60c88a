"""A sample of what was not found, for people to look at: how much does an anchor miss?

Two strata, each with how many there are of it, so that shares found in the sample can be weighed:
*candidates*, which the prefilter named and the second stage refused, and *elsewhere*, turns of the
agent's that the prefilter did not name. The lines say where to look, and not what to think of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.catalogue import is_packaged
from tracedance_sdk.behaviors.foreign.search import search_apart
from tracedance_sdk.behaviors.scanning.occurrences import Occurrence
from tracedance_sdk.errors import StoreError
from tracedance_sdk.store import PartitionReader, TraceStore
from tracedance_sdk.trace import Json

FORMAT: Final = "tracedance.audit"
VERSION: Final = 1

_TURNS: Final = """
SELECT trace_id, turn, NULL FROM features
WHERE event = 'turn' AND role = 'assistant' AND turn > 0"""


class _Spot(NamedTuple):
    trace_id: str
    turn: int
    call: int | None


def audit_sample(
    store: TraceStore,
    behavior: Behavior,
    occurrences: Iterable[Occurrence],
    *,
    number: int,
    seed: int = 0,
    where: str | None = None,
    parameters: Mapping[str, Json] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Return the lines of an audit file, its header first.

    Args:
        store: That was scanned.
        behavior: That was looked for.
        occurrences: All that were found of it, those left out as well.
        number: How many to draw, half of each stratum; where one has fewer, more of the other.
        seed: Of the draw.
        where: SQL over the view `traces`: only these were looked at.
        parameters: Of the behaviour.

    Raises:
        StoreError: The store is damaged or lies at a URL.
    """
    if store.path is None:
        raise StoreError(f"{store!r} lies at a URL; import or copy it first")
    found = {
        (item.trace_id, turn)
        for item in occurrences
        for turn in (item.turn, *(piece.turn for piece in item.evidence))
    }
    strata: dict[str, list[_Spot]] = {"candidate": [], "elsewhere": []}
    sizes = dict.fromkeys(strata, 0)
    for key in store.partitions():
        with PartitionReader(store.path, key) as reader:
            among = f"SELECT trace_id FROM traces WHERE ({where or 'true'}\n)"  # noqa: S608 - checked
            ids = {row[0] for row in reader.select(among)}
            rows = reader.select(behavior.anchor.sql) if is_packaged(behavior) else None
            others = {_spot(row) for row in reader.select(_TURNS)}
        if rows is None:
            rows = list(search_apart(store.path, key, (behavior, parameters)).places)
        named = {_spot(row) for row in rows}
        turns = {(spot.trace_id, spot.turn) for spot in named}
        for stratum, spots in (
            ("candidate", named),
            ("elsewhere", {spot for spot in others if spot[:2] not in turns}),
        ):
            left = [spot for spot in spots if spot.trace_id in ids and spot[:2] not in found]
            sizes[stratum] += len(left)
            strata[stratum] = _drawn([*strata[stratum], *left], number, seed)
    half = number // 2
    n_candidates = min(len(strata["candidate"]), max(half, number - len(strata["elsewhere"])))
    strata["candidate"] = strata["candidate"][:n_candidates]
    strata["elsewhere"] = strata["elsewhere"][: number - n_candidates]
    return [_header(behavior, strata, sizes, seed), *_lines(strata)]


def _header(
    behavior: Behavior, strata: dict[str, list[_Spot]], sizes: dict[str, int], seed: int
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "behavior": behavior.id,
        "behavior_sha256": behavior.sha256,
        "definition": behavior.definition,
        "criterion": behavior.criterion,
        "seed": seed,
        "strata": {
            name: {"size": sizes[name], "drawn": len(spots)} for name, spots in strata.items()
        },
    }


def _lines(strata: dict[str, list[_Spot]]) -> list[dict[str, Any]]:
    return [
        {"stratum": name, **spot._asdict()}
        for name, spots in strata.items()
        for spot in sorted(spots, key=lambda item: (item.trace_id, item.turn, item.call or -1))
    ]


def _drawn(spots: Iterable[_Spot], number: int, seed: int) -> list[_Spot]:
    def place(spot: _Spot) -> bytes:
        return hashlib.sha256("\0".join(map(str, (seed, *spot))).encode()).digest()

    return nsmallest(number, spots, key=place)


def _spot(row: tuple[Any, ...]) -> _Spot:
    return _Spot(row[0], row[1], row[2] if len(row) > 2 else None)
