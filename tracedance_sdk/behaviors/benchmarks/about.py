"""What a benchmark says of itself, and what is said where it cannot be built."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tracedance_sdk.behaviors.benchmarks.confirming import Confirmation, Confirmer
from tracedance_sdk.behaviors.benchmarks.file import BENCHMARK_VERSION
from tracedance_sdk.behaviors.benchmarks.gathering import Gathered
from tracedance_sdk.behaviors.benchmarks.query import Query
from tracedance_sdk.behaviors.cutting.sizes import MOST_TOKENS
from tracedance_sdk.behaviors.scanning.choosing import Caps
from tracedance_sdk.replay import Instance, ToolLimit
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import json_digest


class BuildSettings(NamedTuple):
    """How benchmarks are built.

    Attributes:
        caps: What is kept of near-duplicates and of one origin, and the seed of the order.
        tools: The weakest origin that definitions of tools may have.
        most_tokens: Of a context, by a rough count.
        audit: How many places where nothing was found are drawn for people to look at.
        people: For each person all spellings of the name, to be replaced.
        processes: How many share the scan.
        kept: A folder where outcomes of a scan are kept; see `scan_store`.
    """

    caps: Caps = Caps()
    tools: ToolLimit = "inferred"
    most_tokens: int = MOST_TOKENS
    audit: int = 0
    people: tuple[tuple[str, ...], ...] = ()
    processes: int = 1
    kept: Path | None = None


class Tally:
    """Counts what became of the places that were tried.

    Attributes:
        tried: How many were.
        refused: Why there is no cut → how often.
        firsts: Why there is no cut → the first of it, in one line.
        confirmations: What a model said.
    """

    def __init__(self) -> None:
        self.tried = 0
        self.refused: Counter[str] = Counter()
        self.firsts: dict[str, str] = {}
        self.confirmations: list[Confirmation] = []

    def refuse(self, name: str, why: str) -> None:
        """Count a place that is not cut."""
        self.refused[name] += 1
        self.firsts.setdefault(name, why)

    @property
    def confirmation(self) -> dict[str, int]:
        """How many were asked about, confirmed, and not to be read."""
        said = self.confirmations
        return {
            "asked": len(said),
            "confirmed": sum(item.confirmed for item in said),
            "unreadable": sum(item.missing is not None for item in said),
        }


class Work(NamedTuple):
    """A benchmark in the making."""

    query: Query
    store: TraceStore
    how: BuildSettings
    gathered: Gathered
    tally: Tally


def about_benchmark(
    work: Work, instances: list[Instance], *, confirmer: Confirmer | None, canary: str
) -> dict[str, Any]:
    """Return what the first line of a benchmark says of it."""
    query, _, how, gathered, tally = work
    contexts = [(item.model_extra or {})["lineage"]["context_sha256"] for item in instances]
    behaviors = [
        {
            "id": behavior.id,
            "name": behavior.name,
            "desirable": behavior.desirable,
            "frame": behavior.frame,
            "group": behavior.group,
            "status": behavior.status,
            "judge": behavior.judge,
            "sha256": behavior.sha256,
            "rubric_sha256": behavior.rubric.sha256,
        }
        for behavior in query.behaviors
    ]
    asked = query.document()
    return {
        "version": BENCHMARK_VERSION,
        "id": f"{query.name}-{json_digest([asked, how.caps.seed, behaviors, contexts])[:12]}",
        "name": " and ".join(behavior.name for behavior in query.behaviors),
        "behaviors": behaviors,
        "query": asked,
        "seed": how.caps.seed,
        "caps": {key: value for key, value in how.caps._asdict().items() if key != "seed"},
        "tools": how.tools,
        "most_tokens": how.most_tokens,
        "status": "unconfirmed" if confirmer is None else "confirmed",
        "confirmed_by": None if confirmer is None else confirmer.name,
        "confirmation": None if confirmer is None else tally.confirmation,
        "found": gathered.document(),
        "tried": tally.tried,
        "refused": dict(sorted(tally.refused.items())),
        "instances": len(instances),
        "canary": canary,
    }


def name_of(work: Work) -> str:
    """Return what tells a benchmark from all others before its instances are known."""
    query, store, how, _, _ = work
    keys = [] if store.path is None else [key.sha256 for key in store.partitions()]
    return json_digest([query.document(), how.caps.seed, keys])
