"""Replays of decorated tools in tests, seen by running pytest on small projects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracedance_sdk.pytest_plugin.replay_rules import file_name
from tracedance_sdk.replay import read_test

SHOP = """
import socket
import tracedance_sdk as td

def note(line):
    with open("ran.txt", "a") as file:
        file.write(line + "\\n")

looks = []

@td.tool(effect="read")
def status(job: str) -> str:
    note(f"status {job}")
    looks.append(job)
    if looks.count(job) == 2:
        raise TimeoutError("busy")
    return "done" if looks.count(job) > 3 else "running"

@td.tool(effect="write")
def refund(order: str, amount: int) -> dict:
    note(f"refund {order}")
    return {"order": order, "amount": amount}

@td.tool(effect="read")
async def order(number: str, api_key: str = "") -> dict:
    note(f"order {number}")
    return {"number": number}

@td.tool(effect="pure")
def add(a: int, b: int) -> int:
    return a + b

@td.tool(effect="read")
def rate() -> float:
    socket.create_connection(("rates.test", 443))
"""


@pytest.fixture
def shop(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(shop=SHOP)
    return pytester


def ran(pytester: pytest.Pytester) -> list[str]:
    """Return which bodies ran since this was last called."""
    path = pytester.path / "ran.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


def recordings(pytester: pytest.Pytester) -> list[str]:
    folder = pytester.path / "recordings"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


POLLING = """
    from shop import status

    def look():
        try:
            return status("job-1")
        except TimeoutError as error:
            return f"error: {error}"

    def test_poll(tracedance_replay, tracedance_recorder):
        with tracedance_recorder() as recorder:
            looks = [look() for _ in range(N)]
        expected = ["running", "error: busy", "running", "done", "done", "done"]
        assert looks == expected[:N]
        stamps = [(call.model_extra or {}).get("answer", {}).get("stamp") for call in
                  recorder.trace.calls]
        assert stamps == [STAMP] * N
"""


def test_a_poll_gets_its_answers_in_order_then_the_last_one(shop: pytest.Pytester) -> None:
    shop.makepyfile(POLLING.replace("N", "4").replace("STAMP", "None"))
    shop.runpytest("--tracedance-record=once").assert_outcomes(passed=1)
    assert len(ran(shop)) == 4

    shop.makepyfile(POLLING.replace("N", "6").replace("STAMP", "'same'"))
    shop.runpytest().assert_outcomes(passed=1)
    assert ran(shop) == []


USES = """
    import asyncio
    import pytest
    from shop import add, order, refund, status

    JOB = "job-1"

    def test_all(tracedance_replay):
        assert asyncio.run(order("7", api_key="sk-ant-api03-abcdefghijklmnopqrstuvwxyz")) == {
            "number": "7"}
        assert refund("7", 5)["amount"] == 5
        assert status(JOB) == "running"
        assert add(1, 2) == 3

    @pytest.mark.tracedance_replay
    class TestMany:
        @pytest.mark.parametrize("job", ["a", "b/../c"])
        def test_one(self, job):
            assert status(job)
"""


def test_a_test_is_recorded_once_and_replayed_ever_after(shop: pytest.Pytester) -> None:
    shop.makepyfile(test_uses=USES)

    shop.runpytest("--tracedance-record=once").assert_outcomes(passed=3, failed=0)
    assert len(ran(shop)) == 5
    assert [name.partition("-")[0] for name in recordings(shop)] == [
        "test_uses/TestMany.test_one",
        "test_uses/TestMany.test_one",
        "test_uses/test_all.yaml",
    ]
    text = (shop.path / "recordings/test_uses/test_all.yaml").read_text()
    assert "abcdefghijklmnop" not in text

    for options in ([], ["--tracedance-record=none"], ["--tracedance-record=once"]):
        shop.runpytest(*options).assert_outcomes(passed=3)
    assert ran(shop) == []


@pytest.mark.parametrize(
    ("mode", "outcome", "bodies", "jobs"),
    [
        ("none", {"failed": 1}, [], ["job-1"]),
        ("once", {"failed": 1}, [], ["job-1"]),
        ("new_episodes", {"passed": 1}, ["status job-2"], ["job-1", "job-2"]),
        ("all", {"passed": 1}, ["status job-1", "status job-2"], ["job-1", "job-2"]),
    ],
)
def test_record_modes(
    shop: pytest.Pytester, mode: str, outcome: dict[str, int], bodies: list[str], jobs: list[str]
) -> None:
    test = """
        from shop import status

        def test_it(tracedance_replay):
            assert [status(job) for job in JOBS]
    """
    shop.makepyfile(test_it=test.replace("JOBS", '["job-1"]'))
    shop.runpytest("--tracedance-record=once").assert_outcomes(passed=1)
    ran(shop)
    shop.makepyfile(test_it=test.replace("JOBS", '["job-1", "job-2"]'))

    shop.runpytest(f"--tracedance-record={mode}").assert_outcomes(**outcome)

    assert ran(shop) == bodies
    calls = read_test(shop.path / "recordings/test_it/test_it.yaml").recordings
    assert [call.arguments for call in calls] == [{"job": job} for job in jobs]


def test_a_failing_test_writes_nothing(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import refund

        def test_fails(tracedance_replay):
            refund("7", 5)
            assert False

        def test_skips(tracedance_replay):
            refund("7", 5)
            pytest.skip("no")

        @pytest.mark.xfail
        def test_is_expected_to_fail(tracedance_replay):
            refund("7", 5)
            assert False

        @pytest.fixture
        def broken(tracedance_replay):
            refund("7", 5)
            raise OSError

        def test_has_no_setup(broken):
            pass
        """
    )
    shop.runpytest("--tracedance-record=all").assert_outcomes(
        failed=1, skipped=1, xfailed=1, errors=1
    )
    assert not (shop.path / "recordings").exists()


