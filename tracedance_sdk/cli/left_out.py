"""How verbs say what they left out: how many for which reason, and what the first one lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tracedance_sdk.replay import Exclusion
    from tracedance_sdk.report import ReportConsole

_MOST_ROWS: Final = 20
_MOST_REASONS: Final = 4
_MOST_DETAILS: Final = 5
_ID_CHARACTERS: Final = 12
_LONGEST: Final = 400


def told_left_out(excluded: Sequence[Exclusion]) -> str:
    """Return what is left out in one line, to stand in an error; "" for nothing.

    Example:
        >>> from tracedance_sdk.replay import Exclusion
        >>> told_left_out([Exclusion("5d98", 3, "no turn there", "turn 3 is the user's")])
        "left out: no turn there (1); the first, of trace 5d98: turn 3 is the user's"
    """
    reasons = Counter(item.reason for item in excluded).most_common(_MOST_REASONS)
    if not reasons:
        return ""
    told = ", ".join(f"{reason} ({number:,})" for reason, number in reasons)
    details = _first_details(item._asdict() for item in excluded)
    for reason, _ in reasons:
        if reason in details:
            trace_id, detail = details[reason]
            return f"left out: {told}; the first, of trace {trace_id}: {detail}"
    return f"left out: {told}"


def print_left_out(console: ReportConsole, manifest: Mapping[str, Any]) -> bool:
    """Print a table of the reasons in a manifest, and below it what the first of each lacks.

    Args:
        console: Where to.
        manifest: With ``exclusions`` (reason → number) and, where it lists them, ``excluded``.

    Returns:
        Whether anything is left out.
    """
    from tracedance_sdk.cli.columns import print_columns
    from tracedance_sdk.report import in_one_line

    reasons = Counter(manifest["exclusions"]).most_common(_MOST_ROWS)
    if not reasons:
        return False
    rows = [(reason, f"{number:,}") for reason, number in reasons]
    print_columns(console, ("Left out", "number"), rows, numbers=(1,))
    details = _first_details(manifest.get("excluded") or ())
    for reason in [reason for reason, _ in reasons if reason in details][:_MOST_DETAILS]:
        trace_id, detail = details[reason]
        told = f"{reason}, the first: {detail} (trace {trace_id})"
        console.say(in_one_line(told), style="dim", hang=2)
    return True


def _first_details(excluded: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return for each reason the trace and the detail of the first that says more than it."""
    found: dict[str, tuple[str, str]] = {}
    for item in excluded:
        reason, detail = item["reason"], item["detail"]
        if detail and not reason.endswith(detail):
            trace_id = item["trace_id"][:_ID_CHARACTERS]
            found.setdefault(reason, (trace_id, detail[:_LONGEST]))
    return found
