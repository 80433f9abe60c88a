"""How often an agent really passed each task, as a file that anybody can write."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tracedance_sdk.errors import InvalidJSON, InvalidTrace, UnknownFormat
from tracedance_sdk.statistics import Trials
from tracedance_sdk.trace import invalid_trace, parse_json, read_bytes


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    group: Annotated[str, StringConstraints(min_length=1)]
    passes: Annotated[int, Field(ge=0, strict=True)]
    trials: Annotated[int, Field(ge=1, strict=True)]


def read_rates(path: str | os.PathLike[str]) -> dict[str, Trials]:
    """Read real pass rates: JSON lines of ``{"group": ..., "passes": 3, "trials": 4}``.

    Raises:
        UnreadableFile: Missing, or not permitted.
        UnknownFormat: A line that is no rate, or a group that is there twice; the message says
            which.
    """
    found: dict[str, Trials] = {}
    for number, line in enumerate(read_bytes(path).split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{os.fspath(path)}, line {number}"
        try:
            rate = _Line.model_validate(parse_json(line, where=where))
        except ValidationError as error:
            raise UnknownFormat(str(invalid_trace(error, where))) from error
        except (InvalidJSON, InvalidTrace) as error:
            raise UnknownFormat(str(error)) from error
        if rate.passes > rate.trials:
            raise UnknownFormat(f"{where}: {rate.passes} passes of {rate.trials} trials")
        if rate.group in found:
            raise UnknownFormat(f"{where}: the group {rate.group!r} is there twice")
        found[rate.group] = Trials(rate.passes, rate.trials)
    if not found:
        raise UnknownFormat(f"{os.fspath(path)}: no rates")
    return found
