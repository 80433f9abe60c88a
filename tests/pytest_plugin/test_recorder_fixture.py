"""The tracedance_recorder fixture, seen by running pytest on small projects."""

from __future__ import annotations

import pytest

from tracedance_sdk.trace import Trace, decode, parse_json

SHOP = """
import tracedance_sdk as td

orders = {"7": {"status": "open"}, "8": {"status": "open"}}

@td.tool
def refund(order: str, amount: int) -> dict:
    orders[order]["status"] = "refunded"
    return {"order": order, "amount": amount}

@td.tool
async def refund_later(order: str) -> str:
    return order
"""


@pytest.fixture
def shop(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(shop=SHOP)
    return pytester


def kept_traces(pytester: pytest.Pytester, base: str = ".tracedance") -> dict[str, Trace]:
    """Return the kept traces by file name, the hash and the run's folder left out."""
    return {
        path.name: decode(parse_json(path.read_bytes(), where=path.name), where=path.name)
        for path in sorted((pytester.path / base).glob("run-*/*.json"))
    }


def test_a_failing_test_keeps_its_trace_and_says_where(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import orders, refund

        def test_refund(tracedance_recorder):
            with tracedance_recorder(task_id="refund", state=orders) as recorder:
                refund("7", amount=5)
            assert recorder.trace.calls[0].arguments["amount"] == 6
        """
    )

    result = shop.runpytest()

    result.assert_outcomes(failed=1)
    ((name, trace),) = kept_traces(shop).items()
    assert [call.arguments for call in trace.calls] == [{"order": "7", "amount": 5}]
    assert trace.task_id == "refund"
    assert trace.final_state == {"7": {"status": "refunded"}, "8": {"status": "open"}}
    assert trace.metadata["pytest.nodeid"].endswith("::test_refund")
    result.stdout.fnmatch_lines(
        [
            "*- tracedance -*",
            f"trace kept: .tracedance/run-*/{name}",
            "*= tracedance =*",
            "1 trace kept in .tracedance/run-*",
        ]
    )


def test_a_passing_test_leaves_no_file_and_no_word(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import refund

        def test_refund(tracedance_recorder):
            with tracedance_recorder() as recorder:
                refund("7", amount=5)
            assert len(recorder.trace.calls) == 1
        """
    )

    result = shop.runpytest()

    result.assert_outcomes(passed=1)
    assert not (shop.path / ".tracedance").exists()
    assert "tracedance" not in result.stdout.str().replace("plugins:", "").split("collected")[1]


@pytest.mark.parametrize(("keep", "n_kept"), [("failed", 1), ("all", 2), ("none", 0)])
def test_the_option_says_whose_traces_stay(shop: pytest.Pytester, keep: str, n_kept: int) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import refund

        @pytest.mark.parametrize("amount", [5, 6])
        def test_refund(tracedance_recorder, amount):
            with tracedance_recorder():
                refund("7", amount=amount)
            assert amount == 5
        """
    )

    result = shop.runpytest(f"--tracedance-keep={keep}", "--tracedance-dir=here")

    result.assert_outcomes(passed=1, failed=1)
    assert len(kept_traces(shop, "here")) == n_kept


def test_parameters_of_any_characters_make_safe_file_names(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        r"""
        import pytest
        from shop import refund

        ODD = ["../../up", "a/b", "a-b", "ä\n", "\0", "x" * 300, "C:\\x", "", "[::]", "\ud800"]

        @pytest.mark.parametrize("odd", ODD)
        def test_refund(tracedance_recorder, odd):
            with tracedance_recorder():
                refund("7", amount=5)
            assert odd is None
        """
    )

    result = shop.runpytest("-q")

    result.assert_outcomes(failed=10)
    assert len(kept_traces(shop)) == 10
    assert not list(shop.path.parent.glob("up*"))


def test_every_attempt_at_a_test_keeps_its_own_trace(shop: pytest.Pytester) -> None:
    shop.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            for _ in range(2):
                item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
                for report in runtestprotocol(item, nextitem=nextitem, log=False):
                    item.ihook.pytest_runtest_logreport(report=report)
            return True
        """
    )
    shop.makepyfile(
        """
        from shop import refund

        attempts = []

        def test_refund(tracedance_recorder):
            attempts.append(1)
            with tracedance_recorder():
                refund("7", amount=len(attempts))
            assert False
        """
    )

    result = shop.runpytest()

    result.stdout.fnmatch_lines(["2 traces kept in *"])
    amounts = [trace.calls[0].arguments["amount"] for trace in kept_traces(shop).values()]
    assert sorted(amounts) == [1, 2]


def test_an_exception_in_the_setup_keeps_what_was_recorded_by_then(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import refund

        class TestRefunds:
            @pytest.fixture
            def refunded(self, tracedance_recorder):
                with tracedance_recorder() as recorder:
                    refund("7", amount=5)
                    raise ValueError("no shop")

            def test_refund(self, refunded):
                pass
        """
    )

    result = shop.runpytest()

    result.assert_outcomes(errors=1)
    (trace,) = kept_traces(shop).values()
    assert [call.name for call in trace.calls] == ["refund"]


def test_a_failing_teardown_keeps_the_trace(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import refund

        @pytest.fixture
        def till():
            yield
            raise ValueError("till is open")

        def test_refund(till, tracedance_recorder):
            with tracedance_recorder():
                refund("7", amount=5)
        """
    )

    result = shop.runpytest()

    result.assert_outcomes(passed=1, errors=1)
    assert len(kept_traces(shop)) == 1
    result.stdout.fnmatch_lines(["trace kept: .tracedance/run-*"])


