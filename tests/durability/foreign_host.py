"""A small agent that another program's instrumentation observes; it prints the spans as OTLP.

    .venv-beside/bin/python tests/durability/foreign_host.py '{"partner": "pydantic_ai"}'

The line printed is JSON: ``{"spans": <base64 of an OTLP request in protobuf>}``. The model is a
script on loopback: it asks for the tool ``look`` once, then answers.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

NOWHERE = "http://127.0.0.1:9"
ASKED = "Weather in Rome?"
ANSWER = "It rains in Rome."
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look at the weather.",
        "parameters": {
            "type": "object",
            "properties": {"at": {"type": "string"}},
            "required": ["at"],
        },
    },
}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "look", "arguments": '{"at":"Rome"}'},
}


def reply_to(request: dict[str, Any]) -> dict[str, Any]:
    """Return the scripted answer to a request of chat completions."""
    is_answered = any(message["role"] == "tool" for message in request["messages"])
    message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    if is_answered:
        message = {"role": "assistant", "content": ANSWER}
    reason = "stop" if is_answered else "tool_calls"
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted-1",
        "choices": [{"index": 0, "finish_reason": reason, "message": message}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
    }


def serving() -> str:
    """Start the scripted model and return its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(reply_to(request)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


def look(at: str) -> str:
    """Look at the weather."""
    return f"rain in {at}"


def loop(client: Any, tool: Callable[[str], str] = look) -> str:
    """Run the plain loop of an agent with OpenAI's client."""
    messages: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": ASKED},
    ]
    while True:
        reply = client.chat.completions.create(
            model="scripted", messages=messages, tools=[TOOL], temperature=0.5
        )
        message = reply.choices[0].message
        if not message.tool_calls:
            return str(message.content)
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            brought = tool(json.loads(call.function.arguments)["at"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": brought})


def plain_client() -> Any:
    import openai

    return openai.OpenAI(api_key="none", base_url=serving(), max_retries=0)


def run_openinference(exporter: InMemorySpanExporter) -> None:
    from openinference.instrumentation import using_session
    from openinference.instrumentation.openai import OpenAIInstrumentor

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    kind = "openinference.span.kind"
    tracer = provider.get_tracer("app")
    with using_session("s1"), tracer.start_as_current_span("w", attributes={kind: "AGENT"}):
        loop(plain_client())


def run_traceloop(exporter: InMemorySpanExporter) -> None:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    with provider.get_tracer("app").start_as_current_span("request"):
        loop(plain_client())


def run_pydantic_ai(exporter: InMemorySpanExporter, *, version: int = 5) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    settings: Any = {"tracer_provider": provider, "version": version}
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=async_client()))
    Agent.instrument_all(InstrumentationSettings(**settings))
    agent = Agent(
        model,
        name="w",
        instructions="Be brief.",
        tools=[look],
        model_settings={"temperature": 0.5},
    )
    agent.run_sync(ASKED)


def async_client() -> Any:
    import openai

    return openai.AsyncOpenAI(api_key="none", base_url=serving(), max_retries=0)


def run_langfuse(exporter: InMemorySpanExporter) -> None:
    from langfuse import Langfuse, observe, propagate_attributes
    from langfuse.openai import OpenAI

    client = Langfuse(
        public_key="pk-lf-test", secret_key="sk-lf-test", base_url=NOWHERE, span_exporter=exporter
    )
    tool = observe(name="look", as_type="tool")(look)

    def work(_asked: str) -> str:
        return loop(OpenAI(api_key="none", base_url=serving(), max_retries=0), tool)

    observed = observe(name="w", as_type="agent")(work)
    with propagate_attributes(session_id="s1", user_id="u1"):
        observed(ASKED)
    client.flush()


def run_logfire(exporter: InMemorySpanExporter) -> None:
    import logfire

    logfire.configure(
        send_to_logfire=False,
        console=False,
        metrics=False,
        additional_span_processors=[SimpleSpanProcessor(exporter)],
    )
    client = plain_client()
    logfire.instrument_openai(client)
    with logfire.span("work"):
        loop(client)
    logfire.force_flush()


PARTNERS: dict[str, Callable[[InMemorySpanExporter], None]] = {
    "openinference": run_openinference,
    "traceloop": run_traceloop,
    "pydantic_ai": run_pydantic_ai,
    "pydantic_ai_2": lambda exporter: run_pydantic_ai(exporter, version=2),
    "langfuse": run_langfuse,
    "logfire": run_logfire,
}


def main(asked: dict[str, str]) -> None:
    exporter = InMemorySpanExporter()
    PARTNERS[asked["partner"]](exporter)
    data = encode_spans(exporter.get_finished_spans()).SerializeToString()
    print(json.dumps({"spans": base64.b64encode(data).decode()}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
