"""JSON as it stands in attributes."""

from __future__ import annotations

import orjson

from tracedance_sdk.trace import Json, canonical_json


def json_text(value: Json) -> str:
    """Return a JSON value as compact text."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        # Lone surrogates, integers beyond 64 bits and deep nesting: the fast writer refuses them.
        return canonical_json(value).decode()
