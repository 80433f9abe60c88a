"""Whether a call builds on what a failed one was to bring about, or looks into that failure."""

from __future__ import annotations

import re
from typing import Final

from tracedance_sdk.behaviors.run import SeenCall
from tracedance_sdk.behaviors.signs.retries import work_of
from tracedance_sdk.trace import Json

_SHORTEST: Final = 4
_PROBES: Final = re.compile(
    r"-c ['\"]import \w+['\"]|--version\b|\bwhich \w|command -v \w|\b(?:pip3?|npm|apt|"
    r"dpkg) (?:show|list|search|-l)\b"
)
"""Looks whether something is installed."""
_FILE_CHANGES: Final = frozenset(
    {"tool", "redirect", "in_place", "files", "patch", "tree", "script", "entries"}
)
_TELLS_NOTHING: Final = frozenset(
    {"true", "false", "none", "null", "utf-8", "view", "create", "str_replace", "command"}
)
_LONGEST: Final = 200
_MOST_VALUES: Final = 60


def depends_on(call: SeenCall, failed: SeenCall) -> bool:
    """Whether a call uses the product of a failed one: runs, sends or installs what it names.

    Looking at it is no use of it, and no retry either.
    """
    if call.signs["effect"] == "read" or call.signs["kind"] in ("read", "search"):
        return False
    names = {name for path in failed.paths if len(name := path.rsplit("/", 1)[-1]) >= _SHORTEST}
    if failed.signs["installs"]:
        names |= _packages(failed)
    told = call.arguments_text
    return any(name in told for name in names)


def _packages(call: SeenCall) -> set[str]:
    """Return how the packages that a call installs are likely to be called when they are used."""
    words = [
        word for words in work_of(call) if "install" in words or "add" in words for word in words
    ]
    names = {re.split(r"[-_=<>~\[@:]", word.strip("'\""))[0].casefold() for word in words}
    return (
        {name for name in names if len(name) > _SHORTEST}
        - _TELLS_NOTHING
        - {"install", "python", "python3"}
    )


def is_about(call: SeenCall, failed: SeenCall) -> bool:
    """Whether a call looks at what the failure is about: its file, its record, its program."""
    if failed.commands and call.commands:
        programs = {words[0] for words in work_of(failed)}
        if any(words[0] in programs for words in work_of(call)):
            return True
    looks = call.signs["kind"] in ("read", "search") or call.signs["effect"] in ("read", "pure")
    if failed.signs["installs"] and _PROBES.search(call.command[:_LONGEST]):
        return True
    if looks and shares_a_value(call, failed):
        return True
    mends = call.signs["installs"] or call.signs["kind"] in ("edit", "write")
    return bool(looks or mends) and _is_in_error(call, failed)


def attempts_otherwise(call: SeenCall, failed: SeenCall) -> bool:
    """Whether a call changes the failed one's file by another way, or makes room for it."""
    if _FILE_CHANGES.isdisjoint(call.signs["changes"] or ()):
        return False
    names = {name for path in failed.paths if (name := path.rstrip("/").rsplit("/", 1)[-1])}
    told = call.arguments_text
    return any(name in told for name in names)


def shares_a_value(call: SeenCall, failed: SeenCall) -> bool:
    """Whether both calls name the same thing: a path's last part, or an argument's short text."""
    before = _names(failed)
    return bool(before) and not before.isdisjoint(_names(call))


def _names(call: SeenCall) -> set[str]:
    names = {path.rstrip("/").rsplit("/", 1)[-1].casefold() for path in call.paths}
    names |= {text.casefold() for text in _texts(call.arguments)[:_MOST_VALUES]}
    for words in work_of(call) if call.commands else ():
        names |= {word.strip("'\"").casefold() for word in words[1:] if word[:1] != "-"}
    return {name for name in names if len(name) >= _SHORTEST} - _TELLS_NOTHING


def _texts(value: Json) -> list[str]:
    """Return the short texts and numbers of arguments."""
    waiting: list[Json] = [value]
    found: list[str] = []
    while waiting and len(found) < _MOST_VALUES:
        item = waiting.pop()
        if isinstance(item, str) and len(item) <= _LONGEST:
            found.append(item)
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            found.append(str(item))
    return found


def _is_in_error(call: SeenCall, failed: SeenCall) -> bool:
    """Whether the error names the file or thing that a call looks at."""
    told = failed.result[-4_000:].casefold()
    return any(name in told for name in _names(call))
