"""Sessions of coding agents, as each client keeps them on disk.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.formats.coding.claude_code import read_claude_code
    from tracedance_sdk.formats.coding.codex import read_codex_session
    from tracedance_sdk.formats.coding.codex_exec import read_codex_exec
    from tracedance_sdk.formats.coding.openclaw_telemetry import read_openclaw_telemetry
    from tracedance_sdk.formats.coding.pi import read_pi_session

__all__ = [
    "read_claude_code",
    "read_codex_exec",
    "read_codex_session",
    "read_openclaw_telemetry",
    "read_pi_session",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "claude_code": ("read_claude_code",),
        "codex": ("read_codex_session",),
        "codex_exec": ("read_codex_exec",),
        "openclaw_telemetry": ("read_openclaw_telemetry",),
        "pi": ("read_pi_session",),
    },
)
