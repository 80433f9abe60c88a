"""A behaviour is tried on a store before it is believed: what its anchor does that it should not.

An anchor finds the same twice, names places that are there, finds something and not nearly
everything, and does not care how a trace is called or what happened after the source turn. What it
finds is cut as for a benchmark, so that a frame that its evidence does not meet shows at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.cutting.cut import CHECKS, Refusal, cut
from tracedance_sdk.behaviors.hits import Evidence, Hit
from tracedance_sdk.behaviors.scanning.choosing import Caps
from tracedance_sdk.behaviors.scanning.occurrences import Occurrence
from tracedance_sdk.behaviors.scanning.partition import Wanted
from tracedance_sdk.behaviors.scanning.store_scan import StoreScan, scan_store
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Json, Trace

MOST_SHARE: Final = 0.3
"""An anchor that finds something in a larger share of the sessions is taken to say nothing."""

_TRIED: Final = 20
_SHOWN: Final = 5
_CUT: Final = 200
_OF_THE_ANCHOR: Final = frozenset({CHECKS[1], CHECKS[4]})
"""Checks of a cut that depend on the turn and the evidence that an anchor names."""
_CAPS: Final = Caps(session=None, similarity=None)


class Trial(NamedTuple):
    """What came of trying a behaviour.

    Attributes:
        sessions: Sessions that were looked at.
        hits: Occurrences that were found.
        hit_sessions: Sessions with one.
        problems: What its anchor does that it should not, one line each; empty when all is well.
        cut: Of how many hits a benchmark can be made.
        cut_tried: Of how many that was tried: all, or the first 200.
        refusals: Why the others cannot be cut, by the check that refuses them, the first of each.
    """

    sessions: int
    hits: int
    hit_sessions: int
    problems: tuple[str, ...]
    cut: int = 0
    cut_tried: int = 0
    refusals: Mapping[str, str] = {}


def try_behavior(
    store: TraceStore, behavior: Behavior, *, parameters: Mapping[str, Json] | None = None
) -> Trial:
    """Try a behaviour on all sessions of a store.

    Args:
        store: Any with sessions in which it should be found, and others.
        behavior: The catalogue's, or one of a user's own.
        parameters: Values of its parameters.

    Raises:
        InvalidSpec: Its source is refused, or a parameter has no value.
        InvalidQuery: Its SQL is refused, fails, or takes too long.
        StoreError: The store is damaged or lies at a URL.
    """
    wanted = [Wanted(behavior, behavior.filled(dict(parameters or {})))]
    first, second = (scan_store(store, wanted, caps=_CAPS) for _ in range(2))
    funnel = first.funnels[0]
    found = first.occurrences[behavior.id]
    problems = [f"cannot look at {error}" for error in first.errors[:_SHOWN]]
    if _places(first) != _places(second):
        problems.append("it does not find the same twice")
    if not found:
        problems.append("it finds nothing; nobody can say whether it would")
    elif funnel.hit_sessions > MOST_SHARE * funnel.sessions:
        share = f"{funnel.hit_sessions:,} of {funnel.sessions:,} sessions"
        problems.append(f"it finds something in {share}, more than {MOST_SHARE:.0%}")
    problems += _after_change(store, wanted, found[:_TRIED])
    tried = found[:_CUT]
    n_cut, refusals = _cuts(store, behavior, tried)
    if tried and not n_cut and set(refusals) <= _OF_THE_ANCHOR:
        problems.append(f"none of its hits can be cut: {next(iter(refusals.values()))}")
    return Trial(
        funnel.sessions,
        funnel.hits,
        funnel.hit_sessions,
        tuple(problems),
        n_cut,
        len(tried),
        refusals,
    )


def _cuts(
    store: TraceStore, behavior: Behavior, found: list[Occurrence]
) -> tuple[int, dict[str, str]]:
    """Return how many occurrences can be cut, and the first refusal of each check."""
    n_cut, refusals = 0, dict[str, str]()
    for item in found:
        hit = Hit(
            item.turn, tuple(Evidence(e.turn, e.call, e.quote) for e in item.evidence), item.note
        )
        made = cut(store.get(item.trace_id), hit, behavior)
        if isinstance(made, Refusal):
            refusals.setdefault(made.name, f"{item.trace_id}: {made}")
        else:
            n_cut += 1
    return n_cut, refusals


def _places(scan: StoreScan) -> list[tuple[str, int, object, str]]:
    return sorted(
        (item.trace_id, item.turn, item.evidence, item.note)
        for items in scan.occurrences.values()
        for item in items
    )


def _after_change(store: TraceStore, wanted: list[Wanted], found: list[Occurrence]) -> list[str]:
    """Look for occurrences again in traces that end with the source turn, and under other names."""
    if not found:
        return []
    changed: dict[str, tuple[str, Occurrence]] = {}
    traces: list[Trace] = []
    for number, item in enumerate(found):
        trace = store.get(item.trace_id)
        for how, one in (
            ("that ends with its source turn", trace.turns[: item.turn + 1]),
            ("under another name", trace.turns),
        ):
            name = f"tried-{number}-{len(one)}-{len(changed)}"
            update = {"id": name, "session_id": None, "parent": None, "turns": tuple(one)}
            changed[name] = (how, item)
            traces.append(trace.model_copy(update=update))
    with tempfile.TemporaryDirectory() as folder:
        other = TraceStore.create(Path(folder) / "tried")
        other.add(traces)
        other.index()
        scan = scan_store(other, wanted, caps=_CAPS)
    again = {(item.trace_id, item.turn) for item in scan.occurrences[wanted[0].behavior.id]}
    lost = [
        f"trace {item.trace_id}, turn {item.turn}: not found in the trace {how}"
        for name, (how, item) in changed.items()
        if (name, item.turn) not in again
    ]
    return lost[:_SHOWN]
