"""`tracedance evaluate`: one, many, broken, bad options; nothing is hidden, nothing half done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.cli.conftest import Tracedance
from tests.support.shared_data import shared_data
from tracedance_sdk.demo import record_run
from tracedance_sdk.formats import load_trace, save_trace
from tracedance_sdk.grading import read_results

RECORDED = ("--judge", "recorded:judgements.json")


def test_one_trace_gives_a_report(work: Path, tracedance: Tracedance) -> None:
    ran = tracedance("evaluate", "traces/inefficient.json", "--spec", "task.yaml", *RECORDED)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out == snapshot("""\
inefficient.json
Find the total Q3 revenue in the spreadsheet and email it to Sam.
task revenue-email

✓  Outcome             1.00  the final state is as expected
✗  Actions             0.00  1 violation
    - action 2 (select_range) was given {'range': 'A1:Z100'}; acceptable:
      {'range': 'B4:B11'}
✓  Critical Errors     1.00  no critical error
✓  Further Criteria    1.00  nothing else changed
   Trajectory Quality  0.88  The agent first selected a range far beyond the
    revenue figures and corrected that itself before summing.
    - low unnecessary_action (action 2): selecting A1:Z100 served no later
      step
────────────────────────────────────────
✗ FAIL
trajectory score 0.88
""")


def test_many_traces_give_a_table(work: Path, tracedance: Tracedance) -> None:
    ran = tracedance("evaluate", "traces", "--spec", "task.yaml", *RECORDED)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out == snapshot("""\
Trace                   Outcome Actions Critical Further Trajectory Overall
critical-error.json     ✓       ✗       ‼        ✓       0.85       ‼ CRITICAL
efficient.json          ✓       ✓       ✓        ✓       0.98       ✓ PASS
failed.json             ✗       ✗       ‼        ✓       0.12       ‼ CRITICAL
inefficient.json        ✓       ✗       ✓        ✓       0.88       ✗ FAIL

Why
  critical-error.json: never select John: action 4 (select_contact): John must
    never be selected as the recipient
  failed.json: never select John: action 4 (select_contact): John must never
    be selected as the recipient
  inefficient.json: acceptable inputs: action 2 (select_range) was given
    {'range': 'A1:Z100'}; acceptable: {'range': 'B4:B11'}

1/4 traces passed
pass rate 25.0 %, 95 % interval 4.6 to 69.9 %
""")


def test_rows_stand_in_the_order_of_the_arguments(work: Path, tracedance: Tracedance) -> None:
    ran = tracedance(
        "evaluate", "traces/inefficient.json", "traces/efficient.json", "--spec", "task.yaml"
    )
    assert [line.split()[0] for line in ran.out.splitlines()[1:3]] == [
        "inefficient.json",
        "efficient.json",
    ]


def test_tasks_are_found_by_the_traces_task_ids(work: Path, tracedance: Tracedance) -> None:
    (work / "tasks").mkdir()
    shutil.copy(work / "task.yaml", work / "tasks" / "any-name.yaml")
    other = load_trace(work / "traces" / "efficient.json")
    save_trace(other.model_copy(update={"task_id": "../task"}), work / "traces" / "other.json")
    ran = tracedance("evaluate", "traces", "--tasks", "tasks")
    assert ran.code == 1
    assert "1/5 traces passed" in ran.out
    assert "no task '../task'" in ran.out


def test_a_trace_of_another_task_is_graded_and_mentioned(
    work: Path, tracedance: Tracedance
) -> None:
    trace = load_trace(work / "traces" / "efficient.json")
    save_trace(trace.model_copy(update={"task_id": "other"}), work / "other.json")
    ran = tracedance("evaluate", "other.json", "--spec", "task.yaml")
    assert ran.code == 0
    assert ran.err == (
        "tracedance: note: 1 trace is of another task ('other') than the one in 'task.yaml'; "
        "graded by it all the same\n"
    )


def test_a_broken_file_is_an_error_row_and_the_rest_is_graded(
    work: Path, tracedance: Tracedance
) -> None:
    (work / "traces" / "broken.json").write_text('{"format": "tracedance.trace", ')
    ran = tracedance("evaluate", "traces", "missing.json", "--spec", "task.yaml")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out == snapshot("""\
