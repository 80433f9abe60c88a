"""What the agent did after a failure, and what it did twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from tracedance_sdk.grading.action_pattern import ActionPattern, succeeded
from tracedance_sdk.grading.criterion import Criterion, Positive
from tracedance_sdk.grading.grades import Evidence, Finding
from tracedance_sdk.grading.matching import Answer, both, contrary, either
from tracedance_sdk.grading.repeats import (
    TransientErrors,
    failed,
    is_transient,
    same_call,
)
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.trace import Call


class Recovery(Criterion):
    """A failed action is followed by a different attempt: another tool, or other arguments.

    Attributes:
        within: So many actions after the failure at the latest.
        transient_errors: Errors after which the very same attempt is right as well.
        only: Failures of these actions; empty means of all.
    """

    type: Literal["recovery"] = "recovery"
    within: Positive = 1
    transient_errors: TransientErrors = ()
    only: tuple[ActionPattern, ...] = ()

    passing: ClassVar[str] = "every failed action is followed by a different attempt"

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each failure after which nothing else was, or may have been, tried."""
        for position, call in enumerate(run.actions):
            later = run.actions[position + 1 : position + 1 + self.within]
            meant = both((failed(call), _in_scope(call, run, self.only)))
            if meant is False:
                continue
            retried = is_transient(call, self.transient_errors)
            answers = (either((contrary(same_call(call, item, run)), retried)) for item in later)
            unmet = both((meant, contrary(either(answers))))
            if unmet is not False:
                yield Finding(
                    self._evidence(run, call, later, certain=unmet is True), unmet is True
                )

    def _evidence(
        self, run: RunView, call: Call, later: tuple[Call, ...], *, certain: bool
    ) -> Evidence:
        if not certain:
            text = f"{run.label(call)}: whether it failed and was made good was not recorded"
        elif not later:
            text = f"{run.label(call)} failed, and nothing was tried after it"
        else:
            text = f"{run.label(call)} failed, and what followed was the same attempt again"
        return run.evidence(text, call=call, found=call.arguments)


class Idempotence(Criterion):
    """No action is repeated with the same arguments. A failed first try is no duplicate.

    Attributes:
        only: These actions; empty means all.
        excluding: Not these.
    """

    type: Literal["idempotence"] = "idempotence"
    only: tuple[ActionPattern, ...] = ()
    excluding: tuple[ActionPattern, ...] = ()

    passing: ClassVar[str] = "no action was repeated"

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each action that is, or may be, a repetition."""
        earlier = _Earlier(run)
        for call in run.actions:
            first, repeated = earlier.find(call)
            earlier.add(call)
            if repeated is False or first is None:
                continue
            scope = _in_scope(call, run, self.only)
            spared = either(pattern.fits(call, run) for pattern in self.excluding)
            found = both((repeated, scope, contrary(spared)))
            if found is False:
                continue
            text = f"{run.label(call)} {'repeats' if found else 'may repeat'} {run.label(first)}"
            evidence = run.evidence(text, call=call, found=call.arguments)
            yield Finding(evidence, found is True)


class _Earlier:
    """The actions so far, by name, and by key where their arguments are observed."""

    def __init__(self, run: RunView) -> None:
        self._run = run
        self._by_key: dict[str, list[Call]] = {}
        self._by_name: dict[str, list[Call]] = {}
        self._veiled: dict[str, list[Call]] = {}

    def add(self, call: Call) -> None:
        key = self._run.key(call)
        self._by_name.setdefault(call.name, []).append(call)
        if key is None:
            self._veiled.setdefault(call.name, []).append(call)
        else:
            group = self._by_key.setdefault(key, [])
            # One that succeeded settles every later question; failed ones never matter.
            if succeeded(call) is True:
                group.insert(0, call)
            elif succeeded(call) is None:
                group.append(call)

    def find(self, call: Call) -> tuple[Call | None, Answer]:
        """Return the earlier action that a call repeats, and whether it certainly does."""
        key = self._run.key(call)
        if key is None:
            candidates = self._by_name.get(call.name, [])
        else:
            candidates = self._by_key.get(key, [])[:1] + self._veiled.get(call.name, [])
        maybe: Call | None = None
        for item in candidates:
            repeated = both((same_call(item, call, self._run), succeeded(item)))
            if repeated is True:
                return item, True
            if repeated is None and maybe is None:
                maybe = item
        return maybe, (False if maybe is None else None)


def _in_scope(call: Call, run: RunView, only: tuple[ActionPattern, ...]) -> Answer:
    return either(pattern.fits(call, run) for pattern in only) if only else True
