"""Canonical JSON, strict JSON equality, and the key that says "the same call again".

Canonical JSON has sorted keys, no white space, and one spelling per number: ``1`` and ``1.0``
are equal, ``true`` and ``1`` are not, ``-0.0`` stays apart from ``0``.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Final

import orjson

from tracedance_sdk.trace.markers import Json, type_stub

_SORTED: Final = orjson.OPT_SORT_KEYS
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1


def canonical_json(value: Json) -> bytes:
    """Return the one spelling of a JSON value, as UTF-8 bytes.

    Args:
        value: A JSON value. Numbers that JSON cannot hold become type stubs first.

    Example:
        >>> canonical_json({"b": 1.0, "a": True})
        b'{"a":true,"b":1}'
    """
    try:
        data = orjson.dumps(value, option=_SORTED)
    except (TypeError, ValueError):
        return _canonical_slow(value)
    return _canonical_slow(value) if _holds_odd_float(value) else data


def call_key(name: str, arguments: Json) -> str:
    """Return the canonical key of a call: equal for equal names and equal arguments.

    Example:
        >>> call_key("pay", {"b": 1, "amount": 100.0}) == call_key("pay", {"amount": 100, "b": 1})
        True
    """
    return canonical_json([name, arguments]).decode()


def json_digest(value: Json) -> str:
    """Return SHA-256 of the canonical JSON, 64 hex characters."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def same_json(left: Json, right: Json) -> bool:
    """Whether two JSON values are the same, without coercion.

    ``1`` equals ``1.0``; ``True`` does not equal ``1``; ``0.0`` and ``-0.0`` differ; NaN equals
    NaN. Key order is irrelevant, list order matters.
    """
    kind = type(left)
    if (kind is str or kind is int) and kind is type(right):
        return bool(left == right)
    if isinstance(left, dict):
        if not isinstance(right, dict) or left.keys() != right.keys():
            return False
        return all(map(same_json, left.values(), map(right.__getitem__, left)))
    if isinstance(left, (list, tuple)):
        if not isinstance(right, (list, tuple)) or len(left) != len(right):
            return False
        return all(map(same_json, left, right))
    return same_scalar(left, right)


def same_scalar(left: Json, right: Json) -> bool:
    """`same_json` for values of which at least one is no list and no object."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, float) or isinstance(right, float):
        return _same_number(left, right)
    return type(left) is type(right) and bool(left == right)


def _same_number(left: Json, right: Json) -> bool:
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return False
    # Not math.isnan, which fails on integers beyond a float's range.
    if left != left or right != right:
        return left != left and right != right
    if left == 0 and right == 0:
        return math.copysign(1, left) == math.copysign(1, right)
    return left == right


def _holds_odd_float(value: Json) -> bool:
    """Whether some float is integral, infinite or not a number: the fast writer spells it wrong."""
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is str or kind is int:
            continue
        if kind is float:
            if item.is_integer() or not math.isfinite(item):
                return True
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
    return False


def _canonical_slow(value: Json) -> bytes:
    plain = _plain(value)
    try:
        return orjson.dumps(plain, option=_SORTED)
    except (TypeError, ValueError):
        # Lone surrogates and nesting beyond the fast writer's bound.
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace")


def _plain(value: Json) -> Json:
    """Rewrite numbers to their one spelling and refuse what is not JSON."""
    if isinstance(value, dict):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if _INT_MIN <= value <= _INT_MAX else type_stub("int", str(value))
    if isinstance(value, float):
        return _plain_float(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} is not a JSON value")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the object key {key!r} is not a string")
    return key


def _plain_float(value: float) -> Json:
    if not math.isfinite(value):
        return type_stub("float", repr(value))
    if value.is_integer() and _INT_MIN <= value <= _INT_MAX and repr(value) != "-0.0":
        return int(value)
    return value
