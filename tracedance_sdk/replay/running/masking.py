"""What comes of runs, without secrets: what agents say, what they raise, what graders tell."""

from __future__ import annotations

import re
import shlex
from typing import Final

import orjson

from tracedance_sdk.recording import Redactor
from tracedance_sdk.replay.answers import Answer
from tracedance_sdk.replay.running.one_run import ReplayedRun
from tracedance_sdk.replay.running.suite_run import NotRun
from tracedance_sdk.replay.running.verdicts import Finding, JudgedRun
from tracedance_sdk.trace import Json, Trace, decode, encode_json, spelled_out

_ASSIGNED: Final = re.compile(r"(-{0,2}[A-Za-z_][A-Za-z0-9_.-]*)=(.*)", re.DOTALL)
_QUERY: Final = re.compile(r"([?&;][^=&;#]*=)[^&;#]*")
_USER: Final = re.compile(r"(?<=//)[^/@\s]*@")
_HIDDEN: Final = r"\1[MASKED]"
_PASSWORD: Final = re.compile(r"(-p)(?![A-Za-z-]*(?:=|\Z)).+", re.DOTALL)
"""What many programs take a password by, glued to it; not an option such as ``-port``."""


class Masked:
    """Takes secrets out of what comes of runs, before it is written or shown.

    Args:
        redactor: Finds them, as for recordings; None takes nothing out.
    """

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor

    def run(self, item: JudgedRun | NotRun) -> JudgedRun | NotRun:
        """Return a run without secrets: its trace, its answers, and all that was said of it."""
        if self._redactor is None:
            return item
        if isinstance(item, NotRun):
            return item._replace(reason=self.text(item.reason))
        return item._replace(
            run=self._replayed(item.run),
            finding=self._finding(item.finding),
            reason=self.text(item.reason),
        )

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        found = self.value(text)
        return found if isinstance(found, str) else str(found)

    def value(self, value: Json) -> Json:
        """Return a JSON value without secrets."""
        if self._redactor is None:
            return value
        found: Json = orjson.loads(self._redactor.redact(orjson.dumps(spelled_out(value))))
        return found

    def agent(self, name: str) -> str:
        """Return an agent's name as its user gave it, without secrets: options and queries too."""
        if self._redactor is None:
            return name
        if name.startswith("cmd:"):
            return f"cmd:{self.command(name.removeprefix('cmd:'))}"
        if "://" in name:
            return _QUERY.sub(_HIDDEN, _USER.sub("", self.text(name)))
        return self.text(name)

    def command(self, command: str) -> str:
        """Return a command without secrets."""
        try:
            words = shlex.split(command)
        except ValueError:
            return self.text(command)
        masked = self.value([*words])
        if not isinstance(masked, list):
            return str(masked)
        shown = [self._assigned(word) if isinstance(word, str) else str(word) for word in masked]
        return shlex.join(_without_passwords(shown))

    def _assigned(self, word: str) -> str:
        """Return a word such as ``--token=abc`` without its value, where that is secret."""
        if (match := _ASSIGNED.fullmatch(word)) is None:
            return _QUERY.sub(_HIDDEN, _USER.sub("", word)) if "://" in word else word
        name, value = match.groups()
        masked = self.value({name.lstrip("-"): value})
        found = next(iter(masked.values())) if isinstance(masked, dict) else masked
        return f"{name}={found}"

    def _replayed(self, run: ReplayedRun) -> ReplayedRun:
        return run._replace(
            trace=self._trace(run.trace),
            answers=tuple(map(self._answer, run.answers)),
            problem=None if run.problem is None else self.text(run.problem),
        )

    def _trace(self, trace: Trace) -> Trace:
        document = self.value(orjson.loads(encode_json(trace)))
        if isinstance(document, dict):
            return decode(document)
        # The redactor failed: nothing of what was said may be kept.
        return trace.model_copy(update={"turns": (), "outcome": None})

    def _answer(self, answer: Answer) -> Answer:
        if not answer.nearest:
            return answer
        nearest = (near._replace(arguments=self.value(near.arguments)) for near in answer.nearest)
        return answer._replace(nearest=tuple(nearest))

    def _finding(self, finding: Finding) -> Finding:
        evidence = tuple(self.value(item) for item in finding.evidence)
        return finding._replace(reason=self.text(finding.reason), evidence=evidence)


def _without_passwords(words: list[str]) -> list[str]:
    """Return words without the values of ``-p``."""
    found: list[str] = []
    for word, before in zip(words, ["", *words], strict=False):
        if before == "-p" and not word.startswith("[MASKED"):
            found.append("[MASKED]")
        elif word.startswith("-p="):
            found.append(word if "[MASKED" in word else "-p=[MASKED]")
        else:
            found.append(_PASSWORD.sub(_HIDDEN, word) if word.startswith("-p") else word)
    return found
