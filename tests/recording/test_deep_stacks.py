"""A program near the recursion limit: what its tools have done is not lost to recording."""

from __future__ import annotations

import sys

import pytest

from tracedance_sdk import TraceRecorder, tool
from tracedance_sdk.recording.scopes import CURRENT


@pytest.mark.usefixtures("forgiving")
def test_no_tool_that_ran_to_its_end_fails_for_want_of_stack_to_record_it() -> None:
    done: list[int] = []

    @tool
    def act(n: int) -> int:
        done.append(n)
        return n

    def down(levels: int, n: int) -> int:
        return act(n) if levels == 0 else down(levels - 1, n)

    returned: list[int] = []
    with TraceRecorder() as recorder:
        scope = CURRENT.get()
        for levels in range(sys.getrecursionlimit() - 300, sys.getrecursionlimit()):
            try:
                returned.append(down(levels, levels))
            except RecursionError:
                continue
            finally:
                assert CURRENT.get() is scope
        act(-1)
    assert returned == done[:-1]
    assert len(returned) > 10
    assert recorder.trace.calls[-1].arguments == {"n": -1}


@pytest.mark.usefixtures("forgiving")
def test_a_tool_needs_no_more_stack_than_four_plain_functions_around_it() -> None:
    def behind(frames: int) -> int:
        return 1 if frames == 0 else behind(frames - 1)

    @tool
    def act() -> int:
        return 1

    def down(levels: int, recorded: bool) -> int:
        if levels == 0:
            return act() if recorded else behind(4)
        return down(levels - 1, recorded)

    def reached(recorded: bool) -> int:
        for levels in range(sys.getrecursionlimit() - 300, sys.getrecursionlimit()):
            try:
                down(levels, recorded)
            except RecursionError:
                return levels
        raise AssertionError("the limit was never reached")

    with TraceRecorder():
        act()
        assert reached(recorded=True) >= reached(recorded=False)
