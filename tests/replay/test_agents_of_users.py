"""Agents as users write them: what they are called with, and what is told when they raise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.replay.test_running import played
from tracedance_sdk.replay.running import agent_named
from tracedance_sdk.replay.running.function_agent import takes_tools
from tracedance_sdk.replay.running.raised import place_of
from tracedance_sdk.trace import parse_json


def alone(messages: Any) -> str:
    return "Done."


def with_tools(messages: Any, tools: Any) -> str:
    return f"Done with {len(tools)}."


def with_scene(messages: Any, scene: str = "as ever") -> str:
    return f"Done {scene}."


def with_tools_or_none(messages: Any, tools: Any = None, scene: str = "") -> str:
    return f"Done with {len(tools)}."


def with_all(*given: Any) -> str:
    return f"Done with {len(given[1])}."


@pytest.mark.parametrize(
    ("agent", "takes", "says"),
    [
        (alone, False, "Done."),
        (with_tools, True, "Done with 2."),
        (with_scene, False, "Done as ever."),
        (with_tools_or_none, True, "Done with 2."),
        (with_all, True, "Done with 2."),
    ],
)
def test_tools_are_given_where_there_is_a_parameter_for_them(
    agent: Callable[..., Any], takes: bool, says: str
) -> None:
    assert takes_tools(agent) is takes
    assert agent_named(f"{__name__}:{agent.__name__}") is not None
    assert played(agent).trace.turns[1].text == says


def test_what_an_agent_raises_is_told_with_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "agents.py"
    path.write_text("import json\n\n\ndef reads(messages):\n    return json.loads('{')\n")
    run = played(agent_named(f"{path}:reads")())
    assert (run.ended, str(run.problem)[:34]) == (
        "agent_error",
        "the agent raised JSONDecodeError: ",
    )
    assert str(run.problem).endswith("(at agents.py:5)")


async def in_a_group(messages: Any) -> str:
    async with asyncio.TaskGroup() as group:
        group.create_task(failing())
    return "Done."


async def failing() -> None:
    raise LookupError("no such order")


async def in_a_group_of_two(messages: Any) -> str:
    async with asyncio.TaskGroup() as group:
        group.create_task(failing())
        group.create_task(failing())
    return "Done."


def test_of_a_group_of_exceptions_the_only_one_in_it_is_told() -> None:
    run = played(in_a_group)
    line = failing.__code__.co_firstlineno + 1
    told = f"the agent raised LookupError: no such order (at {Path(__file__).name}:{line})"
    assert run.problem == told
    assert "ExceptionGroup" in str(played(in_a_group_of_two).problem)


def test_a_line_of_this_package_is_not_the_agents() -> None:
    def agent(messages: Any) -> str:
        parse_json("{", where="it")
        return "Done."

    line = agent.__code__.co_firstlineno + 1
    assert str(played(agent).problem).endswith(f"(at {Path(__file__).name}:{line})")


def test_code_that_is_nobodys_own_has_no_place() -> None:
    with pytest.raises(SyntaxError) as caught:
        compile("(", "<agent>", "exec")
    assert place_of(caught.value.with_traceback(None)) is None
