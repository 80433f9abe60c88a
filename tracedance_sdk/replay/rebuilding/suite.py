"""Rebuilt tests that stand side by side in a folder, and the answers that each may be given."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Final

from tracedance_sdk.errors import InvalidOption, InvalidTest, TraceDanceError, UnreadableFile
from tracedance_sdk.recording import (
    Redactor,
    SecretRedactor,
    holds_redaction_key,
    redaction_key,
)
from tracedance_sdk.replay.answers import CandidateOrder, Ladder, PureTool, Simulator
from tracedance_sdk.replay.derivation import RuleBook
from tracedance_sdk.replay.rebuilding.effects import HARM
from tracedance_sdk.replay.rebuilding.faults import faults_of
from tracedance_sdk.replay.rebuilt_test import (
    SUFFIX,
    RebuiltTest,
    files_of_tests,
    invalid_test,
    read_test,
    written_test,
)
from tracedance_sdk.replay.recordings import (
    Conversation,
    MadeCall,
    RecordingIndex,
    Shelf,
    conversation_from,
)
from tracedance_sdk.trace import Effect

_MOST_FILES: Final = 100_000
_MOST_BAD: Final = 50
"""Bad files that are named."""


class Suite:
    """Tests whose recordings may answer each other's calls.

    Args:
        tests: In the order in which candidates of one call are named.
        redactor: Takes secrets out of calls as they were taken out of the recordings.

    Attributes:
        tests: Those that are run.
        redactor: As given; of a folder, the one that its ``redaction.key`` makes.
        effects: What tools do, by name; where tests differ, the more harmful effect.

    Raises:
        InvalidOption: Two tests have one id.
    """

    def __init__(self, tests: Iterable[RebuiltTest], *, redactor: Redactor | None = None) -> None:
        self.tests: Sequence[RebuiltTest] = tuple(tests)
        self._all = self.tests
        self.redactor = redactor
        self.effects: Mapping[str, Effect] = _effects(self.tests)
        self._index = RecordingIndex(map(self._conversation, self.tests))
        self._rules = RuleBook(self._index, self.effect_of)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        on_bad: Callable[[TraceDanceError], None] | None = None,
    ) -> Suite:
        """Read all tests of a folder.

        Args:
            folder: Where they are.
            on_bad: Is told of each file that cannot be used, which is left out; with None, or where
                no file can be used, it is an error.

        Raises:
            UnreadableFile: No such folder, or a file in it that is not permitted.
            InvalidTest: Files that are no tests, or that cannot be run (see `faults_of`), all of
                them named; or no tests at all.
            InvalidOption: Two tests have one id.
            UnsupportedVersion: Written by a newer release.
            JournalError: A key of its pseudonyms that cannot be used.
        """
        where = Path(folder)
        if not where.is_dir():
            raise UnreadableFile(f"{os.fspath(folder)!r} is no folder of rebuilt tests")
        files = files_of_tests(where)
        if not files:
            raise InvalidTest(f"{os.fspath(folder)!r} holds no rebuilt tests (*{SUFFIX})")
        if len(files) > _MOST_FILES:
            raise InvalidTest(f"{os.fspath(folder)!r} holds {len(files):,} files")
        redactor = None
        if holds_redaction_key(where):
            redactor = SecretRedactor(key=redaction_key(where))
        tests = _read(files) if on_bad is None else _read_sound(files, on_bad)
        return cls(tests, redactor=redactor)

    def only(self, identities: Iterable[str]) -> Suite:
        """Return the suite with only these tests to run; all others still lend their recordings.

        Raises:
            InvalidOption: There is no test of an id.
        """
        chosen = copy(self)
        chosen.tests = tuple(self.test(identity) for identity in identities)
        return chosen

    @property
    def sha256(self) -> str:
        """What tells these tests, with all that lend recordings, from any others."""
        texts = (written_test(test) for test in self._all)
        return hashlib.sha256("".join(texts).encode()).hexdigest()

    def effect_of(self, name: str) -> Effect:
        """Return what a tool does to the world."""
        return self.effects.get(name, "unknown")

    def test(self, identity: str) -> RebuiltTest:
        """Return a test by its id.

        Raises:
            InvalidOption: There is none.
        """
        number = self._index.number_of(identity)
        if number is None:
            raise InvalidOption(f"no test {identity!r} among {len(self._all):,}")
        return self._all[number]

    def ladder(
        self,
        identity: str,
        *,
        pure: Mapping[str, PureTool] | None = None,
        derives: bool = True,
        simulator: Simulator | None = None,
        order: CandidateOrder = "recent",
        names_nearest: bool = False,
        leaves_out: bool = True,
        excluded_ids: Iterable[str] = (),
    ) -> Ladder:
        """Return what answers the calls of a test.

        Args:
            identity: Of the test.
            pure: The tools that may be run, by name.
            derives: Whether answers may be derived by proven rules.
            simulator: Makes up what is missing; None makes up nothing.
            order: Which of several conversations is borrowed from; see `Ladder`.
            names_nearest: Whether a miss names the recorded calls that are most like it.
            leaves_out: Whether the test borrows from no conversation of its own group.
            excluded_ids: Other tests that it does not borrow from.

        Raises:
            InvalidOption: No such test, or a tool to be run that is not pure.
        """
        test = self.test(identity)
        groups = frozenset({test.source.group, *test.borrow.exclude_groups} if leaves_out else ())
        ids = frozenset(excluded_ids)
        return Ladder(
            shelf=Shelf(self._index, test.id, excluded_groups=groups, excluded_ids=ids),
            effect_of=self.effect_of,
            pure=dict(pure or {}),
            rules=self._rules if derives else None,
            simulator=simulator,
            order=order,
            excluded_groups=groups,
            excluded_ids=ids,
            names_nearest=names_nearest,
            tools=frozenset(self.effects),
            redactor=self.redactor,
        )

    def _conversation(self, test: RebuiltTest) -> Conversation:
        calls = (MadeCall(c.name, c.arguments, c.result, c.turn) for c in test.recordings)
        source = test.source
        return conversation_from(
            test.id, source.group, calls, self.effect_of, started_at=source.started_at
        )


def save_tests(tests: Iterable[RebuiltTest], folder: str | os.PathLike[str]) -> list[Path]:
    """Write each test as a file of its own and return the files.

    Raises:
        UnreadableFile: A file cannot be written.
        InvalidOption: A file is there already; nothing is overwritten, as people edit tests.
    """
    where = Path(folder)
    made = [(where / f"{test.id}{SUFFIX}", test) for test in tests]
    for path, test in made:
        if path.name != f"{test.id}{SUFFIX}" or path.parent != where:
            raise InvalidOption(f"{test.id!r} is no name of a file")
    taken = [path for path, _ in made if path.exists()]
    if taken:
        raise InvalidOption(
            f"{os.fspath(taken[0])!r} is there already; name a new folder, or remove it"
        )
    try:
        where.mkdir(parents=True, exist_ok=True)
        for path, test in made:
            with path.open("x", encoding="utf-8") as file:
                file.write(written_test(test))
    except OSError as error:
        raise UnreadableFile(f"{os.fspath(folder)!r} cannot be written: {error}") from error
    return [path for path, _ in made]


def _read(files: Sequence[Path]) -> list[RebuiltTest]:
    """Read tests that are to be run.

    Raises:
        InvalidTest: Some are none, or cannot be run; all of them are named.
    """
    tests: list[RebuiltTest] = []
    bad: list[InvalidTest] = []
    for file in files:
        try:
            test = read_test(file)
            if faults := list(faults_of(test)):
                raise invalid_test(os.fspath(file), faults)
            tests.append(test)
        except InvalidTest as error:
            bad.append(error)
    if len(bad) == 1:
        raise bad[0]
    if bad:
        shown = "; ".join(map(str, bad[:_MOST_BAD]))
        left = f"; and {len(bad) - _MOST_BAD:,} more" if len(bad) > _MOST_BAD else ""
        problems = [problem for error in bad for problem in error.problems]
        raise InvalidTest(f"{len(bad):,} files are no tests: {shown}{left}", problems=problems)
    return tests


def _read_sound(
    files: Sequence[Path], on_bad: Callable[[TraceDanceError], None]
) -> list[RebuiltTest]:
    """Read the tests that can be run, and tell of the files that cannot."""
    found: dict[str, RebuiltTest] = {}
    bad: list[TraceDanceError] = []
    for file in files:
        try:
            (test,) = _read([file])
            if test.id in found:
                raise InvalidTest(f"{os.fspath(file)}: another file has the id {test.id!r}")
            found[test.id] = test
        except TraceDanceError as error:
            bad.append(error)
    if not found:
        _read(files)
    for problem in bad:
        on_bad(problem)
    return list(found.values())


def _effects(tests: Iterable[RebuiltTest]) -> dict[str, Effect]:
    found: dict[str, Effect] = {}
    for test in tests:
        for tool in test.tools:
            before = found.get(tool.name, "pure")
            found[tool.name] = max(before, tool.effect, key=HARM.index)
    return found
