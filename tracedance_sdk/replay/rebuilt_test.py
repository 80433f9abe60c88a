"""A rebuilt test as a file: who asks for what, which tools there were, and what they answered.

One YAML file a conversation, ``format: tracedance.rebuilt_test``, ``version: 1``, to be read and
edited by people. It holds nothing of the agent but the definitions of its tools: the agent is what
is swapped. Fields that this release does not know are kept.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracedance_sdk.errors import InvalidTest, Problem, TraceDanceError, UnsupportedVersion
from tracedance_sdk.replay.misspelt_fields import misspelt_fields
from tracedance_sdk.trace import (
    Effect,
    Json,
    Result,
    ToolDefinition,
    parse_yaml,
    path_text,
    plain,
    read_bytes,
    spelled_out,
    yaml_text,
)

FORMAT: Final = "tracedance.rebuilt_test"
VERSION: Final = 1
SUFFIX: Final = ".yaml"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")


class Fact(_Part):
    """Something a person knows and tells when asked.

    Attributes:
        id: A word for it, such as ``user_id``.
        value: The value, as the person would say it.
        about: What the value is, in words; what a question is compared with.
    """

    id: str
    value: str
    about: str = ""


class Person(_Part):
    """Somebody who talks to the agent.

    Attributes:
        ref: Who it is in the test.
        goal: What the person wants.
        knows: What the person tells when asked.
        said: The person's messages as recorded, in order, for a customer who repeats them.
    """

    ref: str = "customer"
    goal: str = ""
    knows: tuple[Fact, ...] = ()
    said: tuple[str, ...] = ()


class RecordedCall(_Part):
    """A call that the recorded agent made.

    Attributes:
        name: Of the tool.
        arguments: Of the call.
        answer: What came back; None where it was not recorded.
        turn: Index of the turn in the trace.
    """

    name: str
    arguments: Json
    answer: dict[str, Json] | None = None
    turn: int = 0

    @property
    def result(self) -> Result | None:
        """What came back, as a trace holds it."""
        return None if self.answer is None else Result.model_validate(self.answer)


class TestTool(_Part):
    """A tool of the recorded agent.

    Attributes:
        effect: What a use does to the world; ``unknown`` is taken for a write.
        effect_from: Who says so: ``explicit`` (whoever rebuilt the test), ``recorded`` (with the
            run), ``table`` (of known tools and names), ``default``.
        overrules: The more harmful effect that was recorded or is in the table, where whoever
            rebuilt the test said that it is not so.
        origin: Where the definition comes from.
    """

    __test__ = False

    name: str
    effect: Effect = "unknown"
    effect_from: Literal["explicit", "recorded", "table", "default"] = "default"
    overrules: Effect | None = None
    origin: Literal["recorded", "known", "inferred"] = "inferred"
    description: str | None = None
    parameters: dict[str, Json] | None = None

    @property
    def definition(self) -> ToolDefinition:
        """The tool as a trace defines it."""
        return ToolDefinition(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            origin=self.origin,
            effect=self.effect,
        )


class TestSource(_Part):
    """The recorded conversation.

    Attributes:
        trace_id: Of its trace.
        group: The leave-out unit.
        verdict: What production, or the recorded environment, said of the run.
    """

    __test__ = False

    trace_id: str
    group: str
    session_id: str | None = None
    task_id: str | None = None
    agent: str | None = None
    model: str | None = None
    started_at: datetime | None = None
    verdict: Literal["pass", "fail"] | None = None


class Borrow(_Part):
    """Whose recordings may not be read."""

    exclude_groups: tuple[str, ...] = ()


class RebuiltTest(_Part):
    """A conversation that another agent can be put into.

    Attributes:
        id: Of the test.
        opening: The first thing the person says.
        recordings: Calls of the recorded agent, in order.
        borrow: Groups it may not borrow from.
    """

    __test__ = False

    format: Literal["tracedance.rebuilt_test"] = FORMAT
    version: int = VERSION
    id: str
    source: TestSource
    opening: str = ""
    people: tuple[Person, ...] = ()
    tools: tuple[TestTool, ...] = ()
    recordings: tuple[RecordedCall, ...] = ()
    borrow: Borrow = Field(default_factory=Borrow)

    @property
    def customer(self) -> Person:
        """The person who opens the conversation."""
        return self.people[0] if self.people else Person()


def written_test(test: RebuiltTest) -> str:
    """Return a test as the text of its file.

    Example:
        >>> test = RebuiltTest(id="a", source=TestSource(trace_id="t", group="g"), opening="Hi!")
        >>> print(written_test(test).splitlines()[2])
        id: a
    """
    document = test.model_dump(mode="json", exclude_defaults=True)
    return yaml_text(spelled_out({"format": FORMAT, "version": VERSION, **document}), blocks=True)


def read_test(path: str | os.PathLike[str]) -> RebuiltTest:
    """Read a test file.

    Raises:
        UnreadableFile: Missing, a folder, or not permitted.
        InvalidTest: Not a test, or one with a field that is probably misspelt; `problems` lists
            what is wrong and where.
        UnsupportedVersion: Written by a newer release.
    """
    return parse_test(read_bytes(path), where=os.fspath(path))


def parse_test(data: bytes, *, where: str = "test") -> RebuiltTest:
    """Read the bytes of a test file; see `read_test`."""
    try:
        document = parse_yaml(data, where=where)
    except TraceDanceError as error:
        raise InvalidTest(str(error)) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidTest(f"{where}: not a rebuilt test: 'format' is not {FORMAT!r}")
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise InvalidTest(f"{where}: 'version' is {version!r}, not a number from 1")
    if version > VERSION:
        raise UnsupportedVersion(f"{where}: version {version}; this release reads {VERSION}")
    problems = list(misspelt_fields(document, RebuiltTest))
    test: RebuiltTest | None = None
    try:
        test = RebuiltTest.model_validate(document)
    except ValidationError as error:
        problems += _problems(error)
    for number, call in enumerate(test.recordings if test is not None else ()):
        place = ("recordings", number, "answer")
        problems += misspelt_fields(call.answer, Result, at=place)
        try:
            _ = call.result
        except ValidationError as error:
            problems += _problems(error, at=place)
    if test is None or problems:
        raise invalid_test(where, problems)
    return test


def invalid_test(where: str, problems: Sequence[Problem]) -> InvalidTest:
    """Return the error of a test with problems, in one line.

    Args:
        where: The file.
        problems: At least one.
    """
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return InvalidTest(f"{where}: {problems[0]}{more}", problems=problems)


def _problems(error: ValidationError, *, at: tuple[int | str, ...] = ()) -> list[Problem]:
    """Return what a model found, each with its place from the root of the file."""
    return [
        Problem(item["msg"], path_text((*at, *item["loc"])))
        for item in error.errors(include_url=False, include_context=False)
    ]


def files_of_tests(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the test files of a folder, in the order of their names.

    What is named as a test and is none, such as a folder or a link to nothing, is among them.
    """
    return sorted(Path(folder).glob(f"*{SUFFIX}"))


def answer_of(result: Result | None) -> dict[str, Json] | None:
    """Return a result as a test file holds it."""
    if result is None:
        return None
    document: dict[str, Json] = plain(result)
    return document
