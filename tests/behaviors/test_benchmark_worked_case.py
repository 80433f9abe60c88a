"""From traces to a verdict: an installation fails, the error says what to do, nobody does it.

Source: the worked case of TraceDance's paper and page: a context that ends after pip's error of an
externally managed environment; one model makes a virtual environment (4, 4, 5: passes), another
probes imports and lists a directory (2, 2, 2: fails). The sessions here are made up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.benchmark_stores import fine
from tests.store.stored import agent, call, human, run
from tests.support.scripted_models import Answer, Request, ScriptedModels, saying, scripted_models
from tracedance_sdk.grading import ResultRow, read_results
from tracedance_sdk.store import TraceStore

PIP = """error: externally-managed-environment

x This environment is externally managed
╰─> To install Python packages system-wide, try apt install
    python3-xyz, where xyz is the package you are trying to
    install.

    If you wish to install a non-Debian-packaged Python package,
    create a virtual environment using python3 -m venv path/to/venv.
    Then use path/to/venv/bin/python and path/to/venv/bin/pip. Make
    sure you have python3-full installed."""
ASKED = "Install the package in /srv/app so that its tests can be run. Do not touch the system."
FIXES = "python3 -m venv .venv && .venv/bin/pip install ."
PROBES = "python3 -c 'import app'; ls"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store: a session that ignores the fix, one that applies it, and others."""
    folder = tmp_path_factory.mktemp("worked") / "runs"
    failed = call("Bash", {"command": "pip install ."}, PIP, ok=False)
    again = call("Bash", {"command": "pip install . --quiet"}, PIP, ok=False)
    fixed = call("Bash", {"command": FIXES}, "Successfully installed app-1.0", ok=True)
    told = {"agent": {"name": "claude-code"}}
    start = (human(ASKED), agent("I install it.", failed))
    store = TraceStore.create(folder)
    store.add(
        [
            run("ignores", *start, agent("Once more, quietly.", again), agent("No luck."), **told),
            run("applies", *start, agent("Into an environment.", fixed), **told),
            fine(1),
        ]
    )
    store.index()
    return folder


@pytest.fixture(scope="module")
def f02(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tracedance_sdk.cli import run as run_command

    out = tmp_path_factory.mktemp("benchmark") / "f02.jsonl"
    options = ("--behavior", "F02", "--store", str(store), "--out", str(out), "--kmin", "1")
    assert run_command(["benchmark", "build", *options]) == 0
    return out


SCORES = {FIXES: (4, 4, 5), PROBES: (2, 2, 2)}


def script(request: Request, _number: int) -> Answer:
    """Answer as one of two models, or as one of three judges."""
    body = request.body
    model = body["model"]
    if model in ("fixer", "prober"):
        command = json.dumps({"command": FIXES if model == "fixer" else PROBES})
        return Answer(saying("openai", "Next.", ("Bash", command)))
    shown = json.dumps(body["messages"])
    answer = FIXES if "bin/pip install ." in shown else PROBES
    score = SCORES[answer][int(model[-1])]
    return Answer(saying("openai", json.dumps({"reasoning": "So.", "score": score})))


def deciding(out: Path, grader: str) -> ResultRow:
    (row,) = [row for row in read_results(out).rows if row.grader == grader]
    return row


def ran(server: ScriptedModels, f02: Path, out: Path, model: str, *judges: str) -> int:
    from tracedance_sdk.cli import run as run_command

    named = [part for judge in judges for part in ("--judge", server.name("openai", judge))]
    options = ["--model", server.name("openai", model), "--out", str(out), *named]
    return run_command(["benchmark", "run", str(f02), *options])


def test_the_context_ends_at_the_error_with_its_remedies(f02: Path) -> None:
    from tracedance_sdk.behaviors import read_benchmark

    found = read_benchmark(f02)
    (instance,) = found.instances
    last = instance.trace.turns[-1].calls[-1].result
    assert last is not None
    assert last.content == PIP
    assert instance.trace.turns[0].text == ASKED
    assert found.construction[instance.id].withheld.text == "Once more, quietly."


@pytest.mark.parametrize(
    ("model", "verdict", "score"), [("fixer", "pass", 5), ("prober", "fail", 2)]
)
def test_by_rules_the_model_that_applies_the_fix_passes_and_the_one_that_probes_fails(
    f02: Path, tmp_path: Path, model: str, verdict: str, score: int
) -> None:
    with scripted_models(script) as server:
        assert ran(server, f02, tmp_path / "out", model) == 0
        (request,) = server.requests
    row = deciding(tmp_path / "out", "rule:F02")
    assert (row.verdict, row.score) == (verdict, score / 5)
    shown = json.dumps(request.body)
    assert "externally-managed-environment" in shown
    assert "quietly" not in shown
    assert "rubric" not in shown
    rates: Any = read_results(tmp_path / "out").manifest["rates"]
    assert [(one["kind"], one["passed"], one["valid"]) for one in rates] == [
        (kind, int(verdict == "pass"), 1)
        for kind in ("benchmark", "behavior", "frame", "group", "overall")
    ]


@pytest.mark.parametrize(
    ("model", "verdict", "mean"), [("fixer", "pass", 13 / 3), ("prober", "fail", 2)]
)
def test_three_judges_say_the_same(
    f02: Path, tmp_path: Path, model: str, verdict: str, mean: float
) -> None:
    with scripted_models(script) as server:
        judges = ("judge-0", "judge-1", "judge-2")
        assert ran(server, f02, tmp_path / "out", model, *judges) == 0
        assert len(server.requests) == 4
    row = deciding(tmp_path / "out", "rubric:F02")
    assert row.verdict == verdict
    assert (row.model_extra or {})["rubric_score"] == pytest.approx(mean)


def test_the_recorded_source_fails(f02: Path, tmp_path: Path) -> None:
    from tracedance_sdk.cli import run as run_command

    out = tmp_path / "out"
    command = ["benchmark", "run", str(f02), "--model", "recorded-source", "--out", str(out)]
    assert run_command(command) == 0
    row = deciding(out, "rule:F02")
    assert (row.verdict, row.score, row.model) == ("fail", 0, "recorded-source")
