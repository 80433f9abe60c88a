"""One instance of a benchmark: the context, and beside it where it comes from."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from tracedance_sdk.behaviors.benchmarks.confirming import Confirmation
from tracedance_sdk.behaviors.benchmarks.file import Construction
from tracedance_sdk.behaviors.benchmarks.gathering import Place
from tracedance_sdk.behaviors.benchmarks.model_families import model_family
from tracedance_sdk.behaviors.benchmarks.protecting import Protection
from tracedance_sdk.behaviors.benchmarks.query import Query
from tracedance_sdk.behaviors.cutting.cut import CutContext
from tracedance_sdk.replay import Instance
from tracedance_sdk.trace import Trace, Turn, plain

CANARY: Final = "BENCHMARK DATA THAT MUST NOT BE TRAINED ON. tracedance canary"
"""Begins the canary of every benchmark; what tells one from another follows."""


def canary_of(name: str) -> str:
    """Return the canary of a benchmark: the same for the same benchmark.

    Example:
        >>> canary_of("F01")[-36:]
        'f3545b04-5315-5ed9-ec00-f51605eb393c'
    """
    digits = hashlib.sha256(f"{CANARY}\0{name}".encode()).hexdigest()
    groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32])
    return f"{CANARY} {'-'.join(groups)}"


def made_instance(
    query: Query,
    place: Place,
    context: CutContext,
    *,
    protected: Trace,
    protection: Protection,
    confirmed: bool | None,
    canary: str,
) -> Instance:
    """Return an instance: all that may be handed out.

    Args:
        query: What was asked for.
        place: Where it was found.
        context: The cut.
        protected: The kept trace without secrets and people.
        protection: By which names of agents and models are looked at too.
        confirmed: Whether a model confirmed it; None where none was asked.
        canary: Of the benchmark.
    """
    first = place.first
    session = hashed(first.session)
    named = {
        "trace_id": first.trace_id,
        "product": first.agent,
        "collector": first.collector,
        "model": first.model,
    }
    told: Any = protection.value(named)
    own: dict[str, Any] = {
        "behaviors": [behavior.id for behavior in query.behaviors],
        "frames": [behavior.frame for behavior in query.behaviors],
        "status": "confirmed" if confirmed else "unconfirmed",
        "rubrics": {
            behavior.id: _rubric(query, number) for number, behavior in enumerate(query.behaviors)
        },
        "tokens": context.tokens,
        "lineage": {
            "session_sha256": session,
            **told,
            "model_family": model_family(first.model),
            "cut": context.turn,
            "turns_withheld": 1 + context.n_later,
            "context_sha256": context.sha256,
            "behavior_sha256": {b.id: b.sha256 for b in query.behaviors},
        },
        "canary": canary,
    }
    return Instance(
        id=instance_id(query, place),
        trace=protected,
        turn=context.turn,
        group=protected.group or session[:16],
        **own,
    )


def made_construction(
    query: Query,
    place: Place,
    context: CutContext,
    *,
    protection: Protection,
    confirmations: tuple[Confirmation, ...] = (),
) -> Construction:
    """Return what an instance was made from, without secrets and people."""
    hits = {
        behavior.id: {
            "turn": hit.turn,
            "evidence": [list(piece) for piece in hit.evidence],
            "note": hit.note,
        }
        for behavior, hit in zip(query.behaviors, place.hits, strict=True)
    }
    told = {
        "hits": hits,
        "withheld": plain(context.withheld),
        "confirmations": {item.behavior: item._asdict() for item in confirmations},
    }
    protected: Any = protection.value(told)
    return Construction(
        id=instance_id(query, place),
        parameters={behavior.id: query.values(behavior) for behavior in query.behaviors},
        n_later=context.n_later,
        hits=protected["hits"],
        withheld=Turn.model_validate(protected["withheld"]),
        confirmations=protected["confirmations"],
    )


def instance_id(query: Query, place: Place) -> str:
    """Return the id of an instance: the same wherever and whenever it is made."""
    return f"{query.name}-{place.id}"


def hashed(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def source_trace(context: CutContext) -> Trace:
    """Return the kept run with the withheld turn, for whoever confirms it."""
    turns = (*context.trace.turns, context.withheld)
    return context.trace.model_copy(update={"turns": turns})


def _rubric(query: Query, number: int) -> dict[str, Any]:
    behavior = query.behaviors[number]
    rubric = behavior.rubric
    return {
        "question": rubric.question,
        "levels": {str(level): text for level, text in sorted(rubric.levels.items())},
        "sha256": rubric.sha256,
    }
