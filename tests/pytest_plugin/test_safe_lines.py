"""What an agent or a test wrote moves no cursor and renames no window in the plugin's lines."""

from __future__ import annotations

import re

import pytest

EVIL = r"\x1b[2J\x1b]0;owned\x07\u202eevil\x9b1m"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")

PLAIN = f"""
import pytest
import tracedance_sdk as td
from tracedance_sdk.pytest_plugin import Undecided, assert_passes

EVIL = "{EVIL}"
TWICE = pytest.mark.tracedance(runs=2)
"""

TESTS = {
    "failing": "@TWICE\ndef test_it():\n    pytest.fail(EVIL, pytrace=False)\n",
    "asserting": "@TWICE\ndef test_it():\n    assert not EVIL\n",
    "undecided": "@TWICE\ndef test_it():\n    raise Undecided(EVIL)\n",
    "setup": """
@pytest.fixture
def broken():
    raise ValueError(EVIL)

@TWICE
def test_it(broken): ...
""",
    "id": """
@TWICE
@pytest.mark.parametrize("x", [1], ids=[EVIL])
def test_it(x):
    raise Undecided(EVIL)
""",
    "graded": """
@TWICE
def test_it(tracedance_recorder):
    with tracedance_recorder(task_id=EVIL, agent=EVIL) as recorder:
        with recorder.call(EVIL, {EVIL: EVIL}) as call:
            call.result = EVIL
    wanted = {"action": EVIL, "matches": {EVIL: "other"}}
    assert_passes(recorder.trace, [{"type": "required_actions", "id": "x", "actions": [wanted]}])
""",
    "marker": """
@pytest.mark.tracedance(task_id=[EVIL])
def test_it(): ...
""",
    "setting": """
@pytest.mark.tracedance(**{EVIL: 1})
def test_it(): ...
""",
}


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("options", [(), ("-v", "--tb=no", "-rA"), ("--color=yes", "--tb=no")])
def test_nothing_that_a_terminal_obeys_is_in_a_line_of_ours(
    pytester: pytest.Pytester, name: str, options: tuple[str, ...]
) -> None:
    pytester.makepyfile(PLAIN + TESTS[name])

    result = pytester.runpytest(*options)

    assert result.ret != 0
    text = re.sub("\x1b\\[[0-9;]*m", "", result.stdout.str()) if "--color=yes" in options else ""
    lines = (text or result.stdout.str()).split("\n")
    # What pytest shows of any test: the line of the error in its traceback.
    ours = [line for line in lines if not line.startswith("E  ")]
    assert not [line for line in ours if UNSAFE.search(line)]
    told = "\n".join(ours)
    assert EVIL.removesuffix("m")[-10:] in told or "--tb=no" in options


def test_a_folder_of_traces_is_shown_safely(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(tracedance_recorder):
            with tracedance_recorder() as recorder:
                pass
            assert False
        """
    )
    result = pytester.runpytest("--tracedance-dir=a\x1b[2Jb")
    assert not UNSAFE.search(result.stdout.str())
    result.stdout.fnmatch_lines(["1 trace kept in a\\x1b*2Jb/run-*"])


def test_colours_of_pytest_are_left_out_of_a_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PLAIN + "@TWICE\ndef test_it():\n    assert {'a': 1} == {'a': 2}\n")
    result = pytester.runpytest("--color=yes")
    (line,) = [line for line in result.outlines if line.startswith("run 1 failed: ")]
    assert line == "run 1 failed: AssertionError: assert {'a': 1} == {'a': 2}; Differing items:"
