"""The rules on who wrote a message, applied to the turns of any reader before they are a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tracedance_sdk.formats.origins import NO_RULE, origin_rules

SUBAGENT_TASK: Final = "subagent-task"
"""The rule by which the first prompt of a sub-agent is its caller's."""


def attribute_turns(
    turns: Iterable[dict[str, Any]], *, agent: str | None, is_subagent: bool = False
) -> list[tuple[dict[str, Any], Sequence[Any]]]:
    """Say of turns that a reader took for a human's who really wrote them.

    Turns whose reader applied a rule itself are left alone. Where the client is not known, only
    rules for all clients are tried.

    Args:
        turns: Fields of `Turn`, which are amended: ``origin``, ``origin_rule``, and ``content``
            where others wrote parts of it.
        agent: Name of the client.
        is_subagent: The trace was started by a call of another one, which wrote its first prompt.

    Returns:
        The turns of which others wrote parts, each with its content as it was.

    Example:
        >>> turn = {
        ...     "role": "user",
        ...     "origin": "human",
        ...     "content": [{"type": "text", "text": "[Request interrupted by user]"}],
        ... }
        >>> attribute_turns([turn], agent="my-agent")
        []
        >>> turn["origin"], turn["origin_rule"]
        ('harness', 'interruption')
    """
    rules, client = origin_rules(), agent or ""
    mixed: list[tuple[dict[str, Any], Sequence[Any]]] = []
    for turn in turns:
        if turn["role"] != "user":
            continue
        if turn["origin"] == "human" and turn.get("origin_rule", NO_RULE) == NO_RULE:
            content = turn.get("content") or []
            if any(rules.may_know(text, agent=client) for text in _unattributed(content)):
                mixed += [(turn, content)] if _attribute(turn, client) else []
            if is_subagent and turn["origin"] == "human":
                turn["origin"], turn["origin_rule"] = "agent", SUBAGENT_TASK
        is_subagent = is_subagent and turn["origin"] != "agent"
    return mixed


def agent_name(agent: Any) -> str | None:
    """Return the name in the field `Trace.agent`, a record or its fields; None without one."""
    name = agent.get("name") if isinstance(agent, Mapping) else getattr(agent, "name", None)
    return name if isinstance(name, str) else None


def _unattributed(content: Iterable[Any]) -> list[str]:
    """Return the texts of a turn; none where a reader said of a part that another wrote it."""
    texts: list[str] = []
    for part in content:
        fields = part if isinstance(part, dict) else dict(part)
        if "origin" in fields:
            return []
        if fields.get("type") == "text":
            texts.append(fields["text"])
    return texts


def _attribute(turn: dict[str, Any], client: str) -> bool:
    """Apply the rules to a turn; whether its content was taken apart."""
    found = origin_rules().attribute(turn["content"], role="user", agent=client)
    if found.rule != NO_RULE:
        turn["origin"], turn["origin_rule"] = found.origin, found.rule
    is_mixed = len(found.parts) != len(turn["content"]) or any(
        "origin" in part for part in found.parts
    )
    if is_mixed:
        turn["content"] = found.parts
    return is_mixed
