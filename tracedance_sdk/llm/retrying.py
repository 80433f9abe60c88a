"""When a provider's SDK is not to try again, though it would."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import Any, Final

from tracedance_sdk.llm.failures import is_used_up

LONGEST_WAIT_S: Final = 120.0
"""What is waited at most before the next try; an endpoint that asks for more is not asked again."""


async def stop_hopeless(response: Any) -> None:
    """Tell the SDK not to try again where that is in vain, or hours away.

    No waiting mends an account that is used up. OpenAI's SDK waits for two minutes at most, where
    Anthropic's waits as long as it is told to.
    """
    is_hopeless = _asked_wait_s(response.headers) > LONGEST_WAIT_S
    if response.status_code == 429 and not is_hopeless:
        await response.aread()
        is_hopeless = is_used_up(response.text)
    if is_hopeless:
        response.headers["x-should-retry"] = "false"


def _asked_wait_s(headers: Mapping[str, str]) -> float:
    """Return how long an endpoint asks to wait, as the SDKs read it; 0 where it does not say."""
    told = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return float(headers.get("retry-after-ms", "")) / 1000
    with contextlib.suppress(ValueError):
        return float(told)
    with contextlib.suppress(ValueError, OverflowError):
        date = parsedate_tz(told)
        return 0.0 if date is None else mktime_tz(date) - time.time()
    return 0.0
