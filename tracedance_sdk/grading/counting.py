"""How often, how many, how long, how dear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, NamedTuple

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from tracedance_sdk.grading.action_pattern import ActionPattern, succeeded
from tracedance_sdk.grading.criterion import Amount, Count, Criterion, Flag
from tracedance_sdk.grading.grades import Finding, counted
from tracedance_sdk.grading.matching import Answer, both, contrary, either
from tracedance_sdk.grading.repeats import TransientErrors, failed, is_transient, same_call
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.grading.sequences import has_ended
from tracedance_sdk.trace import Call, Usage

_LIMITS = (
    "max_actions",
    "max_failures",
    "max_duration_ms",
    "max_tokens",
    "max_cost_usd",
)


class Counts(Criterion):
    """A kind of action happens so many times.

    Attributes:
        of: Which actions are counted.
        min: At least; None sets no bound.
        max: At most; None sets no bound.
        allow_retries: Do not count a failed attempt that is repeated with the same arguments.
        transient_errors: Allow retries only after errors that fit one of these.
    """

    type: Literal["counts"] = "counts"
    of: ActionPattern
    min: Count | None = None
    max: Count | None = None
    allow_retries: Flag = False
    transient_errors: TransientErrors = ()

    passing: ClassVar[str] = "the count is within its bounds"

    @model_validator(mode="after")
    def _bounds(self) -> Counts:
        if self.min is None and self.max is None:
            text = "give 'min', 'max' or both"
        elif self.min is not None and self.max is not None and self.min > self.max:
            text = f"'min' {self.min} is above 'max' {self.max}"
        else:
            return self
        raise PydanticCustomError("counts", "{text}", {"text": text})

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield the count when it is not, or may not be, within the bounds."""
        least = most = finished = 0
        last: Call | None = None
        spared = _Retries(run, self.transient_errors) if self.allow_retries else None
        for call in run.actions:
            fits = self.of.fits(call, run)
            if spared is not None and fits is not False:
                fits = both((fits, contrary(spared.retried(call))))
            least += fits is True
            # One cut off counts against a maximum, and is not enough for a minimum.
            finished += fits is True and has_ended(call)
            most += fits is not False
            last = call if fits is not False else last
        count = f"{least}" if least == most else f"between {least} and {most}"
        text = f"{self.of.label} happened {counted(count, 'time')}"
        if self.min is not None and finished < self.min:
            cut = f", {counted(finished, 'time')} to its end" if least >= self.min else ""
            evidence = run.evidence(f"{text}{cut}; at least {self.min} required")
            yield Finding(evidence, most < self.min)
        if self.max is not None and most > self.max:
            evidence = run.evidence(f"{text}; at most {self.max} allowed", call=last)
            yield Finding(evidence, least > self.max)


class _Retries:
    """Which failed attempts a later action repeats exactly."""

    def __init__(self, run: RunView, transient_errors: tuple[str, ...]) -> None:
        self._transient_errors = transient_errors
        self._run = run
        self._last: dict[str | None, int] = {run.key(c): i for i, c in enumerate(run.actions)}

    def retried(self, call: Call) -> Answer:
        """Whether a call failed in a way that may be retried, and was."""
        allowed: Answer = True
        if self._transient_errors:
            allowed = is_transient(call, self._transient_errors)
        excused = both((failed(call), allowed))
        return False if excused is False else both((excused, self._repeated(call)))

    def _repeated(self, call: Call) -> Answer:
        place = (self._run.number(call) or 0) - 1
        key = self._run.key(call)
        if key is not None and self._last[key] > place:
            return True
        if key is not None and None not in self._last:
            return False
        return either(same_call(call, later, self._run) for later in self._run.actions[place + 1 :])


class _Spent(NamedTuple):
    """What a run spent: certainly this much, perhaps up to that much (None: no bound known)."""

    least: float
    most: float | None


class Budget(Criterion):
    """The run stays within limits; None sets none.

    Attributes:
        max_actions: Actions of the agent.
        max_failures: Actions that failed.
        max_duration_ms: From the start of the run to its end.
        max_tokens: Input and output tokens of all model turns.
        max_cost_usd: Of all model turns.
    """

    type: Literal["budget"] = "budget"
    max_actions: Count | None = None
    max_failures: Count | None = None
    max_duration_ms: Amount | None = None
    max_tokens: Count | None = None
    max_cost_usd: Amount | None = None

    passing: ClassVar[str] = "the run stays within its budget"

    @model_validator(mode="after")
    def _something(self) -> Budget:
        if all(getattr(self, name) is None for name in _LIMITS):
            text = f"give at least one of {', '.join(_LIMITS)}"
            raise PydanticCustomError("budget", "{text}", {"text": text})
        return self

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each limit that is, or may be, overrun."""
        for name in _LIMITS:
            limit = getattr(self, name)
            if limit is None:
                continue
            spent = _SPENT[name](run)
            what = name.removeprefix("max_")
            if spent.least > limit:
                at_least = "" if spent.most == spent.least else "at least "
                text = f"{what} {at_least}{spent.least:g}; at most {limit:g} allowed"
                yield Finding(run.evidence(text, expected=limit, found=spent.least))
            elif spent.most is None or spent.most > limit:
                were = "were" if what.endswith("s") and what != "duration_ms" else "was"
                known = f"{what} {were} not recorded throughout"
                text = f"{known}; at most {limit:g} allowed"
                yield Finding(run.evidence(text, expected=limit), certain=False)


def _actions(run: RunView) -> _Spent:
    return _Spent(len(run.actions), len(run.actions))


def _failures(run: RunView) -> _Spent:
    answers = [succeeded(call) for call in run.actions]
    return _Spent(answers.count(False), len(answers) - answers.count(True))


def _duration_ms(run: RunView) -> _Spent:
    started, ended = run.trace.started_at, run.trace.ended_at
    if started is None or ended is None:
        return _Spent(0, None)
    if ended < started:
        # A clock that ran backwards tells nothing.
        return _Spent(0, None)
    duration = (ended - started).total_seconds() * 1000
    return _Spent(duration, duration)


def _tokens(run: RunView) -> _Spent:
    def of(usage: Usage) -> tuple[float | None, ...]:
        return usage.input_tokens, usage.output_tokens

    return _sum([item for turn in run.replies for item in of(turn.usage or Usage())])


def _cost_usd(run: RunView) -> _Spent:
    return _sum([None if turn.usage is None else turn.usage.cost_usd for turn in run.replies])


def _sum(amounts: list[float | None]) -> _Spent:
    # What is below zero, or no number, was not measured.
    known = [amount for amount in amounts if amount is not None and amount >= 0]
    whole = sum(known)
    # A run in which no model turn was recorded tells nothing of what it spent.
    return _Spent(whole, whole if amounts and len(known) == len(amounts) else None)


_SPENT = {
    "max_actions": _actions,
    "max_failures": _failures,
    "max_duration_ms": _duration_ms,
    "max_tokens": _tokens,
    "max_cost_usd": _cost_usd,
}
