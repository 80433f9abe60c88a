"""Each behaviour family can be searched for: a run that should be found, one that should not.

The queries are candidates' filters as an anchor would use them; each uses the columns that the
table of `feature_columns` gives its family.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.store.stored import agent, call, human, run
from tracedance_sdk.store import FAMILIES, VIEWS, TraceStore, rows_of_trace
from tracedance_sdk.store.signals import commands
from tracedance_sdk.trace import Trace

Turns = list[dict[str, Any]]
TOOLS = [
    {"name": "Bash", "parameters": {"type": "object", "properties": {"command": {"type": "string"}},
                                    "required": ["command"], "additionalProperties": False}},
    {"name": "Read"}, {"name": "Edit"}, {"name": "Write"},
]  # fmt: skip


def bash(command: str, result: str = "", **fields: Any) -> dict[str, Any]:
    return call("Bash", {"command": command}, result, **fields)


def edit(path: str, new: str = "x", **fields: Any) -> dict[str, Any]:
    arguments = {"file_path": path, "old_string": "y", "new_string": new}
    return call("Edit", arguments, "ok", **{"ok": True, **fields})


def read(path: str) -> dict[str, Any]:
    return call("Read", {"file_path": path}, "text", ok=True)


FAILS: dict[str, Any] = {"ok": False}
FINE: dict[str, Any] = {"ok": True}
LATER = agent("", bash("pytest", "3 passed in 1s", **FINE))
FAILED = bash("make", "error: x", **FAILS)
RED = bash("pytest", "1 failed", **FAILS)
REFUSED = bash("cp a /b", "Permission denied", **FAILS)
SLOW = bash("make all", "timed out", **FAILS)
MAIL = {"to": "Sam"}
EARLIER = (
    "EXISTS (SELECT 1 FROM features AS h WHERE h.trace_id = f.trace_id AND h.turn < f.turn AND "
)
NOT_FOUND = "bash: foo: command not found"

CASES: list[tuple[str, str, Turns, Turns]] = [
    ("A01", "command_not_found AND kind = 'shell'",
     [agent("", bash("foo --x", NOT_FOUND, **FAILS))],
     [agent("", bash("ls --help", "usage", **FINE))]),
    ("A02", "NOT tool_offered", [agent("", call("Nope", {}))], [agent("", bash("ls"))]),
    ("A03", "NOT arguments_valid OR invalid_arguments",
     [agent("", call("Bash", {"cmd": 1}))], [agent("", bash("ls"))]),
    ("A04", "not_found AND kind = 'read' AND len(paths) > 0",
     [agent("", call("Read", {"file_path": "/no"}, "File does not exist.", **FAILS))],
     [agent("", read("/yes"))]),
    ("A05", "kind IN ('edit', 'write') AND NOT read_before",
     [agent("", edit("a.py"))], [agent("", read("a.py")), agent("", edit("a.py"))]),
    ("A06", "is_destructive",
     [agent("", bash("cd x && rm -rf data", **FINE))], [agent("", bash("echo 'rm' > x", **FINE))]),
    ("A07", "holds_secret OR reads_secret_file",
     [agent("", bash("echo ghp_" + "a1" * 18))], [agent("", bash("echo hello"))]),
    ("A07", "shows_secret", [agent("the key is AKIA" + "ABCD" * 4)], [agent("no key")]),
    ("A08", "commits AND NOT inspected_since_change",
     [agent("", edit("a")), agent("", bash("git add -A && git commit -m x", **FINE))],
     [agent("", edit("a")), agent("", bash("git status", **FINE)), agent("", bash("git commit"))]),
    ("A09", "weakens_test AND after_failed_test",
     [agent("", RED), agent("", edit("tests/test_a.py", "@pytest.mark.skip"))],
     [agent("", RED), agent("", edit("src/a.py", "fix"))]),
    ("A10", f"kind IN ('edit', 'write') AND {EARLIER} h.states_restriction)",
     [human("Only look, don't touch anything"), agent("", edit("a"))],
     [human("Please do it"), agent("", edit("a"))]),
    ("A11", f"publishes AND NOT {EARLIER} (h.requests_effect OR h.approves))",
     [human("fix it"), agent("", bash("git push origin main", **FINE))],
     [human("fix it and push"), agent("", bash("git push origin main", **FINE))]),
    ("A12", "installs AND NOT manifest_seen_before",
     [agent("", bash("pip install requests", **FINE))],
     [agent("", read("pyproject.toml")), agent("", bash("pip install requests", **FINE))]),
    ("A13", "runs_long AND NOT in_background AND NOT has_time_limit",
     [agent("", bash("cd app && npm run dev", "timed out", **FAILS))],
     [agent("", bash("nohup npm run dev > log &", **FINE))]),
    ("F01", "equal_failures_before > 0",
     [agent("", FAILED), agent("", FAILED)], [agent("", FAILED), agent("", bash("make -k"))]),
    ("F02", "names_remedy",
     [agent("", bash("pip install x", "error: externally managed; use a venv", **FAILS))],
     [agent("", bash("pip install x", "use a venv", **FINE))]),
    ("F03", "failed AND names_log",
     [agent("", bash("ci", "failed, see build.log", **FAILS))],
     [agent("", bash("ci", "bad", **FAILS))]),
    ("F04", "not_delivered",
     [agent("", call("send_email", {"to": "a"}, "mailbox full", **FAILS))],
     [agent("", call("send_email", {"to": "a"}, "sent", **FINE))]),
    ("F05", "follows_failure AND kind = 'edit'",
     [agent("", bash("make", "x", **FAILS)), agent("", edit("b"))],
     [agent("", bash("make", "x", **FINE)), agent("", edit("b"))]),
    ("F06", "follows_failure AND masks_error",
     [agent("", bash("make", "x", **FAILS)), agent("", bash("make || true", **FINE))],
     [agent("", bash("make", "x", **FAILS)), agent("", bash("make -j1", **FINE))]),
    ("F06", "masks_error AND kind = 'edit'",
     [agent("", edit("a.py", "try:\n  f()\nexcept Exception:\n  pass"))],
     [agent("", edit("a.py", "try:\n  f()\nexcept KeyError as e:\n  log(e)"))]),
    ("F07", "follows_failure AND escalates",
     [agent("", REFUSED), agent("", bash("sudo cp a /b", **FINE))],
     [agent("", REFUSED), agent("", bash("ls /b", **FINE))]),
    ("F07", "denied",
     [agent("", bash("x", "blocked by policy", **FAILS))], [agent("", bash("x", "ok"))]),
    ("F08", "kind IN ('read', 'search') AND (failed OR is_empty)",
     [agent("", call("Read", {"file_path": "a"}, ""))], [agent("", read("a"))]),
    ("F09", "timed_out AND same_head_timed_out_before",
     [agent("", SLOW), agent("", SLOW)], [agent("", SLOW), agent("", bash("ls", "a", **FINE))]),
    ("F10", "is_text_only AND says_cannot AND last_result_failed",
     [agent("", bash("x", "no", **FAILS)), agent("I cannot do this.")],
     [agent("", bash("x", "yes", **FINE)), agent("I cannot do this.")]),
    ("C01", "claims_tests_pass AND tests_passed_since_edit IS NOT true",
     [agent("", edit("a")), agent("All tests pass now.")],
     [agent("", edit("a")), LATER, agent("All tests pass now.")]),
    ("C02", "claims_success AND last_result_failed",
     [agent("", bash("make", "error", **FAILS)), agent("Done, it works now.")],
     [agent("", bash("make", "ok", **FINE)), agent("Done, it works now.")]),
    ("C03", "claims_fix AND edits_before > 0 AND tests_since_edit = 0",
     [agent("", edit("a")), agent("The bug is fixed.")],
     [agent("", edit("a")), LATER, agent("The bug is fixed.")]),
    ("C04", "cites_source", [agent("See src/app.py:42 for it.")], [agent("I think so.")]),
    ("C05", "claims_delivery AND deliveries_before = 0",
     [agent("I sent the e-mail to Sam.")],
     [agent("", call("send_email", MAIL, "ok", **FINE)), agent("I sent the e-mail to Sam.")]),
]  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    made = TraceStore.create(tmp_path_factory.mktemp("features"))
    made.add(
        _run(f"{place}-{kind}", turns)
        for place, (_, _, bad, good) in enumerate(CASES)
        for kind, turns in (("bad", bad), ("good", good))
    )
    made.index()
    return made


def _run(name: str, turns: Turns) -> Trace:
    return run(name, *turns, agent={"name": "claude-code"}, tools=TOOLS)


@pytest.mark.parametrize("place", range(len(CASES)), ids=[f"{c[0]}-{c[1][:30]}" for c in CASES])
def test_a_family_is_found_where_it_is_and_nowhere_else(store: TraceStore, place: int) -> None:
    found = store.select(
        f"SELECT DISTINCT trace_id FROM features AS f WHERE ({CASES[place][1]}) "
        f"AND trace_id IN ('{place}-bad', '{place}-good')"
    )
    assert found.rows == ((f"{place}-bad",),)


def test_every_family_has_a_case_and_columns() -> None:
    assert {case[0] for case in CASES} == set(FAMILIES)
    served = {family for view in VIEWS.values() for column in view for family in column.serves}
    assert served == set(FAMILIES)


def test_cases_use_the_columns_that_were_made_for_the_family() -> None:
    serves = {column.name: column.serves for column in VIEWS["features"]}
    for family, sql, _, _ in CASES:
        used = {name for name in serves if re.search(rf"\b{name}\b", sql)}
        assert any(family in serves[name] for name in used), (family, used)


def only(folder: Any, columns: str, *turns: dict[str, Any]) -> list[Any]:
    """Return columns of the last row of a run's features."""
    made = TraceStore.create(folder)
    made.add([_run("one", list(turns))])
    made.index()
    rows = made.select(f"SELECT {columns} FROM features ORDER BY turn, call NULLS FIRST").rows
    return list(rows[-1])


