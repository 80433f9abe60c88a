"""Tokens of a turn, by the names of the trace model or as the providers' APIs report them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.trace import Usage

_NAMES: Final = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}
"""A provider's name → ours."""

_OURS: Final = frozenset(Usage.model_fields)
_DETAILS: Final = {"cached_tokens": "cache_read_tokens", "reasoning_tokens": "reasoning_tokens"}
"""What OpenAI tells below ``..._tokens_details`` → ours."""

_DETAILED: Final = tuple(
    f"{side}_tokens_details" for side in ("prompt", "completion", "input", "output")
)
_UNUSED: Final = ("total_tokens", "service_tier", "server_tool_use", "cache_creation")
_APART: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic counts these beside ``input_tokens``, which with us includes them."""


class ReadUsage(dict[str, Any]):
    """Fields of `Usage`, as they were read in a provider's reply: right already."""


def usage_document(usage: object) -> Any:
    """Return the document of a turn's usage; None fields are left out.

    Args:
        usage: One of ours, a mapping by our names, OpenAI's or Anthropic's, or the usage object of
            a provider's library, of which only what is known is taken.

    Raises:
        InvalidOption: A key that is none of these names.
    """
    if usage is None or isinstance(usage, (Usage, ReadUsage)):
        return usage
    if type(usage) is dict and usage.keys() <= _OURS:
        return {key: value for key, value in usage.items() if value is not None}
    dump = getattr(usage, "model_dump", None)
    reported: Any = dump() if callable(dump) else usage
    if not isinstance(reported, Mapping):
        raise InvalidOption(f"usage={usage!r} is no mapping of names to tokens")
    found: dict[str, Any] = {}
    for key, value in reported.items():
        if key in _DETAILED:
            found |= _detailed(value)
        elif key in _NAMES or key in Usage.model_fields:
            if value is not None:
                found[_NAMES.get(key) or key] = value
        elif key not in _UNUSED and not callable(dump):
            known = ", ".join([*Usage.model_fields, *_NAMES])
            raise InvalidOption(f"usage has no {key!r}; known are {known}")
    apart = [reported[key] for key in _APART if isinstance(reported.get(key), int)]
    if apart and isinstance(found.get("input_tokens"), int) and "input_tokens" in reported:
        found["input_tokens"] += sum(apart)
    return found


def _detailed(details: object) -> dict[str, Any]:
    if not isinstance(details, Mapping):
        return {}
    return {
        ours: details[theirs]
        for theirs, ours in _DETAILS.items()
        if details.get(theirs) is not None
    }