def test_an_unrecorded_write_fails_the_test_and_never_runs(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        test_pay="""
        from shop import refund

        AMOUNT = 5

        def test_refund(tracedance_replay, tracedance_recorder):
            with tracedance_recorder():
                refund("7", AMOUNT)

        def test_caught(tracedance_replay):
            try:
                refund("7", AMOUNT)
            except Exception:
                pass
        """
    )
    shop.runpytest("--tracedance-record=once").assert_outcomes(passed=2)
    ran(shop)
    source = shop.path / "test_pay.py"
    source.write_text(source.read_text().replace("AMOUNT = 5", "AMOUNT = 6"))

    result = shop.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(failed=2)
    assert ran(shop) == []
    result.stdout.fnmatch_lines(
        [
            "*test_refund*",
            '>           refund("7", AMOUNT)',
            "E  *UnrecordedCall: unrecorded write: refund {'order': '7', 'amount': 6}",
            "E  *it was not run: the agent did something that no recording shows",
            "E  *nearest recordings:",
            "E  *  1. refund {'order': '7', 'amount': 5}",
            "E  *     amount: 6, recorded 5",
            "E  *recordings: recordings/test_pay/test_refund.yaml; --tracedance-record=*",
            "*test_caught*",
            "unrecorded write: refund {'order': '7', 'amount': 6}",
            "The test caught the error that was raised, and would have passed.",
            "FAILED *test_caught - Failed: unrecorded write: refund*",
        ]
    )
    for file in ("answered_calls", "tools", "dispatching"):
        result.stdout.no_fnmatch_line(f"*recording/{file}.py*")


def test_a_test_without_recordings_says_how_to_make_them(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import status

        def test_it(tracedance_replay):
            status("job-1")
        """
    )
    result = shop.runpytest()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E  *status was never recorded",
            "E  *no recordings yet in recordings/*/test_it.yaml; --tracedance-record=once runs *",
        ]
    )


def test_several_runs_fail_by_an_unrecorded_write_and_are_undecided_by_a_read(
    shop: pytest.Pytester,
) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import refund, status

        @pytest.mark.tracedance(runs=3, min_pass_rate=0.5)
        @pytest.mark.parametrize("caught", [True, False])
        @pytest.mark.parametrize("use", [lambda: refund("7", 5), lambda: status("x")],
                                 ids=["write", "read"])
        def test_it(tracedance_replay, use, caught):
            try:
                use()
            except LookupError:
                if not caught:
                    raise
        """
    )
    result = shop.runpytest("-v")

    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["inconclusive"]) == (2, 2)
    result.stdout.fnmatch_lines(
        ["*test_it?write-True? FAILED*", "*test_it?read-True? INCONCLUSIVE*"]
    )


def test_a_miss_is_told_beside_another_failure(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import socket
        from shop import status

        def test_it(tracedance_replay):
            for use in (lambda: status("x"), lambda: socket.create_connection(("a.test", 1))):
                try:
                    use()
                except Exception:
                    pass
            assert 1 == 2
        """
    )
    result = shop.runpytest()

    result.stdout.fnmatch_lines(
        [
            "E  *assert 1 == 2*",
            "E  *not answered before:",
            "E  *unrecorded read: status {'job': 'x'}",
            "E  *connections refused: a.test:1",
        ]
    )


def test_calls_of_other_fixtures_are_replayed_too(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import refund

        @pytest.fixture
        def customer():
            yield 7
            try:
                refund("7", 5)
            except LookupError:
                pass

        def test_it(customer, tracedance_replay):
            pass
        """
    )
    result = shop.runpytest()

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["unrecorded write: refund*", "This was called outside of the *"])
    assert ran(shop) == []


