"""Shell commands taken apart."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.store.shell import (
    LONGEST,
    MOST_COMMANDS,
    command_text,
    head_of,
    paths_in,
    split_commands,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls", ["ls"]),
        ("a && b || c; d | e & f\ng", ["a", "b", "c", "d", "e", "f", "g"]),
        (
            "cd app && CI=1 FOO='a b' npm test 2>&1 | tail -5",
            ["cd app", "npm test 2>&1", "tail -5"],
        ),
        ("echo 'a && b' \"c; d\" e\\;f", ["echo 'a && b' \"c; d\" e\\;f"]),
        ("cmd >out 2>&1 && next", ["cmd >out 2>&1", "next"]),
        ("cmd &> all", ["cmd &> all"]),
        ("a |& b", ["a |& b"]),
        ("cat <<EOF > f\na && b\nEOF\nls", ["cat <<EOF > f", "ls"]),
        ("cat <<'X' && ls\n; rm -rf /\nX\n", ["cat <<'X'", "ls"]),
        ("cat <<EOF\nnever closed; rm", ["cat <<EOF"]),
        ("wc <<< word; ls", ["wc <<< word", "ls"]),
        ("# comment; rm\nls # more && x", ["ls"]),
        ("echo a#b; ls", ["echo a#b", "ls"]),
        ("(cd x; make)", ["cd x", "make"]),
        ("{ cd x; make; }", ["cd x", "make"]),
        ("echo $(date)", ["echo $(date)"]),
        ("env A=1 python x.py", ["python x.py"]),
        ("A=1", ["A=1"]),
        ("echo 'never closed; ls", ["echo 'never closed", "ls"]),
        ('echo "never \\" closed; ls', ['echo "never \\" closed', "ls"]),
        ("  \n ;; && ", []),
        ("", []),
    ],
)
def test_commands_are_split_where_a_shell_would(text: str, expected: list[str]) -> None:
    assert split_commands(text) == expected


@given(st.text(alphabet="ab '\"\\;|&\n<>#()=E$`", max_size=60))
def test_no_text_makes_splitting_fail(text: str) -> None:
    found = split_commands(text)
    assert len(found) <= MOST_COMMANDS
    assert all(found)
    assert all(isinstance(head_of(command), str) for command in found)


@pytest.mark.parametrize(
    "piece",
    ['"', "'", '\\"', "a ", "<<E ", "\n<<E\n", "A=1 ", "(", "#", "a.", "a/", "a+", "/", "-a"],
)
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    text = piece * (LONGEST // len(piece))
    started = time.perf_counter()
    for command in split_commands(text):
        head_of(command)
    paths_in(text)
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"command": "ls"}, "ls"),
        ({"cmd": ["bash", "-lc", "a | b"]}, "a | b"),
        ({"command": ["git", "commit", "-m", "a b"]}, "git commit -m 'a b'"),
        ({"command": 7, "script": "x"}, "x"),
        ({"command": []}, None),
        ("ls -l", "ls -l"),
        (None, None),
        ([1], None),
    ],
)
def test_the_command_of_a_call_is_found(arguments: object, expected: str | None) -> None:
    assert command_text(arguments) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -l", "ls"),
        ("/usr/bin/git -C app -c x=y commit -m z", "git commit"),
        ("npm --silent run", "npm run"),
        ("git", "git"),
        ("git --version", "git"),
        ("", ""),
    ],
)
def test_the_head_of_a_command(command: str, expected: str) -> None:
    assert head_of(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat /etc/hosts ./a/b.py setup.py", ["/etc/hosts", "./a/b.py", "setup.py"]),
        ("cat ~/x/y.log ../up/file", ["~/x/y.log", "../up/file"]),
        ("curl https://example.org/a/b", []),
        ("echo hello", []),
    ],
)
def test_paths_in_a_command(command: str, expected: list[str]) -> None:
    assert paths_in(command) == expected
