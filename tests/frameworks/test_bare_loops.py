"""Loops around a model's client whose tools are plain functions, of which only messages tell."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.testing import Desk, Endpoint, Scene, mail, scripted_models

PAUSE_S = 0.2


def client_of(name: str) -> Any:
    marks = [pytest.mark.needs(name), pytest.mark.cell(name, "sync", package=name)]
    return pytest.param(name, marks=marks, id=name)


@pytest.fixture(params=[client_of("openai"), client_of("anthropic")])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    integration = importlib.import_module(f"tracedance_integrations.{request.param}")
    integration.install()
    yield {"openai": chat, "anthropic": messages}[request.param]
    integration.uninstall()


def made(scene: Scene, name: str, arguments: Any) -> str:
    time.sleep(PAUSE_S)
    tool = next(tool for tool in scene.tools if tool.__name__ == name)
    return json.dumps(tool(**arguments))


def chat(scene: Scene, endpoint: Endpoint) -> None:
    from openai import OpenAI

    said: list[Any] = [
        {"role": "system", "content": scene.system},
        {"role": "user", "content": scene.user},
    ]
    with OpenAI(base_url=endpoint.openai_url, api_key="fake", max_retries=0) as client:
        while True:
            reply = client.chat.completions.create(model="m", messages=said).choices[0].message
            said.append(reply.model_dump(exclude_none=True))
            if not reply.tool_calls:
                return
            for call in reply.tool_calls:
                asked: Any = call
                arguments = json.loads(asked.function.arguments)
                told = made(scene, asked.function.name, arguments)
                said.append({"role": "tool", "tool_call_id": call.id, "content": told})


def messages(scene: Scene, endpoint: Endpoint) -> None:
    from anthropic import Anthropic

    said: list[Any] = [{"role": "user", "content": scene.user}]
    with Anthropic(base_url=endpoint.url, api_key="fake", max_retries=0) as client:
        while True:
            reply = client.messages.create(
                model="m", messages=said, max_tokens=99, system=scene.system
            )
            said.append({"role": "assistant", "content": reply.to_dict()["content"]})
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                return
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": made(scene, call.name, call.input),
                }
                for call in calls
            ]
            said.append({"role": "user", "content": results})


def test_how_long_a_tool_took_that_nobody_saw_is_unknown(client: Any) -> None:
    scene = mail(Desk())
    with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
        client(scene, endpoint)
    trace = recorder.trace
    assert not recorder.close().faults
    assert trace.calls
    for call in trace.calls:
        assert call.result is not None
        assert (call.started_at, call.duration_ms) == (None, None)
    assert trace.ended_at is not None
    assert trace.started_at is not None
    assert (trace.ended_at - trace.started_at).total_seconds() >= PAUSE_S * len(trace.calls)
