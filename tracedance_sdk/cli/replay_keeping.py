"""What `tracedance replay` keeps of its runs: rows, a manifest and traces, as the runs come."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, Self

from tracedance_sdk.cli.model_options import OpenedModel
from tracedance_sdk.cli.model_spending import spent, versions
from tracedance_sdk.cli.replay_plan import ReplayPlan
from tracedance_sdk.errors import InvalidOption, InvalidTrace, TraceDanceError, UnreadableFile
from tracedance_sdk.formats import save_trace
from tracedance_sdk.grading import ResultRow, ResultSetWriter
from tracedance_sdk.recording import SecretRedactor, holds_redaction_key, redaction_key
from tracedance_sdk.replay import (
    Doubt,
    JudgedRun,
    Masked,
    NotRun,
    ReplayedRun,
    Suite,
    n_resting_on_simulated,
    rows_of_runs,
)

if sys.platform != "win32":
    import fcntl

_SHARE: Final = 10
"""So many times longer than writing the set takes, nothing is written after it."""


class KeptRuns:
    """Takes the runs as they come, without secrets, and has them on disk soon after.

    In the context of this object, a thread writes the result set anew after each run, and spends at
    most a tenth of the time on that. Until the last run the set says how many are missing: whatever
    ends the process, it can be read.

    Args:
        plan: What was asked for.
        suite: The tests that are run.
        opened: The models that take part.
        broken: What was wrong with the files that are no tests.

    Attributes:
        items: The runs so far.
    """

    def __init__(
        self,
        plan: ReplayPlan,
        suite: Suite,
        opened: list[OpenedModel],
        broken: list[TraceDanceError],
    ) -> None:
        self.items: list[JudgedRun | NotRun] = []
        self._plan = plan
        self._suite = suite
        self._opened = opened
        self._masked = masked_by(plan)
        self._broken = [self._masked.text(str(error)) for error in broken]
        self._total = len(suite.tests) * plan.trials
        self._is_new = threading.Event()
        self._is_over = threading.Event()
        self._writing = threading.Lock()
        self._failure: TraceDanceError | None = None
        self._writer = threading.Thread(target=self._write_on, name="tracedance rows", daemon=True)

    def __enter__(self) -> Self:
        self._writer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._is_new.set()
        self._writer.join()

    def add(self, item: JudgedRun | NotRun) -> None:
        """Keep a run.

        Raises:
            UnreadableFile: Its trace or the result set cannot be written.
        """
        try:
            clean = self._masked.run(item)
            self._save(clean)
        except InvalidTrace as error:
            test, trial = (item.test, item.trial) if isinstance(item, NotRun) else item.run[:2]
            clean = NotRun(test, trial, f"the run cannot be written: {error}")
        self.items.append(clean)
        self._is_new.set()
        if self._failure is not None:
            raise self._failure

    def _write_on(self) -> None:
        """Write what is new, again and again."""
        while self._is_new.wait() and not self._is_over.is_set():
            self._is_new.clear()
            began = time.monotonic()
            try:
                self.write()
            except TraceDanceError as error:
                self._failure = error
            self._is_over.wait(_SHARE * (time.monotonic() - began))

    def write(self) -> tuple[list[ResultRow], dict[str, Any]]:
        """Write the result set of the runs so far, and return its rows and its manifest.

        Raises:
            UnreadableFile: It cannot be written.
        """
        with self._writing:
            items = in_order(list(self.items), self._suite)
            rows = list(rows_of_runs(items))
            manifest = self._manifest(items)
            if left := self._total - len(items):
                manifest["exclusions"]["interrupted"] = left
            with ResultSetWriter(self._plan.out, manifest=manifest) as writer:
                writer.add(rows)
        return rows, manifest

    def _manifest(self, found: list[JudgedRun | NotRun]) -> dict[str, Any]:
        plan, masked = self._plan, self._masked
        runs = [item.run for item in found if isinstance(item, JudgedRun)]
        stamps: Counter[str] = sum((Counter(run.stamps) for run in runs), Counter())
        simulated, ran = n_resting_on_simulated(found)
        excluded = Counter("not run" for item in found if isinstance(item, NotRun))
        if self._broken:
            excluded["no test"] = len(self._broken)
        return {
            "command": "replay",
            "versions": versions(),
            "agent": masked.agent(plan.agent),
            "customer": masked.agent(plan.who_speaks),
            "simulator": masked.agent(plan.simulator),
            "derived": not plan.no_derived,
            "allowed": list(plan.allow),
            "min_fidelity": plan.min_fidelity,
            "trials": plan.trials,
            "tests": len(self._suite.tests),
            "tests_sha256": self._suite.sha256,
            "runs": len(runs),
            "answers": dict(sorted(stamps.items())),
            "stale": sum(run.n_stale for run in runs),
            "masked": sum(run.n_masked for run in runs),
            "misses": dict(Counter(a.miss for run in runs for a in run.answers if a.miss)),
            "ended": dict(Counter(run.ended for run in runs)),
            "rules": masked.value(_rules(runs)),
            "rest_on_simulated": {"tests": simulated, "of": ran},
            "rest_on": {
                "made_up": _n_tests(found, "simulated"),
                "missing": _n_tests(found, "failed"),
                "outside": _n_tests(found, "outside"),
            },
            "exclusions": dict(excluded),
            **({"broken": self._broken} if self._broken else {}),
            **spent(self._opened),
        }

    def _save(self, item: JudgedRun | NotRun) -> None:
        folder = self._plan.traces
        if folder is not None and isinstance(item, JudgedRun):
            name = f"{item.run.test.id}-{item.run.trial}-{item.run.trace.id[:8]}.json"
            save_trace(item.run.trace, folder / name)


def in_order(items: list[JudgedRun | NotRun], suite: Suite) -> list[JudgedRun | NotRun]:
    """Return runs in the order of the tests and trials."""
    order = {test.id: number for number, test in enumerate(suite.tests)}

    def place(item: JudgedRun | NotRun) -> tuple[int, int]:
        run = item.run if isinstance(item, JudgedRun) else item
        return order[run.test.id], run.trial

    return sorted(items, key=place)


def masked_by(plan: ReplayPlan) -> Masked:
    """Return what takes out secrets, as the recorder would."""
    if plan.no_redact:
        return Masked(None)
    # The key of the tests, where they have one: then equal secrets are seen to be equal.
    folder = plan.folder if holds_redaction_key(plan.folder) else None
    return Masked(SecretRedactor(key=redaction_key(folder)))


def check_place(folder: Path, option: str) -> None:
    """Make a folder and see whether files can be made in it.

    Raises:
        UnreadableFile: They cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        told = error.strerror or error
        raise UnreadableFile(f"{option} {str(folder)!r} cannot be written: {told}") from error


@contextlib.contextmanager
def held(folder: Path, *, by: str = "replay") -> Iterator[None]:
    """Hold a folder, so that no other run writes into it meanwhile.

    The lock is on the folder itself, and the system lets go of it however the process ends. Windows
    and some file systems have none.

    Args:
        folder: That is there.
        by: The verb that holds it, for the message.

    Raises:
        InvalidOption: Another run holds it.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidOption(
                f"--out {str(folder)!r} is being written by another {by}; name another folder, "
                "or wait"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
        with contextlib.suppress(OSError):  # whoever was forked meanwhile has it open as well
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _n_tests(found: list[JudgedRun | NotRun], doubt: Doubt) -> int:
    """Return how many tests rest on a doubt in any of their runs."""
    runs = (item for item in found if isinstance(item, JudgedRun))
    return len({item.run.test.id for item in runs if doubt in item.doubts})


def _rules(runs: list[ReplayedRun]) -> list[dict[str, Any]]:
    """Return the rules that answers were derived by, each with what speaks for it."""
    used = Counter((a.rule, a.proof) for run in runs for a in run.answers if a.rule is not None)
    return [
        {"rule": rule, "proof": proof, "answers": number}
        for (rule, proof), number in used.most_common()
    ]
