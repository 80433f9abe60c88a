"""Shell commands taken apart, carefully enough for searching; nothing is run or expanded."""

from __future__ import annotations

import re
import shlex
from typing import Final

from tracedance_sdk.trace import Json

LONGEST: Final = 20_000
"""Characters of a command that are looked at."""

MOST_COMMANDS: Final = 50

_TEXT_KEYS: Final = (
    "command",
    "cmd",
    "script",
    "shell_command",
    "bash",
    "code",
    "input",
    "keystrokes",
)
_TOKEN: Final = re.compile(
    r"""'[^']*'                          # a quoted text
      | "(?:[^"\\]|\\.)*"
      | \\.                              # an escaped character
      | \#[^\n]*                         # a comment, where a word may begin
      | (?P<here>(?<!<)<<-?[ \t]*['"]?(?P<end>[A-Za-z_][A-Za-z0-9_]*)['"]?)
      | [0-9]*>&[0-9-]? | &> | \|&       # redirections are no separators
      | (?P<split>&&|\|\||[;|&\n])
      | [^'"\\;|&\n<>\#]+ | .""",
    re.VERBOSE | re.DOTALL,
)
_ASSIGNMENTS: Final = re.compile(
    r"""(?:(?:env[ ]+)?[A-Za-z_][A-Za-z0-9_]*=(?:'[^']*'|"[^"]*"|[^\s'"]*)[ \t]+)+(?=\S)"""
)
_TWO_WORDS: Final = frozenset(
    {
        "git", "npm", "npx", "yarn", "pnpm", "bun", "pip", "pip3", "uv", "poetry", "cargo", "go",
        "docker", "kubectl", "gh", "aws", "gcloud", "apt", "apt-get", "brew", "gem", "bundle",
        "make", "python", "python3", "dotnet", "terraform", "helm", "conda", "systemctl", "sudo",
    }
)  # fmt: skip
_PATH: Final = re.compile(
    r"(?<![\w@:/.+-])(?:~|\.{1,2})?(?:/?[\w.@+-]+)?(?:/[\w.@+-]+)+/?|(?<![\w/.+-])[\w-]+\.[A-Za-z]\w{0,5}\b(?![/(])"
)
_MOST_PATHS: Final = 20
_LONGEST_PATH: Final = 400


def command_text(arguments: Json) -> str | None:
    """Return the text of a shell call's command; None when its arguments hold none.

    Example:
        >>> command_text({"command": ["bash", "-lc", "ls -l"]})
        'ls -l'
    """
    if isinstance(arguments, str):
        return arguments[:LONGEST]
    if not isinstance(arguments, dict):
        return None
    for key in _TEXT_KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            return value[:LONGEST]
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            if len(value) == 3 and value[1] in ("-c", "-lc", "/c", "-Command"):
                return str(value[2])[:LONGEST]
            return shlex.join(value)[:LONGEST]
    return None


def split_commands(text: str) -> list[str]:
    """Split a command line at ``&&``, ``||``, ``;``, ``|``, ``&`` and line ends.

    Quotes, escapes, comments and here-documents are respected, assignments before a command
    removed, white space collapsed. A text that no shell would take is split all the same.

    Example:
        >>> split_commands("cd app && CI=1 npm test 2>&1 | tail -5")
        ['cd app', 'npm test 2>&1', 'tail -5']
    """
    text = text[:LONGEST]
    found: list[str] = []
    piece: list[str] = []
    ends: list[str] = []
    place = 0
    while place < len(text) and len(found) < MOST_COMMANDS:
        token = _TOKEN.match(text, place)
        if token is None:
            break
        place = token.end()
        word = token[0]
        if word[0] == "#" and piece and not piece[-1][-1:].isspace():
            # Within a word it is an ordinary character.
            piece.append("#")
            place = token.start() + 1
        elif token["here"]:
            ends.append(token["end"])
            piece.append(word)
        elif token["split"]:
            if word == "\n" and ends:
                place = _after_documents(text, place, ends)
                ends = []
            _finish(piece, found)
        elif word[0] != "#":
            piece.append(word)
    _finish(piece, found)
    return found[:MOST_COMMANDS]


def _after_documents(text: str, place: int, ends: list[str]) -> int:
    for end in ends:
        closing = re.compile(rf"^[ \t]*{re.escape(end)}[ \t]*$", re.MULTILINE)
        found = closing.search(text, place)
        if found is None:
            return len(text)
        place = min(found.end() + 1, len(text))
    return place


def _finish(piece: list[str], found: list[str]) -> None:
    command = " ".join("".join(piece).split())
    piece.clear()
    command = command.lstrip("({ ").removesuffix("}")
    while command.endswith(")") and command.count(")") > command.count("("):
        command = command[:-1].rstrip()
    assigned = _ASSIGNMENTS.match(command)
    if assigned:
        command = command[assigned.end() :]
    if command:
        found.append(command)


def head_of(command: str) -> str:
    """Return a command's first word without its folder, and of some programs the second as well.

    Example:
        >>> head_of("/usr/bin/git -C app commit -m x"), head_of("ls -l")
        ('git commit', 'ls')
    """
    words = command.split(None, 6)
    if not words:
        return ""
    first = words[0].rsplit("/", 1)[-1][:100]
    if first not in _TWO_WORDS:
        return first
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("-C", "-c"):
            skip = True
        elif not word.startswith("-"):
            return f"{first} {word[:100]}"
    return first


def paths_in(command: str) -> list[str]:
    """Return what looks like a path in a command, each once, in order."""
    found = dict.fromkeys(match[0] for match in _PATH.finditer(command[:4_000]))
    return [path for path in found if len(path) <= _LONGEST_PATH][:_MOST_PATHS]
