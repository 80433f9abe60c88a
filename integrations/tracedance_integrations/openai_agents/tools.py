"""Function tools at work, and what the SDK tells the model when one fails."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from tracedance_integrations.openai_agents import reading
from tracedance_integrations.openai_agents.runs import RELAY
from tracedance_sdk.recording import ReplayedError
from tracedance_sdk.recording.answering import open_sources
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.integrating import ToolOutcome, ToolUse, attempt
from tracedance_sdk.recording.scopes import open_runs


class _Trouble:
    """The exception that left a tool, where the SDK told the model of it instead of raising."""

    def __init__(self) -> None:
        self.error: BaseException | None = None


_TROUBLE: Final[ContextVar[_Trouble | None]] = ContextVar("tracedance_trouble", default=None)


async def explain_failure(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Let the SDK put a failure in words for the model, and keep the exception."""
    words = await wrapped(*args, **kwargs)
    trouble = _TROUBLE.get()
    if trouble is not None and words is not None:
        trouble.error = kwargs.get("error")
    return words


async def invoke(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Use a tool, on record."""
    return await _invoke(partial(wrapped, *args, **kwargs), kwargs, _same, _same)


async def invoke_with_metadata(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Use a tool, on record, in versions where its result comes in an envelope."""
    body = partial(wrapped, *args, **kwargs)
    return await _invoke(body, kwargs, _output, _enveloped)


async def _invoke(
    body: Callable[[], Any],
    given: dict[str, Any],
    opened: Callable[[Any], Any],
    enveloped: Callable[[Any], Any],
) -> Any:
    if not open_runs and not open_sources:
        return await body()
    trouble = _Trouble()
    use = attempt("tool", _use, given, trouble, opened, enveloped)
    if use is None:
        return await body()
    relay = RELAY.get()
    tokens = None if relay is None else relay.enter()
    marks = RELAY.set(None), _TROUBLE.set(trouble)
    try:
        return await use.run_async(body)
    except ReplayedError as error:
        words = await _in_words(given, error)
        if words is None:
            raise
        return enveloped(words)
    finally:
        reset_quietly(RELAY, marks[0])
        reset_quietly(_TROUBLE, marks[1])
        if relay is not None and tokens is not None:
            relay.leave(tokens)


def _use(
    given: dict[str, Any],
    trouble: _Trouble,
    opened: Callable[[Any], Any],
    enveloped: Callable[[Any], Any],
) -> ToolUse:
    context = given["context"]

    def outcome(value: Any) -> ToolOutcome:
        if trouble.error is None:
            return ToolOutcome(opened(value))
        return ToolOutcome.of_failure(opened(value), trouble.error)

    return ToolUse(
        given["function_tool"].name,
        reading.arguments(given["arguments"]),
        getattr(context, "tool_call_id", None),
        outcome=outcome,
        rebuild=enveloped,
    )


async def _in_words(given: dict[str, Any], error: Exception) -> Any:
    """Return what the SDK tells the model of a recorded error, as it did of the error itself."""
    from agents import tool

    return await tool.maybe_invoke_function_tool_failure_error_function(
        function_tool=given["function_tool"], context=given["context"], error=error
    )


def _same(value: Any) -> Any:
    return value


def _output(envelope: Any) -> Any:
    return envelope.output


def _enveloped(output: Any) -> Any:
    from agents.tool import _FunctionToolInvocationResult

    return _FunctionToolInvocationResult(output)
