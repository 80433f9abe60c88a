"""What belongs to one event loop: connections and locks cannot be taken into another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One value for each event loop, made when it is first asked for there.

    Args:
        make: Makes a value.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: dict[asyncio.AbstractEventLoop, T] = {}

    def here(self) -> T:
        """Return the running loop's value.

        Raises:
            RuntimeError: No loop is running.
        """
        loop = asyncio.get_running_loop()
        if loop not in self._values:
            self._values = {one: v for one, v in self._values.items() if not one.is_closed()}
            self._values[loop] = self._make()
        return self._values[loop]


class LoopClients:
    """Clients of an SDK, one for each event loop.

    A client closes when its loop ends the way `asyncio.run` ends it, so that one who calls models
    from several loops, one after the other, leaves no open connections.
    """

    def __init__(self) -> None:
        self._kept: dict[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[None]]] = {}

    def here(self) -> Any:
        """Return the running loop's client; None when it has none."""
        kept = self._kept.get(asyncio.get_running_loop())
        return None if kept is None else kept[0]

    async def keep(self, client: Any) -> None:
        """Make a client the running loop's."""
        loop = asyncio.get_running_loop()
        self._kept = {one: kept for one, kept in self._kept.items() if not one.is_closed()}
        life = self._life(loop, client)
        self._kept[loop] = client, life
        # A loop that ends closes the generators that were begun in it.
        await anext(life)

    async def close(self) -> None:
        """Close the running loop's client, if there is one."""
        kept = self._kept.get(asyncio.get_running_loop())
        if kept is not None:
            await kept[1].aclose()

    async def _life(self, loop: asyncio.AbstractEventLoop, client: Any) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            self._kept.pop(loop, None)
            await client.close()
