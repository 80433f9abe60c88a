"""What a call is about: the values that name something, and the kind of thing its tool deals with.

A write may have changed what a read shows when both are about the same thing. That is so when they
share a text of `LEAST_CHARACTERS` or more, wherever it stands; or a number or a shorter text, which
may be shared by chance, where it is called by the same name (``order_id``, or ``order`` of a tool
that deals with orders). A call that names nothing (a listing) is about all things of its kind.
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

from tracedance_sdk.trace import Json

LEAST_CHARACTERS: Final = 5
"""Shorter strings (a cabin, a country, yes) are shared by chance."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
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


class Kind(NamedTuple):
    """All things of a kind.

    Attributes:
        thing: A word, such as ``order``.
    """

    thing: str


Subject = str | Named | Kind
"""What a call may be about; a text is one that is long enough to name something by itself."""

Subjects = frozenset[Subject]


def subjects_of(name: str, arguments: Json) -> Subjects:
    """Return what a call is about; all things of its tool's kind where it names none.

    Example:
        >>> sorted(subjects_of("get_order", {"order_id": 17, "limit": 5}))
        [Named(thing='order', value='17')]
        >>> sorted(subjects_of("list_orders", {"limit": 5}))
        [Kind(thing='order')]
    """
    return _named(name, arguments) or kinds_of(name)


def changed_by(name: str, arguments: Json) -> Subjects:
    """Return what a write may have changed: what it names, and all listings of its kind.

    Example:
        >>> sorted(changed_by("cancel_order", {"order": 17}))
        [Kind(thing='order'), Named(thing='order', value='17')]
    """
    return kinds_of(name).union(_named(name, arguments))


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


def _named(name: str, arguments: Json) -> Subjects:
    found: set[Subject] = set()
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
            thing = _thing_named(key, name)
            if thing is not None:
                found.add(Named(thing, str(item)))
    return frozenset(found)


@functools.lru_cache(maxsize=4096)
def _thing_named(key: str, tool: str) -> str | None:
    """Return what an argument says which one of; None for one that says something else."""
    words = [_singular(word) for word in _words(key)]
    things = things_of(tool)
    if len(words) > 1 and words[-1] in _IDENTIFIERS:
        return None if words[-2] in _ATTRIBUTES else " ".join(words[:-1])
    if words and words[-1] in _IDENTIFIERS:
        return " ".join(things)
    return " ".join(words) if words and words[-1] in things else None


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name[:200])]


def _singular(word: str) -> str:
    """Return a word without the ending of a plural; good enough to compare with."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 2:
        return word[:-1]
    return word
