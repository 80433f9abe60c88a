"""Google ADK: the session's state is the state of the run.

    from tracedance_integrations import google_adk as td_google_adk

    td_google_adk.install()

Where a recorder or a `SpanCollector` has no ``state=`` of its own, a run's initial state is that of
the session before the runner takes the message, and its final state has everything in it that
the run's events changed; keys that begin with ``temp:`` are no part of it. The session is read
once, without its events, and only while somebody records. What models and tools do is told by
ADK's own spans (`SpanCollector`). `install` changes ADK's `Runner`, and `uninstall` puts it back.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, Final

from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.driving import iterate_async_in
from tracedance_sdk.recording.framework_states import FRAMEWORK_STATE, watchers
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating import Integration, Patches, start_agent
from tracedance_sdk.recording.scopes import open_runs

_TEMPORARY: Final = "temp:"


def _hooks(patches: Patches) -> None:
    from google.adk.runners import Runner

    patches.wrap(Runner, "run_async", _run_async)


def _run_async(wrapped: Any, runner: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    events = wrapped(*args, **kwargs)
    if not open_runs and not watchers:
        return events
    return iterate_async_in(partial(_SessionRun, runner, kwargs), events)


class _SessionRun:
    """A run of a runner in one session, as an operation.

    Args:
        runner: ADK's.
        asked: What its ``run_async`` was called with.
    """

    def __init__(self, runner: Any, asked: dict[str, Any]) -> None:
        self._runner = runner
        self._asked = asked
        self._state: dict[str, Any] | None = None

    async def prepare(self) -> None:
        """Read the session's state, and begin."""
        self._state = await GUARD.attempt_async("session", PROCESS_FAULTS, self._read)
        self._operation = start_agent(partial(_agent_name, self._runner))
        await self._operation.prepare()
        self._operation.tell_state(self._now)

    def enter(self) -> Any:
        """Make the run, and its session's state, the current ones."""
        # A sub-agent in a tool has a session of its own, which is not that of the whole.
        is_whole = self._state is not None and FRAMEWORK_STATE.get() is None
        token = FRAMEWORK_STATE.set(self._now) if is_whole else None
        return self._operation.enter(), token

    def leave(self, tokens: Any) -> None:
        """Make what was around it current again."""
        ours, token = tokens
        if token is not None:
            reset_quietly(FRAMEWORK_STATE, token)
        self._operation.leave(ours)

    def add(self, item: object) -> None:
        """Take what an event changed."""
        GUARD.attempt("event", PROCESS_FAULTS, self._take, item)

    def exhaust(self) -> None:
        """The runner is done."""
        self._operation.tell_state(self._now)
        self._operation.exhaust()

    def succeed(self, value: object) -> None:
        """The runner is done."""
        self._operation.tell_state(self._now)
        self._operation.succeed(value)

    def fail(self, error: BaseException) -> None:
        """The run failed, or its caller stopped reading."""
        self._operation.tell_state(self._now)
        self._operation.fail(error)

    async def observe(self) -> None:
        """Tell the state at the end before the run looks for it."""
        self._operation.tell_state(self._now)
        await self._operation.observe()

    async def _read(self) -> dict[str, Any]:
        from google.adk.sessions.base_session_service import GetSessionConfig

        session = await self._runner.session_service.get_session(
            app_name=self._runner.app_name,
            user_id=self._asked["user_id"],
            session_id=self._asked["session_id"],
            config=GetSessionConfig(num_recent_events=0),
        )
        return {} if session is None else _lasting(dict(session.state))

    def _take(self, event: Any) -> None:
        given = self._asked.get("state_delta")
        if given and self._state is not None:
            # It came with the message, of which no event is yielded.
            self._asked = {**self._asked, "state_delta": None}
            self._state.update(_lasting(given))
        changes = getattr(event.actions, "state_delta", None)
        if changes and not event.partial and self._state is not None:
            self._state.update(_lasting(changes))

    def _now(self) -> object:
        return None if self._state is None else dict(self._state)


def _lasting(state: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of what a session keeps beyond one run."""
    return {k: copy.deepcopy(v) for k, v in state.items() if not k.startswith(_TEMPORARY)}


def _agent_name(runner: Any) -> str | None:
    name = getattr(runner.agent, "name", None) or runner.app_name
    return name if isinstance(name, str) else None


_INTEGRATION: Final = Integration(
    "google-adk",
    module="google.adk",
    package="google-adk",
    oldest="1.20",
    below="3",
    hooks=_hooks,
)
install, uninstall = _INTEGRATION.install, _INTEGRATION.uninstall
