"""How long a context is, about, without a tokenizer: no two models share one."""

from __future__ import annotations

from typing import Final

from tracedance_sdk.llm import OUTPUT_CAP
from tracedance_sdk.trace import UNKNOWN, Json, Text, Trace, canonical_json, plain

BYTES_PER_TOKEN: Final = 4
"""Of UTF-8, as counted here: a little low for code, high for prose."""

TURN_TOKENS: Final = 4
"""Added for each turn and each call, for the marks around them."""

WINDOW: Final = 200_000
"""Tokens of the smallest window that benchmarks are made for."""

MOST_TOKENS: Final = WINDOW - OUTPUT_CAP
"""Of a context unless set otherwise, by the count of `rough_tokens`."""


def rough_tokens(trace: Trace) -> int:
    """Return about how many tokens a run takes as a context.

    Counted are the bytes of system prompt, tool definitions, texts, arguments and results, divided
    by 4, and 4 for each turn and call. Media count as the bytes of their data.

    Example:
        >>> rough_tokens(Trace(id="t", system_prompt="Be brief. "))
        3
    """
    n_bytes = len((trace.system_prompt or "").encode())
    for tool in trace.tools:
        n_bytes += len(canonical_json([tool.name, tool.description, tool.parameters]))
    marks = 0
    for turn in trace.turns:
        marks += 1 + len(turn.calls)
        for part in turn.content:
            told: Json = part.text if isinstance(part, Text) else plain(part)
            n_bytes += _size(told)
        for call in turn.calls:
            n_bytes += len(call.name) + _size(call.arguments)
            if call.result is not None:
                n_bytes += _size(call.result.content)
                if call.result.error is not None:
                    n_bytes += len(call.result.error.message.encode())
    return -(-n_bytes // BYTES_PER_TOKEN) + marks * TURN_TOKENS


def _size(value: Json) -> int:
    if value is UNKNOWN:
        return 0
    if isinstance(value, str):
        return len(value.encode("utf-8", "backslashreplace"))
    return len(canonical_json(value))
