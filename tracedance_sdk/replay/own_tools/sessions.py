"""A replay of decorated tools: recorded answers, what may run, what is recorded, what is missed."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from tracedance_sdk.errors import InvalidOption, UnrecordedCall
from tracedance_sdk.formats import tool_table
from tracedance_sdk.recording import (
    AskedCall,
    GivenAnswer,
    LetRun,
    Redactor,
    answers_from,
)
from tracedance_sdk.replay.answers import STAMPS, Answer, PureTool, Simulator, Stamp
from tracedance_sdk.replay.own_tools.cassettes import (
    UNFINISHED,
    Masking,
    Take,
    without_pseudonyms,
    write_test,
)
from tracedance_sdk.replay.own_tools.misses import UnrecordedUse, unrecorded, unrecorded_error
from tracedance_sdk.replay.own_tools.network import NetworkBlock, blocked_network
from tracedance_sdk.replay.rebuilding import Suite
from tracedance_sdk.replay.rebuilt_test import RebuiltTest, TestSource, files_of_tests, read_test
from tracedance_sdk.replay.recordings import WRITES
from tracedance_sdk.replay.running.one_run import answer_as_json
from tracedance_sdk.trace import Effect, Json

RecordMode = Literal["none", "once", "new_episodes", "all"]

RECORD_MODES: Final[dict[RecordMode, str]] = {
    "none": "recorded answers only; nothing but pure tools runs",
    "once": "as none where the file is there; else all tools run and are recorded",
    "new_episodes": "recorded answers; what has none runs and is recorded",
    "all": "all tools run and are recorded anew",
}
"""What runs for real during a replay, and is recorded."""

DEFAULT_ANSWERS: Final[tuple[Stamp, ...]] = ("same", "pure")
"""Where answers may come from unless a replay says otherwise."""

_FROM_OTHERS: Final = frozenset({"other", "derived", "simulated"})
_MARKED: Final = "runs by itself"


class ReplaySession:
    """Answers the calls of decorated tools; see `replaying`.

    Attributes:
        name: What is replayed, for messages.
        record: What runs for real.
        path: The file of its recordings; None where they come from elsewhere.
        missed: Calls that were neither answered nor run, in order.
        block: What may be reached over the network; None where tools may run.
    """

    def __init__(
        self,
        test: RebuiltTest | None,
        *,
        name: str,
        path: Path | None = None,
        record: RecordMode = "none",
        answers: Collection[Stamp] = DEFAULT_ANSWERS,
        among: Iterable[RebuiltTest] = (),
        simulator: Simulator | None = None,
        allow_hosts: Iterable[str] = (),
        redactor: Redactor | None = None,
    ) -> None:
        self.name = name
        self.record = record
        self.missed: list[UnrecordedUse] = []
        self.path = path
        self._identity = path.stem if path is not None else name
        self._masking = Masking(redactor)
        self._runs_all = record == "all" or (record == "once" and test is None)
        self._allowed = set(DEFAULT_ANSWERS) if record == "new_episodes" else set(answers)
        self._take = Take(test, self._masking)
        self._declared: dict[str, Effect] = {}
        self._pure: dict[str, PureTool] = {}
        own = test or RebuiltTest(
            id=self._identity, source=TestSource(trace_id=self._identity, group=self._identity)
        )
        self._explicit = {t.name: t.effect for t in own.tools if t.effect_from == "explicit"}
        others = [item for item in among if item.id != own.id]
        self._suite = Suite(map(without_pseudonyms, [own, *others]))
        ladder = self._suite.ladder(own.id, simulator=simulator, derives="derived" in self._allowed)
        # A tool that no recording names is new here, and may well be there.
        self._ladder = replace(ladder, effect_of=self.effect_of, pure=self._pure, tools=None)
        self._session = self._ladder.begin()
        self._waits = simulator is not None
        self._lock = threading.Lock()
        self._is_open = True
        may_run = self._runs_all or record == "new_episodes"
        self.block = None if may_run else NetworkBlock(allow_hosts, during=name)

    def __repr__(self) -> str:
        return f"<replay of {self.name}>"

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What was answered, in the order of the calls; not what was run to be recorded."""
        return tuple(self._session.answers)

    @property
    def n_recorded(self) -> int:
        """Calls that ran and are to be recorded."""
        return len(self._take)

    def effect_of(self, name: str) -> Effect:
        """Return what a tool does to the world: by the file, its decorator, the table of tools."""
        found = self._explicit.get(name) or self._declared.get(name)
        if found is not None:
            return found
        written = self._suite.effect_of(name)
        if written != "unknown":
            return written
        known = tool_table().lookup("", name)
        return "unknown" if known is None else known.effect

    def answer(self, asked: AskedCall) -> GivenAnswer | LetRun:
        """Return what a call is answered, or let it run."""
        with self._lock:
            self._begin(asked)
            if self._runs_all:
                return self._recorded(asked)
            arguments = self._masking.of(asked.arguments)
            return self._said(asked, arguments, self._session.answer(asked.name, arguments))

    async def answer_async(self, asked: AskedCall) -> GivenAnswer | LetRun:
        """Do what `answer` does, with a simulator that may have to be waited for."""
        if not self._waits:
            return self.answer(asked)
        self._begin(asked)
        if self._runs_all:
            return self._recorded(asked)
        arguments = self._masking.of(asked.arguments)
        found = await self._session.answer_async(asked.name, arguments)
        return self._said(asked, arguments, found)

    def close(self) -> None:
        """Answer nothing any more."""
        self._is_open = False

    def error(self, *, hint: str = "") -> UnrecordedCall | None:
        """Return what was missed as an error; None when nothing was."""
        return unrecorded_error(self.missed, hint=hint) if self.missed else None

    def save(self) -> Path | None:
        """Write what was run into the file, and return it; None when there is nothing to write.

        Raises:
            UnreadableFile: It cannot be written.
        """
        anew = self.record == "all"
        if self.path is None or not (self.n_recorded or (anew and self.path.exists())):
            return None
        write_test(self._take.test(self._identity, anew=anew), self.path)
        return self.path

    def _begin(self, asked: AskedCall) -> None:
        if not self._is_open:
            raise UnrecordedCall(
                f"{asked.name} was called when the replay of {self.name} was over; it was not run",
                writes=True,
            )
        if asked.effect is not None:
            self._declared[asked.name] = asked.effect
        # A table's word for a name is not enough to run what bears it.
        said = self._explicit.get(asked.name) or self._declared.get(asked.name)
        if said == "pure":
            self._pure[asked.name] = _marked

    def _said(self, asked: AskedCall, arguments: Json, answer: Answer) -> GivenAnswer | LetRun:
        note = answer_as_json(answer)
        effect = self.effect_of(asked.name)
        is_unrecorded_write = effect in WRITES and answer.stamp in ("derived", "simulated")
        if answer.stamp in self._allowed and not is_unrecorded_write:
            if answer.stamp == "pure":
                return LetRun(note)
            if answer.stamp == "same" and answer.origin is not None:
                self._take.replayed(asked.name, arguments, answer.origin)
            return GivenAnswer(answer.result, note, self._cut_off(asked, answer))
        if self.record == "new_episodes":
            return self._recorded(asked)
        use = unrecorded(asked.name, arguments, effect, answer, self._ladder.shelf)
        self.missed.append(use)
        note = {**note, "stamp": "failed", "miss": answer.miss or "something_new"}
        return GivenAnswer(answer.result, note, unrecorded_error([use]))

    def _cut_off(self, asked: AskedCall, answer: Answer) -> UnrecordedCall | None:
        """Return what is raised after the last recorded item, where nobody waited for the end."""
        if not (answer.result.model_extra or {}).get(UNFINISHED):
            return None
        return UnrecordedCall(
            f"{asked.name} has no further items: they were not asked for when it was recorded",
            writes=False,
        )

    def _recorded(self, asked: AskedCall) -> LetRun:
        number = self._take.begin(asked, self.effect_of(asked.name))

        def told(result: Any) -> None:
            self._take.end(number, result)

        return LetRun(None, told, covers_inner=True)


