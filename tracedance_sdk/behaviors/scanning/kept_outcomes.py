"""Outcomes of partitions on disk, so that a scan that was stopped goes on where it was.

An outcome is kept under the digest of all that it depends on: the partition with its features, the
behaviours and the values of their parameters, and this release. What is kept for anything else is
never read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from tracedance_sdk.behaviors.scanning.occurrences import Occurrence
from tracedance_sdk.behaviors.scanning.partition import Counted, Outcome, Wanted
from tracedance_sdk.errors import UnreadableFile
from tracedance_sdk.store import PartitionKey
from tracedance_sdk.trace import json_digest

FORMAT: Final = "tracedance.scan_outcome"
VERSION: Final = 1
_RULES: Final = 3
"""Goes up when what a scan finds changes otherwise than by the behaviours themselves."""


class KeptOutcomes:
    """A folder of outcomes.

    Args:
        folder: Made when it is not there.
        wanted: The behaviours that are looked for.
        where: Among which traces, as SQL.

    Raises:
        UnreadableFile: It cannot be made.
    """

    def __init__(self, folder: Path, wanted: Sequence[Wanted], where: str) -> None:
        self._folder = folder
        asked = [[item.behavior.sha256, dict(item.parameters)] for item in wanted]
        self._asked = json_digest([_release(), _RULES, asked, where])
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise UnreadableFile(f"{str(folder)!r} cannot be made: {error.strerror}") from error

    def get(self, key: PartitionKey) -> Outcome | None:
        """Return what is kept of a partition; None when nothing, or nothing whole, is."""
        try:
            value = orjson.loads(self._path(key).read_bytes())
            if (value["format"], value["version"]) != (FORMAT, VERSION):
                return None
            return _read(value)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, key: PartitionKey, outcome: Outcome) -> None:
        """Keep the outcome of a partition.

        Raises:
            UnreadableFile: The folder cannot be written to.
        """
        path = self._path(key)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            draft.write_bytes(orjson.dumps(_written(outcome)))
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise UnreadableFile(f"{str(path)!r} cannot be written: {error.strerror}") from error

    def _path(self, key: PartitionKey) -> Path:
        told = json_digest([self._asked, key.sha256])
        return self._folder / f"{told[:32]}.json"


def _release() -> str:
    from importlib.metadata import version

    return version("tracedance-sdk")


def _written(outcome: Outcome) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "traces": outcome.traces,
        "sessions": outcome.sessions,
        "counted": [
            [item.behavior, item.candidates, item.traces, item.hits, list(item.errors)]
            for item in outcome.counted  # those with a failure are not kept
        ],
        "occurrences": [item.model_dump(mode="json") for item in outcome.occurrences],
        "signatures": {name: list(values) for name, values in outcome.signatures.items()},
    }


def _read(value: dict[str, Any]) -> Outcome:
    return Outcome(
        value["traces"],
        value["sessions"],
        tuple(
            Counted(name, candidates, traces, hits, tuple(errors))
            for name, candidates, traces, hits, errors in value["counted"]
        ),
        tuple(Occurrence.model_validate(item) for item in value["occurrences"]),
        {name: tuple(values) for name, values in value["signatures"].items()},
    )
