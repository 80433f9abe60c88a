"""The words in which a rule says how an answer follows from a call: terms, read and evaluated.

A term speaks of the call's arguments, of the record that the call is about, and, inside a list, of
an item. It holds no code: evaluating one walks these few shapes and nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from tracedance_sdk.trace import UNKNOWN, Json

Root = Literal["arguments", "record", "item"]

_ROOTS: Final[tuple[Root, ...]] = ("arguments", "record", "item")


class NotApplicable(Exception):
    """A term does not fit a call: a field is missing, or is of another type."""


class Scope(NamedTuple):
    """What a term may speak of.

    Attributes:
        arguments: Of the call.
        record: What was known of the record that the call is about; `UNKNOWN` where nothing is.
        item: Of the list that is gone through.
    """

    arguments: Json
    record: Json = UNKNOWN
    item: Json = UNKNOWN


class Constant(NamedTuple):
    """Always the same value."""

    value: Json

    def __str__(self) -> str:
        text = json.dumps(self.value, ensure_ascii=False, default=str)
        return text if len(text) <= 60 else f"{text[:57]}..."


class Field(NamedTuple):
    """A value found in the scope."""

    root: Root
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((self.root, *self.path))


class Negated(NamedTuple):
    """A number with its sign turned."""

    of: Field

    def __str__(self) -> str:
        return f"-{self.of}"


class Sum(NamedTuple):
    """Two numbers added, or the second taken from the first."""

    left: Field
    right: Field
    minus: bool = False

    def __str__(self) -> str:
        return f"{self.left} {'-' if self.minus else '+'} {self.right}"


class Filled(NamedTuple):
    """A text with values of the scope in it."""

    parts: tuple[str | Field, ...]

    def __str__(self) -> str:
        return '"' + "".join(p if isinstance(p, str) else f"{{{p}}}" for p in self.parts) + '"'


class Changed(NamedTuple):
    """An object: another one where there is a base, with these fields set and these left out."""

    base: Field | None
    fields: tuple[tuple[str, Term], ...] = ()
    dropped: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = ", ".join(f"{key} = {term}" for key, term in self.fields)
        if self.base is None:
            return f"{{{told}}}"
        without = f" without {', '.join(self.dropped)}" if self.dropped else ""
        return f"{self.base}{without}{' with ' if told else ''}{told}"


class Listed(NamedTuple):
    """A list of as many items as there are terms."""

    items: tuple[Term, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


class Joined(NamedTuple):
    """Two lists, one after the other."""

    first: Term
    second: Term

    def __str__(self) -> str:
        return f"{self.first} and then {self.second}"


class Each(NamedTuple):
    """One item for each item of a list."""

    of: Field
    item: Term

    def __str__(self) -> str:
        return f"for each item of {self.of}: {self.item}"


Term = Constant | Field | Negated | Sum | Filled | Changed | Listed | Joined | Each


def evaluate(term: Term, scope: Scope) -> Json:
    """Return what a term says of a scope.

    Raises:
        NotApplicable: It does not fit.
    """
    match term:
        case Constant():
            return term.value
        case Field():
            return field_of(term, scope)
        case Negated():
            return -number(field_of(term.of, scope))
        case Sum():
            left, right = number(field_of(term.left, scope)), number(field_of(term.right, scope))
            return left - right if term.minus else left + right
        case Filled():
            return "".join(
                part if isinstance(part, str) else as_text(field_of(part, scope))
                for part in term.parts
            )
        case Changed():
            return _changed(term, scope)
        case Listed():
            return [evaluate(item, scope) for item in term.items]
        case Joined():
            return [*_list(evaluate(term.first, scope)), *_list(evaluate(term.second, scope))]
        case Each():
            items = _list(field_of(term.of, scope))
            return [evaluate(term.item, scope._replace(item=item)) for item in items]


def fields_read(term: Term) -> Iterator[Field]:
    """Yield the fields that a term reads; those of a list's items are its list's."""
    return (item for item in parts_of(term) if isinstance(item, Field))


def slots_of(term: Term) -> Iterator[Field]:
    """Yield the fields that stand inside texts, but for those of a list's items."""
    for item in parts_of(term):
        for part in item.parts if isinstance(item, Filled) else ():
            if isinstance(part, Field) and part.root != "item":
                yield part


def parts_of(term: Term) -> Iterator[Term]:
    """Yield a term and all terms in it."""
    yield term
    inner: Iterable[Term] = ()
    match term:
        case Negated():
            inner = (term.of,)
        case Sum():
            inner = term.left, term.right
        case Filled():
            inner = (part for part in term.parts if not isinstance(part, str))
        case Changed():
            base = () if term.base is None else (term.base,)
            inner = (*base, *(item for _, item in term.fields))
        case Listed():
            inner = term.items
        case Joined():
            inner = term.first, term.second
        case Each():
            inner = term.of, term.item
    for item in inner:
        yield from parts_of(item)


def field_of(field: Field, scope: Scope) -> Json:
    """Return the value of a field.

    Raises:
        NotApplicable: There is none.
    """
    value = scope[_ROOTS.index(field.root)]
    for key in field.path:
        if not isinstance(value, dict) or key not in value:
            raise NotApplicable(str(field))
        value = value[key]
    if value is UNKNOWN:
        raise NotApplicable(str(field))
    return value


def number(value: Json) -> Any:
    """Return a finite number.

    Raises:
        NotApplicable: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise NotApplicable(f"{value!r:.40} is no number")
    return value


def as_text(value: Json) -> str:
    """Return a scalar as it stands in a text.

    Raises:
        NotApplicable: It is no text and no number.
    """
    if isinstance(value, str):
        return value
    return str(number(value))


def _changed(term: Changed, scope: Scope) -> Json:
    found: dict[str, Json] = {}
    if term.base is not None:
        base = field_of(term.base, scope)
        if not isinstance(base, dict):
            raise NotApplicable(f"{term.base} is no object")
        found = {key: value for key, value in base.items() if key not in term.dropped}
    for key, item in term.fields:
        found[key] = evaluate(item, scope)
    return found


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise NotApplicable(f"{value!r:.40} is no list")
    return value