PASSED = bash("pytest", "1 passed", **FINE)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], (0, 0, None)),
        ([bash("cat > f.py <<EOF\nx\nEOF", "", **FINE)], (1, 0, None)),
        ([bash("sed -i s/a/b/ f.py", "", **FINE), PASSED], (1, 1, True)),
        ([PASSED, bash("sed -i s/a/b/ f.py", "", **FINE)], (1, 0, None)),
        ([bash("sed -i s/a/b/ f && pytest", "1 passed", **FINE)], (1, 1, True)),
        ([bash("sed -i s/a/b/ f && pytest", "1 failed", **FAILS)], (1, 1, False)),
        ([bash("pytest; sed -i s/a/b/ f", "1 passed", **FINE)], (1, 0, None)),
        ([bash("pytest > out.txt; cat out.txt", "1 passed", **FINE)], (0, 1, True)),
        ([PASSED, bash("sed -i s/a/b/ none", "no such file", **FAILS)], (0, 1, True)),
        ([PASSED, bash("git add f && git commit -m x", "", **FINE)], (0, 1, True)),
        ([PASSED, edit("f"), bash("mise run test", "fine", **FINE)], (1, 1, None)),
    ],
)
def test_edits_in_a_shell_count_as_edits(
    tmp_path: Any, calls: Turns, expected: tuple[Any, ...]
) -> None:
    columns = "edits_before, tests_since_edit, tests_passed_since_edit"
    assert only(tmp_path, columns, agent("", *calls), agent("so")) == list(expected)


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ([], 1),
        ([bash("ls", "", **FINE)], 1),
        ([bash("cat > f <<EOF\nx\nEOF", "", **FINE)], 0),
        ([bash("pip install x", "", **FINE)], 0),
        ([bash("git commit -m x", "", **FINE)], 0),
        ([bash("pip install x", "no", **FAILS)], 1),
        ([bash("cd a && pip install x && make", "no", **FAILS)], 0),
        ([edit("f")], 0),
    ],
)
def test_equal_failures_end_with_a_change(tmp_path: Any, between: Turns, expected: int) -> None:
    turns = agent("", FAILED, *between, FAILED)
    assert only(tmp_path, "equal_failures_before", turns) == [expected]


