"""Tests that run several times, seen by running pytest on small projects."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from tracedance_sdk.grading import read_results

HEAD = """
import itertools
import pytest
import tracedance_sdk as td
from tracedance_sdk.pytest_plugin import Undecided, assert_passes

numbers = itertools.count(1)
"""


Write = Callable[[str], None]


@pytest.fixture
def write(pytester: pytest.Pytester) -> Write:
    """Return how to write the one file of tests."""

    def write_file(source: str) -> None:
        pytester.makepyfile(test_agent=HEAD + source)

    return write_file


def said(result: pytest.RunResult, start: str) -> list[str]:
    return [line.strip() for line in result.outlines if line.strip().startswith(start)]


FLAKY = """
@pytest.mark.tracedance(runs=10, min_pass_rate=0.8)
def test_flaky():
    number = next(numbers)
    print("this is", number)
    assert number not in {failing}, f"number {{number}} is odd"
"""


@pytest.mark.parametrize(
    ("failing", "outcome", "table"),
    [
        ((), "passed", ["8 of 8 runs passed; 8 of 10 had to", "passed: run 1-8"]),
        ((1, 4), "passed", ["8 of 10 runs passed; 8 of 10 had to", "run 4 failed: *4 is odd*"]),
        ((1, 4, 5), "failed", ["2 of 5 runs passed; 8 of 10 had to", "passed: run 2-3"]),
    ],
    ids=["all-pass", "enough-pass", "too-many-fail"],
)
def test_runs_stop_as_soon_as_the_rest_cannot_change_the_outcome(
    pytester: pytest.Pytester,
    write: Write,
    failing: tuple[int, ...],
    outcome: str,
    table: list[str],
) -> None:
    write(FLAKY.format(failing=failing))

    result = pytester.runpytest("-rP", "--junitxml=junit.xml")

    result.assert_outcomes(**{outcome: 1})
    assert result.ret == (outcome == "failed")
    result.stdout.fnmatch_lines(["*tracedance runs*", table[0], "pass rate *", *table[1:]])
    (case,) = ET.parse(pytester.path / "junit.xml").iter("testcase")
    assert [node.tag for node in case if node.tag != "system-out"] == (
        ["failure"] if outcome == "failed" else []
    )


def test_a_failing_test_shows_its_first_failing_run_whole_and_the_others_in_a_line(
    pytester: pytest.Pytester,
    write: Write,
) -> None:
    write(FLAKY.format(failing=(2, 4, 5)))

    result = pytester.runpytest()

    assert said(result, "E ") == [
        "E       AssertionError: number 2 is odd",
        "E       assert 2 not in (2, 4, 5)",
    ]
    result.stdout.fnmatch_lines(
        [
            "*- tracedance runs -*",
            "2 of 5 runs passed; 8 of 10 had to",
            "passed: run 1, 3",
            "run 2 failed: AssertionError: number 2 is odd; assert 2 not in (2, 4, 5)",
            "run 4 failed: AssertionError: number 4 is odd; assert 4 not in (2, 4, 5)",
            "run 5 failed: AssertionError: number 5 is odd; assert 5 not in (2, 4, 5)",
            "*- Captured stdout call (run 1) -*",
            "this is 1",
            "*- Captured stdout call (run 5) -*",
            "this is 5",
            "1 test with 5 runs: 1 failed",
            "FAILED test_agent.py::test_flaky - 2 of 5 runs passed; 8 of 10 had to: Asser*",
        ]
    )
    assert len(said(result, "this is")) == 5


@pytest.mark.parametrize("options", [["-n0"], ["-n1"]], ids=["one-process", "xdist"])
def test_an_inconclusive_test_has_a_letter_a_word_and_an_error_in_junit(
    pytester: pytest.Pytester,
    write: Write,
    options: list[str],
) -> None:
    write(
        """
        @pytest.mark.tracedance(runs=3)
        def test_down():
            raise Undecided("the endpoint is down")

        def test_other(): ...
        """.replace("\n        ", "\n")
    )

    result = pytester.runpytest("-v", "--junitxml=junit.xml", *options)

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*INCONCLUSIVE*test*" if options == ["-n1"] else "*::test_down INCONCLUSIVE*",
            "*= INCONCLUSIVE =*",
            "*_ test_down _*",
            "E       tracedance_sdk.pytest_plugin.Undecided: the endpoint is down",
            "0 of 3 runs passed, 3 undecided; 3 of 3 had to",
            "run 1 undecided: tracedance_sdk.pytest_plugin.Undecided: the endpoint is down",
            "INCONCLUSIVE test_agent.py::test_down - 0 of 3 runs passed, 3 undecided; 3 of *",
            "1 test with 3 runs: 1 inconclusive",
            "  inconclusive test_agent.py::test_down: 0 of 3 runs passed, *",
            "*= 1 passed, 1 inconclusive in *",
        ]
    )
    suite = ET.parse(pytester.path / "junit.xml").find("testsuite")
    assert suite is not None
    counts = {name: suite.get(name) for name in ("tests", "errors", "failures", "skipped")}
    assert counts == {"tests": "2", "errors": "1", "failures": "0", "skipped": "0"}
    (error,) = suite.iter("error")
    assert "inconclusive: 0 of 3 runs passed, 3 undecided" in str(error.get("message"))


def test_a_letter_stands_for_an_inconclusive_test(pytester: pytest.Pytester, write: Write) -> None:
    write("@pytest.mark.tracedance(runs=1)\ndef test_down():\n    raise Undecided('down')\n")
    pytester.runpytest().stdout.fnmatch_lines(["test_agent.py I *"])


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        pytest.param("assert False", "failed", id="assertion"),
        pytest.param("raise ValueError('no')", "failed", id="exception"),
        pytest.param("pytest.fail('no', pytrace=False)", "failed", id="pytest-fail"),
        pytest.param("raise SystemExit(3)", "failed", id="exit"),
        pytest.param(
            "raise ExceptionGroup('g', [Undecided(), ValueError()])", "failed", id="mixed"
        ),
        pytest.param("raise Undecided('endpoint')", "inconclusive", id="undecided"),
        pytest.param("raise ExceptionGroup('g', [Undecided()])", "inconclusive", id="group"),
        pytest.param("assert_passes(TRACE, 'no.yaml')", "inconclusive", id="no-specification"),
        pytest.param("assert_passes(TRACE, STATE)", "inconclusive", id="verdict-inconclusive"),
        pytest.param("assert_passes(TRACE, RAISES)", "inconclusive", id="verdict-error"),
        pytest.param("assert_passes(TRACE, [*RAISES, ok, no])", "failed", id="verdict-fail"),
    ],
)
def test_what_a_run_counts_for(
    pytester: pytest.Pytester, write: Write, body: str, outcome: str
) -> None:
    write(
        f"""
