"""Counts the conversations of Who&When: terminals run code, humans ask, all others are models.

The first message of an AutoGen team is the manager's, in the name of the first expert.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    record = json.loads(path.read_bytes())
    return [spoken(record["question_ID"], record["history"])]


def spoken(session: str, messages: list[dict[str, Any]]) -> Counts:
    speakers = [message.get("name", message["role"]) for message in messages]
    others = sum(name in ("human", "ComputerTerminal", "Computer_terminal") for name in speakers)
    others += messages[0]["content"].startswith("You are given: (1) a task")
    return Counts(session, others, len(messages) - others, 0, 0, 0)
