"""Where in the attributes of a span a fact stands, and how it is written there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from tracedance_sdk.otel.dialects.decoding import decoded, structure, unflattened
from tracedance_sdk.otel.dialects.kinds import StepKind
from tracedance_sdk.otel.dialects.spoken import messages_of, system_text
from tracedance_sdk.trace import UNKNOWN, Json

Attributes = Mapping[str, Json]

ANY: Final[frozenset[StepKind]] = frozenset({"agent", "model", "tool", "handoff", "other", "plain"})
AGENT: Final[frozenset[StepKind]] = frozenset({"agent"})
MODEL: Final[frozenset[StepKind]] = frozenset({"model"})
TOOL: Final[frozenset[StepKind]] = frozenset({"tool"})
SPEAKING: Final[frozenset[StepKind]] = frozenset({"agent", "model"})


class FactPlace(NamedTuple):
    """One place where a fact may stand.

    Attributes:
        dialect: Who writes it there.
        keys: The attributes; a key that ends in ``.`` means all that begin with it.
        find: Returns the fact from the attributes, `UNKNOWN` where it is absent or unreadable.
        kinds: Steps of which it is a fact.
    """

    dialect: str
    keys: tuple[str, ...]
    find: Callable[[Attributes], Json]
    kinds: frozenset[StepKind] = ANY


def at(
    dialect: str,
    key: str,
    read: Callable[[Json], Json] | None = None,
    *,
    kinds: frozenset[StepKind] = ANY,
) -> FactPlace:
    """Return the place of a fact in one attribute."""

    def find(attributes: Attributes) -> Json:
        value = attributes.get(key, UNKNOWN)
        return value if value is UNKNOWN or read is None else read(value)

    return FactPlace(dialect, (key,), find, kinds)


def flat(
    dialect: str,
    prefix: str,
    read: Callable[[Json], Json],
    *,
    kinds: frozenset[StepKind] = ANY,
) -> FactPlace:
    """Return the place of a fact in many attributes with numbered steps behind a prefix."""

    def find(attributes: Attributes) -> Json:
        value = unflattened(attributes, prefix)
        return value if value is UNKNOWN else read(value)

    return FactPlace(dialect, (prefix, f"{prefix}."), find, kinds)


def heard(value: Json) -> Json:
    """Return what a model was given as messages; text is the user's."""
    return _messages(value, "user")


def replied(value: Json) -> Json:
    """Return what a model answered as messages; text is its own."""
    return _messages(value, "assistant")


def _messages(value: Json, role: str) -> Json:
    found = decoded(value)
    if isinstance(found, str) and found.lstrip()[:2] in ("[{", '{"'):
        return UNKNOWN
    return messages_of(found, speaker=role) or UNKNOWN


def instructions(value: Json) -> Json:
    """Return the text of a system instruction."""
    text = system_text(value)
    return UNKNOWN if text is None else text


def text(value: Json) -> Json:
    """Return text or a whole number as text; `UNKNOWN` for anything else and for no text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else UNKNOWN


def count(value: Json) -> Json:
    """Return a count; also from its digits, as some backends keep all values as text."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        return int(value)
    if isinstance(value, float) and value.is_integer() and 0 <= value < 2**53:
        return int(value)
    return value if type(value) is int and 0 <= value < 2**63 else UNKNOWN


def number(value: Json) -> Json:
    """Return a number; also from its digits."""
    if isinstance(value, str) and len(value) < 40:
        try:
            value = float(value)
        except ValueError:
            return UNKNOWN
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and abs(value) < 1e15 else UNKNOWN


def reason(value: Json) -> Json:
    """Return a finish reason: text, or the first of a list, which may be JSON."""
    found = decoded(value)
    if isinstance(found, list):
        found = found[0] if found else UNKNOWN
    return text(found)


def inside(key: str, read: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Return a reader of a field of an object that may be JSON text; keys are tried by ``|``."""

    def find(value: Json) -> Json:
        holder = structure(value)
        if not isinstance(holder, dict):
            return UNKNOWN
        for name in key.split("|"):
            if holder.get(name) is not None:
                return read(holder[name])
        return UNKNOWN

    return find
