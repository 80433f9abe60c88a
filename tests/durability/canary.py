"""A run with a secret in every place that takes a value, and all the bytes that came of it."""

from __future__ import annotations

import io
import logging
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from opentelemetry.sdk.trace.export import ConsoleSpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracedance_sdk.formats import save_trace
from tracedance_sdk.recording import TraceRecorder, agent, tool
from tracedance_sdk.recording.redaction import Redactor
from tracedance_sdk.trace import Agent, ErrorInfo, Text, ToolDefinition, Trace, Usage


class Canary:
    """Gives a secret of its own for every place, and says which of them are found in text.

    Args:
        prefix: How the secrets begin, in the way of their kind.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.secrets: dict[str, str] = {}

    def at(self, place: str) -> str:
        """Return the secret of a place."""
        number = f"{len(self.secrets):02d}"
        return self.secrets.setdefault(
            place, f"{self._prefix}aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD4fG6{number}Ef"
        )

    def places_in(self, text: str) -> list[str]:
        """Return the places whose secret, or its last 20 characters, stands in the text."""
        return [place for place, secret in self.secrets.items() if secret[-20:] in text]


class Left(NamedTuple):
    """What a run left behind.

    Attributes:
        trace: Of the run; its sub-agent's beside it in `texts`.
        texts: Everything that was written, by where.
    """

    trace: Trace
    texts: dict[str, str]


class Oddity:
    """A value that JSON cannot express; its repr tells all."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def __repr__(self) -> str:
        return f"<Oddity {self.secret}>"


@tool
def look(what: Any, *rest: Any, **more: Any) -> Any:
    return {"found": what, "rest": rest, "more": more}


@tool
def fail(text: str) -> None:
    try:
        dict[str, int]()[text]
    except KeyError as error:
        error.add_note(f"note {text}")
        raise ValueError(f"cannot use {text}") from error


@tool
def stream(text: str) -> Iterator[str]:
    yield "first"
    yield text


@tool
def fail_late(text: str) -> Iterator[str]:
    yield "first"
    raise RuntimeError(text)


@tool
async def stream_async(text: str) -> AsyncIterator[dict[str, str]]:
    yield {"item": text}


class Environment:
    """Answers with what it was asked, and holds a state with a secret in it."""

    def __init__(self, canary: Canary) -> None:
        self.canary = canary
        self.state: dict[str, Any] = {"note": f"is {canary.at('initial state')}"}

    def execute(self, action: dict[str, Any]) -> Any:
        self.state[self.canary.at("key of the state")] = self.canary.at("state change")
        return [action, self.canary.at("result of an action")]

    def get_state(self) -> dict[str, Any]:
        return self.state


def _turns(recorder: TraceRecorder, canary: Canary) -> None:
    recorder.record_turn("user", f"my key is {canary.at('user turn')}", name=canary.at("speaker"))
    recorder.record_turn("system", [Text(text=canary.at("system turn"))])
    recorder.record_turn(
        "assistant",
        f"I will use {canary.at('assistant turn')}",
        calls=[
            {"name": "look", "id": "c1", "arguments": {"what": canary.at("requested arguments")}},
            {"name": "never", "id": "c2", "arguments": f'{{"a": "{canary.at("raw arguments")}'},
        ],
        model="a-model",
        usage=Usage(input_tokens=3),
        settings={"stop": [canary.at("settings of a turn")]},
        finish_reason="tool_calls",
    )


async def _calls(recorder: TraceRecorder, canary: Canary) -> None:
    look(canary.at("argument"), Oddity(canary.at("repr")), {"deep": [canary.at("deep")]}, a=b"x")
    look({canary.at("key of an argument"): 1}, named=canary.at("keyword").encode())
    look("x" * 40_000 + f" {canary.at('blob')} " + "y" * 40_000)
    look(f"{canary.at('far along')}" + "z" * 2_000_000)
    for function in (fail, lambda text: list(fail_late(text))):
        with pytest.raises((ValueError, RuntimeError)):
            function(canary.at(f"exception {len(canary.secrets)}"))
    list(stream(canary.at("item")))
    async for _ in stream_async(canary.at("async item")):
        pass
    with recorder.call("by hand", {"x": canary.at("by hand")}) as call:
        call.result = Oddity(canary.at("by hand result"))
    with pytest.raises(LookupError), recorder.call("failing"):
        raise LookupError(canary.at("by hand exception"))
    recorder.execute({"id": "a1", "type": "do", "input": {"x": canary.at("action input")}})


@agent(name="sub")
def sub_agent(question: str) -> str:
    look(question)
    return question


async def leave_traces(canary: Canary, folder: Path, *, redaction: bool | Redactor = True) -> Left:
    """Record a run with secrets everywhere, and return all that was written of it."""
    exporter, shown = InMemorySpanExporter(), io.StringIO()
    handler = logging.StreamHandler(shown)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logging.getLogger().addHandler(handler)
    try:
        recorder = TraceRecorder(
            task_id=f"task {canary.at('task id')}",
            agent=Agent(name=f"agent {canary.at('agent name')}", version=canary.at("version")),
            environment=Environment(canary),
            journal=folder / "journal",
            exporter=exporter,
            redaction=redaction,
            state_changes="per_call",
            system_prompt=f"You may use {canary.at('system prompt')}.",
            tools=[
                ToolDefinition(
                    name="look",
                    description=f"like {canary.at('tool description')}",
                    parameters={"properties": {"a": {"default": canary.at("tool default")}}},
                )
            ],
            group=canary.at("group"),
            session_id=canary.at("session id"),
            metadata={"tags": [canary.at("tag")], canary.at("key of metadata"): 1},
        )
        with recorder:
            _turns(recorder, canary)
            await _calls(recorder, canary)
            sub_agent(canary.at("question to a sub-agent"))
            recorder.set_outcome(
                details={"why": canary.at("outcome")},
                error=ErrorInfo(type="Late", message=canary.at("outcome error")),
            )
            open_trace = recorder.trace
        summary = recorder.close()
    finally:
        logging.getLogger().removeHandler(handler)
    objects = [summary, open_trace]
    texts = _texts(recorder, objects, exporter=exporter, log=shown.getvalue(), folder=folder)
    return Left(recorder.trace, texts)


def _texts(
    recorder: TraceRecorder,
    objects: list[object],
    *,
    exporter: InMemorySpanExporter,
    log: str,
    folder: Path,
) -> dict[str, str]:
    for number, trace in enumerate(recorder.traces):
        save_trace(trace, folder / f"trace-{number}.json")
    console = io.StringIO()
    ConsoleSpanExporter(out=console).export(exporter.get_finished_spans())
    texts = {
        path.relative_to(folder).as_posix(): path.read_bytes().decode("utf-8", "replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    texts["file names"] = "\n".join(texts)
    texts["exported spans"] = console.getvalue()
    texts["log"] = log
    texts["reprs"] = f"{recorder!r} {recorder.traces!r} {objects!r}"
    return texts


def failure_text(error: BaseException) -> str:
    """Return an error as a program would print it."""
    return "".join(traceback.format_exception(error))