def open_session(
    recordings: str | os.PathLike[str] | RebuiltTest,
    *,
    record: RecordMode = "none",
    answers: Collection[Stamp] = DEFAULT_ANSWERS,
    among: Iterable[RebuiltTest] | None = None,
    simulator: Simulator | None = None,
    allow_hosts: Iterable[str] = (),
    redactor: Redactor | None = None,
    name: str | None = None,
) -> ReplaySession:
    """Return a session to be entered by `answering`; see `replaying`, which does both."""
    if record not in get_args(RecordMode):
        raise InvalidOption(f"record={record!r} is none of {', '.join(RECORD_MODES)}")
    wrong = [stamp for stamp in answers if stamp not in STAMPS or stamp == "failed"]
    if isinstance(answers, str) or wrong:
        known = ", ".join(stamp for stamp in STAMPS if stamp != "failed")
        raise InvalidOption(f"answers={answers!r} is no list of {known}")
    if "simulated" in answers and simulator is None:
        raise InvalidOption("answers has 'simulated', and there is no simulator to make them up")
    if isinstance(allow_hosts, str):
        raise InvalidOption(f"allow_hosts={allow_hosts!r} is no list of names of hosts")
    if isinstance(recordings, RebuiltTest):
        if record != "none":
            raise InvalidOption(f"record={record!r} needs the path of a file to write")
        test: RebuiltTest | None = recordings
        path = None
        shown = recordings.id
    else:
        path = Path(recordings)
        test = read_test(path) if path.exists() else None
        shown = os.fspath(recordings)
    if among is None and path is not None and not _FROM_OTHERS.isdisjoint(answers):
        files = (file for file in files_of_tests(path.parent) if file.is_file())
        among = [read_test(file) for file in files if file != path]
    return ReplaySession(
        test,
        name=name or shown,
        path=path,
        record=record,
        answers=answers,
        among=among or (),
        simulator=simulator,
        allow_hosts=allow_hosts,
        redactor=redactor,
    )


