"""Learn the simplest rule that fits many cases by looking at few of them.

A term is sought that fits one case of each of some groups. The first case that it does not fit is
added, and another one is sought, until one fits all. As terms are tried in a fixed order, what fits
few and then all is what would have been found in all at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from tracedance_sdk.replay.derivation.approvals import approves
from tracedance_sdk.replay.derivation.cases import Case
from tracedance_sdk.replay.derivation.rule import LEAST_RIGHT, Rule, Seen
from tracedance_sdk.replay.derivation.seen_arguments import LEAST_VALUES, SeenArguments
from tracedance_sdk.replay.derivation.synthesis import Example, fits, synthesise
from tracedance_sdk.replay.derivation.terms import (
    Constant,
    Field,
    NotApplicable,
    Scope,
    Term,
    field_of,
    fields_read,
    slots_of,
)
from tracedance_sdk.trace import UNKNOWN, Json, canonical_json, same_json

_GROUPS_AT_FIRST: Final = 6
_MOST_ADDED: Final = 200


_Slots = tuple[tuple[Field, frozenset[bytes]], ...]
_Said = tuple[str, frozenset[str], Seen, _Slots]


class Learner:
    """Learns the rules of one form for one tool, each without some of the cases.

    Args:
        tool: Its name.
        by: The argument that names the record which the rules need; empty where none is needed.
        cases: Of the tool.
    """

    def __init__(self, tool: str, by: str, cases: Sequence[Case]) -> None:
        self._tool = tool
        self._by = by
        self._cases = cases
        self._examples = _examples(by, cases)
        self._members: dict[str, list[int]] = {}
        for number in self._examples:
            self._members.setdefault(cases[number].group, []).append(number)
        self._styles = Counter(cases[number].answer.style for number in self._examples)
        self._fields = Counter(key for n in self._examples for key in self._record_keys(n))
        self._answers = Counter(map(self._spelled, self._examples)) if not by else Counter()
        self._seen = SeenArguments({number: cases[number] for number in self._examples})
        self._found: dict[tuple[int, ...], Term | None] = {}
        self._misfits: dict[str, list[int]] = {}
        self._verdicts: dict[_Said, dict[int, bool | None]] = {}

    def learn(self, out: frozenset[int]) -> Rule | None:
        """Return the simplest rule that fits all cases that did not fail; None without one.

        Args:
            out: Numbers of the cases that must not be looked at.
        """
        gone = [number for number in out if number in self._examples]
        n_left = len(self._examples) - len(gone)
        if not n_left:
            return None
        term = self._term(out) or self._commonest(out, gone, n_left)
        if term is None:
            return None
        styles = self._styles - Counter(self._cases[n].answer.style for n in gone)
        fields: frozenset[str] = frozenset()
        if self._by:
            without = Counter(key for n in gone for key in self._record_keys(n))
            fields = frozenset(k for k, n in self._fields.items() if n - without[k] == n_left)
        style = max(styles, key=styles.__getitem__)
        unread = sorted(set(self._seen.names) - self._read(term))
        which: list[str] = []
        if not self._by and (approves(term) or next(fields_read(term), None) is None):
            # Who gave a wrong one was told something else, and is in no recording.
            names = self._seen.names if approves(term) else unread
            which = self._seen.which_ones(names)
            if self._seen.is_each_its_own(which):
                return None
        seen = self._seen.without(gone, only_seen=which)
        unread = [name for name in unread if name in seen.names]
        if unread and self._seen.goes_along(unread, out) is not None:
            return None
        slots = tuple(self._few(dict.fromkeys(slots_of(term)), out))
        return Rule(self._tool, self._by, fields, term, style, seen, slots)

    def is_right(self, rule: Rule, number: int) -> bool | None:
        """Whether a rule gives a case's answer; None where it does not fit the call."""
        mark = repr(rule.term), rule.fields, rule.seen, rule.slots
        known = self._verdicts.setdefault(mark, {})
        if number not in known:
            known[number] = _is_right(rule, self._cases[number])
        return known[number]

    def _read(self, term: Term) -> set[str]:
        """Return the names of the arguments that an answer depends on."""
        found = {self._by}
        for field in fields_read(term):
            if field.root == "arguments":
                # A field without a path is all arguments at once.
                found.update(field.path[:1] or self._seen.names)
        return found

    def _few(
        self, slots: Iterable[Field], out: frozenset[int]
    ) -> Iterator[tuple[Field, frozenset[bytes]]]:
        """Yield the fields inside texts that had few values: no proof that they are echoes."""
        for field in slots:
            values: set[bytes] = set()
            for number, example in self._examples.items():
                if number not in out and len(values) < LEAST_VALUES:
                    with suppress(NotApplicable):
                        values.add(canonical_json(field_of(field, example.scope)))
            if len(values) < LEAST_VALUES:
                yield field, frozenset(values)

    def _term(self, out: frozenset[int]) -> Term | None:
        looked_at = self._first_looked_at(out)
        for _ in range(_MOST_ADDED):
            term = self._fitting(tuple(looked_at))
            if term is None:
                return None
            misfit = next((n for n in self._not_fitting(term) if n not in out), None)
            if misfit is None:
                return term
            looked_at.append(misfit)
        return None

    def _first_looked_at(self, out: frozenset[int]) -> list[int]:
        found: list[int] = []
        for members in self._members.values():
            number = next((n for n in members if n not in out), None)
            if number is not None:
                found.append(number)
                if len(found) == _GROUPS_AT_FIRST:
                    break
        return found

    def _fitting(self, numbers: tuple[int, ...]) -> Term | None:
        if numbers not in self._found:
            self._found[numbers] = synthesise([self._examples[n] for n in numbers])
        return self._found[numbers]

    def _not_fitting(self, term: Term) -> list[int]:
        mark = repr(term)
        if mark not in self._misfits:
            self._misfits[mark] = [
                number for number, example in self._examples.items() if not fits(term, example)
            ]
        return self._misfits[mark]

    def _commonest(self, out: frozenset[int], gone: list[int], n_left: int) -> Constant | None:
        """Return the answer that nearly all cases share; only where no record is needed."""
        if self._by:
            return None
        counts = self._answers - Counter(map(self._spelled, gone))
        spelled = max(counts, key=counts.__getitem__)
        if counts[spelled] < LEAST_RIGHT * n_left:
            return None
        found = (n for n in self._examples if n not in out and self._spelled(n) == spelled)
        return Constant(self._examples[next(found)].answer)

    def _spelled(self, number: int) -> bytes:
        return canonical_json(self._examples[number].answer)

    def _record_keys(self, number: int) -> list[str]:
        record = self._examples[number].scope.record
        return list(record) if isinstance(record, dict) else []


def _examples(by: str, cases: Sequence[Case]) -> dict[int, Example]:
    """Return the cases to learn from, by number: without failures and without lacking records."""
    found: dict[int, Example] = {}
    for number, case in enumerate(cases):
        if case.is_error:
            continue
        record: Json = UNKNOWN
        if by:
            record = _base(case, by)
            if record is UNKNOWN:
                continue
        found[number] = Example(Scope(case.arguments, record), case.answer.value)
    return found


def _base(case: Case, by: str) -> Json:
    """Return the known record that looks most like what was answered."""
    answer = case.answer.value
    if not isinstance(answer, dict):
        return UNKNOWN
    for record in case.records.get(by, ()):
        if 2 * len(record.keys() & answer.keys()) >= len(answer):
            return record
    return UNKNOWN


def _is_right(rule: Rule, case: Case) -> bool | None:
    record: Json = UNKNOWN
    if rule.by:
        fitting = (r for r in case.records.get(rule.by, ()) if rule.fields <= r.keys())
        record = next(fitting, UNKNOWN)
        if record is UNKNOWN:
            return None
    try:
        answer = rule.value(case.arguments, record)
    except NotApplicable:
        return None
    return not case.is_error and same_json(answer, case.answer.value)
