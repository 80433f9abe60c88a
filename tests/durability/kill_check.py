"""What must be in the journal of a killed program, given what the program said before it died."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.durability.killed_programs import value
from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal import read_journal
from tracedance_sdk.otel import CALL_START, RUN_START, assemble
from tracedance_sdk.trace import Call, Trace

_HASH: Final = re.compile(
    rb'"tracedance\.journal\.hash","value":\{"stringValue":"([0-9a-f]{64})"'
    rb'\}\},\{"key":"tracedance\.journal\.line","value":\{"intValue":"([0-9]+)"'
)


class Said(NamedTuple):
    """What the program said over its pipe.

    Attributes:
        begun: Steps whose body began.
        returned: Steps whose call came back to its caller.
        processes: Those that worked for the run, the one that opened it first.
        done: Those that came to their end.
    """

    begun: set[str]
    returned: set[str]
    processes: list[int]
    done: set[int]

    @property
    def ended(self) -> bool:
        """Whether the process that opened the run came to its end."""
        return bool(self.processes) and self.processes[0] in self.done

    @property
    def inside(self) -> set[str]:
        """Steps whose body had begun and whose call had not come back."""
        return self.begun - self.returned


class Findings(NamedTuple):
    """What the journal of one killed program showed.

    Attributes:
        finished: Calls that the program said came back.
        lost: Those of them that are not in the journal, finished, with their own result.
        inside: Calls that were in their body when the kill came.
        interrupted: Calls that the journal shows as interrupted.
        torn: Files that end within a line.
        problems: Every broken promise, lost calls included, in words.
    """

    finished: int
    lost: int
    inside: int
    interrupted: int
    torn: int
    problems: list[str]


def heard(lines: Iterable[str]) -> Said:
    """Read what came over the pipe."""
    said = Said(set(), set(), [], set())
    for line in lines:
        sign, _, what = line.partition(" ")
        if sign == "+":
            said.begun.add(what)
        elif sign == "-":
            said.returned.add(what)
        elif sign == "S":
            said.processes.append(int(what))
        elif sign == "E":
            said.done.add(int(what))
    return said


def check_killed(folder: Path, said: Said) -> Findings:
    """Hold the journal in a folder against what its program said."""
    problems = [problem for path in folder.glob("*.jsonl") for problem in broken_chain(path)]
    try:
        contents = read_journal(folder)
        records = list(contents)
        problems += [str(problem) for problem in contents.problems if not _is_stump(problem.path)]
        torn = contents.torn
    except JournalError as error:
        if said.begun:
            problems.append(f"{len(said.begun)} calls began, but: {error}")
        return Findings(len(said.returned), len(said.returned), len(said.inside), 0, 0, problems)
    names = [record.name for record in records]
    if CALL_START in names and RUN_START not in names[: names.index(CALL_START)]:
        problems.append("a call is on record before the start of the run")
    traces = assemble(records, blobs=contents.get_blob)
    if len(traces) != 1 and said.begun:
        problems.append(f"{len(traces)} traces of one run")
    calls = _by_step(traces, problems)
    lost = [what for step in sorted(said.returned) if (what := _wrong(step, calls.get(step)))]
    problems += lost
    problems += [what for step in sorted(said.inside) if (what := _unknown(step, calls.get(step)))]
    return Findings(
        finished=len(said.returned),
        lost=len(lost),
        inside=len(said.inside),
        interrupted=sum(_is_interrupted(call) for call in calls.values()),
        torn=torn,
        problems=problems + _of_the_run(traces, said),
    )


def _by_step(traces: list[Trace], problems: list[str]) -> dict[str, Call]:
    calls: dict[str, Call] = {}
    for trace in traces:
        for call in trace.calls:
            step = call.arguments["step"]
            if step in calls:
                problems.append(f"{step}: on record twice")
            calls[step] = call
    return calls


def _wrong(step: str, call: Call | None) -> str | None:
    """Say what is wrong with the record of a call that came back."""
    if call is None:
        return f"{step}: came back, not on record"
    result = call.result
    if result is None or result.interrupted:
        return f"{step}: came back, on record as not finished"
    expected: Any = value(step)
    if call.name.startswith("stream"):
        expected = [step, 1, 2]
    if call.name.startswith("fail"):
        told = result.error is not None and result.error.message == step
        return None if result.ok is False and told else f"{step}: failed, on record as {result!r}"
    if result.ok is not True or result.content != expected:
        return f"{step}: came back, on record with another result: {str(result)[:200]}"
    return None


def _unknown(step: str, call: Call | None) -> str | None:
    """Say what is wrong with the record of a call that was in its body, or had just left it."""
    if call is None:
        return f"{step}: its body began, its start is not on record"
    if not _is_interrupted(call) and _wrong(step, call):
        return f"{step}: neither interrupted nor finished with its result: {call.result!r}"
    return None


def _is_interrupted(call: Call) -> bool:
    return call.result is not None and call.result.interrupted


def _of_the_run(traces: list[Trace], said: Said) -> list[str]:
    problems = []
    for trace in traces:
        if trace.system_prompt != "Do all the steps." or trace.initial_state != {"steps": 12}:
            problems.append("the run's prompt or initial state is missing")
        if said.ended and not (trace.outcome is not None and trace.outcome.ended):
            problems.append("the program ended, the run is on record as not ended")
        if said.begun and not said.ended and not trace.turns[0].content:
            problems.append("the user's turn is missing")
    return problems


def broken_chain(path: Path) -> list[str]:
    """Follow the chain of a file by an own reading of its format; name the first break.

    The hash of a line is over the hash before it and the line's bytes without the hash; the header
    names the hash before the first line, if it is not the first of its process. Whole lines are
    numbered from 1; a rest without a newline is a torn tail and no break.
    """
    lines = path.read_bytes().split(b"\n")[:-1]
    before = _previous(lines[0]) if lines else b""
    for number, line in enumerate(lines, start=1):
        found = _HASH.search(line)
        if found is None or int(found[2]) != number:
            return [f"{path.name}:{number}: no hash, or not numbered {number}"]
        rest = line[: found.start(1)] + line[found.end(1) :]
        if hashlib.sha256(before + rest).hexdigest().encode() != found[1]:
            return [f"{path.name}:{number}: the chain is broken"]
        before = found[1]
    return []


def _previous(header: bytes) -> bytes:
    record = json.loads(header)["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    found = [item["value"] for item in record["attributes"] if item["key"] == "previous"]
    return found[0]["stringValue"].encode() if found else b""


def _is_stump(path: Path) -> bool:
    """Whether a kill came before the first line of a file was whole."""
    return b"\n" not in path.read_bytes()
