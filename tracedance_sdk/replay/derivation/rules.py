"""Rules that say what a tool answers, learned from recordings alone and proven by leaving out.

A rule is learned from the calls of all permitted groups. It is *proven* when, learned again without
each group in turn and asked about the calls of that group, it is right at least as often as wanted.
Nothing else is used: no rule knows a tool, a domain or a name in advance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tracedance_sdk.replay.derivation.cases import Case, cases_of
from tracedance_sdk.replay.derivation.parsed import Style
from tracedance_sdk.replay.derivation.synthesis import Example, synthesise
from tracedance_sdk.replay.derivation.terms import (
    Constant,
    NotApplicable,
    Scope,
    Term,
    evaluate,
)
from tracedance_sdk.replay.recordings import EffectOf, RecordingIndex
from tracedance_sdk.trace import UNKNOWN, Json, canonical_json, same_json

LEAST_USES: Final = 20
LEAST_RIGHT: Final = 0.99

_FORM_OF_CALL: Final = ""
"""The form of rules that need the call alone; others are named by the argument of the record."""


class Rule(NamedTuple):
    """What a tool answers.

    Attributes:
        tool: Its name.
        by: The argument that names the record which is needed; empty where none is.
        fields: That the record must have.
        term: The answer.
        style: How it is written.
    """

    tool: str
    by: str
    fields: frozenset[str]
    term: Term
    style: Style

    def __str__(self) -> str:
        record = f" (record: of {self.by})" if self.by else ""
        return f"{self.tool} = {self.term}{record}"

    def answer(self, arguments: Json, record: Json = UNKNOWN) -> Json:
        """Return the answer to a call, as the tool would write it.

        Raises:
            NotApplicable: The rule does not fit the call.
        """
        return self.style.write(evaluate(self.term, Scope(arguments, record)))


class Proof(NamedTuple):
    """How often a rule was right about groups that it had not seen.

    Attributes:
        uses: Calls that it fitted.
        right: Of those, how many it answered as recorded.
        groups: Groups that those calls came from.
    """

    uses: int
    right: int
    groups: int

    def holds(self, least_uses: int = LEAST_USES, least_right: float = LEAST_RIGHT) -> bool:
        """Whether the rule may be used."""
        return self.uses >= least_uses and self.right >= least_right * self.uses

    def __str__(self) -> str:
        return f"right {self.right} of {self.uses} times in {self.groups} groups left out"


class ProvenRule(NamedTuple):
    """A rule with its proof."""

    rule: Rule
    proof: Proof


_Asked = tuple[str, frozenset[str], frozenset[str]]


class RuleBook:
    """Learns and proves rules, each once for what may be seen.

    Args:
        index: The recordings.
        effect_of: What tools do to the world.
        least_uses: A rule that was tried less often is not used.
        least_right: Share of uses in which it must have been right.
    """

    def __init__(
        self,
        index: RecordingIndex,
        effect_of: EffectOf,
        *,
        least_uses: int = LEAST_USES,
        least_right: float = LEAST_RIGHT,
    ) -> None:
        self._cases = cases_of(index, effect_of)
        self._least = least_uses, least_right
        self._learned: dict[tuple[str, str, frozenset[int]], Rule | None] = {}
        self._proven: dict[tuple[str, frozenset[int]], tuple[ProvenRule, ...]] = {}
        self._held: dict[_Asked, tuple[ProvenRule, ...]] = {}

    @property
    def tools(self) -> list[str]:
        """Names of the tools with recordings, sorted."""
        return sorted(self._cases)

    def rules(
        self, tool: str, *, excluded_groups: Iterable[str] = (), excluded_ids: Iterable[str] = ()
    ) -> tuple[ProvenRule, ...]:
        """Return the rules of a tool that hold without what is excluded, the simplest first."""
        asked = tool, frozenset(excluded_groups), frozenset(excluded_ids)
        if asked not in self._held:
            self._held[asked] = tuple(
                item for item in self.tried(*asked) if item.proof.holds(*self._least)
            )
        return self._held[asked]

    def tried(
        self, tool: str, excluded_groups: Iterable[str] = (), excluded_ids: Iterable[str] = ()
    ) -> tuple[ProvenRule, ...]:
        """Return all rules that were learned for a tool, with their proofs, whatever they say."""
        groups, ids = frozenset(excluded_groups), frozenset(excluded_ids)
        cases = self._cases.get(tool, [])
        out = frozenset(
            n for n, case in enumerate(cases) if case.group in groups or case.conversation in ids
        )
        if (tool, out) not in self._proven:
            self._proven[tool, out] = tuple(self._prove_all(tool, out))
        return self._proven[tool, out]

    def _prove_all(self, tool: str, out: frozenset[int]) -> Iterable[ProvenRule]:
        cases = self._cases.get(tool, [])
        left = [case for n, case in enumerate(cases) if n not in out]
        arguments = sorted({name for case in left for name in case.records})
        for form in (_FORM_OF_CALL, *arguments):
            rule = self._learn(tool, form, out)
            if rule is not None:
                yield ProvenRule(rule, self._prove(tool, form, out))

    def _prove(self, tool: str, form: str, out: frozenset[int]) -> Proof:
        cases = self._cases[tool]
        members: dict[str, list[int]] = {}
        for n, case in enumerate(cases):
            if n not in out:
                members.setdefault(case.group, []).append(n)
        uses = right = 0
        seen: set[str] = set()
        for group, numbers in members.items():
            rule = self._learn(tool, form, out.union(numbers))
            if rule is None:
                continue
            for n in numbers:
                verdict = _is_right(rule, cases[n])
                if verdict is not None:
                    uses += 1
                    right += verdict
                    seen.add(group)
        return Proof(uses, right, len(seen))

    def _learn(self, tool: str, form: str, out: frozenset[int]) -> Rule | None:
        mark = tool, form, out
        if mark not in self._learned:
            left = [case for n, case in enumerate(self._cases[tool]) if n not in out]
            self._learned[mark] = learn(tool, form, left)
        return self._learned[mark]


def learn(tool: str, form: str, cases: Sequence[Case]) -> Rule | None:
    """Return the simplest rule of a form that fits all cases that did not fail; None without one.

    Args:
        tool: Its name.
        form: Empty for what follows from the call alone; else the argument that names a record.
        cases: To learn from.
    """
    good = [case for case in cases if not case.is_error]
    if not good:
        return None
    style = Counter(case.answer.style for case in good).most_common(1)[0][0]
    if form == _FORM_OF_CALL:
        examples = [Example(Scope(case.arguments), case.answer.value) for case in good]
        term = synthesise(examples) or _commonest(examples)
        return None if term is None else Rule(tool, "", frozenset(), term, style)
    examples = []
    fields: frozenset[str] | None = None
    for case in good:
        record = _base(case, form)
        if record is not None:
            examples.append(Example(Scope(case.arguments, record), case.answer.value))
            fields = frozenset(record) if fields is None else fields & record.keys()
    if fields is None or not examples:
        return None
    term = synthesise(examples)
    return None if term is None else Rule(tool, form, fields, term, style)


def _commonest(examples: Sequence[Example]) -> Constant | None:
    """Return the answer that nearly all examples share."""
    counted = Counter(canonical_json(example.answer) for example in examples)
    spelled, number = counted.most_common(1)[0]
    if number < LEAST_RIGHT * len(examples):
        return None
    return Constant(next(e.answer for e in examples if canonical_json(e.answer) == spelled))


def _base(case: Case, form: str) -> dict[str, Json] | None:
    """Return the known record that looks most like what was answered."""
    answer = case.answer.value
    if not isinstance(answer, dict):
        return None
    for record in case.records.get(form, ()):
        if 2 * len(record.keys() & answer.keys()) >= len(answer):
            return record
    return None


def _is_right(rule: Rule, case: Case) -> bool | None:
    """Whether a rule gives a case's answer; None where it does not fit the call."""
    record: Json = UNKNOWN
    if rule.by:
        fitting = (r for r in case.records.get(rule.by, ()) if rule.fields <= r.keys())
        record = next(fitting, UNKNOWN)
        if record is UNKNOWN:
            return None
    try:
        answer = evaluate(rule.term, Scope(case.arguments, record))
    except NotApplicable:
        return None
    return not case.is_error and same_json(answer, case.answer.value)
