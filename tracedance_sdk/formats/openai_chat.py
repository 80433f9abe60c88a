"""OpenAI chat-completions conversations and traces, both ways and without loss.

Reading: ``tool`` messages become the results of the calls that asked for them, found by call id
in the latest turn that holds an unanswered call of that id (ids repeat in real logs). A leading
system or developer message that is plain text becomes the system prompt. A result nobody asked
for is kept as a call of a synthetic turn, its arguments unknown.

Writing gives back the very messages that were read, and for traces from elsewhere the messages
that say the same. Key order and the spelling of numbers are not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracedance_sdk.formats.openai_reading import ResultMark, fields_of_turns
from tracedance_sdk.formats.openai_tools import KEPT, extra, tools_from_chat, written_tool
from tracedance_sdk.formats.openai_writing import write_messages
from tracedance_sdk.formats.places import Place
from tracedance_sdk.formats.turn_origins import agent_name
from tracedance_sdk.trace import Json, ToolDefinition, Trace, assess, build


def trace_from_messages(
    messages: Json,
    *,
    trace_id: str,
    tools: Json = None,
    where: str = "messages",
    path: str = "$",
    mark: ResultMark | None = None,
    **fields: Any,
) -> Trace:
    """Build a trace from chat-completions messages.

    Args:
        messages: The parsed list.
        trace_id: Id of the trace; see `imported_trace_id`.
        tools: The parsed ``tools`` (or ``functions``) list, or None.
        where: What the document is, for errors.
        path: Where in that document the messages stand.
        mark: What the source's results say of success; see `ResultMark`.
        fields: Further fields of `Trace`, such as ``task_id`` or ``outcome``.

    Raises:
        InvalidTrace: Messages or tools break the format; the error names the place.

    Example:
        >>> chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
        >>> [turn.role for turn in trace_from_messages(chat, trace_id="t1").turns]
        ['user', 'assistant']
    """
    conversation = fields_of_turns(
        messages,
        Place(where, path),
        mark=mark,
        agent=agent_name(fields.get("agent")),
        is_subagent=fields.get("parent") is not None,
    )
    known: dict[str, Any] = {
        "id": trace_id,
        "system_prompt": conversation.system_prompt,
        "turns": conversation.turns,
        "tools": tuple(tools_from_chat(tools, Place(where, f"{path.rpartition('.')[0]}.tools"))),
        **fields,
    }
    if conversation.style is not None:
        known[KEPT] = conversation.style
    return assess(build(known, where), notes=conversation.notes)


def messages_from_trace(trace: Trace) -> list[dict[str, Any]]:
    """Return a trace as chat-completions messages.

    Calls of a simulated user and calls inside other calls were never messages and are left out.

    Example:
        >>> chat = [{"role": "user", "content": "Hi"}]
        >>> messages_from_trace(trace_from_messages(chat, trace_id="t1")) == chat
        True
    """
    return write_messages(trace.turns, system_prompt=trace.system_prompt, style=extra(trace))


def tools_from_trace(trace: Trace) -> list[Json]:
    """Return a trace's tool definitions as a ``tools`` list."""
    return written_tools(trace.tools)


def written_tools(tools: Sequence[ToolDefinition]) -> list[Json]:
    """Return tool definitions as a ``tools`` list."""
    return [written_tool(definition) for definition in tools]
