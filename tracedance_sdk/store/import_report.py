"""What came of an import: what was read, what it is fit for, and every line that was not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats import ImportProblem
from tracedance_sdk.store.adding import AddSummary
from tracedance_sdk.store.facts import is_only_interrupted
from tracedance_sdk.store.families import links_of, parts
from tracedance_sdk.trace import KINDS, Trace

FORMAT: Final = "tracedance.import"
VERSION: Final = 1

ORIGINS: Final = ("recorded", "known", "inferred", "none")
"""Where the definitions of a run's tools come from; ``none`` where nothing was called."""

MOST_LISTED: Final = 10_000
"""Most traces, and most files, that a report names one by one."""

LOSSES: Final = frozenset({"record_lost", "record_altered"})
"""Fidelity notes that say that a run is not all there."""

_FITNESS: Final = ("reading", "grading", "state_grading", "next_turn", "rebuilt_test")


class SourceProblem(NamedTuple):
    """Something that was not read.

    Attributes:
        path: The file, or ``archive!member``.
        line: Line of a line-based file, from 1; None where the file is one document.
        collector: What it was read as; None when nobody recognised it.
        reason: What is wrong, without the place.
    """

    path: str
    line: int | None
    collector: str | None
    reason: str

    @classmethod
    def of(cls, problem: ImportProblem, collector: str | None) -> SourceProblem:
        """Return the problem, its place taken out of the reason's beginning."""
        reason = problem.reason
        for place in (f"{problem.path}:{problem.line}", problem.path):
            if reason.startswith(f"{place}: "):
                reason = reason[len(place) + 2 :]
                break
        return cls(problem.path, problem.line, collector, reason)

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        tried = "" if self.collector is None else f" (read as {self.collector})"
        named = self.reason.startswith((place, repr(place)))
        return f"{self.reason}{tried}" if named else f"{place}: {self.reason}{tried}"


class NotableTrace(NamedTuple):
    """A trace that replaced another, or was left out.

    Attributes:
        what: ``replaced``, ``older`` or ``less_protected``, as in `AddSummary`.
        trace_id: Its id.
        path: Where it was read; None where that is not known any more.
    """

    what: str
    trace_id: str
    path: str | None


class Tally:
    """Counts of the runs of one collector in one folder, or of several together."""

    def __init__(self) -> None:
        self.sources = 0
        self.traces = 0
        self.turns = 0
        self.calls = 0
        self.results = 0
        self.errors = 0
        """Calls that are known to have failed."""
        self.problems = 0
        self.fit: Counter[str] = Counter()
        """Traces by what they are fit for."""
        self.next_turn_tools: Counter[str] = Counter()
        """Of those fit for the next turn: by where the definitions of their tools come from."""
        self._links: set[tuple[int, ...]] = set()
        """Of each trace: what it shares with those that it belongs to."""

    @property
    def sessions(self) -> int:
        """How many different sessions, as the store counts them.

        A trace without a session is one, together with its sub-agents.
        """
        return parts(self._links)

    def count(self, trace: Trace, *, tools: str) -> None:
        """Count a trace whose tools' definitions are of an origin of `ORIGINS`."""
        self.traces += 1
        self.turns += len(trace.turns)
        calls = trace.calls
        results = [call.result for call in calls if call.result is not None]
        self.calls += len(calls)
        self.results += sum(not is_only_interrupted(result) for result in results)
        self.errors += sum(result.ok is False for result in results)
        self._links.add(tuple(links_of(trace)))
        self.fit.update(trace.fidelity.fit_for)
        if "next_turn" in trace.fidelity.fit_for:
            self.next_turn_tools[tools] += 1

    def add(self, other: Tally) -> None:
        """Add the counts of another."""
        self.sources += other.sources
        self.traces += other.traces
        self.turns += other.turns
        self.calls += other.calls
        self.results += other.results
        self.errors += other.errors
        self.problems += other.problems
        self.fit.update(other.fit)
        self.next_turn_tools.update(other.next_turn_tools)
        self._links |= other._links

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return {
            "sources": self.sources,
            "sessions": self.sessions,
            "traces": self.traces,
            "turns": self.turns,
            "calls": self.calls,
            "results": self.results,
            "errors": self.errors,
            "problems": self.problems,
            "fit_for": {name: self.fit[name] for name in _FITNESS},
            "next_turn_tools": {name: self.next_turn_tools[name] for name in ORIGINS},
        }


