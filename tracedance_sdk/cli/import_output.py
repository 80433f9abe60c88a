"""What `tracedance import` prints once everything is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tracedance_sdk.cli.columns import print_columns
from tracedance_sdk.cli.counts import count
from tracedance_sdk.report import ReportConsole, in_one_line
from tracedance_sdk.store import ImportReport, Tally
from tracedance_sdk.trace import KINDS

MOST_ROWS: Final = 40
MOST_PROBLEMS: Final = 20

_COUNTS: Final = ("sessions", "traces", "turns", "calls", "errors")
_FIT: Final = {
    "reading": "read",
    "grading": "grade",
    "state_grading": "state",
    "rebuilt_test": "rebuilt",
    "next_turn": "next",
}
_TOOLS: Final = {"recorded": "rec.", "known": "known", "inferred": "inf.", "none": "none"}
_ADVICE: Final = (
    "; import with the options of the first import, or take those traces out with tracedance rm"
)
_EXPLAINED: Final = (
    "next: fit for a next turn; of these, the tools' definitions were recorded, are known of the "
    "client, can be inferred from calls, or none was called"
)


def print_import(report: ImportReport, console: ReportConsole) -> None:
    """Print what was read, what it is fit for, what it lacks, and what was not read."""
    rows = _rows(report)
    if rows:
        _print_counts(rows, console)
        _print_fit(rows, console)
    if report.fidelity:
        _print_fidelity(report, console)
    _print_problems(report, console)
    for line in (*_masked(report), *_passed_over(report)):
        console.say(line, hang=2)
    console.say(closing_line(report))


def closing_line(report: ImportReport) -> str:
    """Return in one line what the store did with what was read, and how much was not read."""
    stored, number = report.stored, len(report.problems)
    parts = [
        count(stored.added, "trace") + " added",
        f"{stored.replaced:,} replaced",
        f"{stored.unchanged:,} unchanged",
    ]
    if stored.added and stored.unchanged:
        parts[-1] += " (equal to one that was there or came before)"
    if stored.older:
        parts.append(f"{stored.older:,} older than what is there")
    if stored.apart:
        parts.append(f"{stored.apart:,} apart from another run of the same id")
    if stored.less_protected:
        parts.append(f"{stored.less_protected:,} left out, less protected than what is there")
    problems = f"; {count(number, 'problem')}" if number else ""
    advice = _ADVICE if stored.less_protected else ""
    return f"{', '.join(parts)}{problems}{advice}"


def _rows(report: ImportReport) -> list[tuple[str, str, Tally]]:
    found = [(*key, tally) for key, tally in sorted(report.tallies.items())]
    shown = [row for row in found if row[2].traces][:MOST_ROWS]
    names = _short(row[0] for row in shown)
    rows = [(names[folder], collector, tally) for folder, collector, tally in shown]
    rest = sum(1 for row in found if row[2].traces) - len(rows)
    if rest:
        rows.append((f"and {rest} more (--json has all)", "", Tally()))
    if len(rows) > 1:
        rows.append(("all", "", report.total))
    return rows


def _short(folders: Iterator[str]) -> dict[str, str]:
    """Return the last step of each folder's name, with as many before it as tell them apart."""
    paths = {folder: Path(folder).parts or (folder,) for folder in folders}
    depths = dict.fromkeys(paths, 1)
    while True:
        names = {folder: "/".join(paths[folder][-depths[folder] :]) for folder in paths}
        counts = Counter(names.values())
        clashing = [f for f in paths if counts[names[f]] > 1 and depths[f] < len(paths[f])]
        if not clashing:
            return names
        for folder in clashing:
            depths[folder] += 1


def _print_counts(rows: Sequence[tuple[str, str, Tally]], console: ReportConsole) -> None:
    print_columns(
        console,
        ("Read from", "by", *_COUNTS),
        [
            (name, collector, *(_number(getattr(tally, item), tally) for item in _COUNTS))
            for name, collector, tally in rows
        ],
        numbers=range(2, 2 + len(_COUNTS)),
    )


def _print_fit(rows: Sequence[tuple[str, str, Tally]], console: ReportConsole) -> None:
    console.say("")
    times = Counter(row[0] for row in rows)
    print_columns(
        console,
        ("Fit for", *_FIT.values(), *_TOOLS.values()),
        [
            (
                name if times[name] == 1 else f"{name} ({collector})",
                *(_number(tally.fit[item], tally) for item in _FIT),
                *(_number(tally.next_turn_tools[item], tally) for item in _TOOLS),
            )
            for name, collector, tally in rows
        ],
        numbers=range(1, 1 + len(_FIT) + len(_TOOLS)),
        gap=1,
    )
    console.say(_EXPLAINED)


def _number(number: int, tally: Tally) -> str:
    return f"{number:,}" if tally.traces else ""


def _print_fidelity(report: ImportReport, console: ReportConsole) -> None:
    console.say("")
    print_columns(
        console,
        ("Fidelity", "traces", "count", "meaning"),
        [
            (kind, f"{traces:,}", f"{number:,}", KINDS.get(kind, ""))
            for kind, (traces, number) in sorted(report.fidelity.items())
        ],
        numbers=(1, 2),
        gap=1,
    )


def _print_problems(report: ImportReport, console: ReportConsole) -> None:
    console.say("")
    if not report.problems:
        return
    console.say("Not read")
    for problem in report.problems[:MOST_PROBLEMS]:
        console.say(in_one_line(str(problem)), indent=2, hang=2)
    rest = len(report.problems) - MOST_PROBLEMS
    if rest > 0:
        console.say(f"and {rest:,} more; --problems FILE or --json lists all", indent=2)
    console.say("")


def _masked(report: ImportReport) -> Iterator[str]:
    if report.masks:
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in report.masks.most_common())
        yield f"{count(report.masks.total(), 'secret')} masked: {kinds}"
    if report.pseudonyms:
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in report.pseudonyms.most_common())
        yield f"{count(report.pseudonyms.total(), 'pseudonym')} put in: {kinds}"


def _passed_over(report: ImportReport) -> Iterator[str]:
    if report.companions:
        whose = ", ".join(f"{name} {n:,}" for name, n in sorted(report.companions.items()))
        number = report.companions.total()
        verb = "belongs to runs and holds none" if number == 1 else "belong to runs and hold none"
        yield f"{count(number, 'file')} {verb}: {whose}"
