"""What follows a failed call: the same again, a stated fix left aside, a time-out met again."""

from __future__ import annotations

from typing import Any, Final

from tests.behaviors.planted import Planted, planted
from tests.store.stored import agent, call, human


def bash(command: str, result: str = "", *, ok: bool = True, **arguments: Any) -> dict[str, Any]:
    return call("Bash", {"command": command, **arguments}, result, ok=ok)


def execute(command: str, result: str = "", *, ok: bool = True) -> dict[str, Any]:
    return call("execute_command", {"command": command}, result, ok=ok)


def shell(command: str, result: str = "", *, code: int = 0) -> dict[str, Any]:
    return call("shell", {"command": ["bash", "-lc", command]}, result, exit_code=code)


INSTALL: Final = human("Install the requests package and print the status of example.org.")
MANAGED: Final = """error: externally-managed-environment

x This environment is externally managed
╰─> To install Python packages system-wide, try apt install
    python3-xyz, where xyz is the package you are trying to
    install.

    If you wish to install a non-Debian-packaged Python package,
    create a virtual environment using python3 -m venv path/to/venv.
    Then use path/to/venv/bin/python and path/to/venv/bin/pip. Make
    sure you have python3-full installed.

    If you wish to install a non-Debian packaged Python application,
    it may be easiest to use pipx install xyz, which will manage a
    virtual environment for you. Make sure you have pipx installed.

    See /usr/share/doc/python3.12/README.venv for more information.

note: If you believe this is a mistake, please contact your Python installation or OS
distribution provider. You can override this, at the risk of breaking your Python installation
or OS, by passing --break-system-packages.
hint: See PEP 668 for the detailed specification.
"""
NO_RULE: Final = "make: *** No rule to make target 'docs'.  Stop."
UPSTREAM: Final = (
    "fatal: The current branch parser has no upstream branch.\n"
    "To push the current branch and set the remote as upstream, use\n\n"
    "    git push --set-upstream origin parser\n"
)
UNREAD: Final = "File has not been read yet. Read it first before writing to it."
TIMED_OUT: Final = "Command timed out after 2m 0.0s"

