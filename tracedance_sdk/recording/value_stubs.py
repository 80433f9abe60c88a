"""Stubs for values that JSON cannot hold, and the bounded, repeatable text inside them."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from tracedance_sdk.trace import Json, type_stub

MAX_REPR: Final = 64 * 1024
"""Longest repr that is kept, in characters."""

MAX_BYTES: Final = 1024 * 1024
"""Most bytes of a bytes object that are kept."""

_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")
_TOKEN_END: Final = frozenset(" \t\r\n\"'<>()[]{},;|")


def type_name(value: object) -> str:
    """Return ``package.Class``, or the bare name for builtins."""
    kind = type(value)
    # type's own descriptors, because a metaclass may override the attributes.
    module = type.__getattribute__(kind, "__module__")
    name = type.__getattribute__(kind, "__qualname__")
    return _spelled(name if module == "builtins" else f"{module}.{name}")


def object_stub(value: object) -> Json:
    """Return the stub of any object, with its bounded repr."""
    return type_stub(type_name(value), bounded_text(repr(value)))


def fault_stub(value: object, error: BaseException) -> Json:
    """Return the stub of an object whose own methods raised `error`."""
    return type_stub(type_name(value), f"not recorded: {type_name(error)} was raised")


def bytes_stub(value: bytes | bytearray | memoryview) -> Json:
    """Return the stub of binary data: its Python literal, cut after `MAX_BYTES`."""
    data = bytes(value)
    if len(data) <= MAX_BYTES:
        return type_stub("bytes", repr(data))
    kept = repr(data[:MAX_BYTES])[:-1]
    digest = hashlib.sha256(data).hexdigest()
    return type_stub("bytes", f"{_without_edge(kept)}... ({len(data)} bytes, sha256 {digest})")


def bounded_text(text: str) -> str:
    """Return a repr without memory addresses, cut between tokens after `MAX_REPR` characters."""
    if len(text) <= MAX_REPR:
        return _spelled(_ADDRESS.sub("", text))
    kept = _without_edge(_ADDRESS.sub("", text[:MAX_REPR]))
    return _spelled(f"{kept}... ({len(text)} characters)")


def _without_edge(text: str) -> str:
    """Drop the token at the end of a cut text: half a secret would not be recognised."""
    end = len(text)
    while end and text[end - 1] not in _TOKEN_END:
        end -= 1
    return text[:end]


def _spelled(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
