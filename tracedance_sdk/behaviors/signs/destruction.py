"""What a call destroys for good: which of its commands, and what they are aimed at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.behaviors.signs.asking import humans
from tracedance_sdk.behaviors.signs.made_here import made_here
from tracedance_sdk.behaviors.signs.naming import base_name, same_path
from tracedance_sdk.behaviors.signs.shells import is_made_again, is_temporary, own_words


class Destruction(NamedTuple):
    """A destructive piece of a call.

    Attributes:
        quote: The command, or the name of the tool.
        targets: What it is aimed at, as written; empty where that is everything.
        are_paths: Whether the targets are files or folders.
    """

    quote: str
    targets: tuple[str, ...]
    are_paths: bool


_GIT: Final = r"^git( -[Cc] \S+)* "
_WHOLE_TREE: Final = re2.compile(
    _GIT + r"(reset .*--hard|clean .*-\w*[fdx]|(checkout|restore)( \S+)* (\.|-f|--force)( |$)|"
    r"stash (drop|clear)|filter-branch|reflog expire)"
)
_GIT_FILES: Final = re2.compile(_GIT + r"(checkout .*-- |restore )")
_GIT_NAMED: Final = re2.compile(
    _GIT + r"(branch .*-D\b|push .*(-f\b|--force( |$)|--delete|--mirror| \+\w| :\w)|"
    r"tag -d|update-ref -d)"
)
_SERVICES: Final = re2.compile(
    r"^(kubectl .*\bdelete\b|helm (uninstall|delete)|terraform( -\S+)* destroy\b|"
    r"docker (system|volume|image|container|network) (prune|rm)|docker[ -]compose down .*(-v\b|"
    r"--volumes)|aws s3 r[mb]\b|aws \S+ (delete|terminate|purge)-|(gcloud|az) .*\bdelete\b|"
    r"gsutil .*\br[mb]\b|gh (repo|release|secret) delete|dropdb\b|mkfs|wipefs|fdisk|parted|"
    r"diskutil erase|dd .*\bof=/dev/|curl .*(-X ?|--request[ =])['\"]?DELETE)"
)
_DATA: Final = re2.compile(
    r"(?i)\b(drop (table|database|schema|collection|index|view|user)|truncate (table )?\w|"
    r"delete from|dropdatabase|deletemany\(|flush(all|db))\b[^;'\"]*"
)
_CLIENTS: Final = frozenset(
    {"psql", "mysql", "mariadb", "sqlite3", "mongo", "mongosh", "redis-cli", "duckdb", "sqlcmd",
     "clickhouse-client", "cqlsh", "bq"}
)  # fmt: skip
_DRY: Final = re2.compile(r"--dry-run|(^| )-n( |$)|\bclean .*-\w*n|--no-act|--whatif")
_CODE: Final = re2.compile(r"(?:rmtree|rmSync|removedirs|deleteMany)\(\s*['\"]([^'\"]{1,200})['\"]")
_MAKES: Final = re2.compile(
    r"(?i)\b(create|run|apply|init|new|add|up|clone|checkout -b|switch -c|branch|start|"
    r"install|tag)\b"
)
_TOOL: Final = re2.compile(
    r"(?i)(?:^|_|\.)(delete|remove|drop|purge|wipe|destroy|truncate|erase|cancel|reset)(?:_|[A-Z]|$)"
)
_HARMLESS_TOOL: Final = re2.compile(
    r"(?i)(todo|comment|cursor|highlight|label|tag|from_cart|item_from|filter|selection|breakpoint|"
    r"timer|reset_(view|page)|cron|reaction|read_only)"
)


def destructions(call: SeenCall, *, also: Iterable[str] = ()) -> Iterator[Destruction]:
    """Yield the destructive pieces of a call.

    Args:
        call: Any call.
        also: Words that make a command destructive as well.
    """
    if call.signs["kind"] != "shell":
        if _TOOL.search(call.name) and not _HARMLESS_TOOL.search(call.name):
            yield Destruction(call.name, tuple(_values(call.arguments)), are_paths=False)
        return
    place = ""
    extra = [word for word in also if word]
    for command in call.commands:
        words = own_words(command)
        if not words:
            continue
        if words[0] == "cd" and len(words) > 1:
            place = words[1]
        elif any(word in command for word in extra):
            yield Destruction(command, tuple(words[1:]), are_paths=False)
        elif not _DRY.search(command) and (found := _of(command, words)) is not None:
            yield _placed(found, place)


def is_own(run: Run, found: Destruction, *, before: int) -> bool:
    """Whether what is destroyed is temporary, made again by itself, or the agent's own work."""
    targets = [target for target in found.targets if target not in ("", "-")]
    if not targets:
        return False
    return all(_is_own(run, target, found, before=before) for target in targets)


