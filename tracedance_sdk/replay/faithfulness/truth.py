"""What the real system answers to the calls of replayed runs, as a file that its owner writes.

JSON lines, ``tracedance.truth`` version 1. The first line is ``{"format": "tracedance.truth",
"version": 1}``; each further line is one run: ``{"trace_id": ..., "calls": [{"name": ...,
"answer": ..., "ok"?: true}, ...]}`` with every call of the run in order. In place of ``trace_id``
a run may be named by ``test`` and ``trial``. An answer of ``null`` with ``"known": false`` says
that the real system was not asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tracedance_sdk.errors import (
    InvalidJSON,
    InvalidTrace,
    TraceDanceError,
    UnknownFormat,
    UnsupportedVersion,
)
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Json,
    canonical_json,
    invalid_trace,
    parse_json,
    read_bytes,
)

FORMAT: Final = "tracedance.truth"
VERSION: Final = 1

_Name = Annotated[str, StringConstraints(min_length=1)]


class RealAnswer(BaseModel):
    """What the real system answers to one call.

    Attributes:
        name: Of the tool, to tell a file that is one call off.
        answer: Text or JSON, as the agent would have been given it.
        ok: False where the real call fails.
        known: False where the real system was not asked.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    name: _Name
    answer: Json = None
    ok: bool | None = None
    known: bool = True


class _Run(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    trace_id: str | None = None
    test: str | None = None
    trial: int = Field(default=0, ge=0)
    calls: tuple[RealAnswer, ...]


class _Header(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    format: Literal["tracedance.truth"]
    version: int


_Calls = tuple[RealAnswer, ...]
_Key = TypeVar("_Key")


class Truth(NamedTuple):
    """A file of real answers.

    Attributes:
        of_trace: By id of the run's trace.
        of_trial: By test and trial.
    """

    of_trace: Mapping[str, _Calls]
    of_trial: Mapping[tuple[str, int], _Calls]

    def answers(self, trace_id: str, test: str, trial: int) -> _Calls | None:
        """Return the real answers of a run; None where the file has none."""
        known = self.of_trace.get(trace_id)
        return self.of_trial.get((test, trial)) if known is None else known


def read_truth(path: str | os.PathLike[str]) -> Truth:
    """Read a file of real answers.

    Raises:
        UnreadableFile: Missing, or not permitted.
        UnknownFormat: No such file, or a line that is no run; the message says which.
        UnsupportedVersion: Written for a newer release.
    """
    where = os.fspath(path)
    lines = [
        (number, line)
        for number, line in enumerate(read_bytes(path).split(b"\n"), 1)
        if line.strip()
    ]
    if not lines:
        raise UnknownFormat(f"{where}: empty; the first line is {_FIRST_LINE}")
    _check_header(lines[0][1], where)
    of_trace: dict[str, _Calls] = {}
    of_trial: dict[tuple[str, int], _Calls] = {}
    for number, line in lines[1:]:
        here = f"{where}, line {number}"
        run: _Run = _parsed(_Run, line, here)
        if run.trace_id is not None:
            _add(of_trace, run.trace_id, run.calls, here)
        elif run.test is not None:
            _add(of_trial, (run.test, run.trial), run.calls, here)
        else:
            raise UnknownFormat(f"{here}: neither trace_id nor test says which run this is")
    return Truth(of_trace, of_trial)


def _add(known: dict[_Key, _Calls], key: _Key, calls: _Calls, where: str) -> None:
    if key in known:
        raise UnknownFormat(f"{where}: a run that an earlier line has already")
    known[key] = calls


_FIRST_LINE: Final = f'{{"format": "{FORMAT}", "version": {VERSION}}}'


def _check_header(line: bytes, where: str) -> None:
    try:
        header: _Header = _parsed(_Header, line, where)
    except TraceDanceError as error:
        raise UnknownFormat(f"{where}: the first line must be {_FIRST_LINE}") from error
    if header.version != VERSION:
        raise UnsupportedVersion(f"{where}: version {header.version}; this release reads {VERSION}")


def _parsed(model: Any, line: bytes, where: str) -> Any:
    try:
        return model.model_validate(parse_json(line, where=where))
    except ValidationError as error:
        raise UnknownFormat(str(invalid_trace(error, where))) from error
    except (InvalidJSON, InvalidTrace) as error:
        raise UnknownFormat(str(error)) from error


def is_right(call: Call, real: RealAnswer) -> bool | None:
    """Return whether a call was answered as the real system would; None where that is not known.

    Answers are compared as canonical JSON; a text that is JSON is taken for what it says. No answer
    is never right.
    """
    result = call.result
    if not real.known:
        return None
    if result is None:
        return False
    if real.ok is not None and result.ok is not None and real.ok is not result.ok:
        return False
    told: Json = None if result.content is UNKNOWN else result.content
    if told is None and result.error is not None:
        told = result.error.message
    return canonical_json(told) == canonical_json(real.answer) or _meant(told) == _meant(
        real.answer
    )


def _meant(answer: Json) -> bytes:
    if isinstance(answer, str):
        try:
            return canonical_json(parse_json(answer.encode(), where="answer"))
        except (TraceDanceError, UnicodeEncodeError):
            return canonical_json(answer)
    return canonical_json(answer)
