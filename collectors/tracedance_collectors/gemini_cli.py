"""Sessions of the Gemini CLI.

They lie in ``~/.gemini/tmp/PROJECT/chats/session-*.json``, newer ones in ``.jsonl``.
"""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature
from tracedance_sdk.formats.coding import read_gemini_session

collector = SessionCollector(
    "gemini_cli",
    [
        Signature.of("sessionId", "projectHash", "startTime", depth=0),
        Signature.of(
            "history[].role", "history[].parts", values={"history[].role": ["user", "gemini"]}
        ),
    ],
    read_gemini_session,
)
