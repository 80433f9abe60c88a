"""What is said where a benchmark cannot be built, with the request nearest to it that can."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from tracedance_sdk.behaviors.benchmarks.about import BuildSettings, Tally, Work
from tracedance_sdk.behaviors.benchmarks.gathering import Gathered, buildable, gather
from tracedance_sdk.behaviors.benchmarks.places import cuts
from tracedance_sdk.behaviors.benchmarks.protecting import Protection
from tracedance_sdk.behaviors.benchmarks.query import Query
from tracedance_sdk.behaviors.cutting.cut import CHECKS
from tracedance_sdk.behaviors.scanning.choosing import Caps
from tracedance_sdk.errors import BenchmarkRejected
from tracedance_sdk.replay import ToolLimit
from tracedance_sdk.store import TraceStore

_MOST_NAMED: Final = 3
_WEAKER: Final[dict[ToolLimit, tuple[ToolLimit, ...]]] = {
    "recorded": ("known", "inferred"),
    "known": ("inferred",),
    "inferred": (),
}
"""Weaker origins of tool definitions, by the weakest that is allowed."""


def too_few(
    work: Work, number: int, protection: Protection, *, is_asked: bool
) -> BenchmarkRejected:
    """Return what there is instead, and what could be asked for.

    Args:
        work: The benchmark that cannot be made.
        number: How many instances it would have.
        protection: What takes secrets and people out.
        is_asked: Whether a model is asked to confirm, so that nobody can promise what would work.
    """
    query, store, how, gathered, tally = work
    found = gathered.document()
    hits = sum(counts["hits"] for counts in found["by_behavior"].values())
    sessions = _count(gathered.funnels[0].sessions, "session")
    told = [f"{_count(hits, 'occurrence')} in {sessions}"]
    if gathered.joint is not None:
        told.append(f"{gathered.joint} turns with both")
    told.append(f"{len(gathered.places)} kept")
    told += [f"{n} refused when cut ({name})" for name, n in tally.refused.most_common(_MOST_NAMED)]
    if tally.confirmations:
        told.append("{confirmed} of {asked} confirmed".format(**tally.confirmation))
    unread = [item.reason for item in tally.confirmations if item.missing is not None]
    if unread:
        told.append(f"{len(unread)} replies without an answer (the first: {unread[0]:.120})")
    told.append(f"{number} left of the {query.kmin} wanted at least")
    nearest = _nearest(work, number, protection, is_asked=is_asked)
    return BenchmarkRejected(
        ", ".join(told),
        reason="too_few_instances",
        nearest=nearest or _elsewhere(query, store, how),
        refusals=tally.firsts,
    )


def _nearest(work: Work, number: int, protection: Protection, *, is_asked: bool) -> str:
    """Return which other options give a benchmark of the same request; empty for none."""
    sure = [f"--kmin {number}"] if number else []
    n_unread = sum(item.missing is not None for item in work.tally.confirmations)
    if n_unread >= work.query.kmin - number:
        anew = "the same command asks anew about what was not answered"
        return f"would work: {sure[0]}; {anew}" if sure else anew
    more = list(_relaxed(work, number, protection))
    if not is_asked:
        sure, more = sure + more, []
    told = [f"would work: {', or '.join(sure)}"] if sure else []
    if more:
        told.append(f"the model might confirm enough with {', or '.join(more)}")
    return "; ".join(told)


def _relaxed(work: Work, number: int, protection: Protection) -> Iterator[str]:
    """Yield options with which enough places can be cut, each tried out."""
    query, _, how, gathered, tally = work
    lacking = query.kmin - number
    n_cut = tally.tried - tally.refused.total()
    if tally.refused[CHECKS[8]]:
        free = how._replace(most_tokens=sys.maxsize)
        sizes = (item.context.tokens for item in cuts(_again(work, how=free), protection))
        longer = sorted(size for size in sizes if size > how.most_tokens)
        if len(longer) >= lacking:
            yield f"--max-context-tokens {longer[lacking - 1]}"
        elif longer:
            yield f"--kmin {number + len(longer)} --max-context-tokens {longer[-1]}"
    if tally.refused[CHECKS[7]]:
        for limit in _WEAKER[how.tools]:
            weaker = how._replace(tools=limit)
            store = TraceStore.open(str(work.store.path), tools=limit)
            n_now = _number(_again(work, how=weaker, store=store), protection)
            if n_now - n_cut >= lacking:
                yield f"--tools {limit}"
                break
    if _n_dropped(gathered):
        for told, caps in _wider(how.caps):
            freer = how._replace(caps=caps)
            places = gather(query, work.store, caps=caps, processes=how.processes)
            n_now = _number(_again(work, how=freer, gathered=places), protection)
            if n_now - n_cut >= lacking:
                yield told


def _wider(caps: Caps) -> Iterator[tuple[str, Caps]]:
    """Yield caps of which one is lifted, each with the words that lift it."""
    if caps.session is not None:
        yield "--per-session 0", caps._replace(session=None)
    if caps.project is not None:
        yield "no --per-project", caps._replace(project=None)
    if caps.user is not None:
        yield "no --per-user", caps._replace(user=None)
    if caps.similarity is not None:
        yield "--keep-duplicates", caps._replace(similarity=None)


def _n_dropped(gathered: Gathered) -> int:
    """Return how many occurrences were left out as near-duplicates or as too many of one origin."""
    if gathered.joint is not None:
        return gathered.joint - len(gathered.places)
    return sum(funnel.near_duplicates + funnel.capped for funnel in gathered.funnels)


def _again(
    work: Work,
    *,
    how: BuildSettings,
    store: TraceStore | None = None,
    gathered: Gathered | None = None,
) -> Work:
    """Return the same work done otherwise, with a tally of its own."""
    return Work(work.query, store or work.store, how, gathered or work.gathered, Tally())


def _number(work: Work, protection: Protection) -> int:
    return sum(1 for _ in cuts(work, protection))


def _elsewhere(query: Query, store: TraceStore, how: BuildSettings) -> str:
    """Return what could be asked for where nothing is left of a request."""
    if query.constraints.document():
        free = query._replace(constraints=type(query.constraints)())
        n_free = len(gather(free, store, caps=how.caps, processes=how.processes).places)
        if n_free:
            return f"would work: the same without limits on traces ({_count(n_free, 'occurrence')})"
    others = [
        item
        for item in buildable(store, kmin=query.kmin, processes=how.processes)
        if item[0] != query.name
    ]
    if not others:
        return ""
    told = ", ".join(f"{name} ({number})" for name, number in others[:_MOST_NAMED])
    return f"the store holds enough of {told}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
