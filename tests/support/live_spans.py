"""Programs that make spans with OpenTelemetry's SDK, as instrumentations do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.trace import Span, Tracer, TracerProvider

from tests.otel.test_dialects import Written


def attributes(operation: str, **facts: Any) -> dict[str, Any]:
    """Return attributes of OpenTelemetry's conventions; ``tool__name`` becomes ``tool.name``."""
    named = {f"gen_ai.{key.replace('__', '.')}": value for key, value in facts.items()}
    return {"gen_ai.operation.name": operation, **named}


def messages(role: str, *parts: Any) -> str:
    """Return one message in JSON; a text is a part by itself."""
    listed = [{"type": "text", "content": p} if isinstance(p, str) else p for p in parts]
    return json.dumps([{"role": role, "parts": listed}])


@contextmanager
def agent(tracer: Tracer, name: str = "guide", **facts: Any) -> Iterator[Span]:
    """An agent's run."""
    said = attributes("invoke_agent", agent__name=name, **facts)
    with tracer.start_as_current_span(f"invoke_agent {name}", attributes=said) as span:
        yield span


def model(tracer: Tracer, heard: str, said: str = "Look.", **facts: Any) -> None:
    """A call of a model."""
    shown = attributes(
        "chat",
        request__model="small-1",
        input__messages=messages("user", heard),
        output__messages=messages("assistant", said),
        **facts,
    )
    with tracer.start_as_current_span("chat small-1", attributes=shown):
        pass


@contextmanager
def tool(tracer: Tracer, name: str, call_id: str, result: Any = "rain") -> Iterator[Span]:
    """The execution of a tool."""
    said = attributes("execute_tool", tool__name=name, tool__call__id=call_id)
    with tracer.start_as_current_span(f"execute_tool {name}", attributes=said) as span:
        yield span
        span.set_attribute("gen_ai.tool.call.result", result)


def run_of(tracer: Tracer, word: str, *, n_steps: int = 2, name: str = "guide") -> None:
    """A whole run in which everything says the same word."""
    with agent(tracer, name):
        for step in range(n_steps):
            model(tracer, word, f"{word}!")
            with tool(tracer, word, f"{word}-{step}", result=word):
                pass


def written(provider: TracerProvider, run: Written) -> None:
    """The run of a dialect, as its instrumentation would make it."""
    tracer = provider.get_tracer(run.scope)
    name, said = run.agent
    with tracer.start_as_current_span(name, attributes=said):
        for (name, said), events in zip((run.asking, run.tool), run.events, strict=True):
            with tracer.start_as_current_span(name, attributes=said) as span:
                for event in events:
                    span.add_event(event.name, event.attributes)
