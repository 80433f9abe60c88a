"""What a single call shows: its command and paths, and what its result gives away."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.store.facts import bounded, document_digest, result_text
from tracedance_sdk.store.shell import command_text, head_of, paths_in, split_commands
from tracedance_sdk.store.shell_changes import EDITS, Change, ShellChanges, shell_changes
from tracedance_sdk.store.signals import commands, looser, results, secrets
from tracedance_sdk.store.tool_facts import ToolFacts, meets
from tracedance_sdk.trace import UNKNOWN, Call, Json, call_key

_PATH_KEYS: Final = (
    "file_path", "path", "filename", "file", "notebook_path", "target_file", "filePath",
    "absolute_path", "relative_workspace_path", "directory", "dir_path", "paths", "files", "uri",
    "url",
)  # fmt: skip
_NEW_TEXT_KEYS: Final = (
    "new_string", "content", "new_str", "file_text", "patch", "diff", "newText", "code_edit",
    "text", "new_source", "input",
)  # fmt: skip
_MOST_PATHS: Final = 20
_LONGEST_PATH: Final = 400
_EXIT_CODE: Final = re.compile(
    r"""(?:exit(?:ed)?(?:[ ]with)?[ ]?(?:code|status)?|exit_code"|returncode"?|return[ ]code)
        [>:="\s]{0,4}(-?\d{1,5})\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CODE_EDGE: Final = 400
_TEST_PATH: Final = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing)/|(?:^|/)(?:test_[^/]*|conftest)\.\w+$"
    r"|[^/]*[._-](?:test|tests|spec)\.\w+$|Tests?\.\w+$",
)
_MANIFESTS: Final = frozenset(
    {
        "package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lockb",
        "pyproject.toml", "poetry.lock", "uv.lock", "setup.py", "setup.cfg", "Pipfile",
        "Pipfile.lock", "environment.yml", "Cargo.toml", "Cargo.lock", "go.mod", "go.sum",
        "Gemfile", "Gemfile.lock", "composer.json", "composer.lock", "pom.xml", "build.gradle",
        "build.gradle.kts", "mix.exs", "Package.swift", "requirements.txt", "constraints.txt",
    }
)  # fmt: skip
_EMPTY: Final = frozenset({"", "[]", "{}", "null", "None", '""', "(no output)", "No output"})
_NONE: Final[frozenset[str]] = frozenset()
CHANGING: Final = frozenset({"edit", "write"})
"""Kinds of tools that change files."""


class CallSigns(NamedTuple):
    """What one call shows, apart from what came before it.

    Attributes:
        failed: None without a result.
        key: None where its arguments were not recorded: nobody knows what it is equal to.
        flags: Of its command, by name of `signals.COMMANDS`.
        shown: Of its result, by name of `signals.RESULTS`.
        changes: Ways in which it may change what later calls find.
        is_test: It runs tests in a shell.
        test_is_last: The last of its test runs comes after the last of its edits.
    """

    key: str | None
    kind: str
    effect: str
    is_offered: bool | None
    is_valid: bool | None
    command: str | None
    commands: list[str] | None
    heads: list[str] | None
    paths: list[str]
    exit_code: int | None
    failed: bool | None
    failed_by: str | None
    flags: frozenset[str]
    shown: frozenset[str]
    is_empty: bool | None
    edits_test: bool
    weakens_test: bool
    swallows: bool
    touches_manifest: bool
    holds_secret: bool
    in_background: bool
    has_time_limit: bool
    test_passed: bool | None
    changes: tuple[Change, ...]
    is_test: bool
    test_is_last: bool

    @property
    def edits(self) -> bool:
        """Whether it may change the content of files."""
        return not EDITS.isdisjoint(self.changes)


_NO_CHANGE: Final = ShellChanges((), False, False, "terminal")


