"""Tools of a program's own, answered from 200 real conversations rebuilt as tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.replay.swaps import recorded_traces
from tracedance_sdk.errors import UnrecordedCall
from tracedance_sdk.recording import tool
from tracedance_sdk.replay import read_test, rebuild, replaying, save_tests

RAN: list[str] = []


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("rebuilt")
    return save_tests(rebuild(recorded_traces()).tests, folder / "tests")


def tool_named(name: str) -> Callable[..., Any]:
    """Return a tool that takes any arguments, and that must not run."""

    @tool(name=name)
    def body(**arguments: Any) -> Any:
        RAN.append(name)

    return body


def test_every_conversation_answers_its_own_calls_and_nothing_runs(files: list[Path]) -> None:
    stamps: Counter[str] = Counter()
    wrong = 0
    for path in files:
        test = read_test(path)
        with replaying(path) as session:
            for call in test.recordings:
                assert isinstance(call.arguments, dict)
                answer = tool_named(call.name)(**call.arguments)
                assert call.result is not None
                wrong += answer != call.result.content
        stamps.update(item.stamp for item in session.answers)

    assert len(files) == 200
    assert stamps == {"same": 1164}
    assert wrong == 0
    assert RAN == []


def test_another_conversations_writes_are_refused(files: list[Path]) -> None:
    """Each test meets the next one's writes; what both recorded alike is answered, nothing runs."""
    n_met = n_refused = 0
    for path, following in pairwise(files):
        test = read_test(following)
        writes = [t.name for t in test.tools if t.effect == "write"]
        for call in test.recordings:
            if call.name not in writes or not isinstance(call.arguments, dict):
                continue
            n_met += 1
            try:
                with replaying(path):
                    tool_named(call.name)(**call.arguments)
            except UnrecordedCall as error:
                n_refused += error.writes

    assert n_met > n_refused > 100
    assert RAN == []
