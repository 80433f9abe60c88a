"""The places of a benchmark in the making, each cut, protected, and unlike the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tracedance_sdk.behaviors.benchmarks.about import BuildSettings, Work
from tracedance_sdk.behaviors.benchmarks.gathering import Place
from tracedance_sdk.behaviors.benchmarks.instances import hashed
from tracedance_sdk.behaviors.benchmarks.protecting import Protection
from tracedance_sdk.behaviors.benchmarks.query import Query
from tracedance_sdk.behaviors.cutting.cut import CutContext, Refusal, cut
from tracedance_sdk.behaviors.cutting.kept import kept_bytes
from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.errors import InvalidTrace, StoreError
from tracedance_sdk.trace import Trace


class CutPlace(NamedTuple):
    """A place that can be cut.

    Attributes:
        place: Where.
        context: What is kept and withheld.
        protected: The kept trace without secrets and people.
    """

    place: Place
    context: CutContext
    protected: Trace


def cuts(work: Work, protection: Protection) -> Iterator[CutPlace]:
    """Yield the places that can be cut, in order, each context once.

    Args:
        work: What is wanted; its tally is told what is tried and refused.
        protection: What takes secrets and people out.
    """
    query, store, how, gathered, tally = work
    seen: set[str] = set()
    for place in gathered.places:
        tally.tried += 1
        try:
            trace = store.get(place.first.trace_id)
        except (StoreError, InvalidTrace) as error:
            tally.refuse("unreadable", str(error))
            continue
        found = _cut(query, place, trace, how)
        if isinstance(found, Refusal):
            tally.refuse(found.name, f"{place.first.trace_id}: {found}")
            continue
        protected = protection.trace(found.trace)
        digest = hashed(kept_bytes(protected.model_copy(update={"id": "-"})).decode())
        if digest in seen:
            tally.refuse("the same context again", f"{place.first.trace_id}")
            continue
        seen.add(digest)
        context = found._replace(sha256=hashed(kept_bytes(protected).decode()))
        yield CutPlace(place, context, protected)


def _cut(query: Query, place: Place, trace: Trace, how: BuildSettings) -> CutContext | Refusal:
    """Return the cut, which has to meet the frame of every behaviour."""
    run = Run.of(trace)
    found: CutContext | Refusal | None = None
    for behavior, hit in zip(query.behaviors, place.hits, strict=True):
        found = cut(trace, hit, behavior, tools=how.tools, most_tokens=how.most_tokens, run=run)
        if isinstance(found, Refusal):
            return found
    assert found is not None  # noqa: S101 - a query has a behaviour
    return found
