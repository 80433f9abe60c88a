"""The columns of the view `features`: what is derived from turns and calls, one row for each.

A row is a turn's or a call's (`event`). Columns of the other kind are null in it. They are made to
find candidates: a flag that is true calls for a closer look, it proves nothing.
"""

from __future__ import annotations

from typing import Final

from tracedance_sdk.store.columns import ROW, Column


def _column(name: str, kind: str, meaning: str, families: str = "") -> Column:
    return Column(name, kind, meaning, tuple(families.split()))


FEATURES_VERSION: Final = 3
"""Goes up with every change to what a derived column holds; `index` then derives them again."""

ABOUT: Final = (
    _column("trace_id", "text", "the trace"),
    _column("session_id", "text", "its session"),
    _column("agent", "text", "name of the agent"),
    _column("event", "text", "turn or call"),
    _column("turn", "int", "index of the turn"),
    _column("call", "int", "index of the call in the trace; null for a turn"),
)

OF_TURNS: Final = (
    _column("role", "text", "of the turn: system, user or assistant"),
    _column("origin", "text", "who really wrote it, duplicates over sessions accounted for", "A10"),
    _column("origin_rule", "text", "the rule that set it, where one did"),
    _column("human_turns_before", "int", "human turns before it", "A06 A11"),
    _column("is_text_only", "flag", "assistant: it requests no call", "F04 F10"),
    _column("asks_question", "flag", "assistant: it asks something", "A06 A11 F07 F10"),
    _column("announces_action", "flag", "assistant: it says what it will do", "A06 A11"),
    _column("claims_tests_pass", "flag", "assistant: it says that tests pass", "C01"),
    _column("claims_success", "flag", "assistant: it says that something is done", "C02 F05"),
    _column("claims_fix", "flag", "assistant: it says that something is fixed", "C03"),
    _column("claims_delivery", "flag", "assistant: something was sent or stored", "C05 F04"),
    _column("cites_source", "flag", "assistant: it names a line, an address, a find", "C04"),
    _column("says_cannot", "flag", "assistant: it says that something cannot be done", "F10"),
    _column("mentions_failure", "flag", "it speaks of a failure", "F04 F05 C02"),
    _column("states_restriction", "flag", "human: it sets a limit", "A10"),
    _column("approves", "flag", "human: it begins with a yes", "A06 A11 F07"),
    _column("requests_effect", "flag", "human: it names an effect on the outside", "A11"),
    _column("shows_secret", "flag", "its text looks as if it held a secret, masked or not", "A07"),
    _column("edits_before", "int", "edits and writes before it, by tool or shell", "C01 C03"),
    _column("tests_since_edit", "int", "test runs after the last edit", "C01 C03"),
    _column("tests_passed_since_edit", "flag", "the last of them passed; null without", "C01 C02"),
    _column("last_result_failed", "flag", "the result before it failed; null without any",
            "C02 C03 F01 F02 F04 F05 F06 F08 F10"),
    _column("failures_before", "int", "failed calls before it", "F10 C02"),
    _column("deliveries_before", "int", "successful sends and publications before it", "C05 F04"),
)  # fmt: skip

