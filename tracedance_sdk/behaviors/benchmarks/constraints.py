"""Which traces a benchmark may be made of: their source, model, length, failures, tools, dates."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tracedance_sdk.behaviors.benchmarks.model_families import model_family
from tracedance_sdk.errors import BenchmarkRejected, shown

if TYPE_CHECKING:
    from tracedance_sdk.store import TraceStore

_MOST_TOLD: Final = 8


class TraceConstraints(NamedTuple):
    """What must hold for a trace; what is None or empty asks nothing.

    Attributes:
        sources: Names of agents or collectors, of which it is one.
        model_families: Families of models, of which one wrote the source turn.
        min_turns: Turns at least.
        max_turns: Turns at most.
        min_failures: Failed calls at least.
        max_failures: Failed calls at most.
        tools: Names of tools, each of which it calls.
        since: First day on which it may have begun, in UTC.
        until: Last day.
        where: SQL over the view `traces`. It is first run in a process of its own: a program that
            gives one needs the usual guard, ``if __name__ == "__main__":``.
    """

    sources: tuple[str, ...] = ()
    model_families: tuple[str, ...] = ()
    min_turns: int | None = None
    max_turns: int | None = None
    min_failures: int | None = None
    max_failures: int | None = None
    tools: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    where: str | None = None

    def document(self) -> dict[str, Any]:
        """Return what is asked, as JSON."""
        return {
            name: value.isoformat() if isinstance(value, date) else value
            for name, value in self._asdict().items()
            if value not in (None, ())
        }


def check_constraints(constraints: TraceConstraints) -> None:
    """Refuse limits that no trace could meet together.

    Raises:
        BenchmarkRejected: ``contradictory_constraints``.
    """
    pairs = (
        ("--min-turns", constraints.min_turns, "--max-turns", constraints.max_turns),
        ("--min-failures", constraints.min_failures, "--max-failures", constraints.max_failures),
    )
    for low_name, low, high_name, high in pairs:
        if low is not None and high is not None and low > high:
            raise BenchmarkRejected(
                f"{low_name} {low} is more than {high_name} {high}",
                reason="contradictory_constraints",
                nearest=f"would work: {low_name} {high} {high_name} {low}",
            )
    since, until = constraints.since, constraints.until
    if since is not None and until is not None and since > until:
        raise BenchmarkRejected(
            f"--since {since} is after --until {until}",
            reason="contradictory_constraints",
            nearest=f"would work: --since {until} --until {since}",
        )


def condition(constraints: TraceConstraints, store: TraceStore) -> str | None:
    """Return the constraints as SQL over the view `traces`; None when they ask nothing.

    Args:
        constraints: What must hold.
        store: Whose traces; which models it knows decides what a family of models is.

    Raises:
        BenchmarkRejected: ``unknown_domain`` for a source, a family of models or a tool that no
            trace of the store has.
    """
    asked = [*_of_origin(constraints, store), *_of_numbers(constraints)]
    if constraints.where is not None:
        asked.append(constraints.where)
    return " AND ".join(f"({one}\n)" for one in asked) if asked else None


def _of_origin(wanted: TraceConstraints, store: TraceStore) -> Iterator[str]:
    if wanted.sources:
        rows = store.select(
            "SELECT DISTINCT unnest([agent, collector]) AS name FROM traces WHERE true"
        ).rows
        _require("source", wanted.sources, (row[0] for row in rows), option="--source")
        named = _texts(wanted.sources)
        yield f"agent IN ({named}) OR collector IN ({named})"
    if wanted.model_families:
        models = [row[0] for row in store.select("SELECT DISTINCT unnest(models) FROM traces").rows]
        families = {name: family for name in models if (family := model_family(name))}
        _require("family of models", wanted.model_families, families.values(), "--model-family")
        own = [name for name in sorted(families) if families[name] in wanted.model_families]
        yield f"list_has_any(models, [{_texts(own)}])"
    if wanted.tools:
        names = [row[0] for row in store.select("SELECT DISTINCT name FROM calls").rows]
        _require("tool", wanted.tools, names, "--tool")
        for tool in wanted.tools:
            calling = f"SELECT trace_id FROM calls WHERE name = {_texts([tool])}"  # noqa: S608 - quoted
            yield f"trace_id IN ({calling})"


def _of_numbers(wanted: TraceConstraints) -> Iterator[str]:
    if wanted.min_turns is not None:
        yield f"turns >= {int(wanted.min_turns)}"
    if wanted.max_turns is not None:
        yield f"turns <= {int(wanted.max_turns)}"
    failures = "SELECT trace_id FROM features WHERE event = 'call' AND failed GROUP BY trace_id"
    if wanted.min_failures:
        yield f"trace_id IN ({failures} HAVING count(*) >= {int(wanted.min_failures)})"
    if wanted.max_failures is not None:
        yield f"trace_id NOT IN ({failures} HAVING count(*) > {int(wanted.max_failures)})"
    if wanted.since is not None:
        yield f"started_at >= TIMESTAMPTZ '{_moment(wanted.since)}'"
    if wanted.until is not None:
        yield f"started_at <= TIMESTAMPTZ '{_moment(wanted.until, time.max)}'"


def _require(what: str, names: Sequence[str], known: Iterable[str | None], option: str) -> None:
    there = sorted({name for name in known if name})
    for name in names:
        if name not in there:
            near = difflib.get_close_matches(name, there, n=1, cutoff=0.3) or there[:1]
            listed = ", ".join(there[:_MOST_TOLD]) or "none"
            more = f", ... ({len(there)} in all)" if len(there) > _MOST_TOLD else ""
            raise BenchmarkRejected(
                f"no trace of the store is of the {what} {shown(name)}; there are {listed}{more}",
                reason="unknown_domain",
                nearest=f"would work: {option} {near[0]}" if near else "",
            )


def _moment(day: date, at: time = time.min) -> str:
    return datetime.combine(day, at, UTC).isoformat()


def _texts(values: Sequence[str]) -> str:
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)
