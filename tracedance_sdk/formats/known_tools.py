"""What is known of a tool by the client that offers it and by its name.

Most logs record no tool definitions. A table that comes with the package holds the tools of known
clients and benchmarks; a table of one's own goes before it; names alone tell the rest.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, Literal, NamedTuple

from tracedance_sdk.errors import InvalidOption, UnreadableFile
from tracedance_sdk.formats.tool_rows import ToolRow, agent_key, read_rows
from tracedance_sdk.settings import SETTINGS, read_text
from tracedance_sdk.trace import Effect, Json, Kind, read_bytes

_RULES: Final = "name_rules.yaml"
_LONGEST_NAME: Final = 200
"""Characters of a tool's name that patterns are compared with."""

_MOST_BYTES: Final = 8 * 1024**2
_MOST_REMEMBERED: Final = 4_096
_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+|[0-9]+")
_PATTERN: Final = re.compile(r"[*?\[]")


class KnownTool(NamedTuple):
    """What is known of a tool without a recorded definition.

    Attributes:
        parameters: JSON Schema of the arguments; None when not known.
        effect: What a use does to the world.
        kind: What sort of tool it is.
        by: Where the most telling part comes from: the ``user``'s table, the ``packaged`` one, or
            a ``pattern`` of the name alone, which is a guess.
    """

    name: str
    description: str | None = None
    parameters: dict[str, Json] | None = None
    effect: Effect = "unknown"
    kind: Kind = "other"
    by: Literal["user", "packaged", "pattern"] = "packaged"

    @property
    def is_defined(self) -> bool:
        """Whether more is known than effect and kind."""
        return self.parameters is not None or self.description is not None


_Rule = tuple[re.Pattern[str], ToolRow]
"""A pattern of the words of names, with what is known of tools named so."""


class ToolTable:
    """Tools by agent and name; see `tool_table`."""

    def __init__(
        self, own: Iterable[ToolRow], packaged: Iterable[ToolRow], rules: Iterable[_Rule]
    ) -> None:
        self._own = _Rows(own)
        self._packaged = _Rows(packaged)
        self._rules = tuple(rules)
        self._found: dict[tuple[str, str], KnownTool | None] = {}

    def lookup(self, agent_name: str, tool_name: str) -> KnownTool | None:
        """Return what is known of a tool; None when nothing is.

        A row with the tool's very name goes before one with a pattern, and an earlier before a
        later one. What the user's row leaves open is taken from the packaged one, and what that
        leaves open from the name.

        Args:
            agent_name: As `Trace.agent` has it; capitals, ``_`` and spaces are the same as ``-``.
            tool_name: As the calls have it.
        """
        key = (agent_name, tool_name)
        if key not in self._found:
            if len(self._found) >= _MOST_REMEMBERED:
                self._found.clear()
            self._found[key] = self._looked_up(agent_key(agent_name), tool_name)
        return self._found[key]

    def _looked_up(self, agent: str, tool_name: str) -> KnownTool | None:
        own = self._own.find(agent, tool_name)
        packaged = self._packaged.find(agent, tool_name)
        found = [row for row in (own, packaged, *self._by_name(tool_name)) if row is not None]
        if not found:
            return None
        return KnownTool(
            tool_name,
            next((row.description for row in found if row.description is not None), None),
            next((row.parameters for row in found if row.parameters is not None), None),
            next((row.effect for row in found if row.effect is not None), "unknown"),
            next((row.kind for row in found if row.kind is not None), "other"),
            "user" if own is not None else "pattern" if packaged is None else "packaged",
        )

    def _by_name(self, tool_name: str) -> list[ToolRow]:
        words = f"_{_words(tool_name)}_"
        return [rule for pattern, rule in self._rules if pattern.match(words)]