TRACE = td.Trace(id="t")
STATE = {{"id": "s", "outcomes": [{{"expected_state": {{"a": 1}}}}]}}

def ok(trace): return True
def no(trace): return False
def broken(trace): raise RuntimeError("grader")

RAISES = [broken]

@pytest.mark.tracedance(runs=2, min_pass_rate=0.5)
def test_agent():
    {body}
"""
    )
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"*= 1 {outcome} in *"])


def test_a_test_that_is_itself_wrong_is_not_run_again(
    pytester: pytest.Pytester, write: Write
) -> None:
    write(
        """
@pytest.mark.tracedance(runs=9)
def test_agent():
    assert_passes(td.Trace(id="t"), {"id": "s", "no_such_key": 1})
"""
    )
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "E *InvalidSpec: spec: unknown key 'no_such_key'*",
            "0 of 1 run passed, 1 undecided; 9 of 9 had to; no further run could be judged either",
        ]
    )


def test_an_inconclusive_verdict_fails_a_test_that_runs_once(
    pytester: pytest.Pytester,
    write: Write,
) -> None:
    write(
        """
def test_once():
    with pytest.raises(AssertionError):
        raise Undecided()
    assert_passes(td.Trace(id="t"), {"id": "s", "outcomes": [{"expected_state": {"a": 1}}]})
