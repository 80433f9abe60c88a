"""When a call is the same call again, and when a failure is one that may just be retried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from tracedance_sdk.grading.action_pattern import succeeded
from tracedance_sdk.grading.matching import Answer, answer, contrary, differences
from tracedance_sdk.grading.predicates import compile_regex, glob_regex
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.trace import Call


def _checked(globs: tuple[str, ...]) -> tuple[str, ...]:
    for glob in globs:
        try:
            compile_regex(glob_regex(glob))
        except ValueError as error:
            text = {"text": f"{glob!r} is no glob"}
            raise PydanticCustomError("glob", "{text}", text) from error
    return globs


TransientErrors = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    AfterValidator(_checked),
]
"""Globs for the type or the message of errors after which trying again is right."""


def same_call(left: Call, right: Call, run: RunView) -> Answer:
    """Whether two calls have the same tool and the same arguments."""
    if left.name != right.name:
        return False
    keys = run.key(left), run.key(right)
    if None not in keys:
        return keys[0] == keys[1]
    return answer(differences(left.arguments, right.arguments, mode="exact"))


def failed(call: Call) -> Answer:
    """Whether a call failed; None when that was not recorded."""
    return contrary(succeeded(call))


def is_transient(call: Call, globs: Iterable[str]) -> Answer:
    """Whether a failed call's error fits one of the globs; None when no error was recorded."""
    error = None if call.result is None else call.result.error
    patterns = [compile_regex(glob_regex(glob)) for glob in globs]
    if not patterns:
        return False
    if error is None:
        return None
    return any(regex.search(error.type) or regex.search(error.message) for regex in patterns)
