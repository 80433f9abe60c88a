"""Whether two result sets may be compared: the same judges, criteria and settings on both sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.grading import ResultRow, ResultSet
from tracedance_sdk.report.comparison_rows import (
    extra,
    is_spec,
    judge_kind,
    panel_of,
    rubric_of,
    rubric_text_of,
)
from tracedance_sdk.report.safe_text import json_text, shorten

_SETTINGS: Final = (
    "benchmark", "cut", "tools", "settings", "as_recorded", "mode", "repeats", "pass_from",
)  # fmt: skip
"""What a manifest says of how its rows came about, beside judges and criteria."""
_MOST_NAMED: Final = 3
_MOST_SHOWN: Final = 60


class JudgeCheck(NamedTuple):
    """What became of the judges of two sets.

    Attributes:
        lines: Grader of a row → the name that its line has in the comparison, where two judges
            are compared all the same.
        notes: What to say of it.
    """

    lines: dict[str, str]
    notes: tuple[str, ...]


def check_judges(
    old: Sequence[ResultRow], new: Sequence[ResultRow], *, may_differ: bool = False
) -> JudgeCheck:
    """Check that what judges scored was scored by the same ones: model, prompt and rubric.

    Args:
        old: Rows of the first set.
        new: Rows of the second.
        may_differ: Compare the scores of different judges, with a note.

    Raises:
        InvalidOption: The judges of a rubric, or of whole runs, differ.
    """
    judges = _judges(old), _judges(new)
    lines: dict[str, str] = {}
    notes = []
    for kind in sorted(judges[0].keys() & judges[1].keys()):
        first, second = judges[0][kind], judges[1][kind]
        if first == second:
            continue
        about = "whole runs" if kind == "trajectory" else f"rubric {kind!r}"
        told = f"the judges of {about} differ: A {_listed(first)}; B {_listed(second)}"
        if not may_differ:
            raise InvalidOption(
                f"{told}. Scores of different judges do not compare: judge both sets by the same, "
                "choose other lines (--grader 'spec:*'), or say --allow-different-judges"
            )
        notes.append(f"{told}; a difference may be theirs")
        only = sorted(first - second), sorted(second - first)
        if len(only[0]) == len(only[1]) == 1:
            prefix = "judge:" if kind == "trajectory" else f"judge:{kind}:"
            name = f"{prefix}{only[0][0]} / {only[1][0]}"
            lines |= {f"{prefix}{of[0]}": name for of in only}
    return JudgeCheck(lines, tuple(notes))


def check_rubrics(rows: Iterable[ResultRow], *, where: str) -> None:
    """Check that each line of a set is by one rubric, in one text, with one passing score.

    Args:
        rows: Those that are to be compared.
        where: The set, for messages.

    Raises:
        InvalidOption: Rows of several under one grader.
    """
    rubrics: dict[str, set[str]] = defaultdict(set)
    texts: dict[str, set[str]] = defaultdict(set)
    bounds: dict[str, set[float]] = defaultdict(set)
    for row in rows:
        if not row.grader.startswith(("judge:", "rubric:")):
            continue
        rubrics[row.grader].add(rubric_of(row) or "")
        if (text := rubric_text_of(row)) is not None:
            texts[row.grader].add(text)
        if (bound := extra(row, "pass_from")) is not None:
            bounds[row.grader].add(bound)
    for grader, names in rubrics.items():
        told = f"set {where} has rows of {shown(grader, 100)}"
        if len(names) > 1:
            ids = _listed(name or "no rubric" for name in names)
            raise InvalidOption(
                f"{told} by several rubrics: {ids}; choose one with --rubric ID, or other lines "
                "with --grader PATTERN"
            )
        if len(texts[grader]) > 1:
            hashes = _listed(text[:12] for text in texts[grader])
            raise InvalidOption(
                f"{told} by several texts of one rubric (sha256 {hashes}): scores by different "
                "texts have no common mean; judge all of it by one text, or choose other lines "
                "with --grader PATTERN"
            )
        if len(bounds[grader]) > 1:
            scores = ", ".join(f"{bound:g}" for bound in sorted(bounds[grader]))
            raise InvalidOption(
                f"{told} that pass from different scores: {scores}; judge all of it by one rubric, "
                "or choose other lines with --grader PATTERN"
            )


def check_texts(
    old: Sequence[ResultRow], new: Sequence[ResultRow], *, may_differ: bool = False
) -> tuple[str, ...]:
    """Check that both sets were judged by the same text of each rubric; return notes.

    Args:
        old: Rows of the first set; see `check_rubrics`.
        new: Rows of the second.
        may_differ: Compare them all the same, with a note.

    Raises:
        InvalidOption: Texts differ.
    """
    sides = []
    for rows in (old, new):
        found = {
            rubric: text
            for row in rows
            if (rubric := rubric_of(row)) is not None and (text := rubric_text_of(row)) is not None
        }
        sides.append(found)
    notes = []
    for rubric in sorted(sides[0].keys() & sides[1].keys()):
        first, second = sides[0][rubric], sides[1][rubric]
        if first == second:
            continue
        told = f"the texts of rubric {rubric!r} differ: A {first[:12]}; B {second[:12]}"
        if not may_differ:
            raise InvalidOption(
                f"{told}. Scores by different texts do not compare: judge both sets by the same, "
                "choose other lines (--grader 'spec:*'), or say --allow-different-judges"
            )
        notes.append(f"{told}; a difference may be theirs")
    return tuple(notes)


def differences_of_sets(old: ResultSet, new: ResultSet) -> list[str]:
    """Return notes on what else differs: criteria, settings, the command; or that nothing does.

    Args:
        old: The first set, with the rows that are compared.
        new: The second.
    """
    notes = []
    same = old.manifest.get("rows_sha256")
    if same is not None and same == new.manifest.get("rows_sha256"):
        notes.append("both sets have the same rows")
    changed = [
        name
        for name, hashes in _spec_hashes(old).items()
        if (others := _spec_hashes(new).get(name)) and hashes and hashes != others
    ]
    if changed:
        notes.append(
            f"the criteria of {_listed(changed)} are others in B; a difference may be theirs"
        )
    for key in ("command", *_SETTINGS):
        first, second = old.manifest.get(key), new.manifest.get(key)
        if key == "command":
            first, second = (str(word or "").split(" ")[0] for word in (first, second))
        if first and second and first != second:
            notes.append(f"{key} differs: A {_shown(first, second)}; B {_shown(second, first)}")
    return notes


def _judges(rows: Iterable[ResultRow]) -> dict[str, frozenset[str]]:
    """Return the judges by what they judged: a rubric's id, or ``trajectory``."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if (judge := judge_kind(row)) is not None:
            found[judge[0]].add(judge[1])
        elif (panel := panel_of(row)) is not None:
            found[panel[0]] |= panel[1]
    return {kind: frozenset(names) for kind, names in found.items()}


def _spec_hashes(side: ResultSet) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for row in side.rows:
        if is_spec(row.grader) and row.spec_sha256 is not None:
            found[row.grader].add(row.spec_sha256)
    return found


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    rest = len(ordered) - _MOST_NAMED
    told = ", ".join(ordered[:_MOST_NAMED]) or "none"
    return f"{told} and {rest} more" if rest > 0 else told


def _shown(value: Any, other: Any) -> str:
    """Return a setting; of objects only the fields that differ."""
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        value = {key: item for key, item in value.items() if other.get(key) != item}
    return shorten(json_text(value), _MOST_SHOWN)