"""
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *tracedance_sdk.pytest_plugin.Undecided: verdict inconcl*"])


def test_a_setup_that_fails_leaves_its_run_undecided(
    pytester: pytest.Pytester, write: Write
) -> None:
    write(
        """
@pytest.fixture
def shop():
    if next(numbers) % 2:
        raise OSError("no shop")

@pytest.mark.tracedance(runs=4, min_pass_rate=0.5)
def test_agent(shop): ...

@pytest.mark.tracedance(runs=4, min_pass_rate=0.75)
def test_sure(shop): ...
"""
    )

    result = pytester.runpytest()

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *test_sure - 1 of 3 runs passed, 2 undecided; 3 of 4 had to",
            "2 tests with 7 runs: 1 inconclusive, 1 passed",
        ]
    )
    assert "run 1 undecided: in the setup: OSError: no shop" in result.outlines


def test_fixtures_of_the_function_are_new_in_every_run_and_wider_ones_stay(
    pytester: pytest.Pytester,
    write: Write,
) -> None:
    write(
        """
made = []

def maker(scope):
    @pytest.fixture(scope=scope, name=scope)
    def fixture(tmp_path_factory):
        made.append(scope)
        yield scope
        made.append(f"{scope} torn")
    return fixture

f, c, m, s = (maker(scope) for scope in ("function", "class", "module", "session"))

@pytest.fixture(params=["a", "b"], scope="module")
def letter(request):
    made.append(request.param)
    return request.param

class TestRepeated:
    def setup_method(self):
        self.fresh = True

    @pytest.mark.tracedance(runs=3)
    def test_it(self, session, module, function, letter, tmp_path):
        assert self.fresh
        self.fresh = False
        assert not list(tmp_path.iterdir())
        (tmp_path / "file").touch()

class TestScopes:
    @pytest.mark.tracedance(runs=2)
    def test_it(self, request):
        request.getfixturevalue("class")

def test_made():
    print("made:", made)
"""
    )

    result = pytester.runpytest("-rP")

    result.assert_outcomes(passed=4)
    runs = ["function", "function torn"] * 3
    made = ["session", "module", "a", *runs, "b", *runs, "class", "class torn"]
    assert f"made: {made}" in result.outlines


def test_a_teardown_that_fails_is_told_as_for_any_test(
    pytester: pytest.Pytester, write: Write
) -> None:
    write(
        """
@pytest.fixture
def till():
    yield
    if next(numbers) == 2:
        raise OSError("till is open")

@pytest.mark.tracedance(runs=3)
def test_agent(till): ...
"""
    )

    result = pytester.runpytest()

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_agent*", "E *OSError: till is open"])


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("if next(numbers) == 2: pytest.skip('no key')", "skipped"),
        ("if next(numbers) == 2: pytest.xfail('known')", "xfailed"),
    ],
)
def test_a_skip_or_xfail_inside_ends_it(
    pytester: pytest.Pytester,
    write: Write,
    body: str,
    outcome: str,
) -> None:
    write(f"@pytest.mark.tracedance(runs=5)\ndef test_agent():\n    {body}\n")
    result = pytester.runpytest()
    result.assert_outcomes(**{outcome: 1})
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("mark", "body", "outcome"),
    [
        ("skip", "assert False", "skipped"),
        ("xfail", "assert False", "xfailed"),
        ("xfail(strict=False)", "pass", "xpassed"),
        ("xfail(strict=True)", "pass", "failed"),
        ("xfail(False, reason='never')", "pass", "passed"),
    ],
)
def test_marks_of_pytest_mean_what_they_mean_elsewhere(
    pytester: pytest.Pytester,
    write: Write,
    mark: str,
    body: str,
    outcome: str,
) -> None:
    write(
        f"@pytest.mark.{mark}\n@pytest.mark.tracedance(runs=2)\ndef test_agent():\n"
        f"    next(numbers)\n    {body}\n\ndef test_after():\n    print('runs:', next(numbers) - 1)"
    )
    result = pytester.runpytest("-rP")
    result.assert_outcomes(**({"passed": 1} | {outcome: 2 if outcome == "passed" else 1}))
    n_runs = {"skipped": 0, "passed": 2}.get(outcome, 1)
    assert f"runs: {n_runs}" in result.outlines


def test_pytest_exit_stops_the_whole_test_run(pytester: pytest.Pytester, write: Write) -> None:
    write(
        """
