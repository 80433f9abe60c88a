"""Actions of an environment as calls: ``execute(action)``, synchronous or not."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from tracedance_sdk.errors import InvalidOption, RecorderError
from tracedance_sdk.recording.calls import OpenCall, start_call
from tracedance_sdk.recording.driving import UNRECORDED
from tracedance_sdk.recording.failures import Failure
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.scopes import scope_in
from tracedance_sdk.recording.values import freeze

if TYPE_CHECKING:
    from tracedance_sdk.recording.runs import Run

ACTION_FAILED: Final = "ActionFailed"
"""Error type of an action whose result says that it did not succeed."""

_ABSENT: Final = object()


class Environment(Protocol):
    """A world in which actions are done. Both methods may be asynchronous."""

    def execute(self, action: Any, /) -> Any:
        """Do an action; return its result, with ``success``, ``output`` and ``error``."""

    def get_state(self) -> Any:
        """Return a copy of the state, as JSON."""


def execute_action(run: Run, environment: Any, *, action: Any) -> Any:
    """Do an action in the environment and record it.

    A result that has a ``success`` is read as ``{success, output?, error?}``; any other is the
    call's content as it is.

    Raises:
        RecorderError: There is no environment.
        InvalidOption: The action has no type, or its id was used before in this run.
    """
    if not callable(getattr(environment, "execute", None)):
        raise RecorderError(
            f"the recorder's environment {environment!r} has no execute(action); give"
            " TraceRecorder(environment=...) an object that has"
        )
    name, given, action_id = _field(action, "type"), _field(action, "input"), _field(action, "id")
    if not isinstance(name, str) or not name:
        raise InvalidOption(f"the action {action!r} has no type; give it one")
    call_id = None if action_id in (None, _ABSENT) else run.words(str(action_id))
    if call_id is not None and not run.ledger.claim(call_id):
        raise InvalidOption(
            f"the action id {call_id!r} was used before in this run; give each action its own"
        )
    arguments = {} if given in (None, _ABSENT) else given
    call = GUARD.attempt(
        "start",
        run.faults,
        start_call,
        scope_in(run),
        name,
        arguments,
        form=OpenCall,
        call_id=call_id,
    )
    return _execute(run, call, environment=environment, action=action)


def _execute(run: Run, call: OpenCall | None, *, environment: Any, action: Any) -> Any:
    operation = call or UNRECORDED
    tokens = operation.enter()
    try:
        result = environment.execute(action)
    except BaseException as error:
        operation.leave(tokens)
        operation.fail(error)
        raise
    operation.leave(tokens)
    if inspect.isawaitable(result):
        return _await_result(run, call, awaitable=result)
    if call is not None:
        GUARD.attempt("result", run.faults, _end, call, result)
    return result


async def _await_result(run: Run, call: OpenCall | None, *, awaitable: Awaitable[Any]) -> Any:
    operation = call or UNRECORDED
    tokens = operation.enter()
    try:
        result = await awaitable
    except BaseException as error:
        operation.leave(tokens)
        operation.fail(error)
        raise
    operation.leave(tokens)
    try:
        await operation.observe()
    finally:
        if call is not None:
            GUARD.attempt("result", run.faults, _end, call, result)
    return result


def _end(call: OpenCall, result: Any) -> None:
    success = _field(result, "success")
    if not isinstance(success, bool):
        call.succeed(result)
        return
    output, error = _field(result, "output"), _field(result, "error")
    content = None if output is _ABSENT else call.run.text(freeze(output))
    failure = None
    if not success:
        message = str(error) if error not in (None, _ABSENT) else "the action did not succeed"
        failure = Failure(ACTION_FAILED, message, interrupted=False)
    call.finish(content, ok=success, failure=failure)


def _field(thing: Any, name: str) -> Any:
    if isinstance(thing, Mapping):
        return thing.get(name, _ABSENT)
    return getattr(thing, name, _ABSENT)
