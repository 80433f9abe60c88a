"""What actions may be given, and what must never be done at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, model_validator
from pydantic_core import PydanticCustomError

from tracedance_sdk.grading.action_pattern import ActionPattern, ToolName, input_fits, succeeded
from tracedance_sdk.grading.criterion import (
    Criterion,
    Flag,
    Positive,
    SpecPart,
    same_finding,
    suggested_key,
)
from tracedance_sdk.grading.expected import Expected
from tracedance_sdk.grading.grades import Finding, brief
from tracedance_sdk.grading.matching import Answer, both, contrary, either
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.grading.verdicts import Severity
from tracedance_sdk.trace import UNKNOWN, Call


class InputRule(SpecPart):
    """What one tool may be given.

    Attributes:
        action: The tool's name, or a condition on it.
        acceptable_inputs: At least one must fit: every key is there with its value, further keys
            are allowed. None or empty: anything is acceptable.
        severity: Of a violation; the criterion's when None.
        negate: The inputs listed are those that are not acceptable.
    """

    action: ToolName
    acceptable_inputs: tuple[Expected, ...] = ()
    severity: Severity | None = None
    negate: Flag = False

    def accepts(self, call: Call) -> Answer:
        """Whether the call's inputs are acceptable; None where the evidence does not tell."""
        if not self.acceptable_inputs:
            return True
        found = either(input_fits(call, item) for item in self.acceptable_inputs)
        return contrary(found) if self.negate else found


_RuleKind = type[SpecPart]
"""Named here, because in a criterion `type` is a field."""