@pytest.mark.tracedance(runs=5)
def test_agent():
    assert_passes(
        td.Trace(id="t", turns=[{"index": 0, "role": "user", "origin": "human"}]),
        [lambda trace: True],
    )
    if next(numbers) == 2:
        pytest.exit("enough", returncode=7)

def test_after(): ...
"""
    )

    result = pytester.runpytest("--tracedance-out=out")

    assert result.ret == 7
    assert "test_after" not in result.stdout.str()
    assert [row.sample for row in read_results(pytester.path / "out").rows] == [0]


@pytest.mark.parametrize(
    ("options", "n_tests"), [(["-x"], 1), (["--maxfail=2"], 2), (["-x", "-n1"], 1)], ids=str
)
def test_a_test_counts_once_towards_the_most_failures(
    pytester: pytest.Pytester,
    write: Write,
    options: list[str],
    n_tests: int,
) -> None:
    write(
        """
@pytest.fixture(scope="module", autouse=True)
def torn():
    yield
    print("torn down")

@pytest.mark.parametrize("x", range(3))
@pytest.mark.tracedance(runs=5, min_pass_rate=0.6)
def test_agent(x):
    if x == 1:
        raise Undecided()
    assert False
"""
    )
    result = pytester.runpytest("-s", *options)
    shown = "1 failed" if n_tests == 1 else "1 failed, 1 inconclusive"
    result.stdout.fnmatch_lines([f"*= {shown} in *"])


def test_last_failed_runs_what_did_not_pass(pytester: pytest.Pytester, write: Write) -> None:
    write(
        """
@pytest.mark.tracedance(runs=2)
@pytest.mark.parametrize("error", [None, ValueError, Undecided])
def test_agent(error):
    if error:
        raise error("x")
"""
    )
    pytester.runpytest()
    result = pytester.runpytest("--lf")
    result.stdout.fnmatch_lines(["*= 1 failed, 1 inconclusive in *"])


def test_without_the_cache_and_with_durations(pytester: pytest.Pytester, write: Write) -> None:
    write(
        "import time\n\n@pytest.mark.tracedance(runs=4)\ndef test_slow():\n    time.sleep(0.03)\n"
    )
    result = pytester.runpytest("-p", "no:cacheprovider", "--durations=1", "--junitxml=junit.xml")
    result.stdout.fnmatch_lines(["0.1?s call     test_agent.py::test_slow"])
    (case,) = ET.parse(pytester.path / "junit.xml").iter("testcase")
    assert float(str(case.get("time"))) >= 0.12


def test_each_run_has_what_it_printed_for_itself(pytester: pytest.Pytester, write: Write) -> None:
    write(
        """
@pytest.mark.tracedance(runs=3)
def test_agent(capsys, caplog):
    number = next(numbers)
    print("number", number)
    assert capsys.readouterr().out == f"number {number}\\n"
    assert not caplog.records
    import logging
    logging.getLogger("x").warning("said %s", number)
    assert len(caplog.records) == 1
"""
    )
    pytester.runpytest("-W", "error").assert_outcomes(passed=1)


def test_the_output_of_many_runs_is_bounded(pytester: pytest.Pytester, write: Write) -> None:
    write(
        """
@pytest.mark.tracedance(runs=40, min_pass_rate=0.5)
def test_agent():
    number = next(numbers)
    print("this is", number)
    assert number > 20
