"""Counts tau-bench's few-shot texts: a message begins where a line begins with its speaker."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    found = []
    for line in path.read_bytes().splitlines():
        text = json.loads(line)["messages_display"]
        speakers = re.findall(r"^(user|assistant|tool): ", text, re.MULTILINE)
        failed = re.findall(r"^tool: (?:Error:|Unknown action)", text, re.MULTILINE)
        found.append(
            Counts(
                session=hashlib.sha256(json.dumps(text, ensure_ascii=False).encode()).hexdigest(),
                user_turns=speakers.count("user"),
                assistant_turns=speakers.count("assistant"),
                calls=speakers.count("tool"),
                results=speakers.count("tool"),
                errors=len(failed),
            )
        )
    return found
