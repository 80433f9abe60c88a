"""The state of the environment during a run: at its start, at its end, and after each call."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import Json, diff


class StateReader:
    """Takes snapshots of one source, frozen as JSON.

    Args:
        source: What `state_source` accepts.

    Raises:
        StateSourceError: No state can be taken from it.
    """

    def __init__(self, source: object) -> None:
        from tracedance_sdk.recording.state import state_source

        self._take = state_source(source)

    def read(self) -> bytes:
        """Return the state now. What has to be awaited is awaited in a thread of its own."""
        state = self._take()
        return freeze(_awaited_elsewhere(state) if inspect.isawaitable(state) else state)

    async def read_async(self) -> bytes:
        """Return the state now."""
        state = self._take()
        return freeze(await state if inspect.isawaitable(state) else state)


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
        self._lock = threading.Lock()
        self._before: Json = None

    def start(self, state: bytes) -> None:
        """Compare with this state from now on."""
        self._before = orjson.loads(state)

    def start_afresh_in_child(self) -> None:
        """Become usable in a forked process, whatever the lock was doing in its parent."""
        self._lock = threading.Lock()

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


def _awaited_elsewhere(awaitable: Awaitable[Any]) -> object:
    """Await in another thread: here a loop may be running, and none may be left behind."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    async def wait() -> object:
        return await awaitable

    with ThreadPoolExecutor(1, thread_name_prefix="tracedance-state") as pool:
        return pool.submit(asyncio.run, wait()).result()