class RuledCriterion(Criterion):
    """A criterion made of rules. One with the keys of a rule in it has that one rule."""

    rule: ClassVar[_RuleKind]
    """What a rule is."""

    @model_validator(mode="wrap")
    @classmethod
    def _one_rule(cls, data: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(data, dict) or "rules" in data:
            return handler(data)
        rule_keys = cls.rule.model_fields.keys() - cls.model_fields.keys()
        meant = {suggested_key(str(key), rule_keys) for key in data.keys() - cls.model_fields}
        if rule_keys.isdisjoint(data) and not meant & rule_keys:
            return handler(data)
        if "negate" in data:
            text = "'negate' may mean the criterion or its rule; write the rule under 'rules'"
            raise PydanticCustomError("flat_rule", "{text}", {"text": text})
        own = {k: v for k, v in data.items() if k in cls.model_fields or str(k).startswith("x-")}
        rule = {key: value for key, value in data.items() if key not in own}
        try:
            return handler({**own, "rules": [rule]})
        except ValidationError as error:
            found = [
                same_finding(item, item["loc"][2 * (item["loc"][:2] == ("rules", 0)) :])
                for item in error.errors(include_url=False)
            ]
        raise ValidationError.from_exception_data(cls.__name__, found)


class AcceptableInputs(RuledCriterion):
    """Every action of a listed tool has acceptable inputs, whether it succeeded or not.

    The first rule that names the action's tool decides; tools without a rule are free.
    """

    rule: ClassVar[_RuleKind] = InputRule

    type: Literal["acceptable_inputs"] = "acceptable_inputs"
    rules: tuple[InputRule, ...]

    passing: ClassVar[str] = "every action has acceptable inputs"

    @cached_property
    def _by_name(self) -> dict[str, InputRule] | None:
        """Name of a tool → the first rule about it; None when a rule has a condition for a name."""
        names = [rule.action.source for rule in self.rules]
        if not all(isinstance(name, str) and "[" not in name for name in names):
            return None
        return dict(zip(reversed(names), reversed(self.rules), strict=True))

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each action whose inputs are not, or may not be, acceptable."""
        for call in run.actions:
            rule, accepted = self._ruling(call)
            if rule is None or accepted is True:
                continue
            yield Finding(
                run.evidence(
                    _input_text(run, call, rule, certain=accepted is False),
                    call=call,
                    expected=_listed(rule),
                    found=call.arguments,
                ),
                accepted is False,
                rule.severity,
            )

    def _ruling(self, call: Call) -> tuple[InputRule | None, Answer]:
        """Return the rule that decides on an action, or the first that may, and its answer."""
        if self._by_name is not None and "[" not in call.name:
            rule = self._by_name.get(call.name)
            return rule, None if rule is None else rule.accepts(call)
        found: InputRule | None = None
        unsure = False
        for rule in self.rules:
            named = rule.action.holds(call.name)
            if named is False:
                continue
            accepted = rule.accepts(call)
            if named is True and not unsure:
                return rule, accepted
            # The tool is not known, so the rule may or may not be its own.
            unsure = True
            if accepted is not True and found is None:
                found = rule
        return found, None


class Following(ActionPattern):
    """An action that, coming soon enough, lessens what went before it.

    Attributes:
        within: How many actions after the first one it may be at the latest.
        severity: What the first one then is. It stays on record.
    """

    within: Positive = 1
    severity: Severity = "minor"


class CriticalRule(ActionPattern):
    """A kind of call that must not be made.

    Attributes:
        description: What is wrong with it, for reports; the criterion's when empty.
        severity: Of a violation; the criterion's when None.
        negate: Calls of the tool are wrong when their inputs are *not* these.
        unless_followed_by: What lessens a violation.
    """

    description: str = ""
    severity: Severity | None = None
    negate: Flag = False
    unless_followed_by: Following | None = None

    def forbids(self, call: Call, run: RunView) -> Answer:
        """Whether the call is a violation; None where the evidence does not tell."""
        if not self.negate or self.matches is None:
            return self.fits(call, run)
        given = self.matches
        free = self.model_copy(update={"matches": None})
        unfit = contrary(input_fits(call, given))
        fits = free.fits(call, run)
        return False if fits is False or unfit is False else (None if unfit is None else fits)


class CriticalErrors(RuledCriterion):
    """What must never be done; doing something else afterwards does not undo it.

    Looks at every call but a simulated user's, calls inside calls included. One call may break
    several rules; each is a violation of its own.
    """

    rule: ClassVar[_RuleKind] = CriticalRule

    type: Literal["critical_errors"] = "critical_errors"
    severity: Severity = "critical"
    rules: tuple[CriticalRule, ...] = Field()

    passing: ClassVar[str] = "no critical error"

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each call with each rule it breaks, or may break."""
        for position, call in enumerate(run.done):
            for rule in self.rules:
                forbidden = rule.forbids(call, run)
                if forbidden is not False:
                    yield self._violation(run, position, rule, certain=forbidden is True)

    def _violation(
        self, run: RunView, position: int, rule: CriticalRule, *, certain: bool
    ) -> Finding:
        call = run.done[position]
        what = rule.description or self.description or f"{rule.label} must not happen"
        severity = rule.severity
        remedy = _remedy(run, position, rule.unless_followed_by)
        details: dict[str, Any] = {"found": call.arguments}
        if rule.matches is not None:
            details["expected"] = (
                rule.matches.source if rule.negate else {"$not": rule.matches.source}
            )
        text = f"{run.label(call)}: {what}" if certain else _unsure(run, call, what)
        if rule.unless_followed_by is not None and remedy is True:
            severity = rule.unless_followed_by.severity
            text += f" (followed by {rule.unless_followed_by.label})"
        elif remedy is None and certain:
            certain = False
            text += " (whether it was made good in time is not recorded)"
        return Finding(run.evidence(text, call=call, **details), certain, severity)


def _remedy(run: RunView, position: int, following: Following | None) -> Answer:
    """Whether a call is made good: by one of the actions after it, and one that succeeds."""
    if following is None:
        return False
    call = run.done[position]
    later = [item for item in run.actions if item.index > call.index][: following.within]
    wanted = following.success
    return either(
        both((following.fits(item, run), succeeded(item) if wanted is None else True))
        for item in later
    )


def _input_text(run: RunView, call: Call, rule: InputRule, *, certain: bool) -> str:
    if not certain:
        return _unsure(run, call, "its inputs")
    given = brief(call.arguments) if call.arguments is not UNKNOWN else "unknown inputs"
    if rule.negate:
        return f"{run.label(call)} was given {given}, which is listed as not acceptable"
    wanted = " or ".join(brief(item.source) for item in rule.acceptable_inputs[:3])
    more = ", ..." if len(rule.acceptable_inputs) > 3 else ""
    return f"{run.label(call)} was given {given}; acceptable: {wanted}{more}"


def _unsure(run: RunView, call: Call, what: str) -> str:
    return f"{run.label(call)}: cannot be decided from what was recorded: {what}"


def _listed(rule: InputRule) -> Any:
    sources = [item.source for item in rule.acceptable_inputs]
    expected = sources[0] if len(sources) == 1 else {"$one_of": sources}
    return {"$not": expected} if rule.negate else expected
