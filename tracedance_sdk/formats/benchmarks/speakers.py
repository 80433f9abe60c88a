"""Conversations of several agents: who speaks, to whom, and what was only thought.

Magentic-One's logs have the speaker in ``role``: ``Orchestrator (-> WebSurfer)`` speaks to
another, ``Orchestrator (thought)`` is a note of its own. AutoGen teams have it in ``name``, with a
``role`` that only says from whose side the log was written. Code blocks and the output of a
terminal are text: who ran them, and whether, is not recorded, so that there are no calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tracedance_sdk.formats.benchmarks.stepping import take_each
from tracedance_sdk.formats.places import field, optional
from tracedance_sdk.formats.transcript import Transcript, reasoning_part, text_part
from tracedance_sdk.trace import Json

_TERMINALS: Final = frozenset({"computerterminal", "computer_terminal"})
_MANAGER: Final = "You are given: (1) a task and advises from your manager"


def read_speakers(messages: Iterable[Json], *, key: str) -> Transcript:
    """Return the turns of a conversation: one for each message, at the message's own index.

    Args:
        messages: Objects with ``content`` and ``role``, some with ``name``.
        key: Name of the extra field that keeps the source's role and name.

    Raises:
        Misfit: A message of another shape.
    """
    log = Transcript()
    take_each(messages, lambda _, message: _take(log, message, key=key))
    return log


def _take(log: Transcript, message: dict[str, Any], *, key: str) -> None:
    role = field(message, "role", str)
    text = optional(message, "content", str) or ""
    name = optional(message, "name", str)
    speaker, note = (name, "") if name is not None else _speaker(role)
    kept = {k: v for k, v in message.items() if k not in ("content", "name")}
    parts = [text_part(text)] if text else []
    if note == "thought" and text:
        parts = [reasoning_part(text)]
    if speaker == "human":
        log.say("user", parts, origin="human", name=speaker, **{key: kept})
    elif speaker.lower() in _TERMINALS:
        log.say("user", parts, origin="environment", name=speaker, **{key: kept})
    elif not log.turns and text.startswith(_MANAGER):
        log.say("user", parts, origin="harness", name=speaker, **{key: kept})
    else:
        log.say("assistant", parts, origin="agent", name=speaker, **{key: kept})


def _speaker(role: str) -> tuple[str, str]:
    """Split ``Orchestrator (-> WebSurfer)`` into speaker and note.

    Example:
        >>> _speaker("Orchestrator (thought)"), _speaker("human")
        (('Orchestrator', 'thought'), ('human', ''))
    """
    speaker, bracket, note = role.strip().removesuffix(")").partition("(")
    return (speaker.strip(), note.strip()) if bracket else (role, "")
