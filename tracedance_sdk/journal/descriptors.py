"""Keep the journal's descriptor apart from those that the program opens and closes."""

from __future__ import annotations

import contextlib
import os
from typing import Final

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has none
    fcntl = None  # type: ignore[assignment]

_LOWEST: Final = (512, 3)
"""Where to look for a free number, the second where so many descriptors are not allowed."""


def move_out_of_the_way(descriptor: int) -> int:
    """Move a descriptor to a high number.

    A program that closes descriptors not its own (its standard ones, or all, as daemons do) and
    opens others gets the lowest numbers, and must not write into the journal, nor we into its file.
    """
    if fcntl is not None:
        for lowest in _LOWEST:
            with contextlib.suppress(OSError):
                moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
                os.close(descriptor)
                return moved
    return descriptor
