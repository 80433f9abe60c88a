"""The rules about skipping, seen from a pytest run of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SKIPS = """
import pytest

@pytest.mark.skip(reason="data: tau-bench absent")
def test_marked(): ...

@pytest.mark.parametrize("number", [1, 2])
def test_inside(number):
    pytest.skip("browser: none installed")

@pytest.mark.xfail(reason="data: expected to fail", strict=True)
def test_expected_failure():
    raise ValueError

def test_fine(): ...
"""

MODULE_SKIP = """
import pytest

pytest.skip("data: tau-bench absent", allow_module_level=True)
"""

SHARED_DATA = """
from tests.support.shared_data import shared_data

def test_needs_data():
    shared_data("no-such-set")
"""


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("TRACEDANCE_REQUIRE", raising=False)


def run(pytester: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text())
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_skips_are_counted_by_reason(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    result = run(pytester, SKIPS, *options)

    result.assert_outcomes(passed=1, skipped=3, xfailed=1)
    result.stdout.fnmatch_lines(
        ["*skips by reason*", "     2  browser: none installed", "     1  data: tau-bench absent"]
    )
    assert result.ret == 0


def test_a_run_without_skips_has_no_table(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_fine(): ...")

    result.stdout.no_fnmatch_line("*skips by reason*")


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_required_subject_must_not_be_skipped(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("TRACEDANCE_REQUIRE", "service, data")

    result = run(pytester, SKIPS, *options)

    result.assert_outcomes(passed=1, errors=1, skipped=2, xfailed=1)
    result.stdout.fnmatch_lines(["*TRACEDANCE_REQUIRE lists 'data': data: tau-bench absent*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_required_subject_must_not_be_skipped_by_a_whole_module(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("TRACEDANCE_REQUIRE", "data")

    result = run(pytester, MODULE_SKIP, *options)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*TRACEDANCE_REQUIRE lists 'data': data: tau-bench absent*"])
    assert result.ret not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def test_absent_shared_data_skips_with_its_subject(pytester: pytest.Pytester) -> None:
    result = run(pytester, SHARED_DATA)

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["     1  data: no-such-set absent"])


def test_absent_shared_data_fails_when_required(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEDANCE_REQUIRE", "data")

    run(pytester, SHARED_DATA).assert_outcomes(failed=1)
