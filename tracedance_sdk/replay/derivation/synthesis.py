"""Find the simplest term that gives the right answer for every example.

What is tried, in this order: a field of the same name, a constant, any field, a number turned or
added, a text with fields in it, an object that changes another one, lists that go on from others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

from tracedance_sdk.replay.derivation.terms import (
    Changed,
    Constant,
    Each,
    Field,
    Filled,
    Joined,
    Listed,
    Negated,
    NotApplicable,
    Root,
    Scope,
    Sum,
    Term,
    as_text,
    evaluate,
    field_of,
)
from tracedance_sdk.trace import UNKNOWN, Json, same_json

DEEPEST: Final = 5
"""How deep an answer is taken apart."""
_FIELDS: Final = 150
_FIELD_DEPTH: Final = 3
_NUMBERS: Final = 12
_LONGEST_LIST: Final = 20


class Example(NamedTuple):
    """A call with its answer."""

    scope: Scope
    answer: Json


def synthesise(examples: Sequence[Example], *, name: str = "", depth: int = 0) -> Term | None:
    """Return a term that gives each example's answer; None when none is found.

    Args:
        examples: At least one.
        name: Of the field that holds the answers; fields of the same name are tried first.
        depth: How deep in an answer the examples lie.
    """
    if depth > DEEPEST:
        return None
    answers = [example.answer for example in examples]
    constant = Constant(answers[0]) if _all_same(answers) else None
    fields = list(_fields_equal(examples))
    named = [field for field in fields if name and field.path[-1:] == (name,)]
    if named:
        return named[0]
    if constant is not None and not (fields and isinstance(answers[0], (dict, list))):
        return constant
    if fields:
        return fields[0]
    if all(isinstance(answer, dict) for answer in answers):
        return _object(examples, depth)
    if all(isinstance(answer, list) for answer in answers):
        return _list(examples, depth)
    if all(isinstance(answer, str) for answer in answers):
        return _text(examples)
    return _number(examples)


def fits(term: Term, example: Example) -> bool:
    """Whether a term gives an example's answer."""
    try:
        return same_json(evaluate(term, example.scope), example.answer)
    except NotApplicable:
        return False


def fields_of(scope: Scope) -> Iterator[Field]:
    """Yield the fields of a scope, the nearest first, at most `_FIELDS` of them."""
    roots: tuple[tuple[Root, Json], ...] = (
        ("item", scope.item),
        ("arguments", scope.arguments),
        ("record", scope.record),
    )
    level = [(Field(root), value) for root, value in roots if value is not UNKNOWN]
    n_found = 0
    for _ in range(_FIELD_DEPTH + 1):
        following: list[tuple[Field, Json]] = []
        for field, value in level:
            n_found += 1
            if n_found > _FIELDS:
                return
            yield field
            if isinstance(value, dict):
                root, path = field
                following += [(Field(root, (*path, key)), item) for key, item in value.items()]
        level = following


def _fields_equal(examples: Sequence[Example]) -> Iterator[Field]:
    for field in fields_of(examples[0].scope):
        if all(fits(field, example) for example in examples):
            yield field


def _all_same(values: Sequence[Json]) -> bool:
    return all(same_json(values[0], value) for value in values[1:])


def _within(examples: Sequence[Example], part: Callable[[Example], Json]) -> list[Example]:
    return [Example(example.scope, part(example)) for example in examples]


def _object(examples: Sequence[Example], depth: int) -> Term | None:
    for base in _bases(examples):
        term = _changed(examples, base, depth)
        if term is not None:
            return term
    return None


def _bases(examples: Sequence[Example]) -> Iterator[Field | None]:
    """Yield the objects of the scope that share most with the answers, then none."""
    ranked: list[tuple[int, int, Field]] = []
    for number, field in enumerate(fields_of(examples[0].scope)):
        shares: list[int] = []
        for scope, answer in examples:
            try:
                base = field_of(field, scope)
            except NotApplicable:
                break
            if not isinstance(base, dict):
                break
            shares.append(sum(k in answer and same_json(v, answer[k]) for k, v in base.items()))
        if len(shares) == len(examples) and min(shares) >= 2:
            ranked.append((-sum(shares), number, field))
    for _, _, field in sorted(ranked)[:3]:
        yield field
    yield None


