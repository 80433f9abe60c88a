"""What OpenAI's Responses API was sent and what it gave, in JSON or JSONL.

A record is a response object (``response.model_dump_json()``), the body of a request, a pair of
both under ``request`` and ``response``, an entry of a batch, or an event of a stream. Requests that
repeat earlier messages, or name the response they follow, become one trace.
"""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature, traces_from_responses

_ITEMS = ("function_call", "function_call_output", "reasoning", "web_search_call")

collector = SessionCollector(
    "openai_responses",
    [
        Signature.of("output", values={"object": "response"}),
        Signature.of(values={"response.object": "response"}),
        Signature.of(values={"response.body.object": "response"}),
        Signature.of("request.input", "request.model"),
        Signature.of("body.input", values={"url": "/v1/responses"}),
        Signature.of("model", "input", "instructions"),
        Signature.of("model", "input", "tools"),
        Signature.of("model", "input", "previous_response_id"),
        Signature.of(values={"input[].type": _ITEMS}),
        Signature.of(values={"type": _ITEMS}, least_depth=1, is_weak=True),
    ],
    traces_from_responses,
)