Trace                   Outcome Actions Critical Further Trajectory Overall
broken.json             -       -       -        -       n/a        ! ERROR
critical-error.json     ✓       ✗       ‼        ✓       n/a        ‼ CRITICAL
efficient.json          ✓       ✓       ✓        ✓       n/a        ✓ PASS
failed.json             ✗       ✗       ‼        ✓       n/a        ‼ CRITICAL
inefficient.json        ✓       ✗       ✓        ✓       n/a        ✗ FAIL
missing.json            -       -       -        -       n/a        ! ERROR

Why
  broken.json: not graded: traces/broken.json: not JSON: Expecting property
    name enclosed in double quotes (line 1, column 32)
  critical-error.json: never select John: action 4 (select_contact): John must
    never be selected as the recipient
  failed.json: never select John: action 4 (select_contact): John must never
    be selected as the recipient
  inefficient.json: acceptable inputs: action 2 (select_range) was given
    {'range': 'A1:Z100'}; acceptable: {'range': 'B4:B11'}
  missing.json: not graded: 'missing.json' does not exist

1/6 traces passed
pass rate 25.0 % of 4 conclusive, 95 % interval 4.6 to 69.9 %; 2 errors not
  counted
""")


def test_only_errors_beside_passes_exit_3(work: Path, tracedance: Tracedance) -> None:
    ran = tracedance("evaluate", "traces/efficient.json", "missing.json", "--spec", "task.yaml")
    assert ran.code == 3


def test_a_trace_whose_state_was_not_seen_is_inconclusive_and_exits_3(
    work: Path, tracedance: Tracedance
) -> None:
    document = json.loads((work / "traces" / "efficient.json").read_text())
    del document["final_state"]
    (work / "blind.json").write_text(json.dumps(document))
    ran = tracedance("evaluate", "blind.json", "--spec", "task.yaml")
    assert ran.code == 3
    assert "INCONCLUSIVE" in ran.out


def test_the_json_document_is_all_there_is_on_standard_output(
    work: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("evaluate", "traces", "--spec", "task.yaml", "--json", *RECORDED)
    document = json.loads(ran.out)
    assert (ran.code, ran.err) == (1, "")
    found = [
        (row["name"], row["verdict"], row["report"]["trajectory"]["score"])
        for row in document["rows"]
    ]
    assert found == snapshot(
        [
            ("critical-error.json", "critical", 0.85),
            ("efficient.json", "pass", 0.98),
            ("failed.json", "critical", 0.12),
            ("inefficient.json", "fail", 0.88),
        ]
    )


def test_junit_and_results_are_written_beside_the_table(work: Path, tracedance: Tracedance) -> None:
    (work / "traces" / "broken.json").write_text("{")
    ran = tracedance(
        "evaluate", "traces", "--spec", "task.yaml", *RECORDED,
        "--junit", "junit.xml", "--out", "results",
    )  # fmt: skip
    assert ran.code == 1
    root = ET.fromstring((work / "junit.xml").read_bytes())
    assert root.attrib == {"tests": "5", "failures": "3", "errors": "1", "skipped": "0"}
    results = read_results(work / "results")
    found = [
        (row.subject.instance_id, row.grader, row.verdict and row.verdict.value, row.score)
        for row in results.rows
    ]
    assert found == snapshot(
        [
            ("traces/broken.json", "spec", "error", None),
            ("traces/critical-error.json", "judge:recorded", None, 0.85),
            ("traces/critical-error.json", "spec:revenue-email", "critical", 0.0),
            ("traces/efficient.json", "judge:recorded", None, 0.98),
            ("traces/efficient.json", "spec:revenue-email", "pass", 1.0),
            ("traces/failed.json", "judge:recorded", None, 0.12),
            ("traces/failed.json", "spec:revenue-email", "critical", 0.0),
            ("traces/inefficient.json", "judge:recorded", None, 0.88),
            ("traces/inefficient.json", "spec:revenue-email", "fail", 0.0),
        ]
    )
    assert results.manifest["exclusions"] == {"not graded": 1}


def test_several_processes_give_what_one_gives(work: Path, tracedance: Tracedance) -> None:
    (work / "traces" / "broken.json").write_text("{")
    arguments = ("evaluate", "traces", "missing", "--spec", "task.yaml", *RECORDED)
    one = tracedance(*arguments, "--out", "one", "--json")
    two = tracedance(*arguments, "--out", "two", "--json", "--jobs", "2")
    assert one == two
    assert (work / "one" / "rows.jsonl").read_bytes() == (work / "two" / "rows.jsonl").read_bytes()


def test_files_of_one_name_are_told_apart_by_their_folders(
    work: Path, tracedance: Tracedance
) -> None:
    for day in ("monday", "tuesday"):
        (work / day).mkdir()
        save_trace(record_run("efficient"), work / day / "run.json")
    ran = tracedance("evaluate", "monday", "tuesday", "--spec", "task.yaml")
    assert [line.split()[0] for line in ran.out.splitlines()[1:3]] == [
        "monday/run.json",
        "tuesday/run.json",
    ]


def test_a_file_with_several_traces_gives_a_row_for_each(
    work: Path, tracedance: Tracedance
) -> None:
    source = shared_data("tau-bench") / "historical_trajectories" / "gpt-4o-airline.json.gz"
    ran = tracedance("evaluate", source, "--spec", "task.yaml", "--json")
    rows = json.loads(ran.out)["rows"]
    assert len(rows) > 20
    assert len({row["name"] for row in rows}) == len(rows)
    assert all(row["name"].startswith("gpt-4o-airline.json.gz#") for row in rows)


def test_hundreds_of_files_are_graded(work: Path, tracedance: Tracedance) -> None:
    text = (work / "traces" / "efficient.json").read_bytes()
    folder = work / "many"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number:04}.json").write_bytes(text)
    ran = tracedance("evaluate", *sorted(folder.iterdir()), "--spec", "task.yaml")
    assert ran.code == 0
    assert "300/300 traces passed\npass rate 100.0 %, 95 % interval 98.7 to 100.0 %\n" in ran.out


def test_a_very_large_trace_is_graded(work: Path, tracedance: Tracedance) -> None:
    document = json.loads((work / "traces" / "efficient.json").read_text())
    for call in document["turns"][1]["calls"]:
        call["result"]["content"] = "x" * 5_000_000
    (work / "large.json").write_text(json.dumps(document))
    ran = tracedance("evaluate", "large.json", "--spec", "task.yaml")
    assert ran.code == 0
    assert len(ran.out) < 5_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param((), "Missing argument 'PATH...'; see: tracedance evaluate --help", id="none"),
        pytest.param(
            ("traces",), "say what to grade by: either --spec FILE or --tasks DIR", id="no-spec"
        ),
        pytest.param(
            ("traces", "--spec", "task.yaml", "--tasks", "."),
            "say what to grade by: either --spec FILE or --tasks DIR",
            id="both",
        ),
        pytest.param(
            ("traces", "--spec", "none.yaml"), "'none.yaml' does not exist", id="spec-missing"
        ),
        pytest.param(
            ("traces", "--spec", "judgements.json"),
            "judgements.json: 'format: tracedance.task' is needed, not 'tracedance.judgements' "
            "@ $.format; this is needed @ $.id; an object is needed, not 'recorded' @ $.judge "
            "(and 1 more)",
            id="spec-malformed",
        ),
        pytest.param(
            ("traces", "--tasks", "none"), "'none' is not a folder of task files", id="tasks"
        ),
        pytest.param(
            ("traces", "--spec", "task.yaml", "--jobs", "0"),
            "Invalid value for '--jobs': 0 is not in the range x>=1; "
            "see: tracedance evaluate --help",
            id="jobs-0",
        ),
        pytest.param(
            ("traces", "--spec", "task.yaml", "--jobs", "two"),
            "Invalid value for '--jobs': 'two' is not a valid integer range; "
            "see: tracedance evaluate --help",
            id="jobs-word",
        ),
        pytest.param(
            ("traces", "--spec", "task.yaml", "--judge", "oracle"),
            "unknown judge 'oracle'; choose one of recorded:FILE, heuristic, none, or a model as "
            "provider:model[@base_url]",
            id="judge",
        ),
        pytest.param(
            ("traces", "--spec", "task.yaml", "--judge", "recorded:none.json"),
            "'none.json' does not exist",
            id="judge-file",
        ),
        pytest.param(("none.json", "--spec", "task.yaml"), "'none.json' does not exist", id="path"),
        pytest.param(
            ("task.yaml", "--spec", "task.yaml"),
            "task.yaml: no collector recognises this file: "
            "it is a task, no trace; tracedance evaluate takes it by --spec",
            id="no-trace",
        ),
        pytest.param(("empty", "--spec", "task.yaml"), "no traces in 'empty'", id="empty-folder"),
        pytest.param(
            ("traces", "--spec", "task.yaml", "--junit", "none/junit.xml"),
            "the folder of 'none/junit.xml' does not exist; make it first",
            id="junit-folder",
        ),
        pytest.param(
            ("traces", "--spec", "task.yaml", "--junit", "traces"),
            "'traces' is a folder; name a file",
            id="junit-is-folder",
        ),
        pytest.param(
            ("traces", "--spec", "task.yaml", "--out", "traces"),
            "'traces' holds 'critical-error.json', which is no part of a result set; "
            "name a new folder",
            id="out-taken",
        ),
        pytest.param(
            ("traces", "--xyz"),
            "No such option '--xyz'; see: tracedance evaluate --help",
            id="option",
        ),
    ],
)
def test_wrong_use_is_one_line_exit_2_and_nothing_written(
    work: Path, tracedance: Tracedance, arguments: tuple[str, ...], said: str
) -> None:
    (work / "empty").mkdir()
    before = sorted(work.rglob("*"))
    ran = tracedance("evaluate", *arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", f"tracedance: {said}\n")
    assert sorted(work.rglob("*")) == before


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="cut-off"),
        pytest.param(b"\x00\x01\x02", id="binary"),
        pytest.param('{"format": "tracedance.trace"}'.encode("utf-16"), id="utf-16"),
        pytest.param(b'{"format": "tracedance.trace", "version": 99}', id="newer-version"),
        pytest.param(
            b'{"format": "tracedance.trace", "version": 1, "id": 7, "turns": "x"}', id="wrong-types"
        ),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"a": "\x1b[31m\n', id="escape-sequence"),
    ],
)
def test_a_malformed_trace_is_one_line_exit_2_and_nothing_written(
    work: Path, tracedance: Tracedance, content: bytes
) -> None:
    (work / "bad.json").write_bytes(content)
    ran = tracedance(
        "evaluate", "bad.json", "--spec", "task.yaml", "--junit", "j.xml", "--out", "r"
    )
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("tracedance: ")
    assert ran.err.count("\n") == 1
    assert "bad.json" in ran.err
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err
    assert not (work / "j.xml").exists()
    assert not (work / "r").exists()


def test_a_task_file_that_would_run_code_runs_nothing(work: Path, tracedance: Tracedance) -> None:
    mark = work / "ran"
    (work / "evil.yaml").write_text(f'!!python/object/apply:os.system ["touch {mark}"]')
    ran = tracedance("evaluate", "traces", "--spec", "evil.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("tracedance: evil.yaml: ")
    assert ran.err.count("\n") == 1
    assert not mark.exists()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_file_names_that_are_not_utf8_cost_no_result(
    work: Path, tracedance: Tracedance, jobs: str
) -> None:
    odd = work / "traces" / os.fsdecode(b"caf\xe9.json")
    odd.write_bytes((work / "traces" / "efficient.json").read_bytes())
    (work / "traces" / os.fsdecode(b"\xff.json")).write_text("no trace")
    arguments = ("evaluate", "traces", "--spec", "task.yaml", "--jobs", jobs, "--json")
    ran = tracedance(*arguments, "--out", "results", "--junit", "junit.xml")
    assert ran.code == 1
    rows = {row["name"]: row for row in json.loads(ran.out)["rows"]}
    assert rows["caf\\udce9.json"]["verdict"] == "pass"
    assert rows["\\udcff.json"]["problem"].startswith("traces/\\udcff.json: no collector")
    read = read_results(work / "results").rows
    assert {row.subject.instance_id for row in read} >= {
        "traces/caf\\udce9.json",
        "traces/\\udcff.json",
    }
    assert "caf\\udce9.json" in (work / "junit.xml").read_text(encoding="utf-8")


def test_repeated_trials_of_tasks_give_pass_hat_k(work: Path, tracedance: Tracedance) -> None:
    good, bad = (load_trace(work / "traces" / f"{name}.json") for name in ("efficient", "failed"))
    for task, trials in (("mail", "ppp"), ("post", "pfp")):
        for number, outcome in enumerate(trials):
            trace = good if outcome == "p" else bad
            changes = {"task_id": task, "agent": good.agent}
            save_trace(trace.model_copy(update=changes), work / f"{task}-{number}.json")
    paths = sorted(work.glob("[mp]*-?.json"))
    ran = tracedance("evaluate", *paths, "--spec", "task.yaml")
    assert ran.code == 1
    assert ran.out.partition("5/6 traces passed\n")[2] == snapshot("""\
