"""Logfire, Langfuse and OpenInference in one process with a recorder, whoever starts first."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.durability.hosts import ROOT, run_host
from tests.support.tables import AddRow

pytestmark = pytest.mark.durability

PYTHON = ROOT / ".venv-beside" / "bin" / "python"
PARTNERS = {"logfire": "work", "langfuse": "work", "openinference": "ChatCompletion"}
"""Each with the name of the span that it makes of what it observes."""

PACKAGES = {
    "logfire": "logfire",
    "langfuse": "langfuse",
    "openinference": "openinference-instrumentation-openai",
}
OURS = {"chat m", "execute_tool look", "invoke_agent agent"}

Spans = dict[str, dict[str, Any]]


def by_name(spans: list[dict[str, Any]]) -> Spans:
    found = {span["name"]: span for span in spans}
    assert len(found) == len(spans), spans
    return found


def parent_name(span: dict[str, Any], spans: Spans) -> str | None:
    names = {other["id"]: name for name, other in spans.items()}
    return None if span["parent"] is None else names[span["parent"]]


def version_of(partner: str) -> str:
    text = f"from importlib.metadata import version; print(version({PACKAGES[partner]!r}))"
    done = subprocess.run([PYTHON, "-c", text], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("first", ["ours", "theirs", "theirs inside ours"])
@pytest.mark.parametrize("partner", PARTNERS)
def test_neither_sees_the_others_spans_unless_asked(
    partner: str, first: str, add_row: AddRow
) -> None:
    if not PYTHON.exists():
        pytest.skip("backend: other SDKs absent; `make test-backends` installs them")
    done = run_host("beside_host.py", {"partner": partner, "first": first}, python=str(PYTHON))
    apart, nested = done.said["apart"], done.said["nested"]
    work = PARTNERS[partner]

    ours, theirs = by_name(apart["ours"]), by_name(apart["theirs"])
    assert set(ours) == OURS
    assert set(theirs) == {"request", "inside", work}
    assert [parent_name(theirs[name], theirs) for name in (work, "inside", "request")] == [
        "inside",
        "request",
        None,
    ]
    assert [parent_name(ours[name], ours) for name in ("execute_tool look", "chat m")] == [
        "invoke_agent agent"
    ] * 2
    root = ours["invoke_agent agent"]
    assert (root["parent"], root["links"]) == (None, [theirs["request"]["id"]])
    assert {span["trace"] for span in apart["ours"]}.isdisjoint(
        span["trace"] for span in apart["theirs"]
    )

    assert nested["ours"] == []
    together = by_name(nested["theirs"])
    assert {name: parent_name(span, together) for name, span in together.items()} == {
        "request": None,
        "invoke_agent agent": "request",
        "chat m": "invoke_agent agent",
        "execute_tool look": "invoke_agent agent",
        "inside": "execute_tool look",
        work: "inside",
    }
    assert len({span["trace"] for span in nested["theirs"]}) == 1

    assert apart["recorded"]
    assert nested["recorded"]
    known = {span["id"] for span in apart["theirs"]}
    orphans = [s for s in apart["theirs"] if s["parent"] is not None and s["parent"] not in known]
    changed = done.said["changed"] + apart["changed"] + nested["changed"]
    assert changed == []
    add_row(
        "beside other SDKs",
        partner=f"{partner} {version_of(partner)}",
        started_first=first,
        ours_seen_by_them=len(set(theirs) & OURS),
        theirs_seen_by_us=len(set(ours) - OURS),
        their_orphans=len(orphans),
        our_links=len(root["links"]),
        with_their_provider=f"{len(OURS & set(together))} of ours nested in theirs",
        globals_changed=len(changed),
    )