"""
    )
    result = pytester.runpytest("-rP")
    result.assert_outcomes(passed=1)
    assert said(result, "this is") == [f"this is {number}" for number in range(1, 11)]
    assert len(said(result, "run ")) == 20


def test_async_tests_run_several_times(pytester: pytest.Pytester, write: Write) -> None:
    write(
        """
@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.fixture
async def number():
    return next(numbers)

@pytest.mark.anyio
@pytest.mark.tracedance(runs=3, min_pass_rate=0.6)
async def test_agent(number, tracedance_recorder):
    async with tracedance_recorder() as recorder:
        pass
    assert number != 2
"""
    )
    result = pytester.runpytest("-v")
    result.assert_outcomes(passed=1)
    assert "passed test_agent.py::test_agent: 2 of 3 runs passed; 2 of 3 had to" in said(
        result, "passed"
    )


def test_setup_only_shows_one_setup(pytester: pytest.Pytester, write: Write) -> None:
    write("@pytest.mark.tracedance(runs=3)\ndef test_agent(tmp_path): ...\n")
    result = pytester.runpytest("--setup-plan")
    assert len(said(result, "SETUP    F tmp_path")) == 1


SHOP = """
shelf = {}
SPEC = {"id": "put", "outcomes": [{"expected_state": {"last": {"$range": {"max": 6}}}}]}

@td.tool
def put(number: int) -> int:
    shelf["last"] = number
    return number

@pytest.mark.xdist_group("shops")
@pytest.mark.parametrize("shop", ["north", "south"])
@pytest.mark.tracedance(runs=4, min_pass_rate=0.75, group="shops")
def test_put(tracedance_recorder, shop, offset=iter([1, 9, 9, 9] * 9).__next__):
    with tracedance_recorder(state=lambda: dict(shelf)) as recorder:
        put(offset() if shop == "south" else 1)
    assert_passes(recorder.trace, SPEC)
"""


@pytest.mark.parametrize(
    "options", [["-n0"], ["-n3", "--dist=loadgroup"]], ids=["one-process", "xdist"]
)
def test_every_run_is_a_row_with_its_sample_and_every_test_one_outcome(
    pytester: pytest.Pytester,
    write: Write,
    options: list[str],
) -> None:
    write(SHOP)

    result = pytester.runpytest("--tracedance-out=out", *options)

    result.assert_outcomes(passed=1, failed=1)
    found = read_results(pytester.path / "out")
    rows = [(row.subject.instance_id, row.sample, str(row.verdict)) for row in found.rows]
    assert sorted(rows) == [
        *(("test_agent.py::test_put[north]", sample, "pass") for sample in range(3)),
        ("test_agent.py::test_put[south]", 0, "pass"),
        ("test_agent.py::test_put[south]", 1, "fail"),
        ("test_agent.py::test_put[south]", 2, "fail"),
    ]
    assert {row.group for row in found.rows} == {"shops"}
    assert len({row.subject.trace_id for row in found.rows}) == 6
    assert found.manifest["test_outcomes"] == [
        {
            "instance_id": "test_agent.py::test_put[north]",
            "outcome": "passed",
            "passed": 3,
            "n": 3,
            "headline": "3 of 3 runs passed; 3 of 4 had to",
        },
        {
            "instance_id": "test_agent.py::test_put[south]",
            "outcome": "failed",
            "passed": 1,
            "n": 3,
            "headline": "1 of 3 runs passed; 3 of 4 had to",
        },
    ]
    kept = sorted((pytester.path / ".tracedance").glob("run-*/*.json"))
    assert len(kept) == 2
    result.stdout.fnmatch_lines(
        [f"  trace kept: {path.relative_to(pytester.path)}" for path in (kept[1], kept[0])]
    )
    result.stdout.fnmatch_lines(
        ["6 graded: 2 fail, 4 pass", "2 traces kept in *", "6 rows written to out"]
    )
