"""Counts Reflexion's logs: results without steps, and texts of thoughts and actions.

An agent that a trial prints under two headings, word by word, counts once. An action counts as a
call when it names a tool and an argument, as in ``Search[Paris]``.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

from tests.counters.counts import Counts

BORDER = re.compile(r"^(?=Question: )|^(?=#{8,})|^(?=-{8,})", re.MULTILINE)


def count(path: Path) -> list[Counts]:
    if path.suffix == ".json":
        return _results(path)
    text = gzip.decompress(path.read_bytes()).decode()
    name = path.name.removesuffix(".txt.gz")
    trial = None
    found = []
    seen = set()
    for piece in BORDER.split(text):
        begun = re.search(r"^BEGIN TRIAL (\d+)", piece, re.MULTILINE)
        trial = int(begun[1]) if begun else trial
        if not piece.startswith("Question: ") or (trial, piece) in seen:
            continue
        seen.add((trial, piece))
        opening = re.split(r"^Thought 1:", piece, maxsplit=1, flags=re.MULTILINE)[0]
        question, retried, _ = opening.partition("You have attempted to answer following question")
        calls = len(re.findall(r"^Action \d+: ?\w+\[.+\]\s*$", piece, re.MULTILINE))
        found.append(
            Counts(
                session=f"{path.parent.name}/{name}/trial {trial}/{question[10:].strip()}",
                user_turns=1 + bool(retried),
                assistant_turns=len(re.findall(r"^Thought \d+:", piece, re.MULTILINE)),
                calls=calls,
                results=len(re.findall(r"^Observation \d+:", piece, re.MULTILINE)),
                errors=0,
            )
        )
    return found


def _results(path: Path) -> list[Counts]:
    trial = path.stem.rpartition("_")[2]
    return [
        Counts(f"{path.parent.name}/trial_{trial}/{row['name']}", 0, 0, 0, 0, 0)
        for row in json.loads(path.read_bytes())
    ]
