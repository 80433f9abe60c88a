"""The pytest plugin: record in a test, assert on the trace, keep the traces of what failed.

    from tracedance_sdk.pytest_plugin import assert_passes

    def test_refund(tracedance_recorder):
        with tracedance_recorder(task_id="refund", state=shop.snapshot) as recorder:
            agent.run("Refund order 7")
        assert_passes(recorder.trace, "tasks/refund.yaml")

``@pytest.mark.tracedance(runs=10, min_pass_rate=0.8)`` runs a test several times. The fixture
``tracedance_replay``, or the marker of that name, gives recorded answers to the program's own
``@td.tool`` functions.

Options: ``--tracedance-keep`` (whose traces stay: ``failed``, ``all``, ``none``),
``--tracedance-dir`` (where; also the ini option ``tracedance_dir``), ``--tracedance-out`` (a
folder for one result set of the whole run, with pytest-xdist too), ``--tracedance-max-cost`` (in
US dollars, of the whole run). The ini option ``tracedance_retention`` says how many runs' traces
stay.

A run that uses none of this imports nothing but the standard library.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from tracedance_sdk.pytest_plugin.run_rules import TooFewRuns
from tracedance_sdk.pytest_plugin.undecided import Undecided

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tracedance_sdk.grading import Criteria, Judge, Report
    from tracedance_sdk.pytest_plugin.attempts import Attempt
    from tracedance_sdk.recording import TraceRecorder
    from tracedance_sdk.replay import ReplaySession
    from tracedance_sdk.trace import Trace

__all__ = [
    "MakeRecorder",
    "TooFewRuns",
    "Undecided",
    "assert_passes",
    "tracedance_recorder",
    "tracedance_replay",
]

MARKER: Final = (
    "tracedance(runs=1, min_pass_rate=1.0, confidence=None, **settings): run this test up to runs "
    "times; it passes when that share of its runs does, or is shown to at a confidence such as "
    "0.95. Other settings are those of every recorder that the tracedance_recorder fixture makes "
    "in this test, by TraceRecorder's names, such as task_id='refund'"
)

REPLAY: Final = (
    "tracedance_replay(file=None, record='none', answers=('same', 'pure'), allow_hosts=(), "
    "simulator=None, redactor=None): give recorded answers to the @td.tool functions that this "
    "test calls; file is a rebuilt test, by default recordings/<module>/<test>.yaml"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tracedance", "recorded agent runs")
    group.addoption(
        "--tracedance-keep",
        choices=("failed", "all", "none"),
        default="failed",
        help="whose traces stay as files: failed (default), all, none",
    )
    group.addoption(
        "--tracedance-dir",
        metavar="DIR",
        help="folder for kept traces (default: the ini option, else .tracedance in the rootdir)",
    )
    group.addoption(
        "--tracedance-out",
        metavar="DIR",
        help="write the verdicts of assert_passes as one result set into this folder",
    )
    group.addoption(
        "--tracedance-max-cost",
        metavar="USD",
        type=_dollars,
        help="begin no further run once the recorded agents and judges of the whole test run "
        "cost this much; tests that this leaves undecided are inconclusive",
    )
    group.addoption(
        "--tracedance-record",
        choices=("none", "once", "new_episodes", "all"),
        help="which tools of replayed tests run and are recorded: none (default), once (where "
        "there is no file yet), new_episodes (what no recording answers), all (anew)",
    )
    parser.addini(
        "tracedance_recordings", "folder beside a test for its recordings", default="recordings"
    )
    parser.addini(
        "tracedance_allow_hosts", "hosts that replayed tests may reach", type="args", default=()
    )
    parser.addini("tracedance_dir", "folder for kept traces, relative to the rootdir", default="")
    parser.addini("tracedance_retention", "how many test runs' traces stay", default="5")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and the session's hooks.

    Raises:
        UsageError: An option that cannot be used.
    """
    from tracedance_sdk.pytest_plugin.replay_hooks import ReplayHooks
    from tracedance_sdk.pytest_plugin.sessions import Session

    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line("markers", REPLAY)
    session = Session(config)
    config.pluginmanager.register(session, "tracedance-session")
    config.pluginmanager.register(session.repeats, "tracedance-repeats")
    config.pluginmanager.register(ReplayHooks(), "tracedance-replays")


