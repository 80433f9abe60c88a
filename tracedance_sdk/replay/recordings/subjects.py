"""What a call is about: the values that name something, and the kind of thing its tool deals with.

A write may have changed what a read shows when both are about the same thing. That is so when they
share a text of `LEAST_CHARACTERS` or more, wherever it stands; or a number or a shorter text, which
may be shared by chance, where it is called by the same name (``order_id``, or ``order`` of a tool
that deals with orders). Of two such calls it is enough that one says so: ``id`` of ``close_ticket``
is what ``ticket`` of ``show`` is. A call that names nothing (a listing) is about all things of its
kind.
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

from tracedance_sdk.trace import Json

LEAST_CHARACTERS: Final = 5
"""Shorter strings (a cabin, a country, yes) are shared by chance."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NUMBERED: Final = re.compile(r"\d")
_NAMESPACE: Final = re.compile(r"__|[./:]")
_IDENTIFIERS: Final = ("id", "number", "no", "nr", "code", "key", "ref", "uuid")
"""Last words of the names of arguments that say which one."""
_ATTRIBUTES_TEXT: Final = """
area city country currency error exit http lang language line locale page phone postal reason
region response sort state status time version zip
"""
_ATTRIBUTES: Final = frozenset(_ATTRIBUTES_TEXT.split())
"""What numbers and codes many things share: ``country_code``, ``page_number``."""
_VERBS_TEXT: Final = """
add apply approve archive assign browse buy calculate cancel change check clear close complete
confirm convert copy count create decline delete describe disable do download edit enable
exchange execute fetch find get give has insert invite is list load look lookup make mark merge
modify move open pay put query read refund register reject remove rename reopen replace
reschedule reset retrieve return run save search see select send set show start stop submit
transfer unassign update upload use view write
"""
_VERBS: Final = frozenset(_VERBS_TEXT.split())
_FILLING_TEXT: Final = """
a all and any at available by current detail for from id in info information last latest most my
name new number of on or recent status the to with
"""
_FILLING: Final = frozenset(_FILLING_TEXT.split())
"""Words of the names of tools that are no things, beside verbs."""


class Named(NamedTuple):
    """A number or a short text that says which one.

    Attributes:
        thing: What is named, in words, such as ``order``.
        value: As a text.
    """

    thing: str
    value: str


class Meant(NamedTuple):
    """What a write may say which one of, by a name that is no proof of it: ``cabin``, ``ticket``.

    It is about the same as a read that is known to name one, and as no other.

    Attributes:
        thing: The name of the argument, in words.
        value: As a text.
        is_meant: Always true; no such value is equal to one that is known to name.
    """

    thing: str
    value: str
    is_meant: bool = True


class Kind(NamedTuple):
    """All things of a kind.

    Attributes:
        thing: A word, such as ``order``.
    """

    thing: str


Subject = str | Named | Meant | Kind
"""What a call may be about; a text is one that is long enough to name something by itself."""

Subjects = frozenset[Subject]


def subjects_of(name: str, arguments: Json) -> Subjects:
    """Return what a call is about; all things of its tool's kind where it names none for certain.

    Example:
        >>> Named("order", "17") in subjects_of("get_order", {"order_id": 17, "limit": 5})
        True
        >>> sorted(subjects_of("list_orders", {}))
        [Kind(thing='order')]
    """
    named, meant = _named(name, arguments)
    found: set[Subject] = set(named or kinds_of(name))
    found.update(Named(*item) for item in meant)
    found.update(Meant(*item) for item in named if isinstance(item, Named))
    return frozenset(found)


def changed_by(name: str, arguments: Json) -> Subjects:
    """Return what a write may have changed: what it names, and all listings of its kind.

    Example:
        >>> sorted(changed_by("cancel_order", {"order": 17}))
        [Kind(thing='order'), Named(thing='order', value='17')]
    """
    named, meant = _named(name, arguments)
    return kinds_of(name).union(named, (Meant(*item) for item in meant))


@functools.lru_cache(maxsize=4096)
def kinds_of(tool: str) -> Subjects:
    """Return all things of the kinds that a tool's name speaks of."""
    return frozenset(map(Kind, things_of(tool)))


@functools.lru_cache(maxsize=4096)
def things_of(tool: str) -> tuple[str, ...]:
    """Return the kinds of things that a tool's name speaks of, each as one word.

    Example:
        >>> things_of("mcp__shop__listOpenOrders"), things_of("get_user_details"), things_of("run")
        (('order',), ('user',), ())
    """
    words = [_singular(word) for word in _words(_NAMESPACE.split(tool)[-1])]
    # The first word says what is done: to order pizza is no business with orders.
    things = [word for word in words[1:] if word not in _VERBS and word not in _FILLING]
    return tuple(dict.fromkeys(things or [word for word in words[:1] if word not in _VERBS]))


_Names = tuple[set[Subject], set[tuple[str, str]]]


def _named(name: str, arguments: Json) -> _Names:
    """Return what a call names, and what its other arguments may name."""
    found: set[Subject] = set()
    meant: set[tuple[str, str]] = set()
    pending: list[tuple[str, Json]] = [("", arguments)]
    while pending:
        key, item = pending.pop()
        kind = type(item)
        if kind is str and len(item) >= LEAST_CHARACTERS:
            found.add(item)
        elif kind is dict:
            pending += item.items()
        elif kind is list:
            pending += [(key, inner) for inner in item]
        elif (kind is str or kind is int) and key and item != "":
            value = str(item)
            things, may_be = _things_named(key, name)
            found.update(Named(thing, value) for thing in things)
            # A tool whose name speaks of no thing has to be told of which one it is to see to.
            if may_be and not things_of(name) and kind is str and _NUMBERED.search(value):
                found.add(Named(may_be, value))
            elif may_be:
                meant.add((may_be, value))
    return found, meant


@functools.lru_cache(maxsize=4096)
def _things_named(key: str, tool: str) -> tuple[tuple[str, ...], str]:
    """Return what an argument says which one of, else what it may: its own name."""
    words = [_singular(word) for word in _words(key)]
    things = things_of(tool)
    if len(words) > 1 and words[-1] in _IDENTIFIERS:
        return ((), "") if words[-2] in _ATTRIBUTES else ((" ".join(words[:-1]),), "")
    if words and words[-1] in _IDENTIFIERS:
        # The last word is what it is: a support ticket is a ticket.
        return tuple(dict.fromkeys((" ".join(things), *things[-1:]))), ""
    if not words or words[-1] in _ATTRIBUTES or words[-1] in _FILLING:
        return (), ""
    whole = " ".join(words)
    return ((whole,), "") if words[-1] in things else ((), whole)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name[:200])]


def _singular(word: str) -> str:
    """Return a word without the ending of a plural; good enough to compare with."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 2:
        return word[:-1]
    return word
