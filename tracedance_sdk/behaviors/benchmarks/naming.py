"""Which behaviours a request names, read from its words: one, or two with AND or OR between."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Sequence
from functools import cache
from typing import Final, Literal

from tracedance_sdk.behaviors.catalogue import packaged_behaviors
from tracedance_sdk.errors import BenchmarkRejected, shown

Operator = Literal["SINGLE", "AND", "OR"]

_OPERATORS: Final = re.compile(r"(?<!\S)(AND|OR)(?!\S)")
_ANY_CASE: Final = re.compile(_OPERATORS.pattern, re.IGNORECASE)
_NOT: Final = re.compile(r"(?i)(?<!\S)(?:not|without|except|minus)(?=\s)|(?<!\S)!(?=\s*\S)")
_BETWEEN: Final = re.compile(r"[\s,;&|+/]+")
_FILES: Final = (".yaml", ".yml", ".json")
_MOST: Final = 2


def named_behaviors(text: str) -> tuple[Operator, list[str]]:
    """Return the operator and the names of behaviours; a name may itself hold the word ``or``.

    Args:
        text: As it was asked for. AND and OR are operators; in small letters they are where all
            that they part is known.

    Raises:
        BenchmarkRejected: Nothing is named, too much is, or an operator has but one side.

    Example:
        >>> named_behaviors("f01 and F02")
        ('AND', ['f01', 'F02'])
    """
    if not text.strip():
        raise BenchmarkRejected(
            "no behaviour is named",
            reason="adversarial_or_invalid",
            nearest=f"would work: --behavior {next(iter(packaged_behaviors()))}",
        )
    if _id_of(text) is not None:
        return "SINGLE", [text.strip()]
    _check_denies_nothing(text)
    pieces = _OPERATORS.split(text)
    if len(pieces) == 1:
        pieces = _loosely(text)
    names = [piece.strip() for piece in pieces[::2]]
    operators = [word.upper() for word in pieces[1::2]]
    if not all(names):
        raise _one_sided(names, operators)
    ids = [_id_of(name) or name for name in names]
    distinct = list(dict.fromkeys(ids))
    if len(distinct) < len(names) and len(distinct) <= _MOST:
        twice = next(name for name in distinct if ids.count(name) > 1)
        raise BenchmarkRejected(
            f"{twice} is asked for twice",
            reason="adversarial_or_invalid",
            nearest=_would_work(distinct, operators),
        )
    if len(names) > _MOST:
        raise BenchmarkRejected(
            f"{len(names)} behaviours are asked for, and a benchmark is of two at most",
            reason="too_many_behaviours",
            nearest=_would_work(distinct, operators),
        )
    if not operators:
        return "SINGLE", names
    return ("AND" if operators == ["AND"] else "OR"), names


def unknown_behavior(name: str, names: Sequence[str], operator: Operator) -> BenchmarkRejected:
    """Return what is said of a name that is no behaviour's, with the request that comes nearest.

    Args:
        name: That is not known.
        names: All that were asked for.
        operator: That stands between them.
    """
    ids = ", ".join(packaged_behaviors())
    told = _would_work(names, [operator])
    if len(names) == 1:
        told += f" ({packaged_behaviors()[_likely(name)].name})"
    return BenchmarkRejected(
        f"no behaviour {shown(name)}; there are {ids}, and files (.yaml, .json)",
        reason="unsupported_request",
        nearest=told,
    )


def _loosely(text: str) -> list[str]:
    """Return the pieces of a text without operators, or with ones in small letters."""
    pieces = _ANY_CASE.split(text)
    names = [piece for piece in pieces[::2] if piece.strip()]
    if len(pieces) > 1 and names and all(map(_is_meant, names)):
        return pieces
    listed = [piece for piece in _BETWEEN.split(text) if piece]
    if len(listed) > 1 and all(map(_id_of, listed)):
        if len(listed) > _MOST:
            return [piece for name in listed for piece in (name, "AND")][:-1]
        raise BenchmarkRejected(
            f"between {' and '.join(listed)} stands neither AND nor OR",
            reason="adversarial_or_invalid",
            nearest=_would_work(listed, ["AND"]),
        )
    return [text]


def _check_denies_nothing(text: str) -> None:
    """Refuse a behaviour that should not show: there is AND and OR alone."""
    for denied in _NOT.finditer(text):
        name = _id_of(_ANY_CASE.split(text[denied.end() :])[0])
        if name is None:
            continue
        kept = _ANY_CASE.sub(" ", text[: denied.start()]).strip()
        raise BenchmarkRejected(
            f"{denied[0].strip()} {name}: a benchmark is of what shows, with AND or OR between; "
            "what should not show cannot be asked for",
            reason="unsupported_request",
            nearest=_would_work([kept] if kept else [name], []),
        )


def _one_sided(names: list[str], operators: list[str]) -> BenchmarkRejected:
    """Return what is said of an operator that has a behaviour on one side at most."""
    place = names.index("")
    if place == 0:
        where = f"before {operators[0]}"
    elif place == len(operators):
        where = f"after {operators[-1]}"
    else:
        where = f"between {operators[place - 1]} and {operators[place]}"
    return BenchmarkRejected(
        f"no behaviour is named {where}",
        reason="adversarial_or_invalid",
        nearest=_would_work([name for name in names if name], operators),
    )


def _would_work(names: Sequence[str], operators: Sequence[str]) -> str:
    """Return the request for what is named that comes nearest, without what would be refused."""
    likely = list(dict.fromkeys(map(_likely, names))) or [next(iter(packaged_behaviors()))]
    operator = operators[0] if operators else "AND"
    return f"would work: --behavior {shlex.quote(f' {operator} '.join(likely[:_MOST]))}"


def _likely(name: str) -> str:
    """Return the id that a name means, or most likely means; a file's name as it is."""
    known = _known()
    if name.strip().casefold().endswith(_FILES):
        return name
    near = difflib.get_close_matches(name.strip().casefold(), known, n=1, cutoff=0.3)
    return known[near[0]] if near else next(iter(packaged_behaviors()))


def _is_meant(name: str) -> bool:
    return _id_of(name) is not None or name.strip().casefold().endswith(_FILES)


def _id_of(name: str) -> str | None:
    return _known().get(name.strip().casefold())


@cache
def _known() -> dict[str, str]:
    """Return every name of the catalogue's behaviours, in small letters, with the id."""
    return {
        text.casefold(): found.id
        for found in reversed(packaged_behaviors().values())
        for text in (found.desirable, found.name, found.id)
        if text
    }