@contextlib.contextmanager
def answering(session: ReplaySession) -> Iterator[ReplaySession]:
    """Let a session answer, and keep the network shut where no tool may run."""
    with contextlib.ExitStack() as stack:
        stack.callback(session.close)
        stack.enter_context(answers_from(session))
        if session.block is not None:
            stack.enter_context(blocked_network(session.block))
        yield session


@contextlib.contextmanager
def replaying(
    recordings: str | os.PathLike[str] | RebuiltTest,
    *,
    record: RecordMode = "none",
    answers: Collection[Stamp] = DEFAULT_ANSWERS,
    among: Iterable[RebuiltTest] | None = None,
    simulator: Simulator | None = None,
    allow_hosts: Iterable[str] = (),
    redactor: Redactor | None = None,
    name: str | None = None,
) -> Iterator[ReplaySession]:
    """Let the program's own decorated tools give recorded answers.

    Every function decorated with `tool` that is called inside is answered from the recordings, and
    its body does not run; tools whose effect is ``pure`` may. A call that no recording answers is
    an error, there and, should it be swallowed, at the end. Connections to other machines are
    refused while nothing but pure tools may run.

    Args:
        recordings: The file of a rebuilt test, or a test.
        record: What runs for real, and is added to the file when no exception leaves the
            statement; see `RECORD_MODES`.
        answers: Where answers may come from; see `STAMPS`. Writes are answered by recordings
            alone. With ``new_episodes`` only ``same`` and ``pure``.
        among: Tests that may be borrowed from and learned from; None means those beside the file,
            where `answers` has ``other``, ``derived`` or ``simulated``.
        simulator: Makes up what is missing, where `answers` has ``simulated``.
        allow_hosts: Hosts that may be reached all the same; ``*`` stands for any characters.
        redactor: Finds what is masked in recordings and calls; None means `SecretRedactor`.
        name: What is replayed, for messages.

    Yields:
        The session, which tells what was answered.

    Raises:
        UnrecordedCall: Calls that no recording answers.
        InvalidOption: An argument that cannot be used.
        InvalidTest: The file is no rebuilt test.
        UnreadableFile: The file cannot be read, or written.
        UnsupportedVersion: The file was written by a newer release.

    Example:
        >>> with replaying("recordings/refund.yaml", record="once"):  # doctest: +SKIP
        ...     run_my_agent("Refund order 7")
    """
    session = open_session(
        recordings,
        record=record,
        answers=answers,
        among=among,
        simulator=simulator,
        allow_hosts=allow_hosts,
        redactor=redactor,
        name=name,
    )
    with answering(session):
        yield session
    error = session.error()
    if error is not None:
        raise error
    session.save()


def _marked(**_arguments: Any) -> str:
    """Stand for a pure tool, which the ladder leaves to its caller to run."""
    return _MARKED
