"""What keeps an edited test from being run, and what is odd in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tracedance_sdk.errors import Problem, shown
from tracedance_sdk.replay.argument_checks import argument_problem
from tracedance_sdk.replay.rebuilt_test import RebuiltTest

_PLAIN_NAME: Final = re.compile(r"\w[\w. -]{0,199}")


def faults_of(test: RebuiltTest) -> Iterator[Problem]:
    """Yield what keeps a test from being run: a fault of the test, never of the agent.

    Example:
        >>> from tracedance_sdk.replay.rebuilt_test import TestSource
        >>> test = RebuiltTest(id="../a", source=TestSource(trace_id="t", group="g"), opening="Hi")
        >>> [problem.path for problem in faults_of(test)]
        ['$.id']
    """
    if not _PLAIN_NAME.fullmatch(test.id):
        what = f"{shown(test.id)} is no plain name: letters, digits, '.', '-' and '_'"
        yield Problem(what, "$.id")
    if not test.opening.strip():
        yield Problem("nobody opens the conversation: 'opening' is empty", "$.opening")


def odd_recordings(test: RebuiltTest) -> Iterator[Problem]:
    """Yield the recorded calls that were answered although their tool's schema refuses them.

    A call that was answered with an error is left alone: the recorded agent made it so.
    """
    schemas = {tool.name: tool.parameters for tool in test.tools}
    for number, call in enumerate(test.recordings):
        if call.answer is not None and call.answer.get("ok") is False:
            continue
        problem = argument_problem(schemas.get(call.name), call.arguments)
        if problem is not None:
            what, _, inner = problem.rpartition(" @ $")
            told = f"the arguments do not fit the schema of {shown(call.name)}: {what}"
            yield Problem(told, f"$.recordings[{number}].arguments{inner}")
