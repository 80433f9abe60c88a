"""Sessions of coding agents, as each client keeps them on disk.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.formats.coding.codex import read_codex_session
    from tracedance_sdk.formats.coding.codex_exec import read_codex_exec
    from tracedance_sdk.formats.coding.pi import read_pi_session

__all__ = [
    "read_codex_exec",
    "read_codex_session",
    "read_pi_session",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "codex": ("read_codex_session",),
        "codex_exec": ("read_codex_exec",),
        "pi": ("read_pi_session",),
    },
)