OF_CALLS: Final = (
    _column("name", "text", "the tool", "A02"),
    _column("kind", "text", "shell, read, write, edit, search, plan, ask, send, subagent or other",
            "A05 A09 A10 F04 F08"),
    _column("effect", "text", "pure, read, write, terminal or unknown; a shell's by its command",
            "A10 A11"),
    _column("tool_offered", "flag", "its name is among the trace's tools; null without any", "A02"),
    _column("arguments_valid", "flag", "required, known and of the right type; null without schema",
            "A03"),
    _column("command", "long", "shell: its text, white space collapsed", "A01 A13"),
    _column("commands", "texts", "shell: split at && || ; | and line ends, assignments removed",
            "A01 A06 A08 A12 A13 F06"),
    _column("heads", "texts", "shell: the first word of each, with git's and others' second",
            "A01 A08 F09"),
    _column("paths", "texts", "paths among its arguments or in its command", "A04 A05 A10 F03"),
    _column("call_key", "text", "16 hex; equal for equal tools and arguments; null when unknown",
            "F01 F09"),
    _column("repeats_previous", "flag", "equal to the agent's call before it; null when unknown",
            "F01"),
    _column("equal_calls_before", "int", "equal calls before it; null when unknown", "F01"),
    _column("equal_failures_before", "int",
            "equal failures with no other change since; null when unknown", "F01 F09"),
    _column("changes", "texts", "how it may change what later calls find: see below",
            "F01 A08 A10 C01 C03"),
    _column("same_head_timed_out_before", "flag", "a command with the same first word timed out",
            "A13 F09"),
    _column("exit_code", "int", "as recorded, else as the result's text says", "A01 F01"),
    _column("failed", "flag", "it failed by whatever shows it; null without a result",
            "F01 F02 F03 F04 F05 F06 F07 F08 F09 F10"),
    _column("failed_by", "text", "source, exit_code, text_exit_code or pattern"),
    _column("shows_failure", "flag", "its text shows one, whatever the status says", "C02 F05"),
    _column("follows_failure", "flag", "a result of the turn with calls before it failed",
            "F01 F02 F03 F05 F06 F07 F08 F09"),
    _column("command_not_found", "flag", "result: no such command, option or sub-command", "A01"),
    _column("unknown_tool", "flag", "result: no such tool", "A02"),
    _column("invalid_arguments", "flag", "result: the arguments were refused", "A03"),
    _column("not_found", "flag", "result: file, record or address not found", "A04 F08"),
    _column("not_read_yet", "flag", "result: the file must be read first, or exists", "A05"),
    _column("timed_out", "flag", "result: timed out or killed", "A13 F09"),
    _column("denied", "flag", "result: not permitted, blocked or refused", "F07"),
    _column("names_remedy", "flag", "failed, and its text says what to do", "F02 F10"),
    _column("names_log", "flag", "result: names a log or a job", "F03"),
    _column("not_delivered", "flag", "result: not delivered, or a send that failed", "F04"),
    _column("is_empty", "flag", "result: nothing in it", "F08"),
    _column("read_before", "flag", "edit or write: one of its paths was read or written before",
            "A05"),
    _column("is_test", "flag", "shell: runs tests", "A09 C01 C03"),
    _column("test_passed", "flag", "a test run's outcome; null when unclear", "A09 C01 C02"),
    _column("after_failed_test", "flag", "the last test run before it failed", "A09"),
    _column("edits_test", "flag", "edit or write: of a test file", "A09"),
    _column("weakens_test", "flag", "skips, excludes or loosens a test", "A09"),
    _column("installs", "flag", "shell: installs a package", "A12"),
    _column("edits_manifest", "flag", "touches a dependency manifest or lock", "A12"),
    _column("manifest_seen_before", "flag", "a call before it touched a manifest", "A12"),
    _column("commits", "flag", "shell: git commit", "A08"),
    _column("stages_all", "flag", "shell: stages or commits whatever is there", "A08"),
    _column("inspects_changes", "flag", "shell: git status or diff", "A08"),
    _column("inspected_since_change", "flag", "such a look since the last change", "A08"),
    _column("is_destructive", "flag", "deletes, overwrites or resets for good; see below", "A06"),
    _column("publishes", "flag", "shell: pushes, deploys, publishes or posts", "A11 C05"),
    _column("runs_long", "flag", "shell: a server, a watcher or an interactive program", "A13"),
    _column("in_background", "flag", "shell: put into the background", "A13 F03"),
    _column("has_time_limit", "flag", "shell: under a time limit", "A13 F09"),
    _column("masks_error", "flag", "hides errors: || true, 2>/dev/null, --no-verify, except: pass",
            "F06"),
    _column("escalates", "flag", "shell: sudo, chmod 777 and the like", "F07"),
    _column("reads_secret_file", "flag", "touches .env, key or credential files", "A07"),
    _column("holds_secret", "flag", "its arguments look as if they held a secret, masked or not",
            "A07"),
    _column("reads_log", "flag", "reads a log", "F03"),
)  # fmt: skip

FEATURES: Final = (*ABOUT, *OF_TURNS, *OF_CALLS, Column(ROW, "int"))
"""All columns, in the order of the file."""

FAMILIES: Final = (
    *(f"A{number:02}" for number in range(1, 14)),
    *(f"F{number:02}" for number in range(1, 11)),
    *(f"C{number:02}" for number in range(1, 6)),
)
"""The behaviour families that the columns were made for."""
