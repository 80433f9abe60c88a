"""Labels: what people say of the same items that judges score, one line for each answer.

A file of labels is JSON lines. The first line is the header: ``{"format": "tracedance.labels",
"version": 1, "rubric": <id>, "rubric_sha256": <hash or null>, "set": {what was labelled}}``. Each
further line is a label: ``{"subject": {"trace_id", "turn"?, "instance_id"?}, "sample": 0,
"model"?, "group"?, "labeller", "score": 0 to 5 or null, "passed": true, false or null, "note"?}``.
A later line replaces an earlier one of the same item and labeller. A label without score and
without `passed` says that the labeller was unsure.

A line is on the disk before the next item is shown, so a session that is killed loses nothing;
several sessions may write one file at the same time.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, Protocol, TypeVar

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
)
from pydantic import ValidationError as _Invalid
from pydantic_core import PydanticCustomError

from tracedance_sdk.errors import (
    InvalidJSON,
    InvalidOption,
    InvalidTrace,
    UnknownFormat,
    UnsupportedVersion,
    shown,
)
from tracedance_sdk.grading import Subject
from tracedance_sdk.trace import invalid_trace, json_digest, parse_json, read_bytes, spelled_out

FORMAT: Final = "tracedance.labels"
VERSION: Final = 1
LONGEST_NAME: Final = 200
"""Characters of a labeller's name."""

_ODD: Final = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_JOINERS: Final = "\u200c\u200d"
"""Some scripts need them within words."""


def is_plain_name(name: str) -> bool:
    r"""Whether a name holds nothing that a terminal would obey or that turns text around.

    Example:
        >>> is_plain_name("Zoë"), is_plain_name("ann\x1b[2J"), is_plain_name("ann\u202e")
        (True, False, False)
    """
    return all(
        unicodedata.category(character) not in _ODD or character in _JOINERS for character in name
    )


def _checked_name(name: str) -> str:
    if not is_plain_name(name):
        raise PydanticCustomError(
            "said", "a name without control characters or marks that turn text around is needed"
        )
    return name


_Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=LONGEST_NAME),
    AfterValidator(_checked_name),
]
_Model = TypeVar("_Model", bound=BaseModel)


class _Scored(Protocol):
    """What has a subject, a sample and a model: a label, a row, a judged item."""

    @property
    def subject(self) -> Subject: ...

    @property
    def sample(self) -> int: ...

    @property
    def model(self) -> str | None: ...


class ItemKey(NamedTuple):
    """What tells one labelled or judged item from the others, whoever scores it."""

    trace_id: str | None
    turn: int | None
    instance_id: str | None
    sample: int
    model: str | None

    @classmethod
    def of(cls, scored: _Scored) -> ItemKey:
        """Return the key of a label, of a row of a result set, or of an item.

        Example:
            >>> from tracedance_sdk.grading import ResultRow
            >>> ItemKey.of(ResultRow(subject=Subject(trace_id="ab"), grader="rubric:x")).sample
            0
        """
        subject = scored.subject
        return cls(subject.trace_id, subject.turn, subject.instance_id, scored.sample, scored.model)

    @property
    def short(self) -> str:
        """A name of 17 characters that says nothing about the item: ``i`` and 16 hex digits."""
        return f"i{json_digest(list(self))[:16]}"


class Label(BaseModel):
    """What one person says of one item.

    Attributes:
        subject: The trace, and the turn where one response was labelled.
        sample: Which reply, where there are several; from 0.
        model: Who gave what was labelled. The labeller is not shown it.
        group: The leave-out unit.
        labeller: Who says so.
        score: From 0 to 5 by the rubric; None for pass or fail alone, and when unsure.
        passed: Whether it is good enough; None when unsure.
        note: In the labeller's own words.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    subject: Subject
    sample: StrictInt = Field(default=0, ge=0)
    model: str | None = None
    group: str | None = None
    labeller: _Name
    score: StrictInt | None = Field(default=None, ge=0, le=5)
    passed: StrictBool | None = None
    note: str | None = None

    @property
    def item(self) -> ItemKey:
        """What was labelled."""
        return ItemKey.of(self)

    @property
    def is_unsure(self) -> bool:
        """Whether the labeller looked and could not say."""
        return self.score is None and self.passed is None


class LabelHeader(BaseModel):
    """The first line of a file of labels.

    Attributes:
        rubric: Id of the rubric that the labellers read.
        rubric_sha256: Of its text; None when the labels came from elsewhere.
        set: What was labelled, for readers of the file.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    format: Literal["tracedance.labels"] = "tracedance.labels"
    version: Literal[1] = 1
    rubric: _Name
    rubric_sha256: str | None = None
    set: dict[str, Any] = Field(default_factory=dict)


class LabelSet(NamedTuple):
    """A file of labels, as read.

    Attributes:
        header: Its first line.
        labels: Those that count, in the order in which their items were first labelled.
        notes: What was left out of it, a line each.
        lines: Item and labeller → the number of the line that counts.
    """

    header: LabelHeader
    labels: tuple[Label, ...]
    notes: tuple[str, ...] = ()
    lines: Mapping[tuple[ItemKey, str], int] = MappingProxyType({})

    def by(self, labeller: str) -> dict[ItemKey, Label]:
        """Return the labels of one labeller by item."""
        return {label.item: label for label in self.labels if label.labeller == labeller}

    @property
    def labellers(self) -> tuple[str, ...]:
        """Who labelled anything, in the order of names."""
        return tuple(sorted({label.labeller for label in self.labels}))


