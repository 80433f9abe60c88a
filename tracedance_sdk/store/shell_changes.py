"""What a shell command may change, told from its text alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from tracedance_sdk.store.running_tests import PROGRAM, runs_tests, without_prefix
from tracedance_sdk.trace import Effect

Change = Literal[
    "tool", "redirect", "in_place", "files", "patch", "tree", "script", "entries", "git", "install"
]
"""A way in which a call may change what later calls find; `EDITS` change the content of files."""

EDITS: Final[frozenset[Change]] = frozenset(
    {"tool", "redirect", "in_place", "files", "patch", "tree", "script"}
)
"""Changes after which an earlier test run tells nothing any more."""

_QUOTED: Final = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)
_REDIRECTED: Final = re.compile(r"(?<![-=<>])(?:&|\d+)?>{1,2}\|?[ \t]*(?![&(>=])([^\s;|&<>)]*)")
_NOT_KEPT: Final = re.compile(r"/dev/|.*\.(?:log|out|err)\b", re.IGNORECASE)
_GIT: Final = r"git(?:\s+-[Cc]\s+\S+|\s+-\S+)*\s+"
_PATTERNS: Final[dict[Change, str]] = {
    "in_place": (
        r"(?:g?sed|perl|ruby)\b.*?\s-(?!-)\w*i\S*|g?sed\b.*?\s--in-place\S*|g?awk\b.*\binplace|"
        r"dos2unix|ed|ex|(?:black|isort|autopep8|yapf|gofmt|rustfmt|prettier|eslint)\b.*?"
        r"\s(?:-w|-i|--write|--fix|--in-place)|black|isort|ruff\s+format|ruff\b.*\s--fix|"
        r"cargo\s+(?:fmt|fix)|go\s+fmt"
    ),
    "files": (
        r"cp|mv|rm|ln|unlink|shred|truncate|rsync|scp|dd|unzip|install|tar\s+-?\w*x\w*|"
        r"find\b.*\s-(?:delete|exec\s+(?:rm|mv|cp|sed))|(?:curl|wget)\b.*\s-[oO]|wget"
    ),
    "patch": r"patch|apply_patch|git\b.*?\s(?:apply|am)",
    "tree": _GIT + (
        r"(?:checkout|switch|restore|reset|merge|rebase|pull|stash|cherry-pick|revert|clean|rm|mv|"
        r"clone|worktree|submodule)"
    ),
    "git": _GIT + (
        r"(?:add|commit|push|fetch|tag|branch|init|config|remote|gc|notes|update-index)"
    ),
    "entries": r"mkdir|rmdir|touch|chmod|chown|chgrp|mkfifo|mktemp",
    "install": (
        r"(?:python[\d.]*\s+-m\s+)?(?:pip[\d.]*|uv\s+pip|conda|mamba|pipenv|gem|brew|apt|apt-get|"
        r"yum|dnf|apk|pacman|snap|composer|luarocks|opam|cpanm?|make|cmake|ninja|go|cargo|bundle|"
        r"npm|pnpm|yarn|bun|poetry|pdm|helm)(?:\s+(?:-\S+|\S+=\S*))*\s+"
        r"(?:install|uninstall|add|remove|update|upgrade|ci|i|get|sync|require|lock)|"
        r"uv\s+(?:add|remove|sync|lock)|(?:yarn|bundle)\s*$|dotnet\s+add|"
        r"(?:python[\d.]*\s+)?\S*setup\.py\s+(?:install|develop)"
    ),
}  # fmt: skip
_CHANGES: Final = tuple(
    (change, re.compile(rf"(?:{pattern})(?![\w.-])", re.IGNORECASE))
    for change, pattern in _PATTERNS.items()
)
_INTERPRETER: Final = re.compile(r"(?:python|node|ruby|perl|php|deno|bun)[\d.]*(?:\s|$)")
_WRITES: Final = re.compile(
    r"""open\([^)\n]{0,200},\s*(?:mode\s*=\s*)?["'][rb]*[wax]|\.write_(?:text|bytes)\(|\.writelines?\(
      | \bshutil\.(?:copy|move|rmtree)|\bos\.(?:remove|rename|replace|unlink|makedirs|mkdir)\(
      | \b(?:writeFile|appendFile|unlink|rename|copyFile|rm|mkdir)(?:Sync)?\(|\bFile\.write\(
      | \bfile_put_contents\(|\.(?:unlink|rename|touch|mkdir)\(""",
    re.VERBOSE,
)
_READERS: Final = frozenset(
    {
        "awk", "basename", "cat", "cd", "cmp", "column", "cut", "date", "df", "diff", "dirname",
        "du", "echo", "egrep", "env", "false", "fgrep", "file", "find", "grep", "head", "hostname",
        "id", "jq", "less", "ls", "more", "nl", "od", "printenv", "printf", "ps", "pwd", "readlink",
        "realpath", "rg", "sed", "sleep", "sort", "stat", "tac", "tail", "test", "tr", "tree",
        "true", "type", "uname", "uniq", "wc", "which", "whoami", "xxd", "[", "export", "set",
        "fd", "ag", "strings", "md5sum", "sha256sum", "history", "man", "whereis", "seq",
    }
)  # fmt: skip
_GIT_READS: Final = re.compile(
    r"git(?:\s+-[Cc]\s+\S+|\s+-\S+)*\s+(?:status|diff|log|show|blame|grep|ls-files|rev-parse"
    r"|describe|shortlog|reflog|cat-file|ls-tree|merge-base|rev-list)(?![\w-])"
)

_LONGEST: Final = 2_000


class ShellChanges(NamedTuple):
    """What a command line may change.

    Attributes:
        changes: Which ways, each once, in order.
        is_test: It runs tests.
        test_is_last: The last test run comes after the last edit.
        effect: ``write`` where it may change something, ``read`` where it only looks, else
            ``terminal``.
    """

    changes: tuple[Change, ...]
    is_test: bool
    test_is_last: bool
    effect: Effect


def shell_changes(command: str, parts: Sequence[str]) -> ShellChanges:
    """Look at a command line.

    What a test run's own output is redirected to is no change, nor is a log (``.log``, ``.out``,
    ``.err``) or anything under ``/dev``.

    Args:
        command: The whole text, with its here-documents.
        parts: Its commands, as `split_commands` gives them.

    Example:
        >>> found = shell_changes(
        ...     "sed -i s/a/b/ x.py && pytest -q > out.txt",
        ...     ["sed -i s/a/b/ x.py", "pytest -q > out.txt"],
        ... )
        >>> found.changes, found.test_is_last
        (('in_place',), True)
    """
    found: dict[Change, None] = {}
    is_test = test_is_last = False
    for part in parts:
        bare = without_prefix(part[:_LONGEST])
        if runs_tests(bare):
            is_test = test_is_last = True
            continue
        own = _changes_of(bare, command, after_test=is_test)
        found |= dict.fromkeys(own)
        if not EDITS.isdisjoint(own):
            test_is_last = False
    changes = tuple(found)
    return ShellChanges(changes, is_test, test_is_last, _effect(changes, parts))


def _changes_of(bare: str, command: str, *, after_test: bool) -> list[Change]:
    unquoted = _QUOTED.sub("Q", bare)
    found: list[Change] = []
    program = PROGRAM.match(unquoted)
    name = program[1] if program else ""
    if not after_test:
        targets = [m[1] for m in _REDIRECTED.finditer(unquoted)]
        if name == "tee":
            targets += [word for word in unquoted.split()[1:] if not word.startswith("-")]
        if any(target and not _NOT_KEPT.match(target) for target in targets):
            found.append("redirect")
    if program is not None:
        for change, pattern in _CHANGES:
            if pattern.match(unquoted, program.start(1)):
                found.append(change)
                break
    if _INTERPRETER.match(name + " ") and _WRITES.search(command):
        found.append("script")
    return found


def _effect(changes: Sequence[Change], parts: Sequence[str]) -> Effect:
    if changes:
        return "write"
    return "read" if parts and all(_only_reads(part) for part in parts) else "terminal"


def _only_reads(part: str) -> bool:
    bare = without_prefix(part[:_LONGEST])
    program = PROGRAM.match(bare)
    if program is None or "$(" in bare or "`" in bare:
        return bare.startswith("[ ")
    return program[1] in _READERS or _GIT_READS.match(bare, program.start(1)) is not None
