"""What was run since the last change: test runs and whatever may have been one."""

from __future__ import annotations

from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.run import Run, SeenCall, SeenTurn

_EDITS: Final = frozenset({"tool", "redirect", "in_place", "files", "patch", "tree", "script"})
_NOTES: Final = (".md", ".txt", ".rst", ".log", ".adoc", "license", "changelog")
_EDGE: Final = 6_000
_PASSED: Final = re2.compile(
    r"(?i)--- PASS|execution succeeded|exit ?code:? 0\b|"
    r"\b[1-9]\d*\s+(?:\w+\s+)?(?:tests?\s+)?(?:passed|passing|succeeded|successful)\b|"
    r"(?m:^OK\b)|"
    r"(?m:^(?:ok|PASS)\b)|\btests? (?:all )?pass(?:ed|es)?\b|all (?:\w+ )?(?:tests|"
    r"checks) (?:passed|pass|ok|green)|"
    r"\b0 (?:failed|failures|errors)\b|test result: ok|build success|\x{2713}|\x{2705}|"
    r"tests? (?:succeeded|successful)"
)
_ENDS: Final = re2.compile(
    r"(?i)complete_task|submit_final|^(?:submit|finish|done|complete|attempt_completion|exit)|"
    r"_finish$|_submit$"
)
_BUILDS: Final = re2.compile(
    r"(?i)\b(?:build|lint|fmt|format|compile|py_compile|vet|typecheck|tsc|check-format|prettier|"
    r"ruff|mypy|eslint|gofmt)\b"
)
_RUNS: Final = frozenset(
    {
        "python", "python3", "node", "ruby", "java", "php", "perl", "deno", "bun", "npm", "npx",
        "yarn", "pnpm", "make", "cargo", "go", "mvn", "gradle", "./gradlew", "dotnet", "tox",
        "nox", "uv", "poetry", "pytest", "mise", "just", "task", "bash", "sh", "docker", "rake",
        "bundle", "ctest", "swift", "mix", "hatch", "pdm", "rye", "django-admin", "conda",
        "unittest", "jest", "vitest", "tsc", "gcc", "g++", "cmake",
    }
)  # fmt: skip


def last_edit(run: Run, *, before: int) -> SeenCall | None:
    """Return the last call before a turn that may have changed files."""
    found = None
    for call in run.calls(before=before):
        if edits(call):
            found = call
    return found


def edits(call: SeenCall) -> bool:
    """Whether a call may have changed what tests run: notes and tidying up are no such change."""
    if _EDITS.isdisjoint(call.signs["changes"] or ()) or _tidies(call):
        return False
    if call.signs["kind"] in ("edit", "write") and _is_of_notes(call):
        return False
    return not call.signs["failed"] or len(call.commands) > 1


def _is_of_notes(call: SeenCall) -> bool:
    return bool(call.paths) and all(path.casefold().endswith(_NOTES) for path in call.paths)


def _tidies(call: SeenCall) -> bool:
    """Whether all that a command changes is what it removes."""
    heads = {head.split(" ", 1)[0] for head in call.signs["heads"] or ()}
    return bool(heads) and heads <= {"rm", "cd", "ls", "echo", "rmdir"}


def may_run(call: SeenCall) -> bool:
    """Whether a call runs a program, which may be a test by whatever name."""
    if call.signs["is_test"] or call.signs["kind"] == "subagent":
        return True
    if call.signs["kind"] == "other":
        return call.name.casefold().find("test") >= 0 or call.name.casefold().find("run") >= 0
    return any(may_run_command(head) for head in call.signs["heads"] or ())


def may_run_command(head: str) -> bool:
    """Whether a command that begins so runs a program, which may be a test by whatever name."""
    first = head.split(" ", 1)[0]
    return (
        first.rstrip("0123456789.") in _RUNS
        or first in _RUNS
        or first[:2] == "./"
        or "test" in head
    )


def only_builds(call: SeenCall) -> bool:
    """Whether a call builds, formats or lints, which shows nothing of how it behaves."""
    return not call.signs["is_test"] and _BUILDS.search(call.command[:2_000]) is not None


def hands_over(turn: SeenTurn) -> bool:
    """Whether a turn hands over what was done, rather than goes on working."""
    return all(
        call.signs["commits"]
        or call.signs["publishes"]
        or call.signs["kind"] == "plan"
        or _ENDS.search(call.name)
        or any(_ENDS.search(command) for command in call.commands)
        for call in turn.calls
    )


def shows_passing(text: str) -> bool:
    """Whether a result, or what somebody says, tells of tests that passed."""
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    return _PASSED.search(text) is not None
