"""The environment's state at the time of each call, from the changes recorded per call.

A call's recorded change is what changed since the call before it ended, taken when it ends. So
the state after a call is the initial state with all changes up to its end applied, in the order in
which calls ended; a call inside another ends before it. When a call begins while another is under
way, the state at that moment was not recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.trace import UNKNOWN, Call, Json, apply_patch

_TOLERANCE_S: Final = 2e-6
"""Calls that overlap by less came one after the other: start times are whole microseconds."""


class _Span(NamedTuple):
    """When a call began and ended, on one clock."""

    start: float
    end: float
    call: Call


class StateHistory:
    """States before and after calls.

    Args:
        initial_state: Before the run; `UNKNOWN` when not recorded.
        calls: All calls of the trace, in order.
    """

    def __init__(self, initial_state: Json, calls: Sequence[Call]) -> None:
        self._before: dict[int, Json] = {}
        self._after: dict[int, Json] = {}
        spans = _spans(_executed(calls))
        ended = sorted(spans, key=lambda span: (span.end, span.call.index))
        states = [initial_state]
        place_of = {span.call.index: place for place, span in enumerate(ended)}
        for span in ended:
            states.append(_applied(states[-1], span.call))
            self._after[span.call.index] = states[-1]
        latest_end, n_ended = float("-inf"), 0
        for span in sorted(spans, key=lambda span: (span.start, span.call.index)):
            while n_ended < len(ended) and ended[n_ended].end <= span.start + _TOLERANCE_S:
                n_ended += 1
            alone = span.call.parent_call_id is None
            if alone and latest_end <= span.start + _TOLERANCE_S:
                # A very short call must not count as one that ended before itself.
                place = min(n_ended, place_of[span.call.index])
                self._before[span.call.index] = states[place]
            latest_end = max(latest_end, span.end)

    def before(self, call: Call) -> Json:
        """Return the state when a call began; `UNKNOWN` when not recorded."""
        return self._before.get(call.index, UNKNOWN)

    def after(self, call: Call) -> Json:
        """Return the state when a call had ended; `UNKNOWN` when not recorded."""
        return self._after.get(call.index, UNKNOWN)


def _executed(calls: Sequence[Call]) -> list[Call]:
    """Leave out what was requested and never ran, where the recorder noted what ran."""
    if all(call.state_change is None for call in calls):
        return list(calls)
    return [call for call in calls if call.result is not None or call.started_at is not None]


def _spans(calls: Sequence[Call]) -> list[_Span]:
    """Return when calls began and ended: by the clock, or by their order and nesting."""
    spans = []
    for call in calls:
        if call.started_at is None or call.duration_ms is None:
            return _nested_spans(calls)
        start = call.started_at.timestamp()
        spans.append(_Span(start, start + call.duration_ms / 1000, call))
    return spans


def _nested_spans(calls: Sequence[Call]) -> list[_Span]:
    spans: list[_Span] = []
    under_way: list[tuple[int, Call]] = []
    moment = 0
    for call in calls:
        while under_way and under_way[-1][1].id != call.parent_call_id:
            moment += 1
            start, ended = under_way.pop()
            spans.append(_Span(start, moment, ended))
        moment += 1
        under_way.append((moment, call))
    while under_way:
        moment += 1
        start, ended = under_way.pop()
        spans.append(_Span(start, moment, ended))
    return spans


def _applied(state: Json, call: Call) -> Json:
    if state is UNKNOWN or call.state_change is None:
        return UNKNOWN
    try:
        return apply_patch(call.state_change, state)
    except TraceDanceError:
        # A record that does not fit the state before it tells nothing of the state after it.
        return UNKNOWN
