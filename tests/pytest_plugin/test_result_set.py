"""One result set for one run of pytest, however many workers there are."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tracedance_sdk.grading import ResultRow, ResultSet, read_results

SHELF = """
import tracedance_sdk as td

shelf = {}
SPEC = {"id": "put", "outcomes": [{"expected_state": {"last": {"$range": {"max": 6}}}}]}

@td.tool
def put(number: int) -> int:
    shelf["last"] = number
    return number
"""
EIGHT = """
import pytest
from shelf import SPEC, put, shelf
from tracedance_sdk.pytest_plugin import assert_passes

@pytest.mark.xdist_group("shelf")
@pytest.mark.parametrize("number", range(8))
def test_put(tracedance_recorder, number):
    with tracedance_recorder(state=lambda: dict(shelf), group="shelf") as recorder:
        put(number)
    assert_passes(recorder.trace, SPEC)
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(shelf=SHELF)
    return pytester


def written(pytester: pytest.Pytester) -> ResultSet:
    return read_results(pytester.path / "out")


def told(row: ResultRow) -> tuple[str | None, int, str | None]:
    verdict = None if row.verdict is None else row.verdict.value
    return row.subject.instance_id, row.sample, verdict


@pytest.mark.parametrize("options", [["-n0"], ["-n3"], ["-n2", "--dist=loadgroup"]], ids=str)
def test_eight_tests_give_one_result_set_with_one_fail(
    project: pytest.Pytester, options: list[str]
) -> None:
    project.makepyfile(test_eight=EIGHT)

    result = project.runpytest(*options, "--tracedance-out=out")

    result.assert_outcomes(passed=7, failed=1)
    assert sorted(path.name for path in (project.path / "out").iterdir()) == [
        "manifest.json",
        "rows.jsonl",
    ]
    assert [told(row) for row in written(project).rows] == [
        (f"test_eight.py::test_put[{number}]", 0, "fail" if number == 7 else "pass")
        for number in range(8)
    ]
    result.stdout.fnmatch_lines(
        ["8 graded: 1 fail, 7 pass", "1 trace kept in .tracedance/run-*", "8 rows written to out"]
    )


def test_a_row_names_the_trace_the_group_and_the_evidence(project: pytest.Pytester) -> None:
    project.makepyfile(test_eight=EIGHT)

    project.runpytest("--tracedance-out=out", "-k", "test_put[7]")

    (row,) = written(project).rows
    (kept,) = (project.path / ".tracedance").glob("run-*/*.json")
    assert row.subject.trace_id == json.loads(kept.read_text())["id"]
    assert row.group == "shelf"
    assert row.grader == "spec:put"
    assert "expected" in str(row.evidence)


def test_a_later_run_replaces_the_result_set(project: pytest.Pytester) -> None:
    project.makepyfile(test_eight=EIGHT)
    project.runpytest("--tracedance-out=out")

    project.runpytest("--tracedance-out=out", "-k", "test_put[1]")

    assert len(written(project).rows) == 1


def test_every_assertion_and_every_attempt_has_rows_of_its_own(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            for _ in range(2):
                for report in runtestprotocol(item, nextitem=nextitem, log=False):
                    item.ihook.pytest_runtest_logreport(report=report)
            return True
        """
    )
    project.makepyfile(
        test_two="""
        from shelf import SPEC
        from tracedance_sdk.pytest_plugin import assert_passes
        from tracedance_sdk.trace import Trace

        def test_two():
            assert_passes(Trace(id="one", final_state={"last": 1}), SPEC)
            assert_passes(Trace(id="two", final_state={"last": 9}), SPEC, allow=["fail"])
        """
    )

    project.runpytest("--tracedance-out=out").assert_outcomes(passed=2)

    assert [told(row) for row in written(project).rows] == [
        ("test_two.py::test_two", 0, "pass"),
        ("test_two.py::test_two", 1, "pass"),
        ("test_two.py::test_two#2", 0, "fail"),
        ("test_two.py::test_two#2", 1, "fail"),
    ]


def test_a_test_that_fails_before_it_grades_is_counted_as_left_out(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        test_early="""
        from shelf import put

        def test_early(tracedance_recorder):
            with tracedance_recorder():
                put(1)
            raise ValueError("too early")
        """
    )

    project.runpytest("--tracedance-out=out").assert_outcomes(failed=1)

    result = written(project)
    assert result.rows == ()
    assert result.manifest["exclusions"] == {"the test failed before it graded a trace": 1}
    assert result.manifest["versions"].keys() == {"tracedance-sdk", "pytest", "python"}


def test_a_folder_with_other_things_is_refused_before_any_test_runs(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(test_eight=EIGHT)
    (project.path / "out").mkdir()
    (project.path / "out" / "thesis.txt").write_text("mine")

    result = project.runpytest("--tracedance-out=out")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--tracedance-out: *out' holds 'thesis.txt', which is no part*"])
    assert [path.name for path in (project.path / "out").iterdir()] == ["thesis.txt"]


def test_a_result_set_that_cannot_be_written_is_an_error_of_the_run(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        test_spoiled="""
        from pathlib import Path

        def test_spoiled():
            Path("out").write_text("in the way")
        """
    )

    result = project.runpytest("--tracedance-out=out")

    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stdout.fnmatch_lines(["problem: no result set: *out*"])


def test_verdicts_are_counted_without_a_result_set(project: pytest.Pytester) -> None:
    project.makepyfile(test_eight=EIGHT)

    result = project.runpytest("-n", "2")

    result.stdout.fnmatch_lines(["8 graded: 1 fail, 7 pass"])
    assert Counter(path.name for path in project.path.iterdir())["out"] == 0


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--collect-only"], id="collect-only"),
        pytest.param(["-k", "no_such_test"], id="nothing-matches"),
        pytest.param(["-n2", "-k", "no_such_test"], id="nothing-matches-xdist"),
        pytest.param(["test_broken.py"], id="collection-error"),
        pytest.param(["test_skipped.py"], id="all-skipped"),
    ],
)
def test_a_run_in_which_no_test_ran_leaves_the_older_result_set(
    project: pytest.Pytester, options: list[str]
) -> None:
    project.makepyfile(
        test_eight=EIGHT,
        test_broken="import no_such_module_at_all",
        test_skipped="import pytest\n\n@pytest.mark.skip\ndef test_skipped():\n    pass\n",
    )
    project.runpytest("--tracedance-out=out", "test_eight.py")
    before = written(project)
    assert len(before.rows) == 8

    result = project.runpytest("--tracedance-out=out", *options)

    assert written(project) == before
    said = "no test ran: out is left as it is" in result.stdout.str()
    assert said is ("--collect-only" not in options)


def test_a_run_in_which_no_test_ran_makes_no_folder(project: pytest.Pytester) -> None:
    project.makepyfile(test_eight=EIGHT)
    project.runpytest("--tracedance-out=out", "--collect-only")
    assert not (project.path / "out").exists()


def test_a_folder_that_is_not_there_is_not_said_to_stay(project: pytest.Pytester) -> None:
    result = project.runpytest("--tracedance-out=res", "-k", "no_such_test")
    assert "no test ran: res is not written" in result.outlines
    assert not (project.path / "res").exists()
