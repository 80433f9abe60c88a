"""The `tracedance` command, one small module per verb.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.cli.program import main, run

__all__ = [
    "main",
    "run",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "program": ("main", "run"),
    },
)
