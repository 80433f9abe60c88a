"""Tell who really wrote a message in the user's role: a human, the harness, or an agent.

Clients put much into the user's role that no human wrote: reminders, output of hooks and commands,
notifications, summaries after a compaction, the tasks of sub-agents. The rules are data
(``data/origin_rules.yaml``); rules of one's own go before them. What no rule knows is a human's.

A message may be mixed: a human's words and a reminder behind them. Its origin is then ``human``,
and the reminder becomes a text part of its own with the extra fields ``origin`` and
``origin_rule``. The arguments of a slash command (``<command-args>``) are a human's words, its name
alone is not: ``/clear`` asks the client for something, not the agent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, UnreadableFile
from tracedance_sdk.formats.origin_rows import OriginRow, read_origin_rows
from tracedance_sdk.settings import SETTINGS, read_text
from tracedance_sdk.trace import Origin, read_bytes

NO_RULE: Final = "none"
"""The rule id of a message that no rule knows: a human's."""

_FILE: Final = "origin_rules.yaml"
_MOST_BYTES: Final = 8 * 1024**2
_ROLES: Final[dict[str, Origin]] = {
    "system": "harness",
    "developer": "harness",
    "assistant": "agent",
    "tool": "environment",
}
_AUTHORS: Final[tuple[Origin, ...]] = ("human", "agent", "environment", "harness")
"""Who counts as a mixed message's author, the first that wrote any of it."""


class Classified(NamedTuple):
    """Who wrote a message, and the id of the rule that says so.

    The rule is `NO_RULE` where none fits, and ``role-...`` outside the user's role.
    """

    origin: Origin
    rule: str


class Attributed(NamedTuple):
    """A message's origin, its rule, and its parts, in which other origins stand apart."""

    origin: Origin
    rule: str
    parts: list[dict[str, Any]]


class _Piece(NamedTuple):
    text: str
    origin: Origin
    rule: str


class OriginRules:
    """Rules in the order in which they are tried.

    Args:
        rows: The rules.
    """

    def __init__(self, rows: Iterable[OriginRow]) -> None:
        self.rows = tuple(rows)
        self._of_agent = lru_cache(maxsize=64)(self._chosen)

    def classify(
        self, text: str, *, role: str, agent: str | None = None, flags: Collection[str] = ()
    ) -> Classified:
        """Return who wrote a text; see the function of this name."""
        return Classified(*self.attribute(text, role=role, agent=agent, flags=flags)[:2])

    def attribute(
        self,
        content: str | Iterable[Mapping[str, Any]],
        *,
        role: str,
        agent: str | None = None,
        flags: Collection[str] = (),
    ) -> Attributed:
        """Return who wrote a message, part by part; see the function of this name."""
        if isinstance(content, str):
            parts = [{"type": "text", "text": content}] if content else []
        else:
            parts = [dict(part) for part in content]
        if role != "user":
            return Attributed(_ROLES.get(role, "environment"), f"role-{role}", parts)
        rules = self._of_agent(None if agent is None else _agent_key(agent))
        flagged = rules.flagged(flags)
        found: list[tuple[dict[str, Any], list[_Piece]]] = []
        for part in parts:
            text = part.get("text") if part.get("type") == "text" else None
            found.append((part, rules.pieces(text, flagged) if isinstance(text, str) else []))
        pieces = [piece for _, of_part in found for piece in of_part]
        if not pieces:
            known = flagged or Classified("human", NO_RULE)
            return Attributed(known.origin, known.rule, parts)
        author = next(o for o in _AUTHORS if any(piece.origin == o for piece in pieces))
        rule = next(piece.rule for piece in pieces if piece.origin == author)
        cut = [item for part, of_part in found for item in _cut(part, of_part, author)]
        return Attributed(author, rule, cut)

    def may_know(self, text: str, *, agent: str | None = None) -> bool:
        """Whether any rule may say something of a user's text; false for most, and soon told."""
        return self._of_agent(None if agent is None else _agent_key(agent)).may_know(text)

    def _chosen(self, agent: str | None) -> _AgentRules:
        return _AgentRules([row for row in self.rows if agent is None or _is_for(row, agent)])


