"""Sessions of coding agents, as each client keeps them on disk.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.formats.coding.antigravity import read_antigravity_session
    from tracedance_sdk.formats.coding.claude_code import read_claude_code
    from tracedance_sdk.formats.coding.codex import read_codex_session
    from tracedance_sdk.formats.coding.codex_exec import read_codex_exec
    from tracedance_sdk.formats.coding.cursor import read_cursor_session
    from tracedance_sdk.formats.coding.droid import read_droid_session
    from tracedance_sdk.formats.coding.gemini_cli import read_gemini_session
    from tracedance_sdk.formats.coding.grok import read_grok_session
    from tracedance_sdk.formats.coding.hermes import read_hermes_session
    from tracedance_sdk.formats.coding.openclaw_telemetry import read_openclaw_telemetry
    from tracedance_sdk.formats.coding.opencode import read_opencode
    from tracedance_sdk.formats.coding.opencode_storage import is_storage, storage_of
    from tracedance_sdk.formats.coding.pi import read_pi_session

__all__ = [
    "is_storage",
    "read_antigravity_session",
    "read_claude_code",
    "read_codex_exec",
    "read_codex_session",
    "read_cursor_session",
    "read_droid_session",
    "read_gemini_session",
    "read_grok_session",
    "read_hermes_session",
    "read_openclaw_telemetry",
    "read_opencode",
    "read_pi_session",
    "storage_of",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "antigravity": ("read_antigravity_session",),
        "claude_code": ("read_claude_code",),
        "codex": ("read_codex_session",),
        "codex_exec": ("read_codex_exec",),
        "cursor": ("read_cursor_session",),
        "droid": ("read_droid_session",),
        "gemini_cli": ("read_gemini_session",),
        "grok": ("read_grok_session",),
        "hermes": ("read_hermes_session",),
        "openclaw_telemetry": ("read_openclaw_telemetry",),
        "opencode": ("read_opencode",),
        "opencode_storage": ("is_storage", "storage_of"),
        "pi": ("read_pi_session",),
    },
)