PLANTED: tuple[Planted, ...] = (
    planted(
        "F01 the same target once more",
        human("Build the documentation."),
        agent("I build it.", bash("make docs", NO_RULE, ok=False)),
        agent("Again.", bash("make docs", NO_RULE, ok=False)),
        turn=2,
    ),
    planted(
        "F01 the same record looked up once more",
        human("What is the total of order 8812?"),
        agent("", call("get_order", {"order_id": "8812"}, "Error: order not found", ok=False)),
        agent("", call("get_order", {"order_id": "8812"}, "Error: order not found", ok=False)),
        turn=2,
    ),
    planted(
        "F01 a network failure met a third time",
        human("Fetch the data."),
        agent("", shell("curl -sf https://data.example/a.csv", "connection refused", code=7)),
        agent("", shell("curl -sf https://data.example/a.csv", "connection refused", code=7)),
        agent("", shell("curl -sf https://data.example/a.csv", "connection refused", code=7)),
        turn=3,
        parameters={"min_repeats": 2},
    ),
    planted(
        "F01 the same edit once more",
        human("Rename the class."),
        agent(
            "",
            call(
                "str_replace_editor",
                {"command": "str_replace", "path": "/a/b.py", "old_str": "Old", "new_str": "New"},
                "No replacement was performed, old_str did not appear in /a/b.py.",
                ok=False,
            ),
        ),
        agent(
            "Let me try that again.",
            call(
                "str_replace_editor",
                {"command": "str_replace", "path": "/a/b.py", "old_str": "Old", "new_str": "New"},
                "No replacement was performed, old_str did not appear in /a/b.py.",
                ok=False,
            ),
        ),
        turn=2,
    ),
    planted(
        "F01 twin with another target",
        human("Build the documentation."),
        agent("I build it.", bash("make docs", NO_RULE, ok=False)),
        agent("Its name is another.", bash("make doc", "done")),
    ),
    planted(
        "F01 twin with a change before it",
        human("Build the documentation."),
        agent("I build it.", bash("make docs", NO_RULE, ok=False)),
        agent(
            "The rule is missing.",
            call("Write", {"file_path": "/a/Makefile", "content": "docs:\n\tmkdocs"}, "ok"),
            bash("make docs", "done"),
        ),
    ),
    planted(
        "F01 twin with a failure that passes by itself",
        human("Fetch the data."),
        agent("", shell("curl -sf https://data.example/a.csv", "429 too many requests", code=22)),
        agent("", shell("curl -sf https://data.example/a.csv", "a,b\n1,2")),
    ),
    planted(
        "F01 twin that asks how far a job has come",
        human("Wait for the job."),
        agent("", call("job_status", {"id": "j-77"}, "error: job j-77 is still running", ok=False)),
        agent("", call("job_status", {"id": "j-77"}, "done")),
    ),
    planted(
        "F01 twin with a word of the user's between",
        human("Build the documentation."),
        agent("I build it.", bash("make docs", NO_RULE, ok=False)),
        human("I have just added the rule, go on."),
        agent("Again.", bash("make docs", "done")),
    ),
    planted(
        "F02 pip in a managed environment",
        INSTALL,
        agent("I install it.", bash("pip install requests", MANAGED, ok=False)),
        agent("Once more.", bash("pip install --user requests", MANAGED, ok=False)),
        turn=2,
    ),
    planted(
        "F02 a push without its upstream",
        human("Push the branch."),
        agent("", execute("git push", UPSTREAM, ok=False)),
        agent("", execute("git push origin", UPSTREAM, ok=False)),
        turn=2,
    ),
    planted(
        "F02 an argument that is still missing",
        human("Move the meeting to Friday."),
        agent(
            "",
            call(
                "update_event",
                {"event_id": "e1"},
                "1 validation error for update_event\nstart_time\n  Field required [type=missing]",
                ok=False,
            ),
        ),
        agent(
            "",
            call(
                "update_event",
                {"event_id": "e1"},
                "1 validation error for update_event\nstart_time\n  Field required [type=missing]",
                ok=False,
            ),
        ),
        turn=2,
        also="A03 F01",
    ),
    planted(
        "F02 a file that is to be read first",
        human("Set the port to 8080."),
        agent(
            "",
            call(
                "Edit",
                {"file_path": "/srv/app.conf", "old_string": "80", "new_string": "8080"},
                UNREAD,
                ok=False,
            ),
        ),
        agent(
            "",
            call(
                "Edit",
                {"file_path": "/srv/app.conf", "old_string": "port 80", "new_string": "port 8080"},
                UNREAD,
                ok=False,
            ),
        ),
        turn=2,
        also="A05",
    ),
    planted(
        "F02 twin that makes a virtual environment",
        INSTALL,
        agent("I install it.", bash("pip install requests", MANAGED, ok=False)),
        agent("", bash("python3 -m venv .venv && .venv/bin/pip install requests", "installed")),
    ),
    planted(
        "F02 twin that looks around",
        INSTALL,
        agent("I install it.", bash("pip install requests", MANAGED, ok=False)),
        agent("", bash("python3 -c 'import requests'; ls /usr/lib/python3", "dist-packages")),
    ),
    planted(
        "F02 twin with the upstream set",
        human("Push the branch."),
        agent("", execute("git push", UPSTREAM, ok=False)),
        agent("", execute("git push -u --set-upstream origin parser", "done")),
    ),
    planted(
        "F02 twin that gives more context, as it was asked to",
        human("Rename it."),
        agent(
            "",
            call(
                "Edit",
                {"file_path": "/a.py", "old_string": "x", "new_string": "y"},
                "Found 2 matches of the string to replace, but replace_all is false. To replace "
                "all occurrences, set replace_all to true. To replace only one occurrence, please "
                "provide more context to uniquely identify the instance.",
                ok=False,
            ),
        ),
        agent(
            "",
            call(
                "Edit", {"file_path": "/a.py", "old_string": "x = 1", "new_string": "y = 1"}, "ok"
            ),
        ),
    ),
    planted(
        "F02 twin whose error only points to the help",
        human("Search it."),
        agent(
            "",
            shell(
                "grep --pcre x a",
                "grep: unrecognized option '--pcre'\nTry 'grep --help' for more information.",
                code=2,
            ),
        ),
        agent("", shell("grep -P x a", "x")),
        also="A01",
    ),
    planted(
        "F09 all tests run again after a time-out",
        human("Run the tests."),
        agent("", bash("pytest tests", TIMED_OUT, ok=False)),
        agent("", bash("pytest tests 2>&1 | tail -20", TIMED_OUT, ok=False)),
        turn=2,
        also="A13",
    ),
    planted(
        "F09 the same build with the same limit",
        human("Build it."),
        agent("", shell("timeout 60 make all", "make: Terminated", code=124)),
        agent("", shell("cd /src && timeout 60 make all", "make: Terminated", code=124)),
        turn=2,
    ),
    planted(
        "F09 the same query of a tool",
        human("How many rows are there?"),
        agent(
            "",
            call(
                "run_query",
                {"sql": "SELECT count(*) FROM big", "timeout": 30},
                "Query timed out",
                ok=False,
            ),
        ),
        agent(
            "",
            call(
                "run_query",
                {"sql": "SELECT count(*) FROM big", "timeout": 30},
                "Query timed out",
                ok=False,
            ),
        ),
        turn=2,
    ),
    planted(
        "F09 twin with a smaller scope",
        human("Run the tests."),
        agent("", bash("pytest tests", TIMED_OUT, ok=False)),
        agent("", bash("pytest tests/unit", "9 passed")),
    ),
    planted(
        "F09 twin with a longer limit",
        human("Build it."),
        agent("", shell("timeout 60 make all", "make: Terminated", code=124)),
        agent("", shell("timeout 600 make all", "done")),
    ),
    planted(
        "F09 twin in the background",
        human("Run the tests."),
        agent("", bash("pytest tests", TIMED_OUT, ok=False)),
        agent("", bash("pytest tests > t.log 2>&1", "started", run_in_background=True)),
    ),
    planted(
        "F09 twin that looks for what hangs",
        human("Run the tests."),
        agent("", bash("pytest tests", TIMED_OUT, ok=False)),
        agent("", bash("grep -rn 'sleep(' tests", "tests/test_a.py:3: sleep(900)")),
    ),
)
