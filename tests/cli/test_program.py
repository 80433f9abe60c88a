"""The command itself: its help, what it imports, pipes, encodings, interruptions."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from inline_snapshot import snapshot

import tracedance_sdk as td
from tests.cli.conftest import Tracedance, in_process_of_its_own
from tracedance_sdk.cli import run
from tracedance_sdk.cli.program import VERBS
from tracedance_sdk.formats import load_trace, save_trace
from tracedance_sdk.trace import Text, Turn


def test_the_help_names_every_verb_and_the_exit_codes(tracedance: Tracedance) -> None:
    ran = tracedance("--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == snapshot("""\
Usage: tracedance [OPTIONS] COMMAND [ARGS]...

  Record what an agent did, grade how it did it.

    tracedance demo                          see it work, offline
    tracedance show traces/                  what an agent did
    tracedance init run.json > task.yaml     a task from a good run
    tracedance evaluate traces/ --spec task.yaml

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Verbs:
  behaviors     List behaviours that can be looked for; try one.
  benchmark     Build benchmarks of a behaviour, run models on them.
  calibrate     Hold a judge against people.
  compact       Merge a store's small files and clear away old ones.
  compare       Say whether a second result set is better or worse.
  demo          Record four runs of a demo task and grade them.
  evaluate      Grade traces against tasks.
  export        Write traces in other people's formats.
  faithfulness  Say whether rebuilt tests may be believed.
  import        Bring traces of other systems into a store.
  index         Derive a store's features for SQL.
  init          Draft a task from one good run.
  judge         Let models score runs or replies by rubrics.
  label         Let people label what judges judge.
  ls            List what a store holds.
  next-turn     Let a model take the next turn of recorded runs.
  prune         Remove what is old from a journal or a store.
  rebuild       Make tests of recorded conversations.
  recover       Write the traces of a journal, torn or not.
  replay        Run an agent through tests made of recordings.
  report        Write a page about results or occurrences.
  rm            Take traces out of a store.
  scan          Find out where a behaviour occurs.
  show          Show traces turn by turn, results item by item.
  sql           Ask a store in SQL.
  verify        Check that a journal is as it was written.

  Exit codes:
    0  every trace passed
    1  at least one trace failed or is critical
    2  wrong use, or nothing could be read
    3  no failure, but at least one error or inconclusive verdict
