"""What an error says is to be done: flags, commands, arguments, shapes of arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.run import SeenCall
from tracedance_sdk.trace import Json

_MOST: Final = 12
_MOST_LOOKED_AT: Final = 500
_EDGE: Final = 6_000
_LONGEST_LINE: Final = 1_200
_PROGRAMS: Final = (
    "python3?|pip3?|pipx|uv|npm|npx|pnpm|yarn|bun|git|apt|apt-get|brew|cargo|go|make|docker|conda|"
    "poetry|sudo|gh|cmake|bundle|gem|composer|dotnet|rustup|mvn|gradle|dnf|yum|apk"
)
_TWO_WORDS: Final = frozenset(
    {"git", "npm", "apt", "apt-get", "brew", "cargo", "go", "docker", "conda", "gh", "dnf", "yum"}
)
_COMMAND: Final = re2.compile(
    r"(?i)\b(?:use|using|try|run|running|execute|do|by|with|install|via|instead)\b:?\s+(?:the\s+)?"
    rf"((?-i:{_PROGRAMS})\b(?:\s+[\w./@=<>\[\]{{}}:+-]+){{0,6}})"
)
_QUOTED: Final = re2.compile(
    r"(?i)\b(?:use|using|try|run|running|execute|pass|passing|add|adding|set|setting|specify|"
    r"provide|install|enable|with)\b:?\s+(?:the\s+|an?\s+)?(?:command\s+|option\s+|flag\s+|"
    r"argument\s+|parameter\s+|tool\s+)?[`'\"]([^`'\"\n]{2,80})[`'\"]"
)
_FLAG: Final = re2.compile(
    r"(?i)\b(?:use|using|try|pass|passing|add|adding|specify|with|set|option|flag|need|needs|"
    r"require|requires|via)\b[^.\n]{0,60}?\s[`'\"(]?(--[a-z][\w-]*\w)"
)
_MEANT: Final = re2.compile(
    r"(?i)(?:did you mean|perhaps you meant|most similar command is|closest match(?:es)?(?: is)?)"
    r"(?: one of these| to use)?[\s:?]*[`'\"]?(-{0,2}[\w][\w./-]*(?: [\w-]+)?)"
)
_NEEDED: Final = (
    re2.compile(r"(?m)^\s*(\w+)\n\s+(?:Field required|field required)"),
    re2.compile(r"(?i)missing \d+ required (?:positional |keyword-only )*arguments?: ['\"`](\w+)"),
    re2.compile(
        r"(?i)(?:missing|required) (?:required )?(?:parameter|property|argument|field|"
        r"key)s?:? [`'\"](\w+)[`'\"]"
    ),
    re2.compile(
        r"(?i)[`'\"](\w+)[`'\"](?: parameter| argument| field| property)? is (?:a )?(?:required|"
        r"missing)"
    ),
    re2.compile(r"(?i)must (?:have|contain|include|provide|specify|pass) an? [`'\"](\w+)[`'\"]"),
    re2.compile(r"(?i)\bset (?:the )?(\w+_\w+) to\b"),
    re2.compile(
        r"(?i)\b(?:use|specify|provide|set) (?:the )?(\w+)(?: and \w+)? (?:parameter|option|"
        r"argument)s?\b"
    ),
)
_SHAPED: Final = re2.compile(
    r"(?m)^\s*(\w+)\n\s+Input should be (?:a valid (list|string|number|integer|boolean|dictionary)|"
    r"(\S+ or \S+))"
)
_TOOL: Final = re2.compile(
    r"\b(?:[Uu]se|[Tt]ry) (?:the )?[`'\"]?([A-Za-z]\w+)[`'\"]? (?:tool|function|command)\b"
)
_UNREAD: Final = re2.compile(
    r"(?i)(?:has|have) not been read yet|read (?:it|the file) first|must read"
)
_VARIABLE: Final = re2.compile(
    r"(?i)\b(?:set|define|export|setting|"
    r"defining)\b[^.\n]{0,50}?\s[`'\"]?((?-i:[A-Z][A-Z0-9]*_[A-Z0-9_]+))"
)
_FORBIDDEN: Final = re2.compile(
    r"(?i)\b(?:do not|don.t|never|must not|should not|at the risk|not recommended|discouraged|"
    r"instead of|"
    r"rather than|no longer)\b"
)
_APART: Final = re2.compile(
    r"(?i)\bwarning\b|deprecat|\[notice\]|--help\b|for (?:more|usage|further) (?:information|"
    r"details|help)|^\s*usage:|"
    r"^\s*(?:File \"|E\s{2,}|>\s|\d+[:|→]|[+-]\s)|"
    r"^\s*(?-i:def |class |import |from \S+ import|return |raise |assert |with open|(?:if|for|"
    r"while) .*:$)|"
    r"more diff|show more|full diff|#noqa|to silence"
)
_UNKNOWN: Final = re2.compile(
    r"(?i)\b(?:unknown|unrecogni[sz]ed|invalid|no such|unexpected|illegal)\b"
)
_VAGUE: Final = re2.compile(
    r"(?i)provide more (?:context|information|detail)|\b(?:is|be|are|it|them|"
    r"make .{1,40}) unique\b|"
    r"uniquely identif|\b(?:a|another|with a) different\b|\bcheck (?:the|your|that|if|whether)\b|"
    r"\bplease (?:correct|fix|review|verify)|\b(?:shorter|smaller|narrower|more specific)\b"
)
_PLAIN: Final = frozenset({"python", "python3", "sudo", "the", "a", "an"})
_ALIASES: Final = {
    "venv": ("venv", "virtualenv", "conda", "uv"),
    "pip": ("pip", "pip3"),
    "pip3": ("pip", "pip3"),
}
_SHAPES: Final[dict[str, type | tuple[type, ...]]] = {
    "list": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "dictionary": dict,
}


class Remedy(NamedTuple):
    """One thing that an error says is to be done.

    Attributes:
        words: All of these show that it was done; empty where something else does.
        quote: The words of the error.
        argument: Name of an argument that is to be given.
        shape: What that argument is to be: list, string, ...
        reads_first: A file is to be read before.
    """

    words: tuple[str, ...]
    quote: str
    argument: str | None = None
    shape: str | None = None
    reads_first: bool = False

    def __str__(self) -> str:
        """Return it as it is written in notes."""
        if self.argument is not None:
            return f"{self.argument} as {self.shape}" if self.shape else self.argument
        return "reading the file first" if self.reads_first else " ".join(self.words)


class Named(NamedTuple):
    """What an error names.

    Attributes:
        remedies: What is to be done; any of them will do.
        forbidden: Words of what it warns against.
        is_vague: It also asks for something that a program cannot check, such as more context: a
            changed call may well do that.
    """

    remedies: tuple[Remedy, ...]
    forbidden: tuple[str, ...]
    is_vague: bool = False


def named_in(text: str) -> Named:
    """Return what the text of an error says is to be done, and what is not.

    Example:
        >>> named = named_in("error: unknown option --staged-only. Did you mean '--staged'?")
        >>> [str(remedy) for remedy in named.remedies]
        ['--staged']
    """
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    found: dict[tuple[Any, ...], Remedy] = {}
    forbidden: list[str] = []

    def take(remedy: Remedy) -> None:
        if len(found) < _MOST and (remedy.words or remedy.argument or remedy.reads_first):
            found.setdefault((remedy.words, remedy.argument, remedy.shape), remedy)

    for line in _sentences(text):
        words = [*_of_line(line)]
        if _FORBIDDEN.search(line):
            forbidden += [word for remedy in words for word in remedy.words if word[:2] == "--"]
        else:
            for remedy in words:
                take(remedy)
    for remedy in _of_block(text):
        take(remedy)
    return Named(tuple(found.values()), tuple(forbidden), bool(_VAGUE.search(text)))


def _sentences(text: str) -> Iterable[str]:
    joined = re2.sub(r"(?i)\b(use|using|run|try|running|with|is)[:,]?[ \t]*\n\s*", r"\1 ", text)
    joined = re2.sub(r"([^.:;!?\n]{40})\n[ \t]*([a-z])", r"\1 \2", joined)
    joined = re2.sub(r"\n[ \t]+([a-z])", r" \1", joined)
    for line in joined.split("\n"):
        if len(line) > _LONGEST_LINE or _APART.search(line):
            continue
        yield from re2.split(r"(?:[.;!])\s+", line)


def _of_line(line: str) -> Iterable[Remedy]:
    for found in _COMMAND.finditer(line):
        yield Remedy(_telling(found[1]), found[0].strip())
    for found in _QUOTED.finditer(line):
        yield Remedy(_telling(found[1]), found[0].strip())
    for found in () if _UNKNOWN.search(line) else _FLAG.finditer(line):
        yield Remedy((found[1],), found[0].strip())
    for found in _TOOL.finditer(line):
        yield Remedy((found[1],), found[0].strip())
    for found in _VARIABLE.finditer(line):
        yield Remedy((found[1],), found[0].strip())


def _of_block(text: str) -> Iterable[Remedy]:
    for found in _MEANT.finditer(text):
        yield Remedy(_telling(found[1]), found[0].strip())
    for pattern in _NEEDED:
        for found in pattern.finditer(text):
            yield Remedy((), found[0].strip(), argument=found[1])
    for found in _SHAPED.finditer(text):
        yield Remedy((), found[0].strip(), argument=found[1], shape=found[2] or found[3])
    if found := _UNREAD.search(text):
        yield Remedy((), found[0], reads_first=True)


def _telling(command: str) -> tuple[str, ...]:
    """Return the words of a command without which it is another one."""
    words = [word.strip("`'\",:;.()") for word in command.split()]
    kept = [
        word
        for word in words
        if word
        and word not in _PLAIN
        and not (word[0] == "-" and word[:2] != "--")
        and not any(sign in word for sign in ("<", ">", "[", "]", "path/to", "{", "xyz", "..."))
    ]
    if not kept:
        return ()
    return tuple(kept[:2]) if kept[0] in _TWO_WORDS else tuple(kept[:1])


def quoted(remedy: Remedy, text: str) -> str:
    """Return words of a remedy as they stand in a text, where line ends cut it the last of them."""
    pieces = (remedy.quote, *reversed(remedy.quote.split("\n")), *remedy.words)
    return next((piece.strip() for piece in pieces if piece.strip() and piece in text), "")


def adopts(call: SeenCall, remedy: Remedy, *, failed: SeenCall | None = None) -> bool:
    """Whether a call does what a remedy says.

    Args:
        call: The call.
        remedy: What is to be done.
        failed: The call that failed: a file to be read first is one of its paths.
    """
    if remedy.reads_first:
        if call.signs["kind"] == "read" or (call.commands and call.signs["effect"] == "read"):
            return failed is None or not failed.paths or _share_a_file(call, failed)
        return False
    if remedy.argument is not None:
        return _gives(call, remedy.argument, remedy.shape)
    told = f"{call.name} {call.arguments_text}"
    return all(
        any(_stands_in(word, told) for word in _ALIASES.get(part, (part,))) for part in remedy.words
    )


def _gives(call: SeenCall, name: str, shape: str | None) -> bool:
    """Whether an argument of a name is given, at any depth, in the shape that is wanted."""
    waiting: list[Json] = [call.arguments]
    looked_at = 0
    while waiting and looked_at < _MOST_LOOKED_AT:
        item = waiting.pop()
        looked_at += 1
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            value = item.get(name)
            if value is not None and _has_shape(value, shape):
                return True
            waiting += item.values()
    return False


def _has_shape(value: Json, shape: str | None) -> bool:
    if shape is None:
        return True
    if shape in _SHAPES:
        return isinstance(value, _SHAPES[shape])
    return isinstance(value, str) and f"'{value}'" in shape


def _share_a_file(call: SeenCall, failed: SeenCall) -> bool:
    names = {path.rsplit("/", 1)[-1] for path in failed.paths}
    return any(path.rsplit("/", 1)[-1] in names for path in call.paths)


def _stands_in(word: str, text: str) -> bool:
    place = text.find(word)
    while place >= 0:
        before, after = text[place - 1 : place], text[place + len(word) : place + len(word) + 1]
        if not (before.isalnum() or before in ("_", "-")) and not (
            after.isalnum() or after in ("_", "-")
        ):
            return True
        place = text.find(word, place + 1)
    return False


def open_remedies(named: Named, failed: SeenCall) -> list[Remedy]:
    """Return the remedies that the failed call itself does not follow already."""
    return [remedy for remedy in named.remedies if not adopts(failed, remedy)]
