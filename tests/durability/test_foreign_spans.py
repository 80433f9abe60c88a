"""Spans that the instrumentations of others write of one small agent, read as its trace."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import NamedTuple

import pytest
from tracedance_collectors.otlp import collector

from tests.durability.hosts import ROOT, run_host
from tests.support.tables import AddRow
from tracedance_sdk.otel import assemble, otlp_lines, spans_of_document
from tracedance_sdk.trace import Trace, parse_json

pytestmark = pytest.mark.durability

PYTHON = ROOT / ".venv-beside" / "bin" / "python"


class Told(NamedTuple):
    """What the spans of one partner can tell.

    Attributes:
        agent: Name of the agent, where they name one.
        session: The session, where there is one.
        has_tool: There is a span of the tool, so that its result need not be recovered.
    """

    agent: str | None = None
    session: str | None = None
    has_tool: bool = False


PARTNERS = {
    "openinference": Told(agent="w", session="s1"),
    "traceloop": Told(),
    "pydantic_ai": Told(agent="w", has_tool=True),
    "pydantic_ai_2": Told(agent="w", has_tool=True),
    "langfuse": Told(agent="w", session="s1", has_tool=True),
    "logfire": Told(),
}


@pytest.mark.parametrize("partner", PARTNERS)
def test_the_run_is_read_from_what_its_instrumentation_wrote(
    partner: str, tmp_path: Path, add_row: AddRow
) -> None:
    if not PYTHON.exists():
        pytest.skip("backend: other SDKs absent; `make test-backends` installs them")
    told = PARTNERS[partner]
    done = run_host("foreign_host.py", {"partner": partner}, python=str(PYTHON))
    path = tmp_path / "spans.pb"
    path.write_bytes(base64.b64decode(done.said["spans"]))

    [trace] = collector.collect(path)
    assert isinstance(trace, Trace)
    assert [(turn.role, turn.text) for turn in trace.turns] == [
        ("user", "Weather in Rome?"),
        ("assistant", ""),
        ("assistant", "It rains in Rome."),
    ]
    assert trace.system_prompt == "Be brief."
    assert [(tool.name, tool.origin) for tool in trace.tools] == [("look", "recorded")]
    [call] = trace.calls
    assert (call.id, call.name, call.arguments) == ("call_1", "look", {"at": "Rome"})
    assert call.result is not None
    assert call.result.content == "rain in Rome"
    assert call.result.ok is (True if told.has_tool else None)
    assert trace.fidelity.count("result_recovered") == (0 if told.has_tool else 1)
    for turn in trace.turns[1:]:
        assert turn.usage is not None
        assert (turn.usage.input_tokens, turn.usage.output_tokens) == (11, 5)
        assert turn.settings is not None
        assert turn.settings["temperature"] == 0.5
        assert turn.model == "scripted-1"
    if told.agent is not None:
        assert trace.agent.name == told.agent
    if told.session is not None:
        assert trace.session_id == told.session
    assert {"next_turn", "rebuilt_test"} <= set(trace.fidelity.fit_for)

    again = [
        record
        for line in otlp_lines(trace)
        for record in spans_of_document(parse_json(line, where="line"), where="line")
    ]
    assert assemble(again) == [trace]
    add_row(
        "spans of other SDKs",
        partner=partner,
        turns=len(trace.turns),
        calls=len(trace.calls),
        recovered=trace.fidelity.count("result_recovered"),
        notes=", ".join(note.kind for note in trace.fidelity.notes),
    )
