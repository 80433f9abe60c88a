"""The limit on what a whole test run costs, its workers together."""

from __future__ import annotations

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracedance_sdk.grading import read_results
from tracedance_sdk.llm import Price, PriceTable
from tracedance_sdk.pytest_plugin.cost_ledger import CostLedger, Spent, spent_on
from tracedance_sdk.trace import Trace, Turn, Usage

PRICES = PriceTable([("known", Price(1.0, 2.0))])


def turn(index: int, *, model: str | None = None, usage: Usage | None = None) -> Turn:
    return Turn(index=index, role="assistant", origin="agent", model=model, usage=usage)


@pytest.mark.parametrize(
    ("model", "usage", "spent"),
    [
        ("known", Usage(cost_usd=0.5, input_tokens=9, output_tokens=9), Spent(0.5, 1, 0)),
        ("known", Usage(input_tokens=10**6, output_tokens=10**6), Spent(3.0, 1, 0)),
        ("other", Usage(input_tokens=10**6, output_tokens=10**6), Spent(0.0, 0, 1)),
        (None, Usage(input_tokens=1, output_tokens=1), Spent(0.0, 0, 1)),
        ("known", Usage(output_tokens=1), Spent(0.0, 0, 1)),
        ("known", None, Spent(0.0, 0, 1)),
        ("other", Usage(cost_usd=-5), Spent(0.0, 0, 1, 1)),
        (
            "known",
            Usage(cost_usd=-5, input_tokens=10**6, output_tokens=10**6),
            Spent(3.0, 1, 0, 1),
        ),
        ("known", Usage(input_tokens=-(10**9), output_tokens=1), Spent(0.0, 0, 1)),
        *(
            ("other", Usage.model_construct(cost_usd=odd), Spent(0.0, 0, 1, 1))
            for odd in (float("nan"), float("inf"), "3", True)
        ),
        ("other", Usage(cost_usd=1.7e308), Spent(1e12, 1, 0)),
    ],
    ids=[
        *("told", "by-table", "not-in-table", "no-model", "half-told", "no-usage"),
        *("negative", "negative-by-table", "negative-tokens", "nan", "infinite", "text", "bool"),
        "beyond-all",
    ],
)
def test_a_turn_costs_what_it_says_or_its_tokens_do(
    model: str | None, usage: Usage | None, spent: Spent
) -> None:
    trace = Trace(id="t", turns=(turn(0, model=model, usage=usage),))
    assert spent_on([trace], [], prices=PRICES) == spent


def test_what_a_user_writes_costs_nothing_unless_a_model_wrote_it() -> None:
    human = Turn(index=0, role="user", origin="human")
    simulated = Turn(index=1, role="user", origin="harness", usage=Usage(cost_usd=0.25))
    spent = spent_on([Trace(id="t", turns=(human, simulated))], [], prices=PRICES)
    assert spent == Spent(0.25, 1, 0)


def test_judges_are_counted_too() -> None:
    usages = [Usage(cost_usd=0.5), Usage(input_tokens=5)]
    assert spent_on([], usages, prices=PRICES) == Spent(0.5, 1, 1)


def test_what_many_write_at_once_adds_up(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"

    def write(_: int) -> None:
        CostLedger(folder, most_usd=1.0).add(Spent(0.25, 1, 2))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))

    ledger = CostLedger(folder, most_usd=60.0)
    assert ledger.total() == Spent(50.0, 200, 400)
    assert ledger.reached() is None
    assert CostLedger(folder, most_usd=50.0).reached() == "the cost limit of $50 is reached"
    ledger.forget()
    assert not folder.exists()


def test_ten_times_a_tenth_is_one(tmp_path: Path) -> None:
    ledger = CostLedger(tmp_path, most_usd=1.0)
    for _ in range(10):
        assert ledger.reached() is None
        ledger.add(Spent(0.1, 1, 0))
    assert ledger.reached() == "the cost limit of $1 is reached"


AGENT = """
import pytest
import tracedance_sdk as td
from tracedance_sdk.pytest_plugin import assert_passes
from tracedance_sdk.trace import Turn, Usage

def run(make_recorder, usage):
    with make_recorder(agent="a") as recorder:
        recorder.record_turn("assistant", "done", model="no-such-model", usage=usage)
    assert_passes(recorder.trace, [lambda trace: True])
"""
DEAR = """
@pytest.mark.tracedance(runs=10, min_pass_rate=0.8)
@pytest.mark.parametrize("x", range(4))
def test_dear(tracedance_recorder, x):
    run(tracedance_recorder, Usage(cost_usd=0.04))

def test_single(tracedance_recorder):
    run(tracedance_recorder, Usage(cost_usd=0.04))

@pytest.mark.skip(reason="never")
def test_skipped(tracedance_recorder): ...

@pytest.mark.xfail(strict=True)
def test_expected_to_fail(tracedance_recorder):
    raise ValueError

def test_free(): ...
"""


