"""Draw occurrences to be labelled blind: hits mixed with places that are none, in one order.

    python tools/sample_hits.py STORE OUT [--seed N]

Writes for each behaviour with hits ``OUT/<id>.jsonl``: the definition and the criterion, then up to
20 hits and 10 places that the anchor looked at and did not keep, shuffled. A line says where the
place is and shows the turns around it, and not which of the two it is.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from tracedance_sdk.behaviors import (
    Behavior,
    Caps,
    Run,
    Wanted,
    packaged_behaviors,
    scan_store,
)
from tracedance_sdk.behaviors.hits import Candidate, named_hit
from tracedance_sdk.store import PartitionReader, TraceStore

MOST_HITS = 20
NON_HITS = 10
BEFORE = 12
TEXT = 1_500
EARLIEST = 1_000


def main(line: list[str]) -> int:
    """Write the sheets; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(line)
    given.out.mkdir(parents=True, exist_ok=True)
    store = TraceStore.open(given.store)
    wanted = [Wanted(one, one.filled()) for one in packaged_behaviors().values()]
    scan = scan_store(store, wanted, caps=Caps(seed=given.seed))
    for item in wanted:
        behavior = item.behavior
        hits = [(one.trace_id, one.turn) for one in scan.kept(behavior.id)][:MOST_HITS]
        if not hits:
            print(f"{behavior.id}: no hits")
            continue
        found = {(one.trace_id, one.turn) for one in scan.occurrences[behavior.id]}
        others = [place for place in places(store, behavior) if place not in found]
        drawn = shuffled(hits + shuffled(others, given.seed)[:NON_HITS], given.seed)
        lines = [about(behavior), *(shown(store, *place) for place in drawn)]
        path = given.out / f"{behavior.id}.jsonl"
        path.write_bytes(b"\n".join(map(orjson.dumps, lines)) + b"\n")
        print(f"{behavior.id}: {len(hits)} hits, {len(drawn) - len(hits)} others")
    return 0


def shuffled(found: list[tuple[str, int]], seed: int) -> list[tuple[str, int]]:
    """Return places in an order that depends on them and the seed alone."""
    return sorted(found, key=lambda one: hashlib.sha256(f"{seed}{one}".encode()).digest())


def places(store: TraceStore, behavior: Behavior) -> list[tuple[str, int]]:
    """Return the source turns of all places that a behaviour's SQL names."""
    found: set[tuple[str, int]] = set()
    for key in store.partitions():
        with PartitionReader(Path(str(store.path)), key) as reader:
            named: dict[str, list[int]] = {}
            for trace_id, turn, *_ in reader.select(behavior.anchor.sql):
                named.setdefault(trace_id, []).append(turn)
            for rows in reader.rows(named):
                run = Run(rows)
                for turn in named[run.trace_id]:
                    hit = named_hit(Candidate(run, turn), behavior.frame)
                    if hit is not None:
                        found.add((run.trace_id, hit.turn))
    return sorted(found)


def about(behavior: Behavior) -> dict[str, Any]:
    """Return what whoever labels is told of a behaviour."""
    return {
        "behavior": behavior.id,
        "name": behavior.name,
        "frame": behavior.frame,
        "definition": behavior.definition,
        "criterion": behavior.criterion,
    }


def shown(store: TraceStore, trace_id: str, turn: int) -> dict[str, Any]:
    """Return the turns around a place, its source turn with results, and how the run began."""
    run = Run.of(store.get(trace_id))
    first = max(0, turn - BEFORE)
    head = list(pieces(run, 0, min(first, 2), most=EARLIEST))
    return {
        "trace_id": trace_id,
        "turn": turn,
        "beginning": head,
        "left_out_turns": max(0, first - 2),
        "window": list(pieces(run, first, turn + 1, most=TEXT)),
    }


def pieces(run: Run, start: int, end: int, *, most: int) -> Iterator[str]:
    """Yield turns, their calls and results as text."""
    for seen in run.turns[start:end]:
        yield f"[turn {seen.index}] {seen.role} ({seen.origin}): {cut(seen.text, most)}"
        for call in seen.calls:
            asked = f"[turn {seen.index}] call {call.name} {cut(call.arguments_text, most)}"
            told = cut(call.result, most) if call.has_result else "(no result)"
            state = {True: "failed", False: "fine", None: "unknown"}[call.signs["failed"]]
            yield f"{asked}\n  -> ({state}) {told}"


def cut(text: str, most: int) -> str:
    """Return a text with its middle left out where it is longer than `most` characters."""
    half = most // 2
    return (
        text
        if len(text) <= most
        else f"{text[:half]}\n<... {len(text) - most:,} ...>\n{text[-half:]}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
