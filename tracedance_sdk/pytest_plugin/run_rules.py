"""What the ``tracedance`` marker asks of a test: settings of recorders, and how often to run it."""

from __future__ import annotations

import difflib
import inspect
import math
import os
import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from tracedance_sdk.errors import InvalidOption, TraceDanceError, shown

MOST_RUNS: Final = 1000
"""Most runs that a marker may ask for."""

_RULE: Final = ("runs", "min_pass_rate", "confidence")


class TooFewRuns(pytest.PytestWarning):
    """A test with a confidence can never pass, because that takes more runs than it has."""

    # What a filter of warnings names it by.
    __module__ = "tracedance_sdk.pytest_plugin"


class RunRule(NamedTuple):
    """How often a test is run, and how many of its runs have to pass.

    Attributes:
        runs: At most this many, from 1 to `MOST_RUNS`.
        min_pass_rate: In (0, 1]; below 1 with a confidence.
        confidence: None: that share of `runs` has to pass. Else, in (0.5, 1): it has to be shown,
            at this confidence, that the test's pass rate is not below `min_pass_rate`.
    """

    runs: int
    min_pass_rate: float = 1.0
    confidence: float | None = None

    @property
    def n_needed(self) -> int:
        """How many of all `runs` have to pass, without a confidence.

        Example:
            >>> RunRule(10, 0.7).n_needed, RunRule(3, 0.5).n_needed, RunRule(4).n_needed
            (7, 2, 4)
        """
        from fractions import Fraction

        # As written: 0.7 * 10 is a little more than 7 in floating point.
        return math.ceil(Fraction(repr(float(self.min_pass_rate))) * self.runs)

    @property
    def alpha(self) -> float:
        """Chance of each of the two errors: 1 minus the confidence, as written.

        Example:
            >>> RunRule(30, 0.8, 0.95).alpha
            0.05
        """
        from fractions import Fraction

        confidence = 0.95 if self.confidence is None else self.confidence
        return float(1 - Fraction(repr(float(confidence))))


def marker_settings(item: pytest.Item) -> dict[str, Any]:
    """Return what a test's ``tracedance`` markers say, the nearest one's word last.

    Raises:
        InvalidOption: A marker has positional arguments.
    """
    merged: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers("tracedance"))):
        if marker.args:
            raise InvalidOption(
                f"@pytest.mark.tracedance takes keyword arguments only, got {shown(marker.args)}"
                f" on {item.nodeid!r}; write them as TraceRecorder's, such as task_id='refund'"
            )
        merged.update(marker.kwargs)
    return merged


def recorder_settings(item: pytest.Item) -> dict[str, Any]:
    """Return what the markers say of recorders.

    Raises:
        InvalidOption: A marker has positional arguments.
    """
    settings = marker_settings(item)
    return {name: value for name, value in settings.items() if name not in _RULE}


def rule_of(item: pytest.Item) -> RunRule | None:
    """Return how often a test is to be run; None when its markers do not say.

    Raises:
        InvalidOption: The markers cannot be used.
    """
    settings = marker_settings(item)
    given = {name: settings[name] for name in _RULE if name in settings}
    if not given:
        return None
    if "runs" not in given:
        raise InvalidOption(
            f"@pytest.mark.tracedance on {item.nodeid!r}: {next(iter(given))} without runs;"
            " say how often the test is run, such as runs=10"
        )
    problem = _problem(item, **given)
    if problem is not None:
        raise InvalidOption(f"@pytest.mark.tracedance on {item.nodeid!r}: {problem}")
    return RunRule(**given)


def check_marker(item: pytest.Item) -> RunRule | None:
    """Return how often a test is to be run, after a look at all that its markers say.

    Raises:
        InvalidOption: The markers cannot be used.
    """
    settings = recorder_settings(item)
    if not settings:
        return rule_of(item)
    from tracedance_sdk.recording import TraceRecorder

    known = [*_RULE, *inspect.signature(TraceRecorder).parameters]
    where = f"@pytest.mark.tracedance on {item.nodeid!r}"
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidOption(
                f"{where}: {name!r} is no setting of runs and none of TraceRecorder's{meant}"
            )
    rule = rule_of(item)
    try:
        TraceRecorder(**_known_now(settings))
    except TraceDanceError as error:
        raise InvalidOption(f"{where}: {error}") from error
    return rule


def _known_now(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that can be checked before any fixture has run."""
    later = {
        name
        for name in ("state", "environment")
        if isinstance(settings.get(name), (str, os.PathLike))  # it may yet be made
    }
    if isinstance(settings.get("tools"), Iterator):  # it can be read once
        later.add("tools")
    return {name: value for name, value in settings.items() if name not in later}


def too_few_runs(rule: RunRule) -> str | None:
    """Return what to say of a rule by which no test can pass; None when one can."""
    if rule.confidence is None:
        return None
    from tracedance_sdk.statistics import least_runs_to_pass

    try:
        least = least_runs_to_pass(min_rate=rule.min_pass_rate, alpha=rule.alpha)
    except InvalidOption as error:
        return str(error)
    if least <= rule.runs:
        return None
    return (
        f"runs={rule.runs} can never show a pass rate of {rule.min_pass_rate:g} at a confidence of"
        f" {rule.confidence:g}: that takes {least} runs, all of them passing"
    )


def _problem(
    item: pytest.Item, *, runs: Any, min_pass_rate: Any = 1.0, confidence: Any = None
) -> str | None:
    if type(runs) is not int or not 1 <= runs <= MOST_RUNS:
        return f"runs={shown(runs)} is no whole number from 1 to {MOST_RUNS}"
    if not _is_number(min_pass_rate) or not 0 < min_pass_rate <= 1:
        return f"min_pass_rate={shown(min_pass_rate)} is no number above 0 and up to 1"
    if confidence is not None and (not _is_number(confidence) or not 0.5 < confidence < 1):
        return f"confidence={shown(confidence)} is no number between 0.5 and 1, such as 0.95"
    if confidence is not None and min_pass_rate == 1:
        return "no number of runs shows a pass rate of 1; give min_pass_rate below 1"
    case = sys.modules.get("unittest")
    cls = getattr(item, "cls", None)
    if case is not None and isinstance(cls, type) and issubclass(cls, case.TestCase):
        return f"{cls.__name__} is a unittest.TestCase, which runs once; write a plain class"
    if "subtests" in getattr(item, "fixturenames", ()):
        return "a test that uses subtests runs once; parametrize it, or assert at its end"
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
