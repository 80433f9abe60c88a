"""A rule that says what a tool answers, and what speaks for it."""

from __future__ import annotations

from typing import Final, NamedTuple

from tracedance_sdk.replay.derivation.parsed import Style
from tracedance_sdk.replay.derivation.terms import NotApplicable, Scope, Term, evaluate
from tracedance_sdk.trace import UNKNOWN, Json, canonical_json

LEAST_USES: Final = 20
LEAST_RIGHT: Final = 0.99


class Rule(NamedTuple):
    """What a tool answers.

    Attributes:
        tool: Its name.
        by: The argument that names the record which is needed; empty where none is.
        fields: That the record must have.
        term: The answer.
        style: How it is written.
        names: Of the arguments that recorded calls had; the rule says nothing of others.
        fixed: Arguments that always had one value, with its canonical JSON: nobody knows what
            another value would do.
    """

    tool: str
    by: str
    fields: frozenset[str]
    term: Term
    style: Style
    names: frozenset[str] = frozenset()
    fixed: tuple[tuple[str, bytes], ...] = ()

    def __str__(self) -> str:
        record = f" (record: of {self.by})" if self.by else ""
        return f"{self.tool} = {self.term}{record}"

    def answer(self, arguments: Json, record: Json = UNKNOWN) -> Json:
        """Return the answer to a call, as the tool would write it.

        Raises:
            NotApplicable: The rule does not fit the call.
        """
        return self.style.write(self.value(arguments, record))

    def value(self, arguments: Json, record: Json = UNKNOWN) -> Json:
        """Return the answer as a value; see `answer`."""
        if isinstance(arguments, dict):
            if not arguments.keys() <= self.names:
                raise NotApplicable("an argument that no recorded call had")
            for name, spelled in self.fixed:
                if name not in arguments or canonical_json(arguments[name]) != spelled:
                    raise NotApplicable(f"{name} had one value in all recorded calls")
        return evaluate(self.term, Scope(arguments, record))


class Proof(NamedTuple):
    """How often a rule was right about groups that it had not seen.

    Attributes:
        uses: Calls that it fitted, each once, and only such as no other group made: to know the
            answer to a call that was seen proves nothing.
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
