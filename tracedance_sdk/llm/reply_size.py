"""How long a reply may be, whatever an endpoint sends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final

MOST_BYTES: Final = 32 * 2**20
"""Of a body, unpacked; the longest replies of models are a hundredth of it."""

TOO_LARGE: Final = f"the reply is larger than {MOST_BYTES // 2**20} MB"
_MARK: Final = "tracedance.too_large"


async def cap_size(response: Any) -> None:
    """Let a response of an SDK's HTTP client end after `MOST_BYTES`; its connection is closed.

    It ends rather than fails, as the SDKs would ask again for what fails; see `is_too_large`.
    """
    whole = response.aiter_bytes

    async def capped(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        read = 0
        async with aclosing(whole(chunk_size)) as parts:
            async for part in parts:
                read += len(part)
                if read > MOST_BYTES:
                    response.extensions[_MARK] = True
                    await response.aclose()
                    return
                yield part

    response.aiter_bytes = capped


def is_too_large(response: Any) -> bool:
    """Whether a response that was read was cut by `cap_size`."""
    return _MARK in response.extensions
