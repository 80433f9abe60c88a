"""A judge that answers from a file: the same trace, the same judgement, no model needed.

The file is ``{"format": "tracedance.judgements", "version": 1, "judge": <name>, "judgements":
{<content hash of the trace>: {"judgement": {...}, "about": <a word for readers>}}}``. Because the
content hash leaves out ids and times, a run that is recorded again finds its judgement again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from tracedance_sdk.errors import InvalidJudgement, Problem, UnsupportedVersion
from tracedance_sdk.grading import Judgement, TaskSpec
from tracedance_sdk.trace import Json, Trace, content_hash, parse_json, read_bytes

FORMAT: Final = "tracedance.judgements"
VERSION: Final = 1


class RecordedJudge:
    """Gives the judgement recorded for a trace's content hash.

    Args:
        judgements: Content hash → the recorded reply: a `Judgement`, its JSON, or the text of a
            reply. A reply that is no judgement is a missing score when its trace is judged.
        name: Whose judgements these are.
    """

    def __init__(self, judgements: Mapping[str, Json], *, name: str = "recorded") -> None:
        self.name = name
        self._judgements = dict(judgements)

    def judge(self, trace: Trace, spec: TaskSpec) -> Json:  # noqa: ARG002 - the protocol's
        """Return the reply recorded for this trace.

        Raises:
            InvalidJudgement: None is recorded.
        """
        digest = content_hash(trace)
        if digest not in self._judgements:
            raise InvalidJudgement(
                f"no judgement is recorded for trace {trace.id!r} (content hash {digest[:12]})"
            )
        return self._judgements[digest]

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> RecordedJudge:
        """Read a file of recorded judgements.

        Raises:
            UnreadableFile: The file is missing or not permitted.
            InvalidJSON: The file is not JSON.
            InvalidJudgement: The JSON is not a file of judgements.
            UnsupportedVersion: Written by a newer release.
        """
        where = str(path)
        return cls.from_document(
            parse_json(read_bytes(path), where=where, unique_keys=True), where=where
        )

    @classmethod
    def from_document(cls, document: Json, *, where: str = "judgements") -> RecordedJudge:
        """Build the judge from the parsed file; see `from_file`."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InvalidJudgement(f"{where}: not a file of judgements: 'format' is not {FORMAT!r}")
        version = document.get("version")
        if type(version) is not int or version != VERSION:
            raise UnsupportedVersion(
                f"{where}: format version {version!r}; this release reads version {VERSION}"
            )
        entries = document.get("judgements")
        problems = [] if isinstance(entries, dict) else [Problem("not an object", "$.judgements")]
        if isinstance(entries, dict):
            problems = [
                Problem("no 'judgement' in the entry", f"$.judgements.{digest}")
                for digest, entry in entries.items()
                if not isinstance(entry, dict) or "judgement" not in entry
            ]
        if problems or not isinstance(entries, dict):
            raise InvalidJudgement(f"{where}: {problems[0]}", problems=problems)
        name = document.get("judge")
        return cls(
            {digest: entry["judgement"] for digest, entry in entries.items()},
            name=name if isinstance(name, str) and name else "recorded",
        )


def save_judgements(
    judgements: Mapping[str, Judgement],
    path: str | os.PathLike[str],
    *,
    judge: str,
    about: Mapping[str, str] | None = None,
) -> None:
    """Write judgements as a file that `RecordedJudge.from_file` reads.

    Args:
        judgements: Content hash of the trace → judgement.
        path: Written anew.
        judge: Whose judgements these are.
        about: Content hash → a word for readers of the file.
    """
    entries: dict[str, dict[str, Any]] = {}
    for digest, judgement in judgements.items():
        note = {"about": about[digest]} if about and digest in about else {}
        entries[digest] = {**note, "judgement": judgement.to_dict()}
    document = {"format": FORMAT, "version": VERSION, "judge": judge, "judgements": entries}
    Path(path).write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
