"""What Anthropic's Messages API was sent and what it gave, in JSON or JSONL.

A record is a message that came back (``message.model_dump_json()``), the body of a request, a pair
of both under ``request`` and ``response``, or an entry of a batch. Requests that repeat earlier
messages become one trace.
"""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature, traces_from_anthropic

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")

collector = SessionCollector(
    "anthropic_messages",
    [
        Signature.of("content", "stop_reason", values={"type": "message"}),
        Signature.of("request.messages", values={"response.type": ["message", "error"]}),
        Signature.of("request.messages", "request.max_tokens", "request.system"),
        Signature.of("params.messages", "params.max_tokens"),
        Signature.of("result.message.content"),
        Signature.of("model", "max_tokens", "messages", "system"),
        Signature.of("messages", "tools[].input_schema"),
        Signature.of(values={"messages[].content[].type": _BLOCKS}),
        Signature.of(values={"content[].type": _BLOCKS}, least_depth=1),
    ],
    traces_from_anthropic,
)
