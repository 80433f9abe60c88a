"""`demo`, `init` and `show`, alone and one after another."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.cli.conftest import Tracedance
from tracedance_sdk.demo import SCRIPTS, record_run
from tracedance_sdk.formats import load_trace, save_trace
from tracedance_sdk.grading import evaluate, parse_spec
from tracedance_sdk.trace import Call, Text, Trace, Turn, content_hash


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_the_demo_prints_the_table_and_one_report(stand_in: Path, tracedance: Tracedance) -> None:
    ran = tracedance("demo")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == snapshot("""\
Trace                   Outcome Actions Critical Further Trajectory Overall
critical-error          ✓       ✗       ‼        ✓       0.85       ‼ CRITICAL
efficient               ✓       ✓       ✓        ✓       0.98       ✓ PASS
failed                  ✗       ✗       ‼        ✓       0.12       ‼ CRITICAL
inefficient             ✓       ✗       ✓        ✓       0.88       ✗ FAIL

Why
  critical-error: never select John: action 4 (select_contact): John must
    never be selected as the recipient
  failed: never select John: action 4 (select_contact): John must never be
    selected as the recipient
  inefficient: acceptable inputs: action 2 (select_range) was given {'range':
    'A1:Z100'}; acceptable: {'range': 'B4:B11'}

1/4 traces passed
pass rate 25.0 %, 95 % interval 4.6 to 69.9 %

critical-error
Find the total Q3 revenue in the spreadsheet and email it to Sam.
task revenue-email

✓  Outcome             1.00  the final state is as expected
✗  Actions             0.00  1 violation
    - action 4 (select_contact) was given {'name': 'John'}; acceptable:
      {'name': 'Sam'}
‼  Critical Errors     0.00  1 violation
    - action 4 (select_contact): John must never be selected as the recipient
✓  Further Criteria    1.00  nothing else changed
   Trajectory Quality  0.85  A wrong contact was selected and replaced
    before anything was sent; the rest of the path is direct.
    - medium confusing_action (action 4): nothing in the task leads to John
────────────────────────────────────────
‼ CRITICAL
trajectory score 0.85
""")
    assert list(stand_in.iterdir()) == []


def test_the_demo_writes_files_and_says_how_to_grade_them(
    stand_in: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("demo", "--out", "my demo")
    assert ran.code == 0
    assert sorted(path.name for path in (stand_in / "my demo" / "traces").iterdir()) == [
        f"{name}.json" for name in SCRIPTS
    ]
    command = shlex.split(re.sub(r"\s*\n\s*", " ", ran.out.partition("again:\n")[2]))
    assert command[:2] == ["tracedance", "evaluate"]
    again = tracedance(*command[1:])
    assert again.code == 1
    table, _, _ = ran.out.partition("/4 traces passed")
    told, _, _ = again.out.replace(".json", "").partition("/4 traces passed")
    assert told.split() == table.split()


def test_the_demo_does_not_write_over_a_file(stand_in: Path, tracedance: Tracedance) -> None:
    (stand_in / "taken").write_text("mine")
    ran = tracedance("demo", "--out", "taken")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "tracedance: 'taken/traces' cannot be made: Not a directory\n"
    assert (stand_in / "taken").read_text() == "mine"


def test_init_drafts_a_task_that_its_own_run_passes(work: Path, tracedance: Tracedance) -> None:
    ran = tracedance("init", "traces/efficient.json")
    assert (ran.code, ran.err) == (0, "")
    (work / "drafted.yaml").write_text(ran.out)
    graded = tracedance("evaluate", "traces", "--spec", "drafted.yaml")
    assert graded.code == 1
    assert "1/4 traces passed" in graded.out
    assert parse_spec(ran.out).id == "revenue-email"


def test_init_takes_an_id_for_the_task(work: Path, tracedance: Tracedance) -> None:
    ran = tracedance("init", "traces/efficient.json", "--task-id", "mail: it")
    assert parse_spec(ran.out).id == "mail: it"


def test_init_of_many_runs_asks_which(work: Path, tracedance: Tracedance) -> None:
    ran = tracedance("init", "traces")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("tracedance: 'traces' holds 4 traces, not one; choose one by --trace")
    trace = load_trace(work / "traces" / "efficient.json")
    chosen = tracedance("init", "traces", "--trace", trace.id[:8])
    assert evaluate(trace, parse_spec(chosen.out)).passed
    none = tracedance("init", "traces", "--trace", "zz")
    assert none.err.startswith("tracedance: 'traces' holds 0 traces with the id 'zz', not one")


@pytest.mark.parametrize("verb", ["init", "show"])
def test_a_file_that_is_no_trace_is_one_line_and_exit_2(
    work: Path, tracedance: Tracedance, verb: str
) -> None:
    for name, content in (("a.json", "{"), ("b.json", "[]"), ("c.json", "\x00")):
        (work / name).write_text(content)
        ran = tracedance(verb, name)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"tracedance: {name}: ")
        assert ran.err.count("\n") == 1
    assert tracedance(verb, "none.json").err == "tracedance: 'none.json' does not exist\n"


def test_show_tells_a_run_turn_by_turn(stand_in: Path, tracedance: Tracedance) -> None:
    trace = record_run("failed")
    save_trace(trace, stand_in / "failed.json")
    ran = tracedance("show", "failed.json")
    assert (ran.code, ran.err) == (0, "")
    text = ran.out.replace(trace.id, "ID")
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "TIME", text)
    assert re.sub(r"  \([\d.e-]+ ms\)", "", text) == snapshot("""\