pass rate 83.3 %, 95 % interval 43.6 to 97.0 % (1.5 to 99.9 % over 2 tasks)
all of k trials of a task pass (pass^k; 2 tasks):
  k = 1   83.3 %, 95 % interval 1.5 to 99.9 %
  k = 2   66.7 %, 95 % interval 0.54 to 99.9 %
  k = 3   50.0 %, 95 % interval 0.15 to 99.8 %
so few tasks leave intervals over tasks wide
""")
    summary = json.loads(tracedance("evaluate", *paths, "--spec", "task.yaml", "--json").out)[
        "summary"
    ]
    assert summary["pass_rate"]["value"] == pytest.approx(5 / 6)
    assert [one["value"] for one in summary["pass_hat_k"]["estimates"]] == pytest.approx(
        [5 / 6, 2 / 3, 1 / 2]
    )


def test_traces_that_name_no_task_are_trials_of_the_one_that_is_named_for_all(
    work: Path, tracedance: Tracedance
) -> None:
    good, bad = (load_trace(work / "traces" / f"{name}.json") for name in ("efficient", "failed"))
    for number, (trace, task) in enumerate(((good, None), (bad, None), (good, "revenue-email"))):
        changes = {"task_id": task, "agent": good.agent, "id": f"run-{number}"}
        save_trace(trace.model_copy(update=changes), work / f"trial-{number}.json")
    paths = sorted(work.glob("trial-?.json"))
    ran = tracedance("evaluate", *paths, "--spec", "task.yaml", "--json", "--jobs", "1")
    found = json.loads(ran.out)["summary"]
    assert (found["pass_hat_k"]["tasks"], found["pass_hat_k"]["tasks_tried_once"]) == (1, 0)
    assert len(found["pass_hat_k"]["estimates"]) == 3
    assert found["pass_rate"]["interval_over_tasks"] is None


def test_grading_loads_none_of_the_statistics_libraries(work: Path) -> None:
    code = (
        "import sys; from tracedance_sdk.cli import run;"
        "run(['evaluate', 'traces', '--spec', 'task.yaml']);"
        "print(sorted({'numpy', 'scipy', 'statsmodels', 'pandas'} & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_rule_that_is_about_no_tool_of_any_trace_is_mentioned_once(
    work: Path, tracedance: Tracedance
) -> None:
    Path("odd.yaml").write_text(
        "format: tracedance.task\nversion: 1\nid: odd\ncritical_errors:\n"
        "  - {id: wipe, action: wipe_disk}\n  - {id: any, action: {$glob: 'zap_*'}}\n"
        "  - {id: john, action: {$glob: 'select_c*'}, matches: {name: John}}\n"
    )
    ran = tracedance("evaluate", "traces", "--spec", "odd.yaml")
    told = [line for line in ran.err.splitlines() if "applied to nothing" in line]
    end = "no tool or call of this name in any of 4 traces, so the rule applied to nothing"
    assert told == [
        f"tracedance: note: task 'odd', wipe: 'wipe_disk': {end}",
        f"tracedance: note: task 'odd', any: {{'$glob': 'zap_*'}}: {end}",
    ]