class _AgentRules:
    """The rules of one client, ready to be applied."""

    def __init__(self, rows: Sequence[OriginRow]) -> None:
        self._whole = [row for row in rows if row.test in ("flag", "exact", "prefix")]
        self._prefixes = tuple(t for row in self._whole if row.test == "prefix" for t in row.texts)
        self._exact = frozenset(t for row in self._whole if row.test == "exact" for t in row.texts)
        self._ends: dict[str, tuple[OriginRow, str]] = {}
        starts: list[str] = []
        for row in rows:
            for start, end in _blocks(row):
                if start not in self._ends:
                    self._ends[start] = (row, end)
                    starts.append(re.escape(start) + (r"(?=[\s>])" if row.test == "tags" else ""))
        self._starts = re.compile("|".join(starts)) if starts else None

    def may_know(self, text: str) -> bool:
        bare = text.strip()
        if bare.startswith(self._prefixes) or bare in self._exact:
            return True
        return self._starts is not None and self._starts.search(text) is not None

    def flagged(self, flags: Collection[str]) -> Classified | None:
        for row in self._whole if flags else ():
            if row.test == "flag" and any(name in flags for name in row.texts):
                return Classified(row.origin, row.id)
        return None

    def pieces(self, text: str, flagged: Classified | None) -> list[_Piece]:
        """Return what a text is made of; at least one piece, all of the text together."""
        if flagged is None and not self.may_know(text):
            return [_Piece(text, "human", NO_RULE)]
        bare = text.lstrip()
        for row in self._whole:
            if row.test == "flag":
                if flagged is not None and flagged.rule == row.id:
                    return [_Piece(text, *flagged)]
            elif row.test == "prefix":
                if bare.startswith(row.texts):
                    return [_Piece(text, row.origin, row.id)]
            elif text.strip() in row.texts:
                return [_Piece(text, row.origin, row.id)]
        return self._inside(text)

    def _inside(self, text: str) -> list[_Piece]:
        spans: list[tuple[int, Classified]] = []
        end = 0
        for start, stop, row in self._found(text):
            if text[end:start].strip():
                spans.append((end, Classified("human", NO_RULE)))
                end = start
            if not spans or spans[-1][1].origin != row.origin:
                spans.append((end, Classified(row.origin, row.id)))
            end = stop
        if not spans or (text[end:].strip() and spans[-1][1].origin != "human"):
            spans.append((end, Classified("human", NO_RULE)))
        ends = [*(start for start, _ in spans[1:]), len(text)]
        return [_Piece(text[at:to], *known) for (at, known), to in zip(spans, ends, strict=True)]

    def _found(self, text: str) -> Iterator[tuple[int, int, OriginRow]]:
        """Yield the blocks of a text: each begins a line or follows another one."""
        end = 0
        while self._starts is not None and (start := _next(self._starts, text, end)) is not None:
            row, closing = self._ends[start.group()]
            stop = text.find(closing, start.end())
            inside = text[start.end() : len(text) if stop < 0 else stop]
            end = len(text) if stop < 0 else stop + len(closing)
            if (
                row.origin == "human"
                and row.test == "tags"
                and not inside.partition(">")[2].strip()
            ):
                row = row._replace(origin="harness")
            yield start.start(), end, row


def _next(starts: re.Pattern[str], text: str, end: int) -> re.Match[str] | None:
    """Return the next start of a block behind a place where one ended, or the text begins.

    Nothing but spaces may stand before it in its line. Between two candidates each character is
    looked at once, so that the time is in proportion to the text.
    """
    passed = end
    for match in starts.finditer(text, end):
        newline = text.rfind("\n", passed, match.start())
        if (newline >= 0 or passed == end) and not text[
            max(newline, passed) : match.start()
        ].strip():
            return match
        passed = match.end()
    return None


def _blocks(row: OriginRow) -> list[tuple[str, str]]:
    if row.test == "block":
        return [(row.texts[0], row.texts[1])]
    return [(f"<{tag}", f"</{tag}>") for tag in row.texts] if row.test == "tags" else []


