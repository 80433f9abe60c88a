"""SWE-bench verdicts, which lie in files of their own beside the logs of runs.

Two kinds: a report of one instance (``{instance: {"resolved": ..., "tests_status": ...}}``) and
a summary of a whole evaluation (``resolved_ids``, ``unresolved_ids`` and others).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.benchmarks.beside import names_beside, read_beside
from tracedance_sdk.formats.detection import Signature
from tracedance_sdk.trace import Json

REPORTS: Final = (
    Signature.of("resolved_ids", "unresolved_ids"),
    Signature.of(names=("*report*.json", "*report*.json.gz"), contains=(b'"patch_exists"',)),
)
"""How the files of verdicts show themselves."""

_FAILED: Final = ("unresolved_ids", "empty_patch_ids", "error_ids", "incomplete_ids")
_SUMMARIES: Final = ("*report*.json", "*eval*.json")


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
        for document in read_beside(place):
            entry = document.get(instance) if isinstance(document, dict) else None
            if isinstance(entry, dict) and isinstance(entry.get("resolved"), bool):
                return Verdict(entry["resolved"], entry, place.name)
    return None


def _summary(log: Path, instance: str) -> Verdict | None:
    for folder in (log.parent, log.parent.parent):
        found: list[Verdict] = []
        for name in names_beside(folder, *_SUMMARIES):
            for document in read_beside(folder / name):
                if isinstance(document, dict) and isinstance(document.get("resolved_ids"), list):
                    found += _listed(document, instance, name)
        if found and len({verdict.resolved for verdict in found}) == 1:
            return found[0]
    return None


def _listed(summary: dict[str, Any], instance: str, file: str) -> list[Verdict]:
    if instance in summary["resolved_ids"]:
        return [Verdict(resolved=True, details={"list": "resolved_ids"}, file=file)]
    for key in _FAILED:
        if isinstance(summary.get(key), list) and instance in summary[key]:
            return [Verdict(resolved=False, details={"list": key}, file=file)]
    return []