def test_no_connections_but_to_allowed_hosts_and_none_of_it_afterwards(
    shop: pytest.Pytester,
) -> None:
    shop.makepyfile(
        """
        import socket
        import pytest
        from tracedance_sdk.errors import BlockedNetwork

        real = socket.getaddrinfo, socket.create_connection

        def reach(host):
            socket.getaddrinfo(host, 443)

        def test_blocked(tracedance_replay):
            with pytest.raises(BlockedNetwork, match="test_blocked"):
                reach("a.test")
            assert False

        @pytest.mark.tracedance_replay(allow_hosts=["*.allowed.test"])
        def test_allowed():
            for host in ("x.allowed.test", "from.ini.test"):
                with pytest.raises(socket.gaierror):
                    reach(host)

        def test_after():
            assert (socket.getaddrinfo, socket.create_connection) == real
            assert "connect" not in vars(socket.socket)
        """
    )
    shop.makeini("[pytest]\ntracedance_allow_hosts = from.ini.test\n")
    shop.runpytest().assert_outcomes(passed=2, failed=1)


def test_a_marker_names_a_rebuilt_test_and_where_answers_may_come_from(
    shop: pytest.Pytester,
) -> None:
    for name, job in (("a", "job-1"), ("b", "job-2")):
        call = {"name": "status", "arguments": {"job": job}, "answer": {"ok": True, "content": job}}
        document = {
            "format": "tracedance.rebuilt_test",
            "version": 1,
            "id": name,
            "source": {"trace_id": name, "group": name},
            "recordings": [call],
        }
        folder = shop.mkdir("rebuilt") if name == "a" else shop.path / "rebuilt"
        Path(folder, f"{name}.yaml").write_text(json.dumps(document))
    shop.makepyfile(
        """
        import pytest
        from shop import status

        @pytest.mark.tracedance_replay("rebuilt/a.yaml", answers=["same", "other"])
        def test_both(tracedance_replay):
            assert [status("job-1"), status("job-2")] == ["job-1", "job-2"]
            assert [answer.stamp for answer in tracedance_replay.answers] == ["same", "other"]

        @pytest.mark.tracedance_replay("rebuilt/a.yaml")
        def test_own():
            status("job-2")
        """
    )
    shop.runpytest().assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        ("recrod='all'", "no setting 'recrod'; did you mean 'record'?"),
        ("'a', 'b'", "give one file at most"),
        ("5", "file=5 is no path"),
        ("file=''", "file='' is no path"),
        ("record='never'", "record='never' is none of none, once"),
        ("record=['once']", "record=['once'] is no text"),
        ("answers=['best']", "is no list of same"),
        ("answers='same'", "answers='same' is no list of texts"),
        ("answers=[5]", "answers=[5] is no list of texts"),
        ("answers=True", "answers=True is no list of texts"),
        ("allow_hosts='a.test'", "allow_hosts='a.test' is no list of texts"),
        ("allow_hosts=[1]", "allow_hosts=[1] is no list of texts"),
        ("redactor='x'", "redactor='x' has no redact()"),
    ],
)
def test_a_wrong_marker_is_one_line_when_tests_are_collected(
    shop: pytest.Pytester, marker: str, told: str
) -> None:
    shop.makepyfile(
        test_wrong=f"""
        import pytest

        @pytest.mark.tracedance_replay({marker})
        def test_it():
            pass
        """
    )
    result = shop.runpytest()
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    (line,) = [line for line in result.outlines if line.startswith("@pytest.mark")]
    assert "on 'test_wrong.py::test_it': " in line
    assert told in line


def test_a_file_of_recordings_that_is_none_is_an_error_of_its_test(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        test_wrong="""
        import pytest

        @pytest.mark.tracedance_replay("test_wrong.py")
        def test_it():
            pass
        """
    )
    result = shop.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E  *test_wrong.py*"])


