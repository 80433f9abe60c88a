"""Steps of SWE-agent's trajectories, each with the messages of the history that belong to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.places import expect, optional

_MOST_SKIPPED: Final = 3
"""Replies of the history that may have no step, in a row."""


class Step(NamedTuple):
    """A step of a trajectory.

    Attributes:
        fields: Of the step, as the trajectory or else the history has them.
        message: Of the history, which asked for it; empty where there is none.
        shown: The messages that followed it, up to the next step.
    """

    fields: dict[str, Any]
    message: dict[str, Any]
    shown: list[dict[str, Any]]


def opening_length(history: list[dict[str, Any]]) -> int:
    """Return how many messages stand before the agent's first, demonstrations left aside."""
    for index, message in enumerate(history):
        if message.get("role") == "assistant" and not message.get("is_demo"):
            return index
    return len(history)


def read_steps(
    fields: dict[str, Any], history: list[dict[str, Any]]
) -> tuple[list[Step], list[dict[str, Any]]]:
    """Return the steps with their messages, and the messages that belong to none."""
    rounds = list(_rounds(history))
    trajectory = optional(fields, "trajectory", list)
    if trajectory is None:
        return [Step(_step_fields(message, shown), message, shown) for message, shown in rounds], []
    found: list[Step] = []
    unmatched: list[dict[str, Any]] = []
    at = 0
    for item in trajectory:
        step = expect(item, dict)
        message: dict[str, Any] = {}
        shown: list[dict[str, Any]] = []
        near = range(at, min(at + _MOST_SKIPPED + 1, len(rounds)))
        place = next((index for index in near if _is_of(rounds[index][0], step)), None)
        if place is not None:
            unmatched += [item for other in rounds[at:place] for item in (other[0], *other[1])]
            message, shown = rounds[place]
            at = place + 1
        found.append(Step(step, message, shown))
    for message, shown in rounds[at:]:
        unmatched += [message, *shown]
    return found, unmatched


def _rounds(
    history: list[dict[str, Any]],
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    message: dict[str, Any] | None = None
    shown: list[dict[str, Any]] = []
    for item in history:
        if item.get("role") == "assistant":
            if message is not None:
                yield message, shown
            message, shown = item, []
        else:
            shown.append(item)
    if message is not None:
        yield message, shown


def _is_of(message: dict[str, Any], step: dict[str, Any]) -> bool:
    return bool(message.get("action") == step.get("action")) or (
        "action" not in message and message.get("content") == step.get("response")
    )


def _step_fields(message: dict[str, Any], shown: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a step as the history alone tells it."""
    found = {"response": message.get("content")}
    found.update((key, message[key]) for key in ("thought", "action") if key in message)
    if shown:
        found["observation"] = shown[0].get("content")
    return found
