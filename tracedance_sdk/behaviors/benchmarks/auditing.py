"""A sample of what was not found, for people to look at: how much does an anchor miss?

Two strata, each with how many there are of it, so that shares found in the sample can be weighed:
*candidates*, which the prefilter named and the second stage refused, and *elsewhere*, turns of the
agent's that the prefilter did not name. Of two behaviours at once: turns where *one of two* was
found, and *elsewhere*, turns where neither was. The lines say where to look, and not what to think
of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.catalogue import is_packaged
from tracedance_sdk.behaviors.foreign.search import search_apart
from tracedance_sdk.behaviors.scanning.occurrences import Occurrence
from tracedance_sdk.errors import InvalidQuery, StoreError
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
        InvalidQuery: The SQL of a behaviour of a user's own takes too long or too much.
    """
    if store.path is None:
        raise StoreError(f"{store!r} lies at a URL; import or copy it first")
    found = {
        (item.trace_id, turn)
        for item in occurrences
        for turn in (item.turn, *(piece.turn for piece in item.evidence))
    }
    sample = _Sample("candidate", number, seed)
    for key in store.partitions():
        with PartitionReader(store.path, key) as reader:
            among = f"SELECT trace_id FROM traces WHERE ({where or 'true'}\n)"  # noqa: S608 - checked
            ids = {row[0] for row in reader.select(among)}
            rows = reader.select(behavior.anchor.sql) if is_packaged(behavior) else None
            others = {_spot(row) for row in reader.select(_TURNS)}
        if rows is None:
            apart = search_apart(store.path, key, (behavior, parameters))
            if apart.failure is not None:
                raise InvalidQuery(f"behaviour {behavior.id}: {apart.failure}")
            rows = list(apart.places)
        named = {_spot(row) for row in rows}
        turns = {(spot.trace_id, spot.turn) for spot in named}
        for stratum, spots in (
            ("candidate", named),
            ("elsewhere", {spot for spot in others if spot[:2] not in turns}),
        ):
            left = [spot for spot in spots if spot.trace_id in ids and spot[:2] not in found]
            sample.add(stratum, left)
    return sample.lines({"behavior": behavior.id, **_about(behavior)})


def joint_audit_sample(
    store: TraceStore,
    occurrences: Sequence[tuple[Behavior, Iterable[Occurrence]]],
    *,
    number: int,
    seed: int = 0,
    where: str | None = None,
) -> list[dict[str, Any]]:
    """Return the lines of an audit file of two behaviours at once, its header first.

    Args:
        store: That was scanned.
        occurrences: Of each behaviour all that were found, those left out as well.
        number: See `audit_sample`.
        seed: See `audit_sample`.
        where: See `audit_sample`.

    Raises:
        StoreError: The store is damaged or lies at a URL.
    """
    if store.path is None:
        raise StoreError(f"{store!r} lies at a URL; import or copy it first")
    of_turn: dict[tuple[str, int], list[str]] = {}
    beside: set[tuple[str, int]] = set()
    for behavior, found in occurrences:
        for item in found:
            of_turn.setdefault((item.trace_id, item.turn), []).append(behavior.id)
            beside |= {(item.trace_id, piece.turn) for piece in item.evidence}
    sample = _Sample("one of two", number, seed)
    single = [_Spot(*turn, None) for turn, names in of_turn.items() if len(names) == 1]
    sample.add("one of two", single)
    for key in store.partitions():
        with PartitionReader(store.path, key) as reader:
            among = f"SELECT trace_id FROM traces WHERE ({where or 'true'}\n)"  # noqa: S608 - checked
            ids = {row[0] for row in reader.select(among)}
            others = {_spot(row) for row in reader.select(_TURNS)}
        left = [
            spot
            for spot in others
            if spot.trace_id in ids and spot[:2] not in of_turn and spot[:2] not in beside
        ]
        sample.add("elsewhere", left)
    header, *lines = sample.lines(
        {
            "behavior": "+".join(behavior.id for behavior, _ in occurrences),
            "operator": "AND",
            "behaviors": [{"id": one.id, **_about(one)} for one, _ in occurrences],
        }
    )
    return [header, *(_with_found(line, of_turn) for line in lines)]


def _with_found(
    line: dict[str, Any], of_turn: Mapping[tuple[str, int], list[str]]
) -> dict[str, Any]:
    """Return a line that says which of two behaviours was found there; none elsewhere."""
    found = of_turn.get((line["trace_id"], line["turn"]))
    return line if found is None else {**line, "found": found[0]}


class _Sample:
    """Places that are drawn from two strata while they are gone through.

    Args:
        first: Name of one stratum; the other is *elsewhere*.
        number: How many are drawn.
        seed: Of the draw.
    """

    def __init__(self, first: str, number: int, seed: int) -> None:
        self._first = first
        self._number = number
        self._seed = seed
        self._strata: dict[str, list[_Spot]] = {first: [], "elsewhere": []}
        self._sizes = dict.fromkeys(self._strata, 0)

    def add(self, stratum: str, spots: Sequence[_Spot]) -> None:
        """Go through more places of a stratum."""
        self._sizes[stratum] += len(spots)
        self._strata[stratum] = _drawn([*self._strata[stratum], *spots], self._number, self._seed)

    def lines(self, about: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the header, which says this as well, and a line for each place."""
        number, first, rest = self._number, self._strata[self._first], self._strata["elsewhere"]
        n_first = min(len(first), max(number // 2, number - len(rest)))
        strata = {self._first: first[:n_first], "elsewhere": rest[: number - n_first]}
        told = {
            name: {"size": self._sizes[name], "drawn": len(spots)} for name, spots in strata.items()
        }
        own = {"format": FORMAT, "version": VERSION}
        return [{**own, **about, "seed": self._seed, "strata": told}, *_lines(strata)]


def _about(behavior: Behavior) -> dict[str, Any]:
    return {
        "behavior_sha256": behavior.sha256,
        "definition": behavior.definition,
        "criterion": behavior.criterion,
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
