"""Names in a specification that are probably misspelt: a rule about them never applies."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from tracedance_sdk.grading.action_pattern import ActionPattern
from tracedance_sdk.grading.criterion import SpecPart
from tracedance_sdk.grading.expected import Expected
from tracedance_sdk.grading.inputs import InputRule
from tracedance_sdk.trace import Trace

_NEAR: Final = 0.8
_NEAR_FOR_CERTAIN: Final = 0.6
"""How alike two names are, from 0 to 1, when one is suggested for the other: more is asked for
where the run tells only what was used, not what there is."""


class Mention(NamedTuple):
    """A tool that a specification names, with the arguments it names."""

    criterion: str
    action: str
    arguments: tuple[str, ...]


def mentions(parts: Iterable[tuple[str, SpecPart]]) -> tuple[Mention, ...]:
    """Return every tool that is named by a literal text, in order.

    Args:
        parts: Criteria with their ids.
    """
    return tuple(found for name, part in parts for found in _mentions(name, part))


def _mentions(criterion: str, part: object) -> Iterator[Mention]:
    for found in _patterns(part):
        if isinstance(found.action.source, str):
            yield Mention(criterion, found.action.source, tuple(_arguments(found)))


def _patterns(part: object) -> Iterator[ActionPattern | InputRule]:
    """Yield everything in a part that names a tool."""
    if isinstance(part, (list, tuple)):
        for item in part:
            yield from _patterns(item)
    elif isinstance(part, SpecPart):
        if isinstance(part, (ActionPattern, InputRule)):
            yield part
        for field in type(part).model_fields:
            if field not in ("metadata", "extensions"):
                yield from _patterns(getattr(part, field))


class NamedTools(NamedTuple):
    """Which tools a rule of a specification is about."""

    criterion: str
    action: Expected


def named_tools(parts: Iterable[tuple[str, SpecPart]]) -> tuple[NamedTools, ...]:
    """Return the name, or the condition on it, of every rule and pattern, in order.

    Args:
        parts: Criteria with their ids.
    """
    return tuple(
        NamedTools(name, found.action) for name, part in parts for found in _patterns(part)
    )


def unmatched(named: Iterable[NamedTools], trace: Trace) -> list[str]:
    """Return which rules name no tool that the trace has or calls, as ``criterion: 'name'``.

    Args:
        named: What the specification names.
        trace: Whose tools and calls are looked at.
    """
    known = {tool.name for tool in trace.tools} | {call.name for call in trace.calls}
    return [
        f"{criterion}: {action.source!r}"
        for criterion, action in named
        if all(action.holds(name) is False for name in known)
    ]


def _arguments(part: ActionPattern | InputRule) -> list[str]:
    inputs: tuple[Expected | None, ...] = (
        part.acceptable_inputs if isinstance(part, InputRule) else (part.matches,)
    )
    keys = [key for item in inputs if item and isinstance(item.source, dict) for key in item.source]
    return [key for key in dict.fromkeys(keys) if not key.startswith("$")]


def misspelt(named: Iterable[Mention], trace: Trace) -> list[str]:
    """Return a note for each tool and argument that is not in a trace while a similar one is.

    Args:
        named: What the specification names.
        trace: Whose tools and calls are looked at.
    """
    named = tuple(named)
    defined = {tool.name: _parameters(tool.parameters) for tool in trace.tools}
    used: dict[str, set[str]] = {}
    for call in trace.calls:
        keys = used.setdefault(call.name, set())
        keys.update(call.arguments if isinstance(call.arguments, dict) else ())
    known = defined.keys() | used.keys()
    every = {mention.action for mention in named}
    notes: dict[str, None] = {}
    for criterion, action, arguments in named:
        where = f"{criterion}: "
        if action not in known:
            near = _near(action, frozenset(known), certain=bool(defined))
            if near is not None and (defined or not _is_another(action, near, every)):
                notes[f"{where}no tool {action!r} in the trace; did you mean {near!r}?"] = None
            continue
        taken = defined.get(action)
        have = used.get(action, set()) if taken is None else taken
        for argument in arguments:
            near = None
            if argument not in have:
                near = _near(argument, frozenset(have), certain=taken is not None)
            if near is not None and (taken is not None or not _is_another(argument, near, have)):
                text = f"{action!r} has no argument {argument!r} in the trace"
                notes[f"{where}{text}; did you mean {near!r}?"] = None
    return list(notes)


@lru_cache(maxsize=1_000)
def _near(name: str, known: frozenset[str], *, certain: bool) -> str | None:
    folded = {other.casefold(): other for other in sorted(known)}
    cutoff = _NEAR_FOR_CERTAIN if certain else _NEAR
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else None


def _is_another(name: str, near: str, every: Iterable[str]) -> bool:
    """Whether two names are rather two things, as ``order`` and ``orders`` are, both in use."""
    return near in every and (name.startswith(near) or near.startswith(name))


def _parameters(schema: object) -> set[str] | None:
    found = schema.get("properties") if isinstance(schema, dict) else None
    return set(found) if isinstance(found, dict) and found else None