trace ID
agent failed
task revenue-email
started TIME
ended TIME
2 turns, 6 calls, 1 failed
outcome {"ended":true}

[0] user (human)
  Find the total Q3 revenue in the spreadsheet and email it to Sam.

[1] assistant (agent, made outside any model turn)
  1. open_spreadsheet {"name":"Q3 Revenue"}
     ok
  2. select_range {"range":"A1:A5"}
     ok
  3. calculate_sum {}
     failed ActionFailed: cannot sum the range 'A1:A5'
  4. select_contact {"name":"John"}
     ok
  5. compose_email {"body":"Total revenue: $100"}
     ok
  6. send_email {}
     ok

state
  replace /email/sent = true (was false)
  add /email/recipient = John
  add /email/body = Total revenue: $100

fidelity
  fit for reading, grading, state grading
  6 x tools_missing: calls of a tool without a definition
      (turns[1].calls[0], turns[1].calls[1], turns[1].calls[2],
      turns[1].calls[3], turns[1].calls[4])
""")


def test_show_of_many_shows_each_and_one_can_be_chosen(work: Path, tracedance: Tracedance) -> None:
    every = tracedance("show", "traces")
    assert every.code == 0
    assert every.out.count("\ntask revenue-email\n") == 4
    trace = load_trace(work / "traces" / "failed.json")
    one = tracedance("show", "traces", "--trace", trace.id[:10])
    assert one.out.count("\ntask revenue-email\n") == 1
    assert one.out.startswith(f"trace {trace.id}\n")
    none = tracedance("show", "traces", "--trace", "zz")
    assert none == (
        2, "", "tracedance: no trace with the id 'zz' in 'traces'\n"
    )  # fmt: skip


def test_show_of_a_turn_shows_it_whole_with_its_neighbours(
    work: Path, tracedance: Tracedance
) -> None:
    turns = tuple(
        Turn(index=n, role="user", origin="human", content=(Text(text=f"turn {n} {'x' * 3000}"),))
        for n in range(5)
    )
    save_trace(Trace(id="long", turns=turns), work / "more" / "long.json")
    save_trace(Trace(id="short", turns=turns[:2]), work / "more" / "short.json")
    ran = tracedance("show", "more", "--turn", "3")
    assert ran.code == 3
    assert ran.err == "tracedance: the trace 'short' has no turn 3; its turns are 0 to 1\n"
    assert [line[:3] for line in ran.out.splitlines() if line[:1] == "["] == ["[2]", "[3]", "[4]"]
    assert ran.out.count("x") == 3 * 3000
    assert "fidelity" not in ran.out
    alone = tracedance("show", "more", "--trace", "short", "--turn", "2")
    assert (alone.code, alone.out) == (2, "")
    first = tracedance("show", "more", "--trace", "short", "--turn", "0").out
    assert [line[:3] for line in first.splitlines() if line[:1] == "["] == ["[0]", "[1]"]


def test_show_goes_on_after_a_broken_file(work: Path, tracedance: Tracedance) -> None:
    (work / "traces" / "a.json").write_text("{")
    ran = tracedance("show", "traces")
    assert ran.code == 3
    assert ran.out.count("\ntask revenue-email\n") == 4
    assert ran.err.count("\n") == 1


def test_show_shortens_results_unless_asked_not_to(stand_in: Path, tracedance: Tracedance) -> None:
    call = Call(index=0, id="1", name="look", arguments={"text": "x" * 3_000})
    turn = Turn(index=0, role="assistant", origin="agent", calls=(call,))
    save_trace(Trace(id="t", turns=(turn,)), stand_in / "t.json")
    assert tracedance("show", "t.json").out.count("x") < 200
    assert tracedance("show", "t.json", "--full").out.count("x") >= 3_000


def test_a_recorded_run_and_its_file_are_the_same_run(
    stand_in: Path, tracedance: Tracedance
) -> None:
    tracedance("demo", "--out", "d")
    for name in SCRIPTS:
        trace = load_trace(stand_in / "d" / "traces" / f"{name}.json")
        assert content_hash(trace) == content_hash(record_run(name))