def current_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Return the labels that count: of each item and labeller the last.

    Example:
        >>> first = Label(subject=Subject(trace_id="ab"), labeller="ann", score=2)
        >>> current_labels([first, first.model_copy(update={"score": 4})])[0].score
        4
    """
    kept: dict[tuple[ItemKey, str], Label] = {}
    for label in labels:
        kept[label.item, label.labeller] = label
    return tuple(kept.values())


def read_labels(path: str | os.PathLike[str]) -> LabelSet:
    """Read a file of labels.

    A last line that a killed process left half-written is left out, and `LabelSet.notes` says so.

    Raises:
        UnreadableFile: The file is missing, a folder, or not permitted.
        UnknownFormat: Not a file of labels, or a line of it is no label.
        UnsupportedVersion: Written by a newer release.
    """
    return parse_labels(read_bytes(path), str(path))


def check_label_rubric(header: LabelHeader, *, rubric: str, sha256: str | None, where: str) -> None:
    """Refuse labels that were given by another rubric.

    Args:
        header: Of the labels.
        rubric: Id of the rubric that is wanted.
        sha256: Of its text; None compares ids alone.
        where: The file, for the message.

    Raises:
        InvalidOption: Another id, or the same id with another text.
    """
    if header.rubric != rubric:
        raise InvalidOption(
            f"{where!r} holds labels by the rubric {header.rubric!r}, not by {rubric!r}: "
            "give that rubric, or name another file of labels"
        )
    if sha256 is not None and header.rubric_sha256 not in (None, sha256):
        raise InvalidOption(
            f"{where!r} holds labels by another text of the rubric {rubric!r} (sha256 "
            f"{str(header.rubric_sha256)[:12]}, now {sha256[:12]}): labels by different texts do "
            "not mix; name another file of labels, or bring the old text back"
        )


def score_problem(found: LabelSet, *, pass_from: float | None, where: str) -> str | None:
    """Return the first label whose score and `passed` contradict each other; None without one.

    Args:
        found: A file of labels. Where its header holds a ``pass_from``, that one counts.
        pass_from: The score from which items pass; None where nobody knows it. Then labels
            contradict each other where a higher score fails than one that passes.
        where: The file, for the message.
    """
    own = found.header.set.get("pass_from")
    if isinstance(own, (int, float)) and not isinstance(own, bool):
        pass_from = float(own)
    both = [
        (label.score, label.passed, label)
        for label in found.labels
        if label.score is not None and label.passed is not None
    ]
    if pass_from is not None:
        for score, passed, label in both:
            if passed is not (score >= pass_from):
                return (
                    f"{_place(found, label, where)}: {shown(label.labeller)} gives score {score} "
                    f"and passed {str(passed).lower()}, and a score passes from {pass_from:g} on"
                )
        return None
    passing = min((item for item in both if item[1]), key=lambda item: item[0], default=None)
    failing = max((item for item in both if not item[1]), key=lambda item: item[0], default=None)
    if passing is None or failing is None or failing[0] < passing[0]:
        return None
    return (
        f"{_place(found, passing[2], where)}: score {passing[0]} passes, and score {failing[0]} "
        f"fails in {_place(found, failing[2], where).removeprefix(f'{where}, ')}"
    )


def _place(found: LabelSet, label: Label, where: str) -> str:
    line = found.lines.get((label.item, label.labeller))
    return where if line is None else f"{where}, line {line}"


def label_line(record: Label | LabelHeader) -> bytes:
    """Return a label or a header as its line; of the fields that may be absent, None is."""
    fields = record.model_dump(mode="json")
    if isinstance(record, Label):
        _leave_out(fields, "model", "group", "note")
        _leave_out(fields["subject"], "trace_id", "turn", "instance_id")
    return orjson.dumps(spelled_out(fields)) + b"\n"


def parse_labels(data: bytes, where: str) -> LabelSet:
    """Return the labels in the bytes of a file; see `read_labels`."""
    *lines, last = data.split(b"\n")
    notes: tuple[str, ...] = ()
    if last.strip() and (is_whole(last) or not lines):
        lines.append(last)
    elif last.strip():
        notes = (f"{where}: its last line is torn and left out",)
    if not lines or not lines[0].strip():
        raise UnknownFormat(f"{where!r} is no file of labels: its first line is empty")
    header = _header(lines[0], where)
    numbered = [
        (number, _record(Label, line, f"{where}, line {number}"))
        for number, line in enumerate(lines[1:], 2)
        if line.strip()
    ]
    places = {(label.item, label.labeller): number for number, label in numbered}
    return LabelSet(header, current_labels(label for _, label in numbered), notes, places)


def is_whole(line: bytes) -> bool:
    """Whether a line without an end is all there: an object is whole only with its last brace."""
    try:
        return isinstance(parse_json(line, where="line"), dict)
    except InvalidJSON:
        return False


def _leave_out(fields: dict[str, Any], *names: str) -> None:
    for name in names:
        if fields[name] is None:
            del fields[name]


def _header(line: bytes, where: str) -> LabelHeader:
    try:
        document = parse_json(line, where=where)
    except InvalidJSON as error:
        raise UnknownFormat(f"{where!r} is no file of labels: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UnknownFormat(f"{where!r} is no file of labels: 'format' is not {FORMAT!r}")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise UnsupportedVersion(
            f"{where!r}: labels of version {version!r}; this release reads version {VERSION}"
        )
    return _record(LabelHeader, line, f"{where}, line 1")


def _record(kind: type[_Model], line: bytes, where: str) -> _Model:
    try:
        return kind.model_validate(parse_json(line, where=where, unique_keys=True))
    except _Invalid as error:
        raise UnknownFormat(str(invalid_trace(error, where))) from error
    except (InvalidJSON, InvalidTrace) as error:
        raise UnknownFormat(str(error)) from error