def _changed(examples: Sequence[Example], base: Field | None, depth: int) -> Term | None:
    answers = [example.answer for example in examples]
    bases: list[Json] = [{} if base is None else field_of(base, e.scope) for e in examples]
    pairs = list(zip(bases, answers, strict=True))
    set_keys = list(
        dict.fromkeys(
            key
            for before, after in pairs
            for key, value in after.items()
            if key not in before or not same_json(before[key], value)
        )
    )
    if any(key not in answer for key in set_keys for answer in answers):
        return None
    dropped = sorted({key for before, after in pairs for key in before if key not in after})
    if any(key in after for key in dropped for after in answers):
        return None
    fields: list[tuple[str, Term]] = []
    for key in set_keys:
        inner = _within(examples, lambda example, key=key: example.answer[key])  # type: ignore[misc]
        term = synthesise(inner, name=key, depth=depth + 1)
        if term is None:
            return None
        fields.append((key, term))
    return Changed(base, tuple(fields), tuple(dropped))


def _list(examples: Sequence[Example], depth: int) -> Term | None:
    lists = list(_lists(examples))
    for field in lists:
        lengths = [len(field_of(field, example.scope)) for example in examples]
        starts = [
            len(example.answer) > n
            and same_json(example.answer[:n], field_of(field, example.scope))
            for example, n in zip(examples, lengths, strict=True)
        ]
        if all(starts):
            rest = [Example(e.scope, e.answer[n:]) for e, n in zip(examples, lengths, strict=True)]
            term = _items(rest, lists, depth)
            if term is not None:
                return Joined(field, term)
    return _items(examples, lists, depth)


def _lists(examples: Sequence[Example]) -> Iterator[Field]:
    """Yield the lists that every scope has."""
    for field in fields_of(examples[0].scope):
        try:
            if all(isinstance(field_of(field, example.scope), list) for example in examples):
                yield field
        except NotApplicable:
            continue


def _items(examples: Sequence[Example], lists: Sequence[Field], depth: int) -> Term | None:
    for field in lists:
        sources = [field_of(field, example.scope) for example in examples]
        if not any(sources) or any(
            len(source) != len(e.answer) for source, e in zip(sources, examples, strict=True)
        ):
            continue
        inner = [
            Example(example.scope._replace(item=item), answer)
            for source, example in zip(sources, examples, strict=True)
            for item, answer in zip(source, example.answer, strict=True)
        ]
        term = synthesise(inner, depth=depth + 1)
        if term is not None:
            return Each(field, term)
    length = len(examples[0].answer)
    if length > _LONGEST_LIST or any(len(example.answer) != length for example in examples):
        return None
    terms: list[Term] = []
    for place in range(length):
        inner = _within(examples, lambda example, place=place: example.answer[place])  # type: ignore[misc]
        term = synthesise(inner, depth=depth + 1)
        if term is None:
            return None
        terms.append(term)
    return Listed(tuple(terms))


def _number(examples: Sequence[Example]) -> Term | None:
    numbers: list[Field] = []
    for field in fields_of(examples[0].scope):
        negated = Negated(field)
        if all(fits(negated, example) for example in examples):
            return negated
        if len(numbers) < _NUMBERS and _is_number(field, examples[0].scope):
            numbers.append(field)
    for left, right, minus in product(numbers, numbers, (False, True)):
        term = Sum(left, right, minus)
        if left != right and all(fits(term, example) for example in examples):
            return term
    return None


def _is_number(field: Field, scope: Scope) -> bool:
    value = field_of(field, scope)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(examples: Sequence[Example]) -> Term | None:
    """Return a text with slots, as the first example shows it and all others bear out."""
    scope, answer = examples[0]
    slots: list[tuple[str, Field]] = []
    for field in fields_of(scope):
        try:
            text = as_text(field_of(field, scope))
        except NotApplicable:
            continue
        if text and text in answer:
            slots.append((text, field))
    slots.sort(key=lambda slot: -len(slot[0]))
    parts: list[str | Field] = [answer]
    for text, field in slots:
        parts = [
            piece
            for part in parts
            for piece in (_cut(part, text, field) if isinstance(part, str) else [part])
        ]
    term = Filled(tuple(part for part in parts if part != ""))
    return term if slots and all(fits(term, example) for example in examples) else None


def _cut(part: str | Field, text: str, field: Field) -> Iterator[str | Field]:
    if not isinstance(part, str):
        yield part
        return
    # Whole words only: a 3 in 2013 is not the argument 3.
    first, *others = re.split(rf"(?<!\w){re.escape(text)}(?!\w)", part)
    yield first
    for other in others:
        yield field
        yield other
