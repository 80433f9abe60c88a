"""The state of the environment during a run: at its start, at its end, and after each call."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Final

import orjson

from tracedance_sdk.recording.scopes import CURRENT, QUIET
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import Json, diff

PATIENCE_SECONDS: Final = 2.0
"""How long a state that has to be awaited elsewhere is waited for."""


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
            CURRENT.reset(token)

    async def read_async(self) -> bytes:
        """Return the state now."""
        token = CURRENT.set(QUIET)
        try:
            state = self._take()
            return freeze(await state if inspect.isawaitable(state) else state)
        finally:
            CURRENT.reset(token)

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

    Calls that overlap share their changes out by the order in which they end.

    Args:
        reader: Takes the state.
        text: Makes JSON bytes fit to be written.
    """

    def __init__(self, reader: StateReader, text: Callable[[bytes], str]) -> None:
        self._reader = reader
        self._text = text
        self._lock = threading.RLock()
        self._before: Json = None

    def start(self, state: bytes) -> None:
        """Compare with this state from now on."""
        self._before = orjson.loads(state)

    def start_afresh_in_child(self) -> None:
        """Become usable in a forked process, whatever the lock was doing in its parent."""
        self._lock = threading.RLock()

    def change(self) -> str:
        """Return what changed since the last look, as JSON text fit to be written."""
        with self._lock:
            return self._since(self._reader.read())

    async def change_async(self) -> str:
        """Return what changed since the last look, from a source that may have to be awaited."""
        state = await self._reader.read_async()
        with self._lock:
            return self._since(state)

    def _since(self, state: bytes) -> str:
        before, self._before = self._before, orjson.loads(state)
        return self._text(freeze(diff(before, self._before)))
