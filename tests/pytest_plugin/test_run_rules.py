"""What the marker may say: what cannot be used is an error of collection, in one line."""

from __future__ import annotations

import pytest

from tracedance_sdk.pytest_plugin.run_rules import RunRule


@pytest.mark.parametrize(
    ("rate", "runs", "n_needed"),
    [(0.7, 10, 7), (0.8, 10, 8), (0.29, 100, 29), (1.0, 4, 4), (1, 4, 4), (0.01, 10, 1)],
)
def test_the_runs_that_have_to_pass_are_counted_from_the_rate_as_written(
    rate: float, runs: int, n_needed: int
) -> None:
    assert RunRule(runs, rate).n_needed == n_needed


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("runs=0", "runs=0 is no whole number from 1 to 1000"),
        ("runs=1001", "runs=1001 is no whole number"),
        ("runs=True", "runs=True is no whole number"),
        ("runs=2.5", "runs=2.5 is no whole number"),
        ("runs='3'", "runs='3' is no whole number"),
        ("runs=3, min_pass_rate=2", "min_pass_rate=2 is no number above 0 and up to 1"),
        ("runs=3, min_pass_rate=0", "min_pass_rate=0 is no number above 0"),
        ("runs=3, min_pass_rate=float('nan')", "min_pass_rate=nan is no number above 0"),
        ("runs=3, min_pass_rate='80%'", "min_pass_rate='80%' is no number"),
        ("min_pass_rate=0.8", "min_pass_rate without runs; say how often"),
        ("confidence=0.9", "confidence without runs; say how often"),
        ("runs=9, min_pass_rate=0.5, confidence=95", "confidence=95 is no number between 0.5"),
        ("runs=9, confidence=0.95", "no number of runs shows a pass rate of 1; give min_pass_rate"),
        ("run=3", "'run' is no setting of runs and none of TraceRecorder's; did you mean 'runs'?"),
        ("runs=3, task='refund'", "'task' is no setting of runs and none of TraceRecorder's"),
        ("'refund'", "takes keyword arguments only, got ('refund',)"),
        ("runs=10**5000", "runs=<int> is no whole number"),
        ("runs=[3]", "runs=[3] is no whole number"),
        ("runs=3, min_pass_rate=True", "min_pass_rate=True is no number"),
        ("runs=3, min_pass_rate=10**400", "... is no number above 0 and up to 1"),
        ("runs=9, min_pass_rate=0.5, confidence='high'", "confidence='high' is no number"),
        ("runs=9, min_pass_rate=0.5, confidence=True", "confidence=True is no number"),
        ("metadata='text'", "metadata='text' is no mapping of names to values"),
        ("task_id=['x']", "task_id=['x'] is no text"),
        ("task_id=''", "task_id='' is empty"),
        ("group=7", "group=7 is no text"),
        ("agent=5", "agent=5 is neither a name nor an Agent"),
        ("tools=3", "tools=3 is no list of tool definitions"),
        ("journal=5", "journal=5 is no folder's path"),
        ("state=3", "no state can be taken from 3"),
        ("content='some'", "content='some' is neither 'on' nor 'off'"),
        ("runs=2, metadata=3", "metadata=3 is no mapping"),
        ("task_id=['\\x1b[31m\\n']", "task_id=['\\x1b[31m\\n'] is no text"),
    ],
)
def test_a_marker_that_cannot_be_used_is_one_error_of_collection(
    pytester: pytest.Pytester, settings: str, said: str
) -> None:
    pytester.makepyfile(
        test_wrong=f"""
        import pytest

        @pytest.mark.tracedance({settings})
        def test_agent(): ...

        def test_other(): ...
        """
    )

    result = pytester.runpytest()

    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    (line,) = [line for line in result.outlines if line.startswith("@pytest.mark.tracedance")]
    assert "test_wrong.py::test_agent" in line
    assert said in line


def test_what_fixtures_make_is_checked_when_it_is_there(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        TOOL = {"name": "look", "parameters": {"type": "object"}}

        @pytest.fixture(autouse=True)
        def made(tmp_path, monkeypatch):
            monkeypatch.chdir(tmp_path)
            (tmp_path / "box").mkdir()

        @pytest.mark.tracedance(state="box", tools=iter([TOOL]), metadata={"a": 1})
        def test_agent(tracedance_recorder):
            with tracedance_recorder() as recorder:
                pass
            assert [tool.name for tool in recorder.trace.tools] == ["look"]

        def test_call(tracedance_recorder):
            with pytest.raises(ValueError, match="metadata='text' is no mapping"):
                tracedance_recorder(metadata="text")
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)


def test_a_worker_of_xdist_tells_it_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.tracedance(runs=0)
        def test_agent(): ...
        """
    )

    result = pytester.runpytest("-n1")

    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["@pytest.mark.tracedance on *: runs=0 is no whole number*"])


def test_every_wrong_marker_of_a_file_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.tracedance(runs=0)
        def test_one(): ...

        minus = pytest.mark.tracedance(runs=-1)

        @pytest.mark.parametrize("x", [1, pytest.param(2, marks=minus)])
        def test_two(x): ...
        """
    )

    result = pytester.runpytest()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_one*: runs=0 is no*", "*test_two*2*': runs=-1 is no*"])


def test_a_wrong_marker_given_after_collection_is_an_error_of_its_test(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.tracedance(runs=0))
        """
    )
    pytester.makepyfile("def test_one(): ...\n\ndef test_two(): ...\n")

    result = pytester.runpytest()

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["@pytest.mark.tracedance*: runs=0 is no whole number*"])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "class TestCase(unittest.TestCase):\n    def test_agent(self): ...\n",
            "TestCase is a unittest.TestCase, which runs once; write a plain class",
        ),
        ("def test_agent(subtests): ...\n", "a test that uses subtests runs once; *"),
    ],
    ids=["unittest", "subtests"],
)
def test_what_cannot_run_several_times_is_refused(
    pytester: pytest.Pytester, source: str, said: str
) -> None:
    head = "import unittest, pytest\n\npytestmark = pytest.mark.tracedance(runs=2)\n\n"
    pytester.makepyfile(head + source)

    result = pytester.runpytest()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"@pytest.mark.tracedance on '*test_agent': {said}"])


FEW = """
import pytest

@pytest.mark.tracedance(runs=19, min_pass_rate=0.8, confidence=0.95)
def test_agent(): ...
"""


def test_too_few_runs_to_ever_pass_are_a_warning(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FEW)

    result = pytester.runpytest("--collect-only", "-W", "always")

    result.stdout.fnmatch_lines(
        ["*TooFewRuns: runs=19 can never show a pass rate of 0.8 * that takes 20 runs, all of*"]
    )


def test_enough_runs_are_no_warning(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FEW.replace("19", "20"))
    pytester.runpytest("-W", "error").assert_outcomes(passed=1)


def test_a_warning_that_is_an_error_is_an_error_of_collection(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FEW)

    result = pytester.runpytest("-W", "error::tracedance_sdk.pytest_plugin.TooFewRuns")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["runs=19 can never show*"])


def test_the_warning_can_be_filtered(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FEW)
    filtered = pytester.runpytest("-W", "ignore::tracedance_sdk.pytest_plugin.TooFewRuns")
    assert "can never show" not in filtered.stdout.str()
    filtered.stdout.fnmatch_lines(["* 1 inconclusive in *"])