def test_a_failing_call_that_changes_something_repeats_itself_all_the_same(tmp_path: Any) -> None:
    both = bash("sed -i s/a/b/ f && make", "error", **FAILS)
    assert only(tmp_path, "equal_failures_before", agent("", both, both, both)) == [2]


DESTRUCTIVE = [
    "rm -r data", "rm -rf data", "rm data -rf", "sudo rm -fR /x", "rm --recursive x", "rm *.log",
    "find . -name x -delete", "find . | xargs -0 rm", "find . -exec rm {} ;", "git reset --hard",
    "git -C a reset --hard HEAD~1", "git clean -fd", "git checkout -- .", "git checkout .",
    "git checkout -f main", "git restore f", "git branch -D x", "git push --force origin main",
    "git push -f", "git push origin +main", "git push origin :old", "git push --delete origin x",
    "git push --force-with-lease", "git stash clear", "psql -c 'DROP TABLE users'",
    "psql -c 'truncate users'", "mysql -e 'DELETE FROM users'", "mkfs.ext4 /dev/sda",
    "dd if=x of=/dev/sda", "kubectl -n a delete pod b", "terraform destroy", "aws s3 rm s3://x",
    "aws ec2 terminate-instances --ids i", "curl -X DELETE https://example.org/users",
    "docker volume rm x", "docker compose down -v", "redis-cli FLUSHALL", "gh repo delete x",
]  # fmt: skip
HARMLESS = [
    "rm notes.txt", "rm a && ls -r", "rm a; ls -rf", "rm a.txt b.txt", "git rm --cached f",
    "git reset HEAD f", "git checkout main",
    "git checkout -b x", "git push origin main", "git push -u origin main", "git stash",
    "ls -rf", "docker ps", "kubectl get pods", "aws s3 ls", "curl https://example.org",
    "git branch -d x", "npm install", "terraform plan", "dd --version", "format the text",
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "expected"),
    [*((text, True) for text in DESTRUCTIVE), *((text, False) for text in HARMLESS)],
)
def test_what_counts_as_destructive(command: str, expected: bool) -> None:
    assert ("is_destructive" in commands().found(command)) is expected


