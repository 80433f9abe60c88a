"""What a benchmark is asked to be: one behaviour, two at once, or one of two; of which traces."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.benchmarks.constraints import TraceConstraints, check_constraints
from tracedance_sdk.behaviors.catalogue import behavior_named, packaged_behaviors
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

Operator = Literal["SINGLE", "AND", "OR"]
_OPERATORS: Final = re.compile(r"\s+(AND|OR)\s+")
_ANY_CASE: Final = re.compile(r"\s+(and|or)\s+", re.IGNORECASE)
_MOST: Final = 2


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
    operator, names = _split(text)
    behaviors = tuple(_behavior(name) for name in names)
    if len({behavior.id for behavior in behaviors}) < len(behaviors):
        raise BenchmarkRejected(
            f"{behaviors[0].id} is asked for twice",
            reason="adversarial_or_invalid",
            nearest=f"would work: --behavior {behaviors[0].id}",
        )
    if not 1 <= kmin <= kmax:
        raise BenchmarkRejected(
            f"between {kmin} and {kmax} instances is no range",
            reason="contradictory_constraints",
            nearest=f"would work: --kmin {max(1, min(kmin, kmax))} --kmax {max(1, kmin, kmax)}",
        )
    wanted = constraints or TraceConstraints()
    check_constraints(wanted)
    query = Query(behaviors, operator, wanted, dict(parameters or {}), kmin, kmax, text.strip())
    _check_parameters(query)
    return query


def _split(text: str) -> tuple[Operator, list[str]]:
    """Return the operator and the names of behaviours; a name may itself hold the word ``or``."""
    if not text.strip():
        raise BenchmarkRejected(
            "no behaviour is named",
            reason="adversarial_or_invalid",
            nearest=f"would work: --behavior {next(iter(packaged_behaviors()))}",
        )
    if _is_known(text):
        return "SINGLE", [text.strip()]
    pieces = _OPERATORS.split(text.strip())
    if len(pieces) == 1:
        loose = _ANY_CASE.split(text.strip())
        if len(loose) > 1 and all(map(_is_known, loose[::2])):
            pieces = loose
    names, operators = pieces[::2], {word.upper() for word in pieces[1::2]}
    if len(names) > _MOST:
        first = " AND ".join(names[:_MOST])
        raise BenchmarkRejected(
            f"{len(names)} behaviours are asked for, and a benchmark is of two at most",
            reason="too_many_behaviours",
            nearest=f"would work: --behavior {first!r}",
        )
    if not operators:
        return "SINGLE", names
    return ("AND" if operators == {"AND"} else "OR"), names


def _is_known(name: str) -> bool:
    wanted = name.strip().casefold()
    return any(wanted in names for names in _names().values())


def _names() -> dict[str, tuple[str, ...]]:
    return {
        found.id: tuple(text.casefold() for text in (found.id, found.name, found.desirable) if text)
        for found in packaged_behaviors().values()
    }


def _behavior(name: str) -> Behavior:
    try:
        found = behavior_named(name)
    except InvalidOption as error:
        raise _unknown(name) from error
    except (InvalidSpec, InvalidJSON, UnsupportedVersion) as error:
        raise BenchmarkRejected(
            str(error),
            reason="no_valid_spec",
            nearest="mend the file; its levels need a 0 and a 5 at least",
        ) from error
    texts = {str(key): str(text).strip().casefold() for key, text in found.levels.items()}
    if texts.get("0") == texts.get("5"):
        raise BenchmarkRejected(
            f"{found.id} says the same of 0 and 5, so that nothing about it is undesirable",
            reason="not_undesirable_behaviour",
            nearest="say under 0 what shows the behaviour, and under 5 what would be appropriate",
        )
    return found


def _unknown(name: str) -> BenchmarkRejected:
    known = {alias: id_ for id_, aliases in _names().items() for alias in aliases}
    near = difflib.get_close_matches(name.strip().casefold(), known, n=1, cutoff=0.3)
    best = known[near[0]] if near else next(iter(known.values()), "")
    ids = ", ".join(packaged_behaviors())
    return BenchmarkRejected(
        f"no behaviour {shown(name)}; there are {ids}, and files (.yaml, .json)",
        reason="unsupported_request",
        nearest=f"would work: --behavior {best} ({packaged_behaviors()[best].name})",
    )


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
