"""Kill programs that record, at times spread evenly over their runs, and read what they left.

    python -m tests.durability.kill_loop --kills 100 --kind threads [--durability fsync]
    python -m tests.durability.kill_loop --kills 20 --kind both --mutant "start after the body"

One warm process forks the program anew for every kill, so that a kill costs tens of milliseconds.
Every program is the leader of a process group; of forked ones, one process is killed as often as
all of them. What a run wrote is read after the last of its processes has gone.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import select
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple

from tests.durability.kill_check import Findings, check_killed, heard
from tests.durability.killed_programs import KINDS, PIPE, record_run
from tests.durability.mutants import MUTANTS
from tests.support.tables import table_lines
from tracedance_sdk.recording.pipeline import PIPELINES

_WAIT_SECONDS: Final = 30.0
_BECOME_SUBREAPER: Final = 36


class Tally(NamedTuple):
    """What came of the kills of one kind.

    Attributes:
        kind: Of program, or the mutant.
        kills: Signals sent to a program that had begun; those that found it ended do not count.
        inside: Kills that fell inside a call or more.
        inside_calls: Calls they fell inside.
        finished: Calls that had come back.
        lost: Those of them that were lost.
        torn: Files that ended within a line.
        run_ms: Length of an undisturbed run, the span of time over which kills are spread.
        problems: The first broken promises, in words.
        n_problems: How many there were.
    """

    kind: str
    kills: int
    inside: int
    inside_calls: int
    finished: int
    lost: int
    torn: int
    run_ms: float
    problems: list[str]
    n_problems: int


class Target:
    """A program that was forked from this process, and the pipe it speaks over."""

    def __init__(
        self, kind: str, folder: Path, *, seed: int, durability: Literal["os", "fsync"]
    ) -> None:
        reading, writing = os.pipe()
        self.group = os.fork()
        if self.group == 0:
            _live(kind, folder, writing, seed=seed, durability=durability)
        os.close(writing)
        self._reading = reading
        self._heard = b""

    def wait_for_start(self) -> None:
        """Return when the program is about to open its recorder."""
        self._read(until=b"\n")

    def wait_for_end(self) -> list[str]:
        """Return everything the program said, once its last process has gone.

        Raises:
            TimeoutError: It did not end; it is killed.
        """
        try:
            self._read(until=None)
        finally:
            self.kill(self.group, whole=True)
            while self._reap():
                pass
            os.close(self._reading)
        return self._heard.decode().splitlines()

    def processes(self) -> list[int]:
        """Return the processes that work for the run, as far as they have said so."""
        while select.select([self._reading], [], [], 0)[0]:
            if not self._take():
                break
        return heard(self._heard.decode().splitlines()).processes

    def kill(self, process: int, *, whole: bool) -> None:
        try:
            if os.getpgid(process) == self.group:
                os.kill(-process if whole else process, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _reap(self) -> bool:
        try:
            os.waitpid(-self.group, 0)
        except ChildProcessError:
            return False
        return True

    def _read(self, *, until: bytes | None) -> None:
        deadline = time.monotonic() + _WAIT_SECONDS
        while until is None or until not in self._heard:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._reading], [], [], left)[0]:
                raise TimeoutError(f"the program went on for {_WAIT_SECONDS:.0f} s")
            if not self._take():
                return

    def _take(self) -> bool:
        data = os.read(self._reading, 65536)
        self._heard += data
        return bool(data)


def _live(
    kind: str, folder: Path, pipe: int, *, seed: int, durability: Literal["os", "fsync"]
) -> None:
    """Be the program, and never return."""
    code = 1
    try:
        os.setpgid(0, 0)
        PIPE.descriptor = pipe
        PIPE.random.seed(seed)
        record_run(kind, folder, durability=durability)
        code = 0
    finally:
        os._exit(code)


def kill_once(
    kind: str, folder: Path, *, seed: int, run_s: float, durability: Literal["os", "fsync"]
) -> tuple[Findings, bool]:
    """Kill one program at a random moment of its run.

    Returns:
        What its journal showed, and whether the kill found it running.
    """
    random = Random(seed)
    target = Target(kind, folder, seed=seed, durability=durability)
    target.wait_for_start()
    time.sleep(random.random() * run_s)
    alone = kind == "forks" and random.random() < 0.5
    process = random.choice(target.processes()) if alone else target.group
    target.kill(process, whole=not alone)
    said = heard(target.wait_for_end())
    return check_killed(folder, said), process not in said.done


def run_seconds(kind: str, folder: Path, *, durability: Literal["os", "fsync"]) -> float:
    """Return how long an undisturbed run takes, the median of five; each must be whole."""
    lengths = []
    for seed in range(5):
        target = Target(kind, folder / str(seed), seed=seed, durability=durability)
        target.wait_for_start()
        start = time.monotonic()
        said = heard(target.wait_for_end())
        lengths.append(time.monotonic() - start)
        findings = check_killed(folder / str(seed), said)
        if findings.problems or not said.ended or said.inside:
            raise RuntimeError(f"an undisturbed run of {kind!r} is not whole: {findings}")
    return statistics.median(lengths)


def kill_many(
    kind: str,
    kills: int,
    *,
    seed: int = 0,
    mutant: str | None = None,
    durability: Literal["os", "fsync"] = "os",
) -> Tally:
    """Kill programs of one kind until so many kills found their program running."""
    ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1)
    found: list[Findings] = []
    with tempfile.TemporaryDirectory(prefix="tracedance-kills-") as scratch:
        folder = Path(scratch)
        record_run(kind, folder / "warm", durability=durability)
        run_s = run_seconds(kind, folder, durability=durability)
        if mutant is not None:
            MUTANTS[mutant]()
        attempts = 0
        while len(found) < kills and attempts < 3 * kills:
            attempts += 1
            journal = folder / f"kill-{attempts}"
            findings, counts = kill_once(
                kind, journal, seed=seed * 1_000_003 + attempts, run_s=run_s, durability=durability
            )
            if counts or findings.problems:
                found.append(findings)
            shutil.rmtree(journal, ignore_errors=True)
        PIPELINES.close()
    problems = [problem for findings in found for problem in findings.problems]
    return Tally(
        kind=mutant or (kind if durability == "os" else f"{kind}, fsync"),
        kills=len(found),
        inside=sum(findings.inside > 0 for findings in found),
        inside_calls=sum(findings.inside for findings in found),
        finished=sum(findings.finished for findings in found),
        lost=sum(findings.lost for findings in found),
        torn=sum(findings.torn for findings in found),
        run_ms=round(run_s * 1000, 1),
        problems=problems[:20],
        n_problems=len(problems),
    )


def kill_row(tally: Tally) -> dict[str, str]:
    """Return a tally as a row of the table."""
    return {
        "kind": tally.kind,
        "kills": str(tally.kills),
        "inside a call": f"{tally.inside} ({tally.inside / max(tally.kills, 1):.0%})",
        "open calls": str(tally.inside_calls),
        "finished calls": str(tally.finished),
        "lost": str(tally.lost),
        "torn tails": str(tally.torn),
        "run ms": str(tally.run_ms),
    }


def main(arguments: list[str] | None = None) -> int:
    """Print the table, or with ``--json`` the tallies; exit 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="kill_loop", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=100, help="of each kind")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="all by default")
    parser.add_argument("--mutant", choices=list(MUTANTS))
    parser.add_argument("--durability", choices=["os", "fsync"], default="os")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    tallies = [
        kill_many(
            kind, given.kills, seed=given.seed, mutant=given.mutant, durability=given.durability
        )
        for kind in given.kind or KINDS
    ]
    if given.json:
        print(json.dumps([tally._asdict() for tally in tallies]))
    else:
        print(*table_lines([kill_row(tally) for tally in tallies]), sep="\n")
        for problem in (problem for tally in tallies for problem in tally.problems):
            print(problem)
    return 1 if any(tally.n_problems for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