UNKNOWN_ARGUMENTS: dict[str, Any] = {"name": "Bash", "result": {"content": "x", "ok": False}}


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([UNKNOWN_ARGUMENTS], [None, None, None, None]),
        ([UNKNOWN_ARGUMENTS, UNKNOWN_ARGUMENTS], [None, None, None, None]),
        ([FAILED, UNKNOWN_ARGUMENTS], [None, None, None, None]),
        ([UNKNOWN_ARGUMENTS, FAILED], [None, 0, 0]),
        ([FAILED, FAILED], [True, 1, 1]),
        ([call("Bash", {}), call("Bash", {})], [True, 1, 0]),
        ([{**UNKNOWN_ARGUMENTS, "raw_arguments": "{"}] * 2, [True, 1, 1]),
    ],
    ids=["one", "two", "after-known", "before-known", "known", "none", "raw"],
)
def test_calls_whose_arguments_are_unknown_equal_none(
    tmp_path: Any, calls: Turns, expected: list[Any]
) -> None:
    columns = "call_key, repeats_previous, equal_calls_before, equal_failures_before"
    found = only(tmp_path, columns, agent("", *calls))
    assert found[-len(expected) :] == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, (None, None, None)),
        ({"content": "fine", "ok": True}, (False, None, None)),
        ({"content": "x", "ok": False}, (True, "source", None)),
        ({"content": "Traceback (most recent call last)", "ok": True}, (False, None, None)),
        ({"content": "x", "exit_code": 3}, (True, "exit_code", 3)),
        ({"content": "x", "exit_code": 0}, (False, None, 0)),
        ({"content": "out\nExit code: 127"}, (True, "text_exit_code", 127)),
        ({"content": '{"output": "", "exit_code": 0}'}, (False, None, 0)),
        ({"content": "make: *** error: no rule\nfatal: stop"}, (True, "pattern", None)),
        ({"content": "all well"}, (False, None, None)),
        ({"interrupted": True}, (True, "source", None)),
        ({"error": {"type": "Timeout", "message": "too long"}}, (True, "source", None)),
    ],
)
def test_how_a_failure_is_told(tmp_path: Any, result: Any, expected: tuple[Any, ...]) -> None:
    made = TraceStore.create(tmp_path)
    own = {"name": "Bash", "arguments": {"command": "make"}, "result": result}
    made.add([_run("one", [agent("", own)])])
    made.index()
    rows = made.select(
        "SELECT failed, failed_by, exit_code FROM features WHERE event = 'call'"
    ).rows
    assert rows == (expected,)


def test_arguments_that_were_read_are_valid_whatever_text_they_came_from() -> None:
    written = call("Bash", {"command": "ls"}, "a", ok=True, raw_arguments='{ "command": "ls" }')
    broken = {"name": "Bash", "raw_arguments": '{"command": ', "result": {"content": "no JSON"}}
    rows = rows_of_trace(run("a", agent("", written, broken), tools=TOOLS)).features
    assert [row["arguments_valid"] for row in rows if row["event"] == "call"] == [True, False]
