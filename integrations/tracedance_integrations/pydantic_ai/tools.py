"""Uses of tools, of whatever toolset."""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import orjson

from tracedance_integrations.pydantic_ai import reading
from tracedance_sdk.recording.answering import open_sources
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating import ToolOutcome, ToolUse
from tracedance_sdk.recording.replayed_errors import ReplayedError
from tracedance_sdk.recording.scopes import open_runs

_WITHIN: Final[ContextVar[tuple[int, str | None] | None]] = ContextVar(
    "tracedance_pydantic_ai_tool", default=None
)
"""Which call is being made here: toolsets hand calls on to the toolsets in them."""

_CONTEXT: Final = 2
"""Place of the run's context among the arguments of ``call_tool``."""


async def call_tool(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Use a tool, on record, or answered from elsewhere."""
    if (not open_runs and not open_sources) or _is_handed_on(args):
        return await wrapped(*args, **kwargs)
    body = partial(wrapped, *args, **kwargs)
    asked = GUARD.attempt("tool", PROCESS_FAULTS, partial(_asked, *args, **kwargs))
    if asked is None or asked[0] == _WITHIN.get():
        return await body()
    here, use = asked
    token = _WITHIN.set(here)
    try:
        return await use.run_async(body)
    except ReplayedError as error:
        told = _told_again(error)
        if told is None:
            raise
        raise told from error
    finally:
        reset_quietly(_WITHIN, token)


def _is_handed_on(args: tuple[Any, ...]) -> bool:
    """Whether a toolset hands on the call that is being made, as it does by position."""
    here = _WITHIN.get()
    if here is None or len(args) < _CONTEXT + 1:
        return False
    ctx = args[_CONTEXT]
    call = (id(getattr(ctx, "messages", None)), getattr(ctx, "tool_call_id", None))
    return here == call


def _asked(
    name: str, tool_args: Any, ctx: Any, tool: Any
) -> tuple[tuple[int, str | None], ToolUse] | None:
    """Return which call this is, and its use; None for the output of an agent."""
    from pydantic_ai import exceptions

    if tool.tool_def.kind == "output":
        return None
    call_id = ctx.tool_call_id
    part = _part(ctx.messages, call_id)
    if part is not None:
        name = part.tool_name
        tool_args = _given(part.args_as_dict(), tool_args, ctx)
    pauses = (exceptions.ApprovalRequired, exceptions.CallDeferred)
    use = ToolUse(
        name,
        tool_args,
        call_id,
        outcome=partial(_outcome, call_id),
        pauses=pauses,
        failure=_refusal,
        rebuild_failure=partial(_refused_again, name),
    )
    return (id(ctx.messages), call_id), use


def _given(asked: Any, done: Any, ctx: Any) -> Any:
    """Return the model's own arguments, or those that somebody who approved put in their place."""
    if not getattr(ctx, "tool_call_approved", False) or not isinstance(done, dict):
        return asked
    return done if any(done.get(key) != value for key, value in asked.items()) else asked


def _part(messages: Any, call_id: str | None) -> Any:
    """Return the part of a response that asked for a call, with the model's own arguments."""
    for message in reversed(messages):
        if message.kind != "response":
            continue
        for part in message.parts:
            if part.part_kind == "tool-call" and part.tool_call_id == call_id:
                return part
    return None


def _outcome(call_id: str | None, value: Any) -> ToolOutcome:
    from pydantic_ai.messages import ToolReturn

    if not isinstance(value, ToolReturn):
        return ToolOutcome(value)
    reading.note_added(call_id, value.content)
    return ToolOutcome(value.return_value)


def _refusal(error: BaseException) -> ToolOutcome | None:
    """Return what a model is told when the tool's own code refused a value, with pydantic."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return None
    told = error.json(include_url=False, include_context=False)
    return ToolOutcome.of_failure(orjson.loads(told), error)


def _refused_again(name: str, content: Any) -> Any:
    """Raise a recorded refusal, as its details were told; anything else is returned.

    Raises:
        ValidationError: The content is the details of one.
    """
    from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

    if not content or not isinstance(content, list) or not all(map(_is_detail, content)):
        return content
    details = [
        InitErrorDetails(
            type=PydanticCustomError(detail["type"], detail["msg"]),
            loc=tuple(detail["loc"]),
            input=detail.get("input"),
        )
        for detail in content
    ]
    raise ValidationError.from_exception_data(name, details)


def _is_detail(value: Any) -> bool:
    return isinstance(value, dict) and {"type", "loc", "msg"} <= value.keys()


def _told_again(error: ReplayedError) -> Exception | None:
    """Return a recorded failure that the framework tells the model, as it raises it itself."""
    from pydantic_ai import exceptions

    for name in ("ModelRetry", "ToolFailed"):
        kind = getattr(exceptions, name, None)
        if kind is not None and isinstance(error, kind):
            made: Exception = kind(str(error))
            return made
    return None
