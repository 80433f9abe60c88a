"""Replays of decorated tools in tests: opened before other fixtures, judged after the test.

An agent may catch what an unrecorded call raises; the test fails all the same.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest
from _pytest.outcomes import Failed

from tracedance_sdk.pytest_plugin.replay_rules import REPLAY_MARKER, hint_of, session_of
from tracedance_sdk.pytest_plugin.undecided import Undecided

if TYPE_CHECKING:
    from tracedance_sdk.replay import ReplaySession

FIXTURE: Final = "tracedance_replay"


class Unanswered(Failed, Undecided):
    """Reads were not answered, so that nobody can say what the agent would have done."""

    __module__ = "builtins"  # pytest shows no module's name then


class OpenReplay:
    """The replay of a test that runs.

    Attributes:
        session: Answers its calls.
        hint: What to do about calls that no recording answers.
        did_pass: Whether the test itself has passed.
        n_told: How many of the missed calls a failure has named.
    """

    def __init__(self, session: ReplaySession, hint: str) -> None:
        self.session = session
        self.hint = hint
        self.did_pass = False
        self.n_told = 0

    def untold(self) -> str | None:
        """Return the missed calls that no failure has named, as text; None when there is none."""
        missed = self.session.missed[self.n_told :]
        if not missed:
            return None
        self.n_told = len(self.session.missed)
        from tracedance_sdk.report import visible

        return visible("\n\n".join([*map(str, missed), self.hint]))


REPLAY: Final = pytest.StashKey[OpenReplay]()


def replayed(request: pytest.FixtureRequest) -> Iterator[ReplaySession]:
    """Replay the tools of a test, then write what was recorded when the test has passed."""
    from tracedance_sdk.errors import TraceDanceError
    from tracedance_sdk.replay import answering

    try:
        session = session_of(request)
    except TraceDanceError as error:
        # Where in the library it was noticed is of no use to the test's author.
        raise error.with_traceback(None) from None
    replay = OpenReplay(session, hint_of(session, request.config))
    request.node.stash[REPLAY] = replay
    try:
        with answering(session):
            yield session
    finally:
        del request.node.stash[REPLAY]
    untold = replay.untold()
    if untold is not None:
        pytest.fail(f"{untold}\nThis was called outside of the test itself.", pytrace=False)
    if replay.did_pass:
        session.save()


class ReplayHooks:
    """The hooks for tests that replay."""

    @pytest.hookimpl
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Open replays before other fixtures of a test, and where a marker alone asks for one."""
        for item in items:
            names: list[str] | None = getattr(item, "fixturenames", None)
            if names is None:
                continue
            if FIXTURE in names or item.get_closest_marker(REPLAY_MARKER) is not None:
                # A list of its own: tests that differ by a parameter share theirs.
                others = [name for name in names if name != FIXTURE]
                vars(item)["fixturenames"] = [FIXTURE, *others]

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Keep what outlives a test, such as a server of the session, from belonging to it."""
        if fixturedef.scope == "function" or _replay_of(request) is None:
            return (yield)
        from tracedance_sdk.recording import known_to_nobody

        with known_to_nobody():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Fail a test that passed although calls of it were not answered."""
        replay = item.stash.get(REPLAY, None)
        if replay is None:
            return (yield)
        try:
            yield
        except Exception as error:
            _explain(replay, error)
            raise
        untold = replay.untold()
        if untold is not None:
            _fail(replay, untold)
        replay.did_pass = True
        return None


def _replay_of(request: pytest.FixtureRequest) -> OpenReplay | None:
    """Return the open replay of the test for which a fixture is set up."""
    item: pytest.Item = request._pyfuncitem  # of wider fixtures, pytest tells it nowhere else
    return item.stash.get(REPLAY, None)


def _explain(replay: OpenReplay, error: Exception) -> None:
    """Say beside another failure what was not answered and what was not reached."""
    from tracedance_sdk.errors import UnrecordedCall
    from tracedance_sdk.report import in_one_line

    untold = replay.untold()
    if isinstance(error, UnrecordedCall):
        error.add_note(f"\n{replay.hint}")
    elif untold is not None:
        error.add_note(f"\nnot answered before:\n{untold}")
    block = replay.session.block
    if block is not None and block.refused:
        error.add_note(f"connections refused: {in_one_line(', '.join(block.refused[:10]))}")


def _fail(replay: OpenReplay, text: str) -> None:
    text = f"{text}\nThe test caught the error that was raised, and would have passed."
    if any(use.writes for use in replay.session.missed):
        pytest.fail(text, pytrace=False)
    raise Unanswered(text, pytrace=False)
