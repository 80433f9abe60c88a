"""A comparison as one JSON document, for programs."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.report.comparison import Change, ComparedLine, Comparison

COMPARISON_FORMAT: Final = "tracedance.comparison"
COMPARISON_VERSION: Final = 1


def comparison_document(
    comparison: Comparison, *, most_changes: int | None = None
) -> dict[str, Any]:
    """Return a comparison as a versioned JSON document.

    ``{"format": "tracedance.comparison", "version": 1, "verdict", "exit_code", "plan",
    "paired_by", "lines": [...], "beside": [...], "left_out": [...], "changes": [...],
    "n_changes": {"worse", "better"}, "notes": [...]}``. Rates, scores and differences are shares
    of 1; null where there is none.

    Args:
        comparison: The comparison.
        most_changes: List at most so many changed subjects, the worst first; None for all.
    """
    plan = comparison.plan._asdict()
    changes = comparison.changes
    n_worse = sum(change.difference < 0 for change in changes)
    return {
        "format": COMPARISON_FORMAT,
        "version": COMPARISON_VERSION,
        "verdict": comparison.verdict,
        "exit_code": comparison.exit_code,
        "plan": {**plan, "graders": list(plan["graders"])},
        "paired_by": comparison.paired_by,
        "lines": [_line(line) for line in comparison.lines],
        "beside": [_line(line) for line in comparison.beside],
        "left_out": [
            {
                "grader": None if item.name is None else item.name.grader,
                "measure": None if item.name is None else item.name.measure,
                "what": item.what,
                "reason": item.reason,
                "a": item.old,
                "b": item.new,
            }
            for item in comparison.left_out
        ],
        "n_changes": {"worse": n_worse, "better": len(changes) - n_worse},
        "changes": [_change(change) for change in changes[:most_changes]],
        "notes": list(comparison.notes),
    }


def _line(line: ComparedLine) -> dict[str, Any]:
    found = line.statistics
    difference = found.difference
    return {
        "grader": line.name.grader,
        "measure": line.name.measure,
        "slice": line.slice,
        "verdict": line.verdict,
        "why": line.why or None,
        "sample": found.design,
        "pairs": found.n_pairs,
        "groups": 1 if found.is_one_group else found.n_groups,
        "runs": list(found.n_runs),
        "a": found.old,
        "b": found.new,
        "difference": None if difference is None else difference.value,
        "interval": None if difference is None else difference.interval._asdict(),
        "p": None if difference is None else difference.p_value,
        "p_corrected": line.corrected_p,
        "p_wilcoxon": found.wilcoxon_p,
        "least_p": found.least_p,
        "needed": line.needed,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "grader": change.grader,
        "subject": change.subject,
        "a": {"passed": change.old[0], "runs": change.old[1]},
        "b": {"passed": change.new[0], "runs": change.new[1]},
        "difference": change.difference,
        "why": change.why or None,
    }
