"""The sheet that goes with a benchmark: what it is, where it comes from, what it cannot tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tracedance_sdk.behaviors.behavior import GROUPS
from tracedance_sdk.behaviors.benchmarks.query import Query
from tracedance_sdk.replay import Instance

THREATS: Final = (
    "Pass rates hold for contexts in which some model failed; they are no frequencies of failing.",
    "Only one turn is seen: planning may turn out right, and what passes may fail when it is run.",
    "Only full credit by the rubric counts as a pass.",
    "Judges, by rules or by models, are not people; models tend to be more lenient.",
    "Instances were found, cut and scored by programs, which err.",
    "The traces themselves are not part of the benchmark, so nobody else can check its choice.",
)
"""What every report on a benchmark should say."""


def datasheet(query: Query, about: Mapping[str, Any], instances: Sequence[Instance]) -> str:
    """Return the sheet, in Markdown.

    Args:
        query: What was asked for.
        about: What the benchmark says of itself.
        instances: Its instances.
    """
    return "\n".join(_lines(query, about, instances)) + "\n"


def _lines(query: Query, about: Mapping[str, Any], instances: Sequence[Instance]) -> Iterator[str]:
    yield f"# {_plain(about['name'])}"
    yield ""
    yield f"Benchmark `{about['id']}`, {len(instances)} instances, {about['status']}."
    if about["status"] == "unconfirmed":
        yield ""
        yield (
            "No model and no person has confirmed that the source turns show the behaviour: they "
            "were found by rules alone."
        )
    for behavior in query.behaviors:
        yield from ("", f"## {behavior.id}: {_plain(behavior.name)}", "")
        group = GROUPS[behavior.group] if behavior.group else "no group"
        yield _plain(behavior.definition)
        yield from ("", f"* frame: {behavior.frame}; group: {group}; {behavior.status}")
        yield f"* a judge is asked: {_plain(behavior.question)}"
        for level, text in sorted(behavior.rubric.levels.items()):
            yield f"* {level}: {_plain(text)}"
    if query.operator == "AND":
        yield from ("", "Both show in the same turn; the score is the lower of the two.")
    yield from ("", "## Where the instances come from", "")
    yield from _origins(instances)
    yield from ("", "## How they were chosen", "")
    yield from _choice(about)
    yield from ("", "## What was done to them", "")
    yield (
        "Each context ends right before the source turn, which is withheld with all that followed. "
        "Reasoning, titles, outcomes, times and fields of the source's own are left behind. "
        "Secrets are masked; e-mail addresses, home folders and listed names are replaced. Tool "
        "definitions are as recorded, else of a table of known clients, else inferred from calls."
    )
    yield from ("", "## What this cannot tell", "")
    yield from (f"* {text}" for text in THREATS)
    yield from ("", "## Do not train on it", "", about["canary"])


def _origins(instances: Sequence[Instance]) -> Iterator[str]:
    lineages: list[Any] = [(item.model_extra or {}).get("lineage", {}) for item in instances]
    for title, key in (("product", "product"), ("model family", "model_family")):
        counts = Counter(_plain(str(one.get(key) or "not known")) for one in lineages)
        told = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
        yield f"* {title}: {told}"
    sessions = len({one.get("session_sha256") for one in lineages})
    yield f"* sessions: {sessions}"
    tokens = sorted((item.model_extra or {}).get("tokens", 0) for item in instances)
    if tokens:
        yield (
            f"* length: {tokens[0]:,} to {tokens[-1]:,} tokens, about; "
            f"half have at most {tokens[(len(tokens) - 1) // 2]:,}"
        )


def _choice(about: Mapping[str, Any]) -> Iterator[str]:
    yield "| step | number |"
    yield "| --- | --- |"
    for name, counts in about["found"]["by_behavior"].items():
        yield f"| {name}: sessions looked at | {counts['sessions']:,} |"
        yield f"| {name}: places that the prefilter named | {counts['candidates']:,} |"
        yield f"| {name}: occurrences | {counts['hits']:,} |"
        yield f"| {name}: near-duplicates left out | {counts['near_duplicates']:,} |"
        yield f"| {name}: beyond what is kept of one origin | {counts['capped']:,} |"
    if "both_at_once" in about["found"]:
        yield f"| turns in which both show | {about['found']['both_at_once']:,} |"
    yield f"| kept | {about['found']['kept']:,} |"
    yield f"| tried, in the order of seed {about['seed']} | {about['tried']:,} |"
    for name, number in about["refused"].items():
        yield f"| refused when cut: {name} | {number:,} |"
    if about["confirmation"] is not None:
        for name in ("asked", "confirmed", "unreadable"):
            yield f"| confirmation by a model: {name} | {about['confirmation'][name]:,} |"
    yield f"| instances | {about['instances']:,} |"
    yield ""
    query = about["query"]
    yield f"Asked for: {query['kmin']} to {query['kmax']} instances; limits: " + (
        ", ".join(f"{name} {_plain(str(value))}" for name, value in query["constraints"].items())
        or "none"
    )


def _plain(text: str) -> str:
    """Return text on one line that no renderer takes for markup."""
    line = " ".join(text.split())
    for mark in "\\`*_[]<>|":
        line = line.replace(mark, f"\\{mark}")
    return line