def test_sub_agents_and_several_recorders_are_all_kept(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import tracedance_sdk as td
        from shop import refund

        @td.agent
        def clerk():
            return refund("7", amount=5)

        def test_refund(tracedance_recorder):
            with tracedance_recorder(agent="desk"):
                clerk()
            with tracedance_recorder(agent="night"):
                refund("8", amount=1)
            assert False
        """
    )

    shop.runpytest().assert_outcomes(failed=1)

    traces = kept_traces(shop).values()
    assert sorted(trace.agent.name for trace in traces) == ["clerk", "desk", "night"]
    desk = next(trace for trace in traces if trace.agent.name == "desk")
    clerk = next(trace for trace in traces if trace.agent.name == "clerk")
    assert clerk.parent is not None
    assert clerk.parent.trace_id == desk.id


def test_asyncio_tests_need_no_plugin(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import asyncio
        import unittest
        import pytest
        from shop import refund_later

        def test_run(tracedance_recorder):
            async def main():
                async with tracedance_recorder() as recorder:
                    await asyncio.gather(refund_later("1"), refund_later("2"))
                return recorder.trace
            assert len(asyncio.run(main()).calls) == 2

        class TestCase(unittest.IsolatedAsyncioTestCase):
            @pytest.fixture(autouse=True)
            def _recorder(self, tracedance_recorder):
                self.make_recorder = tracedance_recorder

            async def test_case(self):
                async with self.make_recorder() as recorder:
                    await refund_later("3")
                self.assertEqual([call.name for call in recorder.trace.calls], ["refund_later"])
        """
    )

    shop.runpytest().assert_outcomes(passed=2)


def test_a_recorder_left_open_is_closed_and_its_trace_kept(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import refund

        def test_refund(tracedance_recorder):
            recorder = tracedance_recorder()
            recorder.__enter__()
            refund("7", amount=5)
            assert False

        def test_next(tracedance_recorder):
            with tracedance_recorder() as recorder:
                refund("8", amount=5) if False else None
            assert recorder.trace.calls == ()
        """
    )

    shop.runpytest("-W", "error").assert_outcomes(failed=1, passed=1)

    (trace,) = kept_traces(shop).values()
    assert [call.name for call in trace.calls] == ["refund"]


def test_a_recorder_never_opened_is_no_problem(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        def test_refund(tracedance_recorder):
            tracedance_recorder(task_id="refund")
            assert False
        """
    )

    result = shop.runpytest()

    result.assert_outcomes(failed=1)
    assert "problem:" not in result.stdout.str()


def test_markers_give_settings_nearest_first(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.tracedance(task_id="module", agent="module")

        @pytest.mark.tracedance(task_id="class", group="class")
        class TestMarked:
            @pytest.mark.tracedance(task_id="test", metadata={"team": "tills"})
            def test_nearest(self, tracedance_recorder):
                with tracedance_recorder(group="call") as recorder:
                    pass
                trace = recorder.trace
                assert (trace.task_id, trace.agent.name, trace.group) == ("test", "module", "call")
                assert trace.metadata["team"] == "tills"
                assert trace.metadata["pytest.nodeid"].endswith("::test_nearest")
        """
    )

    shop.runpytest("--strict-markers").assert_outcomes(passed=1)


def test_a_trace_that_cannot_be_written_fails_no_test_and_is_reported(
    shop: pytest.Pytester,
) -> None:
    (shop.path / "occupied").write_text("a file")
    shop.makepyfile(
        """
        from shop import refund

        def test_refund(tracedance_recorder):
            with tracedance_recorder():
                refund("7", amount=5)
        """
    )

    result = shop.runpytest("--tracedance-keep=all", "--tracedance-dir=occupied")

    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["problem: *::test_refund: trace not kept: *occupied*"])


def test_only_the_latest_runs_stay(shop: pytest.Pytester) -> None:
    shop.makeini("[pytest]\ntracedance_dir = evidence\ntracedance_retention = 2\n")
    shop.makepyfile(
        """
        from shop import refund

        def test_refund(tracedance_recorder):
            with tracedance_recorder():
                refund("7", amount=5)
            assert False
        """
    )
    base = shop.path / "evidence"
    for day in range(1, 4):
        (base / f"run-2025010{day}T000000-00000000").mkdir(parents=True)
        (base / f"run-2025010{day}T000000-00000000" / "t.json").write_text("{}")

    shop.runpytest()

    names = sorted(path.name for path in base.glob("run-*"))
    assert len(names) == 2
    assert names[0] == "run-20250103T000000-00000000"


@pytest.mark.parametrize(
    ("arguments", "ini", "said"),
    [
        (["--tracedance-out=shop.py"], "", "--tracedance-out: '*shop.py' is a file; name"),
        ([], "tracedance_retention = none", "tracedance_retention = 'none' in the ini file is no"),
        (["--tracedance-keep=some"], "", "invalid choice: 'some'"),
    ],
)
def test_options_that_cannot_be_used_are_refused_in_one_line(
    shop: pytest.Pytester, arguments: list[str], ini: str, said: str
) -> None:
    shop.makeini(f"[pytest]\n{ini}\n")

    result = shop.runpytest(*arguments)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{said}*"])


def test_the_plugin_can_be_switched_off(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from tracedance_sdk.pytest_plugin import assert_passes

        def test_fine(): ...
        """
    )

    result = shop.runpytest("-p", "no:tracedance")

    result.assert_outcomes(passed=1)
    assert "tracedance-keep" not in shop.runpytest("-p", "no:tracedance", "--help").stdout.str()


def test_help_and_markers_tell_of_the_plugin(shop: pytest.Pytester) -> None:
    shop.runpytest("--help").stdout.fnmatch_lines(["*--tracedance-keep=*", "*--tracedance-dir=*"])
    shop.runpytest("--markers").stdout.fnmatch_lines(["@pytest.mark.tracedance(*"])
