"""Reflexion's HotpotQA logs: plain text of questions, thoughts, actions and observations.

A log goes through trials, and in each through the agents that were right, wrong or halted. An
agent that was right is not run again, and printed again in every later trial.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.benchmarks.reflexion_alfworld import NAME
from tracedance_sdk.formats.transcript import Transcript, reasoning_part
from tracedance_sdk.trace import (
    Json,
    Outcome,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

_TRIAL: Final = re.compile(r"BEGIN TRIAL (\d{1,6})\s*")
_SECTION: Final = re.compile(r"-{5,} BEGIN (\w+) AGENTS -+\s*")
_STEP: Final = re.compile(r"(Thought|Action|Observation) (\d{1,6}): ?(.*)", re.DOTALL)
_ACTION: Final = re.compile(r"(\w+)\[(.+)\]", re.DOTALL)
_RETRY: Final = "You have attempted to answer following question before and failed."
_ANSWER: Final = "Correct answer: "


class ReactRun(NamedTuple):
    """A question as one agent went about it, in one trial.

    Attributes:
        trial: From 1; None where the log has no trials.
        section: ``CORRECT``, ``INCORRECT`` or ``HALTED``.
        line: Of the question, from 1.
        lines: Of the log, from the question on.
    """

    trial: int | None
    section: str | None
    line: int
    lines: tuple[str, ...]


def split_react_log(lines: Iterable[str]) -> Iterator[ReactRun]:
    """Yield the runs of a log, in its order.

    Args:
        lines: Of the text, without line ends.
    """
    trial: int | None = None
    section: str | None = None
    start, found = 0, list[str]()
    for number, line in enumerate(lines, 1):
        begun = _TRIAL.fullmatch(line)
        headed = _SECTION.fullmatch(line)
        if begun or headed or line.startswith("Question: "):
            if found:
                yield ReactRun(trial, section, start, tuple(found))
                found = []
            trial = int(begun[1]) if begun else trial
            section = headed[1] if headed else section
            if line.startswith("Question: "):
                start, found = number, [line]
        elif found:
            found.append(line)
    if found:
        yield ReactRun(trial, section, start, tuple(found))


def trace_from_react(
    run: ReactRun,
    *,
    log: str,
    where: str,
    first_trial: int | None = None,
    sections: Sequence[str] = (),
    uri: str | None = None,
) -> Trace:
    """Build the trace of a run.

    Args:
        run: As `split_react_log` gives it.
        log: Name of the log, which sets its runs apart from those of others.
        where: What the source is, for errors.
        first_trial: The trial whose entry this one repeats word by word.
        sections: The headings under which the log prints the run, where there are several.
        uri: The file.

    Returns:
        A trace whose thoughts are reasoning. Reflections that the prompt held are a turn of the
        harness, and ``metadata["memory"]``.

    Raises:
        InvalidTrace: The run breaks the model.
    """
    opening, steps, answer = _parts(run.lines)
    question, reflections = _question(opening)
    turns = Transcript()
    turns.say("user", question, origin="human")
    if reflections:
        turns.say("user", reflections, origin="harness")
    for kind, text in steps:
        _take(turns, kind, text)
    native_id = f"{log}/trial {run.trial}/{question}"
    metadata: dict[str, Json] = {"trial": run.trial}
    if reflections:
        metadata["memory"] = _listed(reflections)
    if answer is not None:
        metadata["reference"] = {"answer": answer}
    if first_trial is not None:
        metadata["same_as_trial"] = first_trial
    if len(sections) > 1:
        metadata["sections"] = list(sections)
    return turns.trace(
        imported_trace_id(NAME, source_digest(list(run.lines)), native_id),
        where=where,
        session_id=f"{log}/{question}",
        group=question,
        task_id=question,
        agent={"name": "react"},
        outcome=_outcome(run.section, steps),
        source=Source(collector=NAME, uri=uri, native_id=native_id),
        metadata=metadata,
    )


def _parts(lines: tuple[str, ...]) -> tuple[list[str], list[tuple[str, str]], str | None]:
    """Return what stands before the first step, the steps, and the right answer."""
    opening: list[str] = []
    steps: list[tuple[str, list[str]]] = []
    answer: str | None = None
    for line in lines:
        step = _STEP.fullmatch(line)
        if step is not None:
            steps.append((step[1], [step[3]]))
        elif line.startswith(_ANSWER):
            answer = line.removeprefix(_ANSWER)
        elif steps:
            steps[-1][1].append(line)
        else:
            opening.append(line)
    return opening, [(kind, "\n".join(text).rstrip("\n")) for kind, text in steps], answer


def _question(opening: list[str]) -> tuple[str, str]:
    """Split what an agent was asked from what it was reminded of."""
    text = "\n".join(opening).removeprefix("Question: ").rstrip("\n")
    question, found, rest = text.partition(_RETRY)
    return question.strip(), found + rest


def _listed(reflections: str) -> list[Json]:
    _, _, listed = reflections.partition("Reflections:\n")
    return [item.strip() for item in re.split(r"^- ", listed, flags=re.MULTILINE) if item.strip()]


def _take(turns: Transcript, kind: str, text: str) -> None:
    if kind == "Thought":
        turns.say("assistant", [reasoning_part(text)] if text else [], origin="agent")
        return
    last = turns.last
    if kind == "Action":
        if last is None or last["role"] != "assistant" or last["calls"]:
            turns.say("assistant", origin="agent")
        action = _ACTION.fullmatch(text.strip())
        if action is not None:
            turns.request(action[1], arguments={"argument": action[2]})
        elif turns.last is not None and text:
            turns.last["content"].append({"type": "text", "text": text})
        return
    if last is not None and last["calls"] and "result" not in last["calls"][-1]:
        turns.answer(content=text)
    else:
        turns.say("user", text, origin="environment")


def _outcome(section: str | None, steps: list[tuple[str, str]]) -> Outcome:
    observations = [text for kind, text in steps if kind == "Observation"]
    last = observations[-1].strip() if observations else ""
    has_answered = last in ("Answer is CORRECT", "Answer is INCORRECT")
    details: dict[str, Any] = {} if section is None else {"section": section}
    if section is None:
        success = last == "Answer is CORRECT" if has_answered else None
    else:
        success = section == "CORRECT"
    return Outcome(success=success, ended=has_answered, details=details)