def _dollars(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of dollars above 0")
    return amount


class MakeRecorder:
    """What the `tracedance_recorder` fixture gives: call it for a recorder of this test."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    def __call__(self, **settings: Any) -> TraceRecorder:
        """Return a new recorder, to be entered by ``with`` or ``async with``.

        Args:
            settings: Those of `TraceRecorder`, such as ``task_id=`` and ``state=``; what is not
                given comes from the test's ``tracedance`` markers. The metadata names the test.

        Raises:
            InvalidOption: A setting, here or in a marker, that cannot be used.
        """
        return self._attempt.recorder(settings)


@pytest.fixture
def tracedance_recorder(request: pytest.FixtureRequest) -> Iterator[MakeRecorder]:
    """Make recorders whose traces are kept as files when the test fails.

    Call it, once or several times: ``with tracedance_recorder(state=shop.snapshot) as recorder``.
    A recorder still open when the test ends is closed.
    """
    from tracedance_sdk.pytest_plugin.attempts import ATTEMPT

    attempt = request.node.stash[ATTEMPT]
    yield MakeRecorder(attempt)
    attempt.close_recorders()


@pytest.fixture
def tracedance_replay(request: pytest.FixtureRequest) -> Iterator[ReplaySession]:
    """Give recorded answers to the ``@td.tool`` functions that this test calls.

    Their bodies do not run, but for pure ones and those that ``--tracedance-record`` asks for. A
    call that no recording answers fails the test, also when its error is caught.
    """
    from tracedance_sdk.pytest_plugin.replay_hooks import replayed

    yield from replayed(request)


def assert_passes(
    trace: Trace | Sequence[Trace],
    spec: Criteria,
    *,
    allow: Collection[str] = (),
    judge: Judge | None = None,
) -> Report:
    """Grade a trace and fail the test unless the verdict is pass.

    Args:
        trace: What to grade, such as ``recorder.trace``; ``recorder.traces`` grades what sub-agents
            did as part of the same run.
        spec: What to hold it against: a specification, its file, its fields, a registry that
            has the trace's task, or a list of criteria and functions; see `evaluate`.
        allow: What is tolerated although it is no pass. Each entry is one of

            * ``"fail"``, ``"error"``, ``"inconclusive"``, ``"critical"``: that verdict, on any
              criterion;
            * a criterion's id: any verdict on it except critical;
            * ``"<id>:<verdict>"``: that verdict on that criterion. This or ``"critical"`` is the
              only way to tolerate a critical error.

            The report and the result set hold the verdicts as they are.
        judge: Scores the trajectory; decides nothing unless the specification says so.

    Returns:
        The report, for further assertions.

    Raises:
        InvalidOption: `trace` is no trace, or several runs' traces, or an entry of `allow` is no
            verdict and no criterion of the specification.
        AssertionError: The verdict is not pass: the text says why, the worst first, with the
            calls and state as expected and as found, and names the file of the kept trace.
        Undecided: The same, an AssertionError too, when nothing is worse than inconclusive or
            error: nobody can say whether the agent did well.
        InvalidSpec: The specification cannot be used.
        UnreadableFile: The specification's file is missing or not permitted.
        UnknownTask: The registry has no task of the trace's.

    Example::

        assert_passes(recorder.trace, "tasks/refund.yaml", allow=["inconclusive"])
    """
    __tracebackhide__ = True
    from tracedance_sdk.errors import TraceDanceError
    from tracedance_sdk.pytest_plugin.passing import passed_or_error

    try:
        report, failure = passed_or_error(trace, spec, allow=allow, judge=judge)
    except TraceDanceError as error:
        # Where in the library it was noticed is of no use to the test's author.
        raise error.with_traceback(None) from None
    if failure is not None:
        raise failure
    return report