""")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(tracedance: Tracedance, verb: str) -> None:
    ran = tracedance(verb, "-h")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: tracedance {verb} ")
    assert max(map(len, ran.out.splitlines())) <= 80


def test_the_help_of_evaluate_says_what_its_exit_codes_mean(tracedance: Tracedance) -> None:
    assert "3  no failure, but at least one error" in tracedance("evaluate", "--help").out


def test_the_version_is_the_packages(tracedance: Tracedance) -> None:
    assert tracedance("--version").out == f"tracedance {version('tracedance-sdk')}\n"


def test_no_verb_is_wrong_use_and_shows_the_help(tracedance: Tracedance) -> None:
    ran = tracedance()
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: tracedance ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--loud"], "No such option '--loud'; see: tracedance --help"),
        (["show"], "Missing argument 'PATHS...'; see: tracedance show --help"),
        (["demo", "now"], "Got unexpected extra argument (now); see: tracedance demo --help"),
    ],
    ids=" ".join,
)
def test_wrong_use_is_one_line(tracedance: Tracedance, arguments: list[str], said: str) -> None:
    assert tracedance(*arguments) == (2, "", f"tracedance: {said}\n")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tracedance_sdk.cli import run; run(['--help']); run(['--version']);"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "opentelemetry", "orjson", "rich", "yaml", "wrapt", "asyncio"}
    assert not {name for name in heavy if f"'{name}'" in ran.stderr}


def test_the_installed_command_works(work: Path) -> None:
    ran = in_process_of_its_own("evaluate", "traces", "--spec", "task.yaml", cwd=work)
    assert (ran.returncode, ran.stderr) == (1, b"")
    assert ran.stdout.endswith(
        b"\n1/4 traces passed\npass rate 25.0 %, 95 % interval 4.6 to 69.9 %\n"
    )


def test_several_processes_work_from_the_installed_command(work: Path) -> None:
    arguments = ("evaluate", "traces", "--spec", "task.yaml")
    one = in_process_of_its_own(*arguments, cwd=work)
    two = in_process_of_its_own(*arguments, "--jobs", "2", cwd=work)
    assert (two.returncode, two.stdout, two.stderr) == (1, one.stdout, b"")


def test_a_broken_pipe_is_quiet(work: Path) -> None:
    trace = load_trace(work / "traces" / "efficient.json")
    turn = Turn(index=2, role="user", origin="human", content=(Text(text="word\n" * 200_000),))
    save_trace(trace.model_copy(update={"turns": (*trace.turns, turn)}), work / "long.json")
    command = Path(sys.executable).with_name("tracedance")
    ran = subprocess.run(
        ["bash", "-c", f'"{command}" show --full long.json | head -1; echo ${{PIPESTATUS[0]}}'],
        capture_output=True,
        text=True,
        cwd=work,
        check=True,
    )
    assert ran.stdout == f"trace {trace.id}\n141\n"
    assert ran.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_any_output_encoding_will_do(work: Path, encoding: str) -> None:
    save_trace(
        load_trace(work / "traces" / "efficient.json").model_copy(update={"task_id": "日本"}),
        work / "efficient.json",
    )
    environment = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for arguments in (
        ("evaluate", "traces", "--spec", "task.yaml"),
        ("evaluate", "traces/failed.json", "--spec", "task.yaml"),
        ("show", "efficient.json"),
        ("demo",),
        ("evaluate", "日本.json", "--spec", "task.yaml"),
    ):
        ran = in_process_of_its_own(*arguments, environment=environment, cwd=work)
        assert ran.returncode == (2 if "日本.json" in arguments else ran.returncode)
        assert b"Traceback" not in ran.stderr
        assert ran.stdout or ran.stderr
        ran.stdout.decode(encoding)


def test_what_other_programs_read_is_the_same_in_any_encoding(work: Path) -> None:
    (work / "tasks").mkdir()
    trace = load_trace(work / "traces" / "efficient.json")
    save_trace(trace.model_copy(update={"task_id": "Zürich 日本"}), work / "run.json")
    drafts, documents = set(), set()
    for encoding in ("ascii", "cp1252", "utf-8"):
        environment = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        draft = in_process_of_its_own("init", "run.json", environment=environment, cwd=work)
        drafts.add(draft.stdout.replace(b"\r\n", b"\n"))
        (work / "tasks" / "task.yaml").write_bytes(draft.stdout)
        arguments = ("evaluate", "run.json", "--tasks", "tasks", "--json")
        graded = in_process_of_its_own(*arguments, environment=environment, cwd=work)
        assert (draft.returncode, graded.returncode) == (0, 0)
        documents.add(graded.stdout)
    assert len(drafts) == len(documents) == 1
    assert json.loads(documents.pop())["rows"][0]["report"]["task_id"] == "Zürich 日本"


def on_a_terminal(*arguments: str, cwd: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run the installed command on a pseudo-terminal; return its exit code and all it wrote."""
    command = Path(sys.executable).with_name("tracedance")
    parent, child = pty.openpty()
    with subprocess.Popen(
        [command, *arguments],
        stdin=child,
        stdout=child,
        stderr=child,
        cwd=cwd,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    ) as process:
        os.close(child)
        written = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:
                break
            if not part:
                break
            written += part
    os.close(parent)
    return process.returncode, written.decode()


def test_a_terminal_gets_colour_and_no_color_takes_it_away(work: Path) -> None:
    arguments = ("evaluate", "traces", "--spec", "task.yaml")
    code, coloured = on_a_terminal(*arguments, cwd=work, environment={})
    assert code == 1
    assert "\x1b[32m✓" in coloured
    _, plain = on_a_terminal(*arguments, cwd=work, environment={"NO_COLOR": "1"})
    assert "\x1b[32m" not in plain
    assert "✓ PASS" in plain