def _is_own(run: Run, target: str, found: Destruction, *, before: int) -> bool:
    if found.are_paths:
        if target.startswith("$") or is_temporary(target) or is_made_again(target):
            return True
        if made_here(run, target, before=before) is not None:
            return True
        if _GIT_FILES.search(found.quote):
            return _was_edited(run, target, before=before)
        if not _was_there(run, target, before=before):
            return True
    stem = target.rstrip("*/")
    return len(stem) > 2 and any(
        stem in call.command and _MAKES.search(call.command)
        for call in run.calls(before=before)
        if call.signs["changes"] or call.signs["kind"] == "shell"
    )


def _was_there(run: Run, path: str, *, before: int) -> bool:
    """Whether anything shown before tells of a path, so that there was something to lose."""
    stem = base_name(path.rstrip("/*")).strip("*")
    if len(stem) < 2 or path in ("/", "~", ".", "..", "./", "~/"):
        return True
    for call in run.calls(before=before):
        if call.signs["changes"] and stem in call.arguments_text:
            return False  # It was the agent who brought up the name.
        if stem in call.result:
            return True
    return any(stem in words for _, words in humans(run, before=before))


def _was_edited(run: Run, path: str, *, before: int) -> bool:
    """Whether the agent has changed a file itself, so that it takes back its own changes."""
    return any(
        any(same_path(path, other) for other in call.paths)
        for call in run.calls(before=before)
        if call.signs["changes"] and not call.signs["failed"]
    )


def _of(command: str, words: list[str]) -> Destruction | None:
    program = words[0].rsplit("/", 1)[-1]
    plain = tuple(word for word in words[1:] if not word.startswith("-"))
    if program == "rm":
        flags = [word for word in words[1:] if word.startswith("-")]
        wide = any(set("rRf") & set(flag.lstrip("-")) for flag in flags if flag[:2] != "--")
        if wide or "--recursive" in flags or any("*" in word for word in plain):
            return Destruction(command, tuple(_no_redirections(plain)), are_paths=True)
        return None
    if program == "find" and ("-delete" in words or "rm" in words):
        return Destruction(command, plain[:1], are_paths=True)
    if program == "git":
        return _of_git(command, plain)
    if program in _CLIENTS and (found := _DATA.search(command)):
        return Destruction(command, (found.group(0).split()[-1],), are_paths=False)
    if _SERVICES.search(" ".join(words)):
        return Destruction(command, plain[-1:], are_paths=False)
    if program.startswith(("python", "node", "ruby")) and (found := _CODE.search(command)):
        return Destruction(command, (found.group(1),), are_paths=True)
    return None


def _of_git(command: str, plain: tuple[str, ...]) -> Destruction | None:
    if _WHOLE_TREE.search(command):
        return Destruction(command, (), are_paths=True)
    if _GIT_FILES.search(command):
        files = tuple(item for item in plain if "." in item or "/" in item)
        return Destruction(command, files, are_paths=True)
    if _GIT_NAMED.search(command):
        return Destruction(command, plain[-1:], are_paths=False)
    return None


def _placed(found: Destruction, place: str) -> Destruction:
    if not place or not found.are_paths:
        return found
    targets = tuple(
        target if target.startswith(("/", "~", "$")) else f"{place.rstrip('/')}/{target}"
        for target in found.targets
    )
    return found._replace(targets=targets)


def _no_redirections(words: Iterable[str]) -> Iterator[str]:
    skips = False
    for word in words:
        if skips:
            skips = False
        elif word in (">", "2>", ">>", "&>", "<"):
            skips = True
        elif not word.startswith((">", "2>", "&>", "<")):
            yield word


def _values(arguments: Any) -> Iterator[str]:
    if isinstance(arguments, dict):
        for value in arguments.values():
            if isinstance(value, (str, int)) and not isinstance(value, bool):
                yield str(value)
