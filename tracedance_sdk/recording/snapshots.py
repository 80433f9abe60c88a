"""The state of the environment during a run: at its start, at its end, and after each call."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Final

import orjson

from tracedance_sdk.errors import RecorderError
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.scopes import CURRENT, QUIET
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import Json, diff

PATIENCE_SECONDS: Final = 2.0
"""How long a state that has to be awaited elsewhere is waited for."""

MOST_LOOKS: Final = 8
"""How often one call looks at the state while others keep coming first."""

_OVERTAKEN: Final = f"other calls ended during each of {MOST_LOOKS} looks at the state"


class StateReader:
    """Takes snapshots of one source, frozen as JSON. Tools the source uses are not recorded.

    Args:
        source: What `state_source` accepts.

    Raises:
        StateSourceError: No state can be taken from it.
    """

    def __init__(self, source: object) -> None:
        from tracedance_sdk.recording.state import state_source

        self._take = state_source(source)
        self._is_stuck = False

    def read(self) -> bytes:
        """Return the state now. What has to be awaited is awaited in a thread of its own.

        Raises:
            TimeoutError: That took longer than `PATIENCE_SECONDS`, now or earlier.
        """
        if self._is_stuck:
            raise TimeoutError("the state was not there in time before; it is not waited for again")
        token = CURRENT.set(QUIET)
        try:
            state = self._take()
            if inspect.isawaitable(state):
                state = self._awaited_elsewhere(state)
            return freeze(state)
        finally:
            reset_quietly(CURRENT, token)

    async def read_async(self) -> bytes:
        """Return the state now."""
        token = CURRENT.set(QUIET)
        try:
            state = self._take()
            return freeze(await state if inspect.isawaitable(state) else state)
        finally:
            reset_quietly(CURRENT, token)

    def _awaited_elsewhere(self, awaitable: Awaitable[Any]) -> object:
        """Await in another thread: here a loop may be running, and none may be left behind.

        A source that waits for the loop of this thread would wait for ever.
        """
        import asyncio

        async def wait() -> object:
            CURRENT.set(QUIET)
            return await awaitable

        def run() -> None:
            try:
                found.set_result(asyncio.run(wait()))
            except BaseException as error:  # noqa: BLE001  # raised where the result is awaited
                found.set_exception(error)

        found: Future[object] = Future()
        threading.Thread(target=run, name="tracedance-state", daemon=True).start()
        try:
            return found.result(PATIENCE_SECONDS)
        except TimeoutError:
            self._is_stuck = True
            raise TimeoutError(
                f"the state was not there within {PATIENCE_SECONDS} s; open the recorder with"
                " 'async with' when its state source needs the running loop"
            ) from None


class KeptState:
    """A state that was read when its owner said so.

    Args:
        state: As frozen.
    """

    def __init__(self, state: bytes) -> None:
        self._state = state

    def read(self) -> bytes:
        """Return the state."""
        return self._state

    async def read_async(self) -> bytes:
        """Return the state."""
        return self._state


def state_reader(state: object, environment: object) -> StateReader | None:
    """Return what reads the state: of the source given, else of the environment if it shows one.

    Raises:
        StateSourceError: No state can be taken from `state`.
    """
    if state is not None:
        return StateReader(state)
    if callable(getattr(environment, "get_state", None)):
        return StateReader(environment)
    return None


class StateWatch:
    """The change of state from one call to the next, as JSON Patch.

    Calls that overlap share their changes out by the order in which they end. The source is the
    program's own code and may wait for its locks and threads, so nothing of ours is held while it
    is read. A look during which another call's look was kept may be the older of the two, and is
    taken again.

    Args:
        reader: Takes the state.
        text: Makes JSON bytes fit to be written.
        mask: Masks the secrets in JSON. States are compared masked: a patch says the name of what
            it changes in its path, where the name of a secret would not be seen.
    """

    def __init__(
        self,
        reader: StateReader,
        text: Callable[[bytes], str],
        *,
        mask: Callable[[bytes], bytes],
    ) -> None:
        self._reader = reader
        self._text = text
        self._mask = mask
        self._lock = threading.RLock()
        self._before: Json = None
        self._kept = 0
        self._looks: set[object] = set()

    def start(self, state: bytes) -> None:
        """Compare with this state from now on."""
        self._before = orjson.loads(self._mask(state))

    def start_afresh_in_child(self) -> None:
        """Become usable in a forked process, whatever the lock was doing in its parent."""
        self._lock = threading.RLock()
        self._looks = set()

    def change(self) -> str | None:
        """Return what changed since the last look, as JSON text fit to be written.

        None for a call that the source itself makes: looking again would never end.

        Raises:
            RecorderError: No look could be taken, or none that is surely the latest. What changed
                is part of the next call's change.
        """
        if not self._may_look():
            return None
        for _ in range(MOST_LOOKS):
            kept, look = self._kept, object()
            self._looks.add(look)
            try:
                state = self._reader.read()
            finally:
                self._looks.discard(look)
            found = self._since(kept, state)
            if found is not None:
                return found
        raise RecorderError(_OVERTAKEN)

    async def change_async(self) -> str | None:
        """Return what changed since the last look, from a source that may have to be awaited."""
        if not self._may_look():
            return None
        for _ in range(MOST_LOOKS):
            kept, look = self._kept, object()
            self._looks.add(look)
            try:
                state = await self._reader.read_async()
            finally:
                self._looks.discard(look)
            found = self._since(kept, state)
            if found is not None:
                return found
        raise RecorderError(_OVERTAKEN)

    def _may_look(self) -> bool:
        scope = CURRENT.get()
        if scope is None and self._looks:
            # A thread without context may be working for the look, which then waits for it.
            raise RecorderError(
                "a thread without context ended a call while the state was being read;"
                " give it work through recorder.thread_pool() or recorder.wrap()"
            )
        return scope is not QUIET

    def _since(self, kept: int, state: bytes) -> str | None:
        """Return the change to a state read after `kept` looks; None when there are more now."""
        now = orjson.loads(self._mask(state))
        with self._lock:
            if kept != self._kept:
                return None
            self._kept = kept + 1
            before = self._before
            self._before = now
        return self._text(freeze(diff(before, now)))