def signs_of(call: Call, tool: ToolFacts) -> CallSigns:
    """Look at one call."""
    arguments, kind = call.arguments, tool.kind
    command = command_text(arguments) if kind == "shell" else None
    parts = None if command is None else split_commands(command)
    paths = _paths(arguments)
    flags, text = _NONE, _argument_text(arguments)
    if parts:
        joined = "\n".join(parts)
        flags = commands().found(f"{command}\n{joined}")
        paths = list(dict.fromkeys([*paths, *paths_in(joined)]))[:_MOST_PATHS]
    elif paths or kind in ("other", "send"):
        flags = commands().found("\n".join(paths) if paths else text[:4_000]) & _OF_PATHS
    result = call.result
    output = None if result is None else result_text(result.content)
    error = result.error if result is not None else None
    if error is not None:
        output = f"{error.type}: {error.message}\n{output or ''}"
    shown = results().found(output) if output else _NONE
    code = _exit_code(call, output, kind)
    failed, by = _failure(call, shown, code, kind)
    written = _new_text(arguments) if kind in CHANGING else ""
    loose = looser().found(written) if written else _NONE
    edits_test = kind in CHANGING and any(_TEST_PATH.search(path) for path in paths)
    done = shell_changes(command, parts) if command and parts else _NO_CHANGE
    given = arguments if isinstance(arguments, dict) else {}
    return CallSigns(
        key=_key(call),
        kind=kind,
        effect=done.effect if parts else tool.effect,
        is_offered=tool.is_offered,
        is_valid=_is_valid(call, tool),
        command=None if command is None else " ".join(command.split()),
        commands=parts,
        heads=None if parts is None else [head_of(part) for part in parts],
        paths=paths,
        exit_code=code,
        failed=failed,
        failed_by=by,
        flags=flags,
        shown=shown,
        is_empty=None if result is None else output is None or output.strip() in _EMPTY,
        edits_test=edits_test,
        weakens_test=(edits_test and "skips" in loose)
        or (done.is_test and "excludes_tests" in flags),
        swallows="swallows" in loose,
        touches_manifest=any(path.rsplit("/", 1)[-1] in _MANIFESTS for path in paths),
        holds_secret=bool(text) and bool(secrets().found(text)),
        in_background="in_background" in flags or given.get("run_in_background") is True,
        has_time_limit="has_time_limit" in flags or _is_number(given.get("timeout")),
        test_passed=_test_outcome(failed, shown) if done.is_test else None,
        changes=("tool",) if kind in CHANGING else done.changes,
        is_test=done.is_test,
        test_is_last=done.test_is_last,
    )


def _is_valid(call: Call, tool: ToolFacts) -> bool | None:
    """Whether the arguments are what the tool takes; what the model wrote may be no JSON at all."""
    if call.arguments is UNKNOWN and call.raw_arguments is not None:
        return False
    return meets(call.arguments, tool.parameters)


def _key(call: Call) -> str | None:
    if call.arguments is not UNKNOWN:
        text = call_key(call.name, call.arguments)
    elif call.raw_arguments is not None:
        text = f"{call.name} raw {call.raw_arguments}"
    else:
        return None
    return document_digest(text.encode(errors="surrogatepass"))[:16]


_OF_PATHS: Final = frozenset({"reads_secret_file", "reads_log", "is_destructive"})
"""Flags of commands that paths and the arguments of other tools may raise as well."""


def _paths(arguments: Json) -> list[str]:
    if not isinstance(arguments, dict):
        return []
    found: list[str] = []
    for key in _PATH_KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in value[:_MOST_PATHS] if isinstance(item, str)]
    kept = [path for path in dict.fromkeys(found) if 0 < len(path) <= _LONGEST_PATH]
    return kept[:_MOST_PATHS]


def _argument_text(arguments: Json) -> str:
    if isinstance(arguments, str):
        return arguments
    if arguments is UNKNOWN or not arguments:
        return ""
    if isinstance(arguments, dict) and all(type(item) is str for item in arguments.values()):
        return "\n".join(arguments.values())
    return orjson.dumps(arguments).decode()


def _new_text(arguments: Json) -> str:
    if not isinstance(arguments, dict):
        return arguments if isinstance(arguments, str) else ""
    texts = [value for key in _NEW_TEXT_KEYS if isinstance(value := arguments.get(key), str)]
    if isinstance(arguments.get("edits"), list):
        edits = arguments["edits"][:50]
        texts += [
            _new_text(edit) for edit in edits if isinstance(edit, dict) and "edits" not in edit
        ]
    return "\n".join(texts)


def _exit_code(call: Call, output: str | None, kind: str) -> int | None:
    result = call.result
    if result is None:
        return None
    if result.exit_code is not None:
        return bounded(result.exit_code)
    if output is None or kind not in ("shell", "other"):
        return None
    edges = output if len(output) < 2 * _CODE_EDGE else output[:_CODE_EDGE] + output[-_CODE_EDGE:]
    found = _EXIT_CODE.search(edges)
    return int(found[1]) if found else None


def _failure(
    call: Call, shown: frozenset[str], code: int | None, kind: str
) -> tuple[bool | None, str | None]:
    result = call.result
    if result is None:
        return None, None
    if result.ok is False or result.error is not None or result.interrupted:
        return True, "source"
    if result.exit_code is not None:
        return (True, "exit_code") if result.exit_code != 0 else (False, None)
    if result.ok is True:
        return False, None
    if code is not None:
        return (True, "text_exit_code") if code != 0 else (False, None)
    telling = "shows_failure" if kind == "shell" else "starts_failing"
    return (True, "pattern") if telling in shown else (False, None)


def _test_outcome(failed: bool | None, shown: frozenset[str]) -> bool | None:
    if failed is None:
        return None
    if failed or "tests_failed" in shown:
        return False
    return True if "tests_passed" in shown else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
