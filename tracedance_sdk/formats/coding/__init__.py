"""Sessions of coding agents, as each client keeps them on disk.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.formats.coding.pi import read_pi_session

__all__ = [
    "read_pi_session",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "pi": ("read_pi_session",),
    },
)
