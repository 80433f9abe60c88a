"""How files with the records of a mapping show themselves."""

from __future__ import annotations

from itertools import islice, product
from typing import Final

from tracedance_sdk.formats.detection import Signature
from tracedance_sdk.formats.mapping_paths import Steps
from tracedance_sdk.formats.mapping_schema import Mapping, Section
from tracedance_sdk.formats.mapping_slots import Slot
from tracedance_sdk.trace import UNKNOWN

_MOST_STEPS: Final = 4
_MOST_SIGNATURES: Final = 50


def signatures_of(mapping: Mapping) -> tuple[Signature, ...]:
    """Return what the first object of a file, or one of its first lines, must have.

    These are the places without which no record can be read: of a run its list of messages, or of
    calls, and who speaks in it; of a message or event its session, its role or kind. A file in
    which other places are missing is read, and its records are problems. A mapping that asks for
    no place at all is a guess, and yields to every collector that knows more.
    """
    asked = [tuple(_key(mapping, steps) for steps in places) for places in _asked(mapping)]
    choices = islice(product(*asked), _MOST_SIGNATURES)
    found = {frozenset(key for key in keys if key): None for keys in choices}
    return tuple(
        Signature.of(*keys, depth=2) if keys else Signature.of(contains=(b"{",), is_weak=True)
        for keys in found
    )


def _asked(mapping: Mapping) -> list[tuple[Steps, ...]]:
    """Return the places that must be there, each with its alternatives, from the record down."""
    messages, calls = mapping.messages, mapping.calls
    if mapping.record == "event":
        return [*_needed(mapping.session), *_needed(mapping.kind)]
    if mapping.record == "message":
        return [*_needed(mapping.session), *_needed_in(messages, "role")]
    section, name = (messages, "role") if messages is not None else (calls, "name")
    inner = _needed_in(section, name)
    if section is None or section.at is None:
        return inner
    at = section.at
    # One item may stand there without a list around it.
    places = [
        (*each, *steps)
        for alternatives in inner
        for steps in alternatives
        for each in ((*at, None), at)
    ]
    return [tuple(places)] if places else [(at,)]


def _needed_in(section: Section | None, name: str) -> list[tuple[Steps, ...]]:
    return [] if section is None else _needed(section.slots.get(name))


def _needed(slot: Slot | None) -> list[tuple[Steps, ...]]:
    """Return a slot's places; none where it has a value without them."""
    if slot is None or not slot.paths or slot.default is not UNKNOWN:
        return []
    return [slot.paths]


def _key(mapping: Mapping, steps: Steps) -> str:
    """Return a path as `Signature` writes it, as far down as it looks."""
    text = ""
    n_names = 0
    for step in (*_around(mapping), *steps):
        if not isinstance(step, str):
            text += "[]" if text else ""
        elif n_names == _MOST_STEPS:
            break
        else:
            text = f"{text}.{step}" if text else step
            n_names += 1
    return text.removesuffix("[]")


def _around(mapping: Mapping) -> Steps:
    if not mapping.records:
        return ()
    return (*mapping.records, None) if mapping.records[-1] is not None else mapping.records