class _Rows:
    def __init__(self, rows: Iterable[ToolRow]) -> None:
        self._exact: dict[str, list[ToolRow]] = {}
        self._patterns: list[ToolRow] = []
        for row in rows:
            if _PATTERN.search(row.name):
                self._patterns.append(row)
            else:
                self._exact.setdefault(row.name, []).append(row)

    def find(self, agent: str, tool_name: str) -> ToolRow | None:
        for row in self._exact.get(tool_name, ()):
            if _covers(row, agent):
                return row
        short = tool_name[:_LONGEST_NAME]
        for row in self._patterns:
            if fnmatchcase(short, row.name) and _covers(row, agent):
                return row
        return None


def _covers(row: ToolRow, agent: str) -> bool:
    return any(agent == name or fnmatchcase(agent, name) for name in row.agents)


def _words(tool_name: str) -> str:
    """Return a name's words in lower case, joined by ``_``; of an MCP tool's, those of the tool.

    Example:
        >>> _words("mcp__github__createIssue"), _words("Web-Search")
        ('create_issue', 'web_search')
    """
    name = tool_name[:_LONGEST_NAME]
    if name.startswith("mcp__"):
        name = name.split("__", 2)[-1]
    return "_".join(word.lower() for word in _WORD.findall(name))


def tool_table(extra: str | os.PathLike[str] | None = None) -> ToolTable:
    """Return the table of known tools.

    Args:
        extra: A YAML file with rows of one's own, which go before the packaged ones. None takes
            the file that ``TRACEDANCE_TOOLS`` names, if it does.

    Raises:
        InvalidOption: The file is missing or no table, in one line with the place.

    Example:
        >>> table = tool_table()
        >>> table.lookup("claude-code", "Read").effect
        'read'
        >>> found = table.lookup("my-agent", "delete_account")
        >>> found.effect, found.by
        ('write', 'pattern')
        >>> table.lookup("my-agent", "frobnicate") is None
        True
    """
    setting = ""
    if extra is None:
        extra = read_text("tools")
        setting = f"{SETTINGS['tools'].env}: "
    own = [] if extra is None else _own_rows(extra, setting)
    packaged, rules = _packaged()
    return ToolTable(own, packaged, rules)


def tool_table_digest() -> str:
    """Return what tells the table that `tool_table` gives now from any other, 32 hex characters.

    Raises:
        InvalidOption: The file that ``TRACEDANCE_TOOLS`` names cannot be read.
    """
    extra = read_text("tools")
    own = b"" if extra is None else _own_bytes(extra, f"{SETTINGS['tools'].env}: ")
    digest = hashlib.sha256(_packaged_digest())
    digest.update(own)
    return digest.hexdigest()[:32]


@cache
def _packaged_digest() -> bytes:
    digest = hashlib.sha256()
    for item in _packaged_files():
        data = item.read_bytes()
        digest.update(f"{item.name} {len(data)} ".encode())
        digest.update(data)
    return digest.digest()


def _own_rows(path: str | os.PathLike[str], setting: str) -> list[ToolRow]:
    return read_rows(_own_bytes(path, setting), where=f"{setting}{os.fspath(path)}")


def _own_bytes(path: str | os.PathLike[str], setting: str) -> bytes:
    try:
        return read_bytes(path, limit=_MOST_BYTES)
    except UnreadableFile as error:
        raise InvalidOption(f"{setting}{error}") from error


@cache
def _packaged() -> tuple[tuple[ToolRow, ...], tuple[_Rule, ...]]:
    """Return the rows that come with the package, and the rules for names."""
    rows: list[ToolRow] = []
    rules: tuple[_Rule, ...] = ()
    for item in _packaged_files():
        found = read_rows(item.read_bytes(), where=item.name)
        if item.name == _RULES:
            rules = tuple((re.compile(translate(rule.name)), rule) for rule in found)
        else:
            rows += found
    return tuple(rows), rules


def _packaged_files() -> list[Traversable]:
    folder = files("tracedance_sdk.formats") / "data" / "tools"
    tables = (item for item in folder.iterdir() if item.name.endswith(".yaml"))
    return sorted(tables, key=lambda item: item.name)
