"""Shell commands looked at more closely than the columns of the view `features` do."""

from __future__ import annotations

import shlex
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

_PREFIXES: Final = frozenset({"sudo", "time", "nohup", "command", "exec", "doas", "nice", "env"})
_TEMPORARY: Final = re2.compile(
    r"(?i)^(/private)?(/var)?/tmp(/|$)|^\$\{?TE?MP(DIR)?\}?|/scratchpad/|^%TEMP%|\btmp\.\w+|"
    r"^/dev/(null|shm)|(^|/)\.?te?mp(/|$)"
)
_MADE_AGAIN: Final = re2.compile(
    r"(?i)(^|/)(node_modules|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|dist|build|target|"
    r"\.next|\.nuxt|\.turbo|\.parcel-cache|coverage|htmlcov|\.coverage|\.cache|\.gradle|\.venv|venv|"
    r"\.tox|\.nox|out|obj|bin/debug|_build|cmake-build-\w+|\.eggs|[^/]*\.egg-info|DerivedData|"
    r"\.terraform|\.DS_Store|tmp|logs?)(/|$|\*)|\.(pyc|pyo|o|obj|class|log|tmp|bak|orig|rej|swp|"
    r"cache|egg-info|gcda|gcno)\*?$"
)
_PROBING: Final = re2.compile(
    r"(?i)(^|\s)(--?version|-V|--help|-h|version|help)(\s|$)|^(which|type|command -v|hash|whereis|"
    r"test|\[)\s|^(dpkg|rpm|brew|pip3?) (-l|-s|list|show|info)"
)


def words_of(command: str) -> list[str]:
    """Return the words of a command, quotes removed; split at white space where they are odd."""
    try:
        return shlex.split(command[:4_000], comments=False)
    except ValueError:
        return command[:4_000].split()


def own_words(command: str) -> list[str]:
    """Return the words of a command from its program on, what only wraps it left out."""
    words = words_of(command)
    while words and (words[0].rsplit("/", 1)[-1] in _PREFIXES or words[0].startswith("-")):
        words = words[1:]
    if len(words) > 2 and words[0].rsplit("/", 1)[-1] in {"timeout", "gtimeout"}:
        place = next((i for i, w in enumerate(words[1:], 1) if not w.startswith("-")), 1)
        words = words[place + 1 :]
    return words


def is_probe(command: str) -> bool:
    """Whether a command only asks whether a program is there, or how it is used."""
    return bool(_PROBING.search(command))


def is_temporary(path: str) -> bool:
    """Whether a path lies in a place for temporary files."""
    return bool(_TEMPORARY.search(path))


def is_made_again(path: str) -> bool:
    """Whether a path holds what a build, a test run or an installation makes again."""
    return bool(_MADE_AGAIN.search(path))