def _cut(part: dict[str, Any], pieces: list[_Piece], author: Origin) -> list[dict[str, Any]]:
    """Return a part as it is, or as several where others than the author wrote some of it."""
    if all(piece.origin == author for piece in pieces):
        return [part]
    found: list[dict[str, Any]] = []
    for piece in pieces:
        item = {**part, "text": piece.text}
        if piece.origin != author:
            item |= {"origin": piece.origin, "origin_rule": piece.rule}
        if found:
            before = found[-1]["text"]
            if before.endswith("\n"):
                found[-1]["text"] = before[:-1]
            elif piece.text.startswith("\n"):
                item["text"] = piece.text[1:]
            else:
                item["joined"] = True
        found.append(item)
    return found


def _agent_key(agent: str) -> str:
    return agent[:200].lower().replace("_", "-").replace(" ", "-")


def _is_for(row: OriginRow, agent: str) -> bool:
    return any(fnmatchcase(agent, pattern) for pattern in row.agents)


@cache
def _packaged() -> OriginRules:
    data = files("tracedance_sdk.formats").joinpath("data", _FILE).read_bytes()
    return OriginRules(read_origin_rows(data, where=_FILE))


def origin_rules(extra: str | os.PathLike[str] | None = None) -> OriginRules:
    """Return the packaged rules, with those of a file of one's own before them.

    Args:
        extra: The file; see `origin_rows` for its fields. None takes the file that
            ``TRACEDANCE_ORIGINS`` names, if it does.

    Raises:
        InvalidOption: The file is missing or no table of rules, in one line with the place.
    """
    if extra is not None:
        return _with_own(os.fspath(extra), "")
    named = read_text("origins")
    return _packaged() if named is None else _of_setting(named)


@lru_cache(maxsize=4)
def _of_setting(path: str) -> OriginRules:
    return _with_own(path, f"{SETTINGS['origins'].env}: ")


def _with_own(path: str, setting: str) -> OriginRules:
    try:
        data = read_bytes(path, limit=_MOST_BYTES)
    except UnreadableFile as error:
        raise InvalidOption(f"{setting}{error}") from error
    own = read_origin_rows(data, where=f"{setting}{path}")
    return OriginRules((*own, *_packaged().rows))


def classify(
    text: str,
    *,
    role: str,
    agent: str | None = None,
    flags: Collection[str] = (),
    rules: OriginRules | None = None,
) -> Classified:
    """Return who really wrote a message.

    Args:
        text: What it says.
        role: As the source has it; only in the user's role do the rules count.
        agent: Name of the client; without it, the rules of all clients are tried.
        flags: What the source says of the message beside its text: names of fields that are true
            (``isMeta``, ``isCompactSummary``), or the reader's own words (``subagent_task``,
            ``tool_result``, ``compaction``, ``scheduled``).
        rules: By default those of `origin_rules`.

    Example:
        >>> classify("<system-reminder>Be brief.</system-reminder>", role="user")
        Classified(origin='harness', rule='system-reminder')
        >>> classify("Be brief.", role="user")
        Classified(origin='human', rule='none')
    """
    return (rules or origin_rules()).classify(text, role=role, agent=agent, flags=flags)


def attribute(
    content: str | Iterable[Mapping[str, Any]],
    *,
    role: str,
    agent: str | None = None,
    flags: Collection[str] = (),
    rules: OriginRules | None = None,
) -> Attributed:
    r"""Return who really wrote a message and its parts.

    Text that another origin than the message's wrote becomes a part of its own, with the extra
    fields ``origin`` and ``origin_rule``. The texts of the parts, joined by newlines, are the
    message's; where no newline stood, the part has the extra field ``joined``. Parts that are no
    text stay as they are.

    Args:
        content: Text, or parts as `text_part` makes them.
        role: As in `classify`; so are the others.
        agent: Name of the client.
        flags: What the source says of the message.
        rules: By default those of `origin_rules`.

    Example:
        >>> found = attribute("Go on.\n<system-reminder>No.</system-reminder>", role="user")
        >>> found.origin, [part.get("origin") for part in found.parts]
        ('human', [None, 'harness'])
    """
    return (rules or origin_rules()).attribute(content, role=role, agent=agent, flags=flags)