def test_progress_is_shown_on_a_terminal_only(work: Path) -> None:
    arguments = ("evaluate", "traces", "--spec", "task.yaml", "--json")
    _, seen = on_a_terminal(*arguments, cwd=work, environment={})
    assert "grading" in seen
    ran = in_process_of_its_own(*arguments, cwd=work)
    assert ran.stderr == b""
    json.loads(ran.stdout)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interruption_is_quiet(work: Path, jobs: str) -> None:
    (work / "many").mkdir()
    for number in range(2_000):
        os.link(work / "traces" / "efficient.json", work / "many" / f"{number}.json")
    command = [str(Path(sys.executable).with_name("tracedance")), "evaluate", "many"]
    parent, child = pty.openpty()
    with subprocess.Popen(
        [*command, "--spec", "task.yaml", "--jobs", jobs],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=child,
        cwd=work,
        env={**os.environ, "TERM": "xterm-256color"},
    ) as process:
        os.close(child)
        seen = os.read(parent, 65536)
        while b"grading" not in seen:
            seen += os.read(parent, 65536)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    with contextlib.suppress(OSError):
        seen += os.read(parent, 65536)
    os.close(parent)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in seen


VERB_LINES = {
    "help": "--help",
    "version": "--version",
    "compact": "compact kept",
    "demo": "demo",
    "evaluate": "evaluate traces --spec task.yaml",
    "evaluate-json": "evaluate traces --spec task.yaml --json",
    "export": "export kept --to atif --out runs.jsonl",
    "import": "import traces --store kept",
    "import-json": "import traces --store kept --json",
    "index": "index kept",
    "init": "init traces/efficient.json",
    "label": "label traces --rubric task-completion --out labels.jsonl </dev/null",
    "ls": "ls kept",
    "prune": "prune runs --older-than 1d",
    "recover": "recover runs --out recovered",
    "rm": "rm kept EFFICIENT --yes",
    "show": "show traces",
    "sql": "sql kept 'SELECT 1'",
    "verify": "verify runs",
}


@pytest.mark.parametrize(
    ("redirection", "why"),
    [
        pytest.param(">&-", "standard output is closed; nothing was done", id="closed"),
        pytest.param(
            ">/dev/full",
            "standard output cannot be written: No space left on device",
            id="full",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full"),
        ),
    ],
)
@pytest.mark.parametrize("line", VERB_LINES.values(), ids=VERB_LINES)
def test_output_that_cannot_be_written_is_one_line(
    work: Path, line: str, redirection: str, why: str
) -> None:
    with td.TraceRecorder(journal=work / "runs"):
        pass
    assert run(["import", "traces", "--store", "kept", "--quiet"]) == 0
    line = line.replace("EFFICIENT", load_trace(work / "traces" / "efficient.json").id)
    command = Path(sys.executable).with_name("tracedance")
    ran = subprocess.run(
        f"{shlex.quote(str(command))} {line} {redirection}",
        shell=True,
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (2, f"tracedance: {why}\n")


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("eval", "no verb 'eval'; did you mean 'evaluate'? see: tracedance --help"),
        ("verfy", "no verb 'verfy'; did you mean 'verify'? see: tracedance --help"),
        ("x", f"no verb 'x'; known are {', '.join(VERBS)}; see: tracedance --help"),
    ],
)
def test_a_verb_that_does_not_exist_is_answered_with_one_that_does(
    tracedance: Tracedance, word: str, answer: str
) -> None:
    assert tracedance(word) == (2, "", f"tracedance: {answer}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("evaluate", "--spec", "task.yaml", ""), id="evaluate"),
        pytest.param(("evaluate", "traces", "--spec", ""), id="spec"),
        pytest.param(("evaluate", "traces", "--spec="), id="spec with a sign"),
        pytest.param(("evaluate", "traces", "--spec", "task.yaml", "--out", ""), id="out"),
        pytest.param(("export", "", "--to", "atif", "--out", "x"), id="export"),
        pytest.param(("import", "traces", "", "--store", "kept"), id="import"),
        pytest.param(("import", "traces", "--store", ""), id="store"),
        pytest.param(("init", ""), id="init"),
        pytest.param(("rm", "kept", "", "--yes"), id="rm"),
        pytest.param(("prune", "", "--older-than", "1d"), id="prune"),
        pytest.param(("recover", "", "--out", "recovered"), id="recover"),
        pytest.param(("show", "traces", ""), id="show"),
        pytest.param(("verify", ""), id="verify"),
    ],
)
def test_an_empty_argument_is_not_the_current_folder(
    work: Path, tracedance: Tracedance, arguments: tuple[str, ...]
) -> None:
    before = sorted(work.rglob("*"))
    ran = tracedance(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "is empty; perhaps a shell variable is not set" in ran.err
    assert ran.err.count("\n") == 1
    assert sorted(work.rglob("*")) == before
