"""A rule that says what a tool answers, and what speaks for it."""

from __future__ import annotations

from typing import Final, NamedTuple

from tracedance_sdk.replay.derivation.parsed import Style
from tracedance_sdk.replay.derivation.terms import (
    Field,
    NotApplicable,
    Scope,
    Term,
    evaluate,
    field_of,
)
from tracedance_sdk.trace import UNKNOWN, Json, canonical_json

LEAST_USES: Final = 20
LEAST_RIGHT: Final = 0.99


class Seen(NamedTuple):
    """What recorded calls showed of the arguments of a tool.

    Attributes:
        names: Arguments that they had; nothing is said of others.
        always: Those that all of them had.
        few: Those that had few values, with the canonical JSON of these: nobody knows what another
            value would do.
        forms: The forms that the values of each had; see `form_of`.
    """

    names: frozenset[str] = frozenset()
    always: frozenset[str] = frozenset()
    few: tuple[tuple[str, frozenset[bytes]], ...] = ()
    forms: tuple[tuple[str, frozenset[str]], ...] = ()

    def check(self, arguments: dict[str, Json]) -> None:
        """Check that a call is like those that were recorded.

        Raises:
            NotApplicable: It is not.
        """
        if not self.always <= arguments.keys() <= self.names:
            raise NotApplicable("other arguments than recorded calls had")
        for name, values in self.few:
            if name in arguments and canonical_json(arguments[name]) not in values:
                raise NotApplicable(f"{name} had other values in all recorded calls")
        for name, forms in self.forms:
            if name in arguments and form_of(canonical_json(arguments[name])) not in forms:
                raise NotApplicable(f"{name} was no such value in any recorded call")


def form_of(value: bytes) -> str:
    """Return what is alike in values of one type that are empty, or negative, or neither.

    Args:
        value: As canonical JSON.

    Example:
        >>> [form_of(value) for value in (b'"W-1"', b'" "', b"17", b"-3", b"[]", b"true")]
        ['text', 'no text', 'number', 'number below 0', 'empty', 'truth']
    """
    first = value[:1]
    if first == b'"':
        return "text" if value[1:-1].strip() else "no text"
    if first in (b"[", b"{"):
        return "empty" if len(value) == 2 else "list" if first == b"[" else "object"
    if first in (b"t", b"f"):
        return "truth"
    if first == b"n":
        return "nothing"
    return "number below 0" if first == b"-" else "number"


class Rule(NamedTuple):
    """What a tool answers.

    Attributes:
        tool: Its name.
        by: The argument that names the record which is needed; empty where none is.
        fields: That the record must have.
        term: The answer.
        style: How it is written.
        seen: What was seen of arguments; the rule says nothing of calls with others.
        slots: Values that stand in texts and that few were seen of, with the canonical JSON of
            these.
    """

    tool: str
    by: str
    fields: frozenset[str]
    term: Term
    style: Style
    seen: Seen = Seen()
    slots: tuple[tuple[Field, frozenset[bytes]], ...] = ()

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
            self.seen.check(arguments)
        scope = Scope(arguments, record)
        for field, values in self.slots:
            if canonical_json(field_of(field, scope)) not in values:
                raise NotApplicable(f"{field} had other values in all recorded calls")
        return evaluate(self.term, scope)


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
