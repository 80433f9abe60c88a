"""Token counts as model providers report them, as fields of `Usage`."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.trace import Json, Usage

_LARGEST: Final = 2**63
_FIELDS: Final = frozenset(Usage.model_fields)


def usage_fields(usage: Json, *, cost_usd: Json = None) -> dict[str, Any] | None:
    """Return fields of `Usage` from a chat-completions ``usage`` object.

    What has no field of its own stays under the provider's name; null is left out. A value that
    does not fit the field of its name, such as a cost that is text, stays as ``reported_<name>``.

    Args:
        usage: The object; anything else counts as absent.
        cost_usd: What the source says the reply cost.

    Returns:
        The fields, or None when nothing was reported.

    Example:
        >>> usage_fields({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11})
        {'input_tokens': 9, 'output_tokens': 2, 'total_tokens': 11}
    """
    given: dict[str, Any] = dict(usage) if isinstance(usage, dict) else {}
    prompt = _detail(given, "prompt_tokens_details")
    completion = _detail(given, "completion_tokens_details")
    found: dict[str, Any] = {
        "input_tokens": _count(given, "prompt_tokens"),
        "output_tokens": _count(given, "completion_tokens"),
        "cache_read_tokens": _count(prompt, "cached_tokens"),
        "cache_write_tokens": _count(given, "cache_creation_input_tokens"),
        "reasoning_tokens": _count(completion, "reasoning_tokens"),
    }
    if isinstance(cost_usd, (int, float)) and not isinstance(cost_usd, bool):
        found["cost_usd"] = cost_usd
    kept = {key: item for key, item in found.items() if item is not None}
    for key, item in given.items():
        if item is not None and item != {} and key not in kept:
            kept[key if _fits(key, item) else f"reported_{key}"] = item
    return kept or None


def _fits(key: str, item: Json) -> bool:
    """Whether a value may stand under a key; that of a field of `Usage` has to be of its kind."""
    if key not in _FIELDS:
        return True
    if isinstance(item, bool) or not isinstance(item, (int, float)):
        return False
    if key == "cost_usd":
        return abs(item) <= _LARGEST
    return isinstance(item, int) and 0 <= item < _LARGEST


def _detail(usage: dict[str, Any], key: str) -> dict[str, Any]:
    """Take a breakdown out of the counts, to be put back without what has a field."""
    found = usage.get(key)
    if not isinstance(found, dict):
        return {}
    inner = {name: item for name, item in found.items() if item is not None}
    usage[key] = inner
    return inner


def _count(holder: dict[str, Any], key: str) -> int | None:
    value = holder.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST:
        del holder[key]
        return value
    return None
