"""How often a behaviour occurs: in how many of the sessions that were looked at."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from tracedance_sdk.behaviors.scanning.partition import DIMENSIONS
from tracedance_sdk.behaviors.scanning.store_scan import StoreScan
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.statistics import Estimate, pass_rate


class Frequency(NamedTuple):
    """In how many sessions a behaviour occurs.

    Attributes:
        behavior: Its id.
        value: Which sessions: a week, an agent; empty for those that say nothing, None for all.
        sessions: How many there are.
        hit_sessions: In how many of them it occurs.
        rate: The share, with a Wilson interval of 95 %; None where there are no sessions.
    """

    behavior: str
    value: str | None
    sessions: int
    hit_sessions: int
    rate: Estimate | None


def frequencies(scan: StoreScan, *, by: str | None = None) -> list[Frequency]:
    """Return how often each behaviour occurs.

    Near-duplicates and what is beyond caps count here: a rate is one of all sessions.

    Args:
        scan: What was found.
        by: One of `DIMENSIONS`; None for one rate over all sessions.

    Raises:
        InvalidOption: Another word.
    """
    if by is not None and by not in DIMENSIONS:
        raise InvalidOption(f"by={by!r}: one of {', '.join(DIMENSIONS)} is needed")
    found: list[Frequency] = []
    for funnel in scan.funnels:
        if by is None:
            found.append(_frequency(funnel.behavior, None, funnel.sessions, funnel.hit_sessions))
            continue
        hit: defaultdict[str, set[str]] = defaultdict(set)
        for item in scan.occurrences[funnel.behavior]:
            hit[getattr(item, by) or ""].add(item.session)
        found += (
            _frequency(funnel.behavior, value, sessions, len(hit[value]))
            for value, sessions in scan.sessions[by].items()
        )
    return found


def _frequency(behavior: str, value: str | None, sessions: int, hit: int) -> Frequency:
    rate = pass_rate(hit, sessions) if sessions else None
    return Frequency(behavior, value, sessions, hit, rate)