def test_a_marker_may_set_the_mode_and_the_command_line_goes_first(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import status

        @pytest.mark.tracedance_replay(record="once")
        def test_it():
            status("job-1")
        """
    )
    shop.runpytest("--tracedance-record=none").assert_outcomes(failed=1)
    shop.runpytest().assert_outcomes(passed=1)
    assert ran(shop) == ["status job-1"]


def test_a_marker_on_one_parameter_is_not_for_the_others(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import status

        @pytest.mark.parametrize(
            "job", ["a", pytest.param("b", marks=pytest.mark.tracedance_replay), "c"]
        )
        def test_it(job):
            status(job)
        """
    )
    shop.runpytest().assert_outcomes(passed=2, failed=1)
    assert ran(shop) == ["status a", "status c"]


def test_workers_of_xdist_record_and_replay_their_own_tests(shop: pytest.Pytester) -> None:
    shop.makepyfile(test_uses=USES)

    shop.runpytest_subprocess("-n2", "--tracedance-record=once").assert_outcomes(passed=3)
    assert len(recordings(shop)) == 3
    ran(shop)
    shop.runpytest_subprocess("-n2").assert_outcomes(passed=3)
    assert ran(shop) == []


def test_tests_of_an_asyncio_plugin_are_replayed(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import asyncio
        import pytest
        from shop import order

        pytestmark = [pytest.mark.anyio, pytest.mark.tracedance_replay]

        @pytest.fixture(scope="module")
        def anyio_backend():
            return "asyncio"

        @pytest.fixture(scope="module")
        async def loop_is_older(anyio_backend):
            yield

        async def test_it(loop_is_older):
            found = await asyncio.gather(*(order(str(n)) for n in range(3)))
            assert [each["number"] for each in found] == ["0", "1", "2"]

        async def test_miss(loop_is_older):
            await order("new")
        """
    )
    shop.runpytest("--tracedance-record=once", "-k", "test_it").assert_outcomes(passed=1)
    assert len(ran(shop)) == 3
    shop.runpytest().assert_outcomes(passed=1, failed=1)
    assert ran(shop) == []


def test_a_server_of_the_session_belongs_to_no_test_and_a_thread_of_a_test_to_it(
    shop: pytest.Pytester,
) -> None:
    shop.makepyfile(
        test_it="""
        import queue, threading
        import pytest, shop
        from tracedance_sdk.errors import UnrecordedCall

        class Server:
            def __init__(self):
                self.jobs = queue.Queue()
                threading.Thread(target=self.work, daemon=True).start()

            def work(self):
                while True:
                    answers, arguments = self.jobs.get()
                    try:
                        answers.put(shop.refund(*arguments))
                    except Exception as error:
                        answers.put(error)

            def refund(self, *arguments):
                answers = queue.Queue()
                self.jobs.put((answers, arguments))
                return answers.get(timeout=10)

        @pytest.fixture(scope="session")
        def server():
            return Server()

        @pytest.fixture
        def own():
            return Server()

        kept = []

        @pytest.mark.parametrize("order", ["A-1", "A-2"])
        def test_refund(order, server, own, tracedance_replay):
            kept.append(own)
            assert server.refund(order, 5) == {"order": order, "amount": 5}
            assert own.refund(order, 5) == {"order": order, "amount": 5}
            if len(kept) > 1 and tracedance_replay.record == "none":
                assert isinstance(kept[0].refund(order, 5), UnrecordedCall)

        def test_live(server, own):
            assert server.refund("A-3", 5) == {"order": "A-3", "amount": 5}
            assert isinstance(kept[0].refund("A-3", 5), UnrecordedCall)
            assert own.refund("A-4", 5) == {"order": "A-4", "amount": 5}
        """
    )
    shop.runpytest("--tracedance-record=all").assert_outcomes(passed=3)
    ran(shop)
    shop.runpytest().assert_outcomes(passed=3)
    assert ran(shop) == ["refund A-3", "refund A-4"]


def test_classes_of_unittest_are_replayed_by_the_marker(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import unittest
        import pytest
        from shop import order, refund

        @pytest.mark.tracedance_replay
        class TestShop(unittest.IsolatedAsyncioTestCase):
            async def test_it(self):
                self.assertEqual((await order("7"))["number"], "7")
        """
    )
    shop.runpytest("--tracedance-record=once").assert_outcomes(passed=1)
    assert ran(shop) == ["order 7"]
    shop.runpytest().assert_outcomes(passed=1)
    assert ran(shop) == []


def test_names_of_files_are_safe_and_the_tests_own() -> None:
    assert file_name("TestShop.test_refund") == "TestShop.test_refund"
    assert file_name("test_it[a/b]") != file_name("test_it[a-b]")
    for name in ("test_it[../../x]", ".hidden", "test_it[ü]", "x" * 300, "test_it[a\nb]", "..."):
        assert "/" not in file_name(name)
        assert not file_name(name).startswith(".")
        assert len(file_name(name)) < 120
