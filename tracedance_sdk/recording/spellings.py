"""Names, ids and numbers of a call as a trace can hold them, whatever the program handed over."""

from __future__ import annotations

from collections import Counter
from typing import Final

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.value_forms import text_form

UNNAMED: Final = "unnamed"
"""Name of a call whose own is no text."""

_INTEGERS: Final = range(-(2**63), 2**63)


def name_text(name: object, faults: Counter[str]) -> str:
    """Return the name of a tool as text; `UNNAMED`, and a counted fault, for what is none."""
    if type(name) is str and name.isascii():
        return name
    return GUARD.attempt("name", faults, _text, name, "name") or UNNAMED


def id_text(given: object, faults: Counter[str]) -> str | None:
    """Return an id as text; an integer, as JSON-RPC counts its requests, becomes its digits.

    None, and a counted fault, for what is no id.
    """
    if given is None or (type(given) is str and given.isascii()):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return GUARD.attempt("id", faults, int.__repr__, given)
    return GUARD.attempt("id", faults, _text, given, "id")


def code_number(code: object, faults: Counter[str]) -> int | None:
    """Return an exit code as an integer; None, and a counted fault, for what is none."""
    return None if code is None else GUARD.attempt("exit code", faults, _number, code)


def words_of(thing: object, faults: Counter[str]) -> str:
    """Return what an error report says, as text; an exception type is named."""
    if isinstance(thing, type):
        return thing.__name__
    return "" if thing is None else text_form(GUARD.attempt("words", faults, str, thing) or "")


def _text(thing: object, what: str) -> str:
    if isinstance(thing, (bytes, bytearray)):
        return bytes(thing).decode("utf-8", "backslashreplace")
    if not isinstance(thing, str):
        raise InvalidOption(f"the {what} of a call is a {type(thing).__name__}; give text")
    return text_form(thing)


def _number(code: object) -> int:
    number = int(code) if isinstance(code, (int, str)) else None
    if number is None or number not in _INTEGERS:
        raise InvalidOption(f"the exit code {code!r} is no integer of 64 bits; give one")
    return number
