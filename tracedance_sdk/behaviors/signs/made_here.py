"""Whether the agent itself made a file or folder in the run."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.behaviors.signs.naming import base_name, same_path
from tracedance_sdk.behaviors.signs.shells import own_words

_CREATORS: Final = frozenset(
    {"mkdir", "touch", "cp", "mv", "ln", "tar", "unzip", "git", "tee", "wget", "curl", "mktemp"}
)
_REDIRECTED: Final = re2.compile(r"(?:^|[^<>=-])>{1,2}\s*([^\s;|&<>()]+)")
_MAKES: Final = re2.compile(r"^(create|write|make|new|add|save|append|upload|copy)(_|-|[A-Z]|$)")


def made_here(run: Run, path: str, *, before: int, since: int = 0) -> int | None:
    """Return the index of the turn in which the agent made a file or folder, or None.

    What counts is a call that did not fail: one that writes a whole file, a redirection, ``mkdir``
    and the like. Edits of what is there do not count, and a whole file written over one that was
    there cannot be told from a new one here.

    Args:
        run: The run.
        path: Of the file or folder.
        before: Only turns before this index.
        since: Only turns from this index.
    """
    for call in run.calls(start=since, before=before):
        if not call.signs["failed"] and any(_is_within(path, made) for made in made_by(call)):
            return call.turn
    return None


def _is_within(path: str, made: str) -> bool:
    """Whether a path is one that was made, or lies in a folder that was."""
    if same_path(path, made):
        return True
    folder = made.rstrip("/").removeprefix("./")
    return len(folder) > 2 and (path.startswith(f"{folder}/") or f"/{folder}/" in path)


def made_by(call: SeenCall) -> list[str]:
    """Return the paths that a call makes, as far as its arguments tell."""
    kind = call.signs["kind"]
    if kind == "write" or (kind == "edit" and _creates(call)) or _MAKES.match(call.name):
        return call.paths
    if kind != "shell":
        return []
    found = [match.group(1).strip("'\"") for match in _REDIRECTED.finditer(call.command[:8_000])]
    for command in call.commands:
        words = own_words(command)
        if words and words[0].rsplit("/", 1)[-1] in _CREATORS:
            found += _targets(words)
    return found


def _creates(call: SeenCall) -> bool:
    given = call.arguments
    return isinstance(given, dict) and (
        given.get("command") == "create" or given.get("old_string") == ""
    )


def _targets(words: list[str]) -> list[str]:
    plain = [word for word in words[1:] if not word.startswith("-")]
    name = words[0].rsplit("/", 1)[-1]
    if name in {"cp", "mv", "ln"}:
        if len(plain) < 2:
            return []
        return [plain[-1], *(f"{plain[-1].rstrip('/')}/{base_name(item)}" for item in plain[:-1])]
    if name == "git":
        if plain[:1] == ["clone"] and len(plain) > 1:
            return [plain[2] if len(plain) > 2 else base_name(plain[1]).removesuffix(".git")]
        if plain[:2] == ["worktree", "add"]:
            return plain[2:3]
        return []
    if name in {"curl", "wget"}:
        flags = ("-o", "-O", "--output")
        return [word for flag, word in pairwise(words) if flag in flags]
    if name == "mkdir":
        return [*plain, *(item.split("/", 1)[0] for item in plain if item[0] not in "/~.$")]
    return plain
