"""SWE-bench verdicts, which lie in files of their own beside the logs of runs.

Two kinds: a report of one instance (``{instance: {"resolved": ..., "tests_status": ...}}``) and
a summary of a whole evaluation (``resolved_ids``, ``unresolved_ids`` and others).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from tracedance_sdk.formats.benchmarks.beside import (
    Beside,
    documents_beside,
    file_beside,
    files_beside,
)
from tracedance_sdk.formats.detection import Signature
from tracedance_sdk.trace import Json

REPORTS: Final = (
    Signature.of("resolved_ids", "unresolved_ids"),
    Signature.of(names=("*report*.json", "*report*.json.gz"), contains=(b'"patch_exists"',)),
    Signature.of(names=("*preds.json", "*.pred"), contains=(b'"model_patch"',)),
)
"""How the files of verdicts, and of what is to be judged, show themselves."""

_FAILED: Final = ("unresolved_ids", "empty_patch_ids", "error_ids", "incomplete_ids")
_SUMMARIES: Final = ("*report_*.json", "*_report.json", "report*.json", "*eval*.json")


class Verdict(NamedTuple):
    """What the harness says of a run.

    Attributes:
        resolved: Whether the patch passed the tests.
        details: The report of the instance, or the list of the summary that names it.
        file: Name of the file it stands in.
    """

    resolved: bool
    details: dict[str, Json]
    file: str


def swebench_verdict(log: Path, instance: str) -> Verdict | None:
    """Return the verdict on a run from the files beside its log, or None.

    The report of the instance is looked for beside the log and in the ``reports`` and ``logs``
    folders next to it; a summary beside the log, or else in the folder above. Summaries of one
    folder that contradict each other say nothing.

    Args:
        log: The file of the run.
        instance: The SWE-bench instance.
    """
    if not instance or instance in (".", "..") or "/" in instance or "\\" in instance:
        return None
    return _own_report(log, instance) or _summary(log, instance)


def _own_report(log: Path, instance: str) -> Verdict | None:
    folder = log.parent
    places = (
        folder / f"{instance}.report.json",
        folder / "report.json",
        folder / instance / "report.json",
        folder.parent / "reports" / f"{instance}.report.json",
        folder.parent / "logs" / instance / "report.json",
    )
    for place in places:
        for _, document in documents_beside(file_beside(place)):
            entry = document.get(instance) if isinstance(document, dict) else None
            if isinstance(entry, dict) and isinstance(entry.get("resolved"), bool):
                return Verdict(entry["resolved"], entry, place.name)
    return None


def _summary(log: Path, instance: str) -> Verdict | None:
    for folder in (log.parent, log.parent.parent):
        found = _verdicts(files_beside(folder, *_SUMMARIES)).get(instance)
        if found is not None:
            return found
    return None


@lru_cache(maxsize=4)
def _verdicts(summaries: Beside) -> Mapping[str, Verdict]:
    """Return the verdicts of a folder's summaries, without those that contradict each other."""
    found: dict[str, Verdict] = {}
    contradicted: set[str] = set()
    for name, document in documents_beside(summaries):
        for instance, verdict in _listed(document, name):
            known = found.setdefault(instance, verdict)
            if known.resolved is not verdict.resolved:
                contradicted.add(instance)
    kept = {instance: item for instance, item in found.items() if instance not in contradicted}
    return MappingProxyType(kept)


def _listed(summary: Json, file: str) -> Iterator[tuple[str, Verdict]]:
    if not isinstance(summary, dict) or not isinstance(summary.get("resolved_ids"), list):
        return
    for key in ("resolved_ids", *_FAILED):
        instances = summary.get(key)
        for instance in instances if isinstance(instances, list) else ():
            if isinstance(instance, str):
                yield instance, Verdict(key == "resolved_ids", {"list": key}, file)
