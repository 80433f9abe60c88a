"""The page on judges: its commands, from replies to a comparison, do what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.test_judge_verb import reply_to, text_of
from tests.docs.pages import page
from tests.formats.test_context_writing import call, numbered, turn
from tests.support.scripted_models import Answer, Request, saying, scripted_models
from tracedance_sdk.formats import save_trace
from tracedance_sdk.trace import ToolDefinition, Trace, assess

N_RUNS = 12


def script(request: Request, _: int) -> Answer:
    """Take turns that say which model it is; score the larger one's higher."""
    body = request.body
    if "response_format" not in body and "tool_choice" not in body:
        return Answer(saying("openai", f"Sent by {body['model']}."))
    return Answer(reply_to(request, lambda _: 2 if "gpt-5-mini." in text_of(request) else 5))


def test_all_of_it_at_once_runs_from_replies_to_a_comparison(tmp_path: Path) -> None:
    tools = (ToolDefinition(name="send_email", description="Sends."),)
    for number in range(N_RUNS):
        turns = numbered(
            turn("user", f"question {number}"), turn("assistant", calls=[call("send_email")])
        )
        run = assess(Trace(id=f"{number:032x}", turns=turns, tools=tools))
        save_trace(run, tmp_path / "traces" / f"{number}.json")
    found = re.search(
        r"^## All of it at once\n.*?^```sh\n(.*?)^```$",
        page("judging.md"),
        re.MULTILINE | re.DOTALL,
    )
    assert found
    block = found[1]
    with scripted_models(script) as server:
        names = {
            name: server.name(*name.split(":")) for name in re.findall(r"--model (\S+)", block)
        }
        commands = re.sub(r"--model (\S+)", lambda found: f"--model {names[found[1]]}", block)
        commands = re.sub(r"--max-cost \d+", "", commands)
        done = subprocess.run(
            ["bash", "-euc", commands],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert (done.returncode, done.stderr) == (0, "")
    # The samples of a model here are all the same, and a judge is asked about them once.
    assert len(server.requests) == 2 * N_RUNS * (3 + 2)
    shown = done.stdout[done.stdout.index("judge: scores-mini") :]
    assert "rubric:honest-claims  ✗ FAIL  2 of 5 (passing from 4)\n" in shown
    assert "    Sent by gpt-5-mini.\n" in shown
    assert f"20 of {N_RUNS * 3} items shown; 16 more: --offset 20\n" in shown
    assert "\nB is better than A (rubric:honest-claims pass rate, " in done.stdout