class ImportReport:
    """What came of an import.

    Attributes:
        tallies: By folder and collector, in the order met; collector ``-`` where none read it.
        stored: What the store did with the traces.
        problems: Everything that was not read, in the order met.
        fidelity: Kind of note → traces that have it, and how often in all.
        masks: Kind of secret → how many were masked.
        pseudonyms: Kind of personal text → how often it was replaced.
        companions: Collector → files that belong to its runs and were passed over.
        companion_paths: Each of these files with its collector, up to `MOST_LISTED`.
        notable: Traces that replaced others or were left out, up to `MOST_LISTED`.
    """

    def __init__(self) -> None:
        self.tallies: dict[tuple[str, str], Tally] = {}
        self.stored = AddSummary()
        self.problems: list[SourceProblem] = []
        self.fidelity: dict[str, tuple[int, int]] = {}
        self.masks: Counter[str] = Counter()
        self.pseudonyms: Counter[str] = Counter()
        self.companions: Counter[str] = Counter()
        self.companion_paths: list[tuple[str, str]] = []
        self.notable: list[NotableTrace] = []

    @property
    def total(self) -> Tally:
        """The counts of everything."""
        return joined(self.tallies.values())

    @property
    def is_whole(self) -> bool:
        """Whether nothing was lost: no problem, and no run that is not all there."""
        return not self.problems and not any(kind in self.fidelity for kind in LOSSES)

    def tally(self, folder: str, collector: str | None) -> Tally:
        """Return the counts of one collector in one folder, to count on."""
        key = (folder, collector or "-")
        if key not in self.tallies:
            self.tallies[key] = Tally()
        return self.tallies[key]

    def note(self, trace: Trace) -> None:
        """Count what a trace lacks."""
        for item in trace.fidelity.notes:
            traces, count = self.fidelity.get(item.kind, (0, 0))
            self.fidelity[item.kind] = (traces + 1, count + item.count)

    def clean(self, cleaned: Callable[[str], str]) -> None:
        """Put each path and reason through a function that takes secrets and people out of it."""
        tallies, self.tallies = self.tallies, {}
        for (folder, collector), tally in tallies.items():
            self.tally(cleaned(folder), collector).add(tally)
        self.problems = [
            problem._replace(path=cleaned(problem.path), reason=cleaned(problem.reason))
            for problem in self.problems
        ]
        self.companion_paths = [(cleaned(path), name) for path, name in self.companion_paths]
        self.notable = [
            item if item.path is None else item._replace(path=cleaned(item.path))
            for item in self.notable
        ]

    def pass_over(self, path: str, collector: str) -> None:
        """Count a file that belongs to runs and holds none."""
        self.companions[collector] += 1
        if len(self.companion_paths) < MOST_LISTED:
            self.companion_paths.append((path, collector))

    def add(self, other: ImportReport) -> None:
        """Add what came of another part of the same import."""
        for (folder, collector), tally in other.tallies.items():
            self.tally(folder, collector).add(tally)
        self.stored = self.stored.plus(other.stored)
        self.problems += other.problems
        for kind, (traces, count) in other.fidelity.items():
            known = self.fidelity.get(kind, (0, 0))
            self.fidelity[kind] = (known[0] + traces, known[1] + count)
        self.masks.update(other.masks)
        self.pseudonyms.update(other.pseudonyms)
        self.companions.update(other.companions)
        self.companion_paths = (self.companion_paths + other.companion_paths)[:MOST_LISTED]
        self.notable = (self.notable + other.notable)[:MOST_LISTED]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON object: `FORMAT`, `VERSION`, and all problems."""
        stored = self.stored._asdict()
        stored.pop("refused")
        return {
            "format": FORMAT,
            "version": VERSION,
            "total": self.total.to_dict(),
            "stored": stored,
            "folders": [
                {
                    "folder": folder,
                    "collector": None if collector == "-" else collector,
                    **tally.to_dict(),
                }
                for (folder, collector), tally in sorted(self.tallies.items())
            ],
            "fidelity": [
                {"kind": kind, "meaning": KINDS.get(kind, ""), "traces": traces, "count": count}
                for kind, (traces, count) in sorted(self.fidelity.items())
            ],
            "masks": dict(sorted(self.masks.items())),
            "pseudonyms": dict(sorted(self.pseudonyms.items())),
            "companions": dict(sorted(self.companions.items())),
            "companion_paths": [
                {"path": path, "collector": name} for path, name in self.companion_paths
            ],
            "notable": [item._asdict() for item in self.notable],
            "problems": [problem._asdict() for problem in self.problems],
        }


def joined(tallies: Iterable[Tally]) -> Tally:
    """Return the counts of several together."""
    found = Tally()
    for tally in tallies:
        found.add(tally)
    return found
