"""Rules that say what a tool answers, learned from recordings alone and proven by leaving out.

A rule is learned from the calls of all permitted groups. It is *proven* when, learned again without
each group in turn and asked about the calls of that group, it is right at least as often as wanted.
Nothing else is used: no rule knows a tool, a domain or a name in advance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tracedance_sdk.replay.derivation.cases import cases_of
from tracedance_sdk.replay.derivation.learning import Learner
from tracedance_sdk.replay.derivation.rule import LEAST_RIGHT, LEAST_USES, Proof, ProvenRule
from tracedance_sdk.replay.recordings import EffectOf, RecordingIndex

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
        self._learners: dict[tuple[str, str], Learner] = {}
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
        groups_of: dict[str, set[str]] = {}
        arguments: set[str] = set()
        for number, case in enumerate(cases):
            if number not in out:
                groups_of.setdefault(case.key, set()).add(case.group)
                arguments.update(case.records)
        members: dict[str, dict[str, list[int]]] = {}
        for number, case in enumerate(cases):
            if number not in out:
                members.setdefault(case.group, {}).setdefault(case.key, []).append(number)
        tests = [
            [_Recorded(numbers, len(groups_of[key]) == 1) for key, numbers in calls.items()]
            for calls in members.values()
        ]
        # What follows from the call alone comes before what needs a record.
        for by in ("", *sorted(arguments)):
            learner = self._learner(tool, by)
            rule = learner.learn(out)
            if rule is not None:
                yield ProvenRule(rule, _proof(learner, tests, out))

    def _learner(self, tool: str, by: str) -> Learner:
        if (tool, by) not in self._learners:
            self._learners[tool, by] = Learner(tool, by, self._cases[tool])
        return self._learners[tool, by]


class _Recorded(NamedTuple):
    """The cases of one call in one group, and whether no other group made it."""

    numbers: list[int]
    is_its_own: bool


def _proof(learner: Learner, tests: Iterable[Sequence[_Recorded]], out: frozenset[int]) -> Proof:
    """Leave out each group in turn, and ask what is learned without it about its calls.

    A call counts once, as right when every answer to it was right. One that another group made as
    well counts only where the rule was wrong.
    """
    uses = right = groups = 0
    for calls in tests:
        rule = learner.learn(out.union(number for call in calls for number in call.numbers))
        if rule is None:
            continue
        before = uses
        for call in calls:
            said = [learner.is_right(rule, number) for number in call.numbers]
            found = [verdict for verdict in said if verdict is not None]
            is_right = all(found)
            if found and (call.is_its_own or not is_right):
                uses += 1
                right += is_right
        groups += uses > before
    return Proof(uses, right, groups)
