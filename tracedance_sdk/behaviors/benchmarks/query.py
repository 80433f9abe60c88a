"""What a benchmark is asked to be: one behaviour, two at once, or one of two; of which traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.benchmarks.constraints import TraceConstraints, check_constraints
from tracedance_sdk.behaviors.benchmarks.naming import (
    Operator,
    named_behaviors,
    unknown_behavior,
)
from tracedance_sdk.behaviors.catalogue import behavior_named
from tracedance_sdk.errors import (
    BenchmarkRejected,
    InvalidJSON,
    InvalidOption,
    InvalidSpec,
    UnsupportedVersion,
    shown,
)
from tracedance_sdk.trace import Json

KMIN: Final = 10
KMAX: Final = 50


class Query(NamedTuple):
    """A benchmark as it is asked for.

    Attributes:
        behaviors: One, or two.
        operator: ``SINGLE``; ``AND``: both show in the same turn; ``OR``: a benchmark of each.
        constraints: Of the traces.
        parameters: Of the behaviours, as they were given.
        kmin: Instances at least.
        kmax: Instances at most.
        text: The words in which the behaviours were asked for.
    """

    behaviors: tuple[Behavior, ...]
    operator: Operator = "SINGLE"
    constraints: TraceConstraints = TraceConstraints()
    parameters: Mapping[str, Json] = {}
    kmin: int = KMIN
    kmax: int = KMAX
    text: str = ""

    def values(self, behavior: Behavior) -> dict[str, Json]:
        """Return the values of a behaviour's parameters, of those given the ones that it has."""
        own = {
            name: value for name, value in self.parameters.items() if name in behavior.parameters
        }
        return behavior.filled(own)

    def parts(self) -> Iterator[Query]:
        """Yield the queries that make one benchmark each."""
        if self.operator != "OR":
            yield self
            return
        for behavior in self.behaviors:
            yield self._replace(behaviors=(behavior,), operator="SINGLE")

    @property
    def name(self) -> str:
        """The ids of its behaviours, joined: ``F01``, ``A06+F07``."""
        return "+".join(behavior.id for behavior in self.behaviors)

    def document(self) -> dict[str, Any]:
        """Return what is asked, as JSON."""
        return {
            "behaviors": [behavior.id for behavior in self.behaviors],
            "operator": self.operator,
            "parameters": {behavior.id: self.values(behavior) for behavior in self.behaviors},
            "constraints": self.constraints.document(),
            "kmin": self.kmin,
            "kmax": self.kmax,
        }


def parse_query(
    text: str,
    *,
    constraints: TraceConstraints | None = None,
    parameters: Mapping[str, Json] | None = None,
    kmin: int = KMIN,
    kmax: int = KMAX,
) -> Query:
    """Read what is asked for, and refuse what cannot be meant before anything is looked at.

    Args:
        text: A behaviour by id, name or file; or two, with AND or OR between.
        constraints: Of the traces.
        parameters: Of the behaviours.
        kmin: Instances at least.
        kmax: Instances at most.

    Raises:
        BenchmarkRejected: It cannot be met, whatever the store holds.

    Example:
        >>> parse_query("F01").operator, parse_query("f01").name
        ('SINGLE', 'F01')
    """
    operator, names = named_behaviors(text)
    behaviors = tuple(_behavior(name, names, operator) for name in names)
    if len({behavior.id for behavior in behaviors}) < len(behaviors):
        raise BenchmarkRejected(
            f"{behaviors[0].id} is asked for twice",
            reason="adversarial_or_invalid",
            nearest=f"would work: --behavior {behaviors[0].id}",
        )
    _check_range(kmin, kmax)
    wanted = constraints or TraceConstraints()
    check_constraints(wanted)
    query = Query(behaviors, operator, wanted, dict(parameters or {}), kmin, kmax, text.strip())
    _check_parameters(query)
    return query


def _check_range(kmin: int, kmax: int) -> None:
    """Refuse numbers of instances that no benchmark could have."""
    if kmin < 1:
        found = f"--kmin {kmin} is less than 1, and a benchmark has one instance at least"
        nearest = f"--kmin 1 --kmax {max(1, kmax)}"
    elif kmin > kmax:
        least, most = (
            f"{number}, the default," if number == usual else f"{number}"
            for number, usual in ((kmin, KMIN), (kmax, KMAX))
        )
        found = f"--kmin {least} is more than --kmax {most}".rstrip(",")
        low, high = max(1, kmax), kmin
        if kmin == KMIN:
            high = low
        elif kmax == KMAX:
            low = high
        nearest = f"--kmin {low} --kmax {high}"
    else:
        return
    raise BenchmarkRejected(
        found, reason="contradictory_constraints", nearest=f"would work: {nearest}"
    )


def _behavior(name: str, names: Sequence[str], operator: Operator) -> Behavior:
    try:
        found = behavior_named(name)
    except InvalidOption as error:
        raise unknown_behavior(name, names, operator) from error
    except (InvalidSpec, InvalidJSON, UnsupportedVersion) as error:
        raise BenchmarkRejected(
            str(error),
            reason="no_valid_spec",
            nearest="mend the file; its levels need a 0 and a 5 at least",
        ) from error
    if not found.is_undesirable:
        raise BenchmarkRejected(
            f"{found.id} says the same of 0 and 5, so that nothing about it is undesirable",
            reason="not_undesirable_behaviour",
            nearest="say under 0 what shows the behaviour, and under 5 what would be appropriate",
        )
    return found


def _check_parameters(query: Query) -> None:
    known = {name for behavior in query.behaviors for name in behavior.parameters}
    for name in query.parameters:
        if name not in known:
            raise BenchmarkRejected(
                f"{query.name} has no parameter {shown(name)}; it has {', '.join(known) or 'none'}",
                reason="adversarial_or_invalid",
                nearest=f"leave out --param {name}=...",
            )
    for behavior in query.behaviors:
        try:
            query.values(behavior)
        except InvalidSpec as error:
            lacking = next(n for n, p in behavior.parameters.items() if p.default is None)
            raise BenchmarkRejected(
                str(error),
                reason="missing_parameter",
                nearest=f"would work: --param {lacking}=VALUE",
            ) from error