def test_no_run_is_begun_once_the_limit_is_reached(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_agent=AGENT + DEAR)

    result = pytester.runpytest("--tracedance-max-cost=0.50", "--tracedance-out=out", "-rs")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "test_agent.py .IIIIsI. *",
            "_* test_dear?1? _*",
            "inconclusive: 5 of 5 runs passed; 8 of 10 had to; the cost limit of $0.5 is reached",
            "pass rate 1.00, from *",
            "_* test_single _*",
            "not run: the cost limit of $0.5 is reached",
            "INCONCLUSIVE test_agent.py::test_dear?1? - 5 of 5 runs passed; 8 of 10 had to; the*",
            "INCONCLUSIVE test_agent.py::test_dear?2? - not run: the cost limit of $0.5 is reached",
            "INCONCLUSIVE test_agent.py::test_single - not run: *",
            "2 tests with 13 runs: 1 inconclusive, 1 passed",
            "4 tests were not run",
            "$0.5200 spent of at most $0.5",
            "SKIPPED * never",
        ]
    )
    rows = read_results(pytester.path / "out").rows
    assert len(rows) == 13
    assert not list(Path(tempfile.gettempdir()).glob("tracedance-cost-*"))


def test_workers_share_the_limit(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_agent=AGENT + DEAR)

    result = pytester.runpytest("--tracedance-max-cost=0.50", "--tracedance-out=out", "-n3")

    n_rows = len(read_results(pytester.path / "out").rows)
    assert 13 <= n_rows <= 13 + 2, "each of the others may have been in the middle of a run"
    assert f"${0.04 * n_rows:.4f} spent of at most $0.5" in result.outlines
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert not list(Path(tempfile.gettempdir()).glob("tracedance-cost-*"))


def test_what_judges_cost_is_counted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_agent=AGENT
        + """
from tracedance_sdk.grading import JudgeAnswer

class DearJudge:
    name = "dear"

    def judge(self, trace, spec):
        return JudgeAnswer(judge="dear", missing_reason="tired", usage=Usage(cost_usd=0.25))

@pytest.mark.tracedance(runs=5)
def test_judged():
    trace = td.Trace(id="t", turns=[{"index": 0, "role": "user", "origin": "human"}])
    assert_passes(trace, [lambda trace: True], judge=DearJudge())
"""
    )

    result = pytester.runpytest("--tracedance-max-cost=0.5")

    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *2 of 2 runs passed; 5 of 5 had to; the cost limit of $0.5 is reached",
            "$0.5000 spent of at most $0.5",
        ]
    )


def test_what_has_no_price_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_agent=AGENT
        + """
@pytest.mark.tracedance(runs=3)
def test_unpriced(tracedance_recorder):
    run(tracedance_recorder, Usage(input_tokens=5, output_tokens=5))

def test_priced(tracedance_recorder):
    run(tracedance_recorder, Usage(cost_usd=0.125))
"""
    )

    result = pytester.runpytest("--tracedance-max-cost=1")

    result.assert_outcomes(passed=2)
    assert (
        "$0.1250 spent of at most $1; 3 of 4 model turns and judgements had no price and"
        " are not in it"
    ) in result.outlines


def test_a_cost_below_nothing_does_not_lift_the_limit(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_agent=AGENT
        + """
def test_odd(tracedance_recorder):
    run(tracedance_recorder, Usage(cost_usd=-100))

def test_dear(tracedance_recorder):
    run(tracedance_recorder, Usage(cost_usd=1.5))

def test_too_late(tracedance_recorder):
    run(tracedance_recorder, Usage(cost_usd=1.5))
"""
    )

    result = pytester.runpytest("--tracedance-max-cost=1")

    result.assert_outcomes(passed=2)
    assert (
        "$1.5000 spent of at most $1; 1 of 2 model turns and judgements had no price and are not"
        " in it; 1 of 2 state a cost that is no amount, which is not used"
    ) in result.outlines


def test_a_recorder_that_fails_to_tell_costs_nothing_twice(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_agent=AGENT
        + """
def test_left_open(tracedance_recorder):
    recorder = tracedance_recorder()
    recorder.__enter__()
    recorder.record_turn("assistant", "done", usage=Usage(cost_usd=0.25))
    tracedance_recorder()
    assert False
"""
    )

    result = pytester.runpytest("--tracedance-max-cost=1")

    result.assert_outcomes(failed=1)
    assert "$0.2500 spent of at most $1" in result.outlines


@pytest.mark.parametrize("amount", ["0", "-1", "nan", "inf", "a lot"])
def test_an_amount_that_is_none_is_refused(pytester: pytest.Pytester, amount: str) -> None:
    result = pytester.runpytest(f"--tracedance-max-cost={amount}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--tracedance-max-cost: {amount!r} is no amount of dollars*"])


def test_the_ledger_is_lines_of_json(tmp_path: Path) -> None:
    CostLedger(tmp_path, most_usd=1.0).add(Spent(0.5, 1, 0))
    (file,) = tmp_path.iterdir()
    assert [json.loads(line) for line in file.read_text().splitlines()] == [[0.5, 1, 0, 0]]
