"""Claude Code's sessions, as they lie under ``~/.claude/projects``.

A file holds a session; those of its sub-agents lie beside it (``agent-*.jsonl``) or in a folder of
the session's name. Give the folder: every file is read as what it is, and a sub-agent is linked to
the call that started it. Files that only accompany sessions (an agent's ``.meta.json``, a
workflow's ``journal.jsonl``, the ``metadata.json`` of an entire.io checkpoint) are read with them.
"""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature
from tracedance_sdk.formats.coding import read_claude_code

_TALK = ("user", "assistant", "system", "attachment", "progress")
_MARKS = (
    "agent-name", "ai-title", "bridge-session", "custom-title", "last-prompt", "mode",
    "permission-mode", "pr-link", "tag", "worktree-state",
)  # fmt: skip

collector = SessionCollector(
    "claude_code",
    (
        Signature.of("uuid", "parentUuid", "sessionId", values={"type": _TALK}, depth=0),
        Signature.of("leafUuid", "summary", values={"type": "summary"}, depth=0),
        Signature.of("messageId", "snapshot", values={"type": "file-history-snapshot"}, depth=0),
        Signature.of("operation", "sessionId", values={"type": "queue-operation"}, depth=0),
        Signature.of("sessionId", values={"type": _MARKS}, depth=0),
        Signature.of(
            "messages[].message.content",
            values={"messages[].type": ("user", "assistant")},
            without=("type",),
            depth=0,
        ),
    ),
    read_claude_code,
    companions=(
        Signature.of("agentType", names=("agent-*.meta.json",)),
        Signature.of(
            "agentId", "key", values={"type": ("started", "result")}, names=("journal.jsonl",)
        ),
        Signature.of("checkpoint_id", "session_id", "files_touched", names=("metadata.json",)),
    ),
)
"""Reads Claude Code's session files."""
