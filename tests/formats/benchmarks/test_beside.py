"""Verdicts that lie beside the logs of runs."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tracedance_sdk.formats.benchmarks import swebench_verdict
from tracedance_sdk.trace import Json


def write(path: Path, document: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(document).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.mark.parametrize(
    ("place", "document", "expected"),
    [
        ("trajs/a.report.json", {"a": {"resolved": True}}, True),
        ("trajs/a.report.json.gz", {"a": {"resolved": True}}, True),
        ("reports/a.report.json", {"a": {"resolved": False}}, False),
        ("logs/a/report.json", {"a": {"resolved": True}}, True),
        ("trajs/eval_report.json", {"resolved_ids": ["a"]}, True),
        ("trajs/run.eval.json", {"resolved_ids": [], "empty_patch_ids": ["a"]}, False),
        ("report_1.json", {"resolved_ids": ["b"], "unresolved_ids": ["a"]}, False),
        ("trajs/a.report.json", {"b": {"resolved": True}}, None),
        ("trajs/a.report.json", {"a": {"resolved": "yes"}}, None),
        ("trajs/a.report.json", ["a"], None),
        ("trajs/eval_report.json", {"resolved_ids": "a"}, None),
        ("trajs/other.json", {"resolved_ids": ["a"]}, None),
    ],
)
def test_a_verdict_is_found_where_harnesses_put_it(
    tmp_path: Path, place: str, document: Json, expected: bool | None
) -> None:
    write(tmp_path / place, document)
    found = swebench_verdict(tmp_path / "trajs" / "a.traj", "a")
    assert (None if found is None else found.resolved) is expected


def test_summaries_that_contradict_each_other_say_nothing(tmp_path: Path) -> None:
    write(tmp_path / "one_report.json", {"resolved_ids": ["a", "b"]})
    write(tmp_path / "two_report.json", {"resolved_ids": ["b"], "unresolved_ids": ["a"]})
    assert swebench_verdict(tmp_path / "a.traj", "a") is None
    found = swebench_verdict(tmp_path / "b.traj", "b")
    assert found is not None
    assert found.resolved


def test_a_report_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "eval_report.json"
    write(path, {"resolved_ids": ["a"]})
    first = swebench_verdict(tmp_path / "a.traj", "a")
    write(path, {"resolved_ids": [], "unresolved_ids": ["a"]})
    os.utime(path, ns=(1, 1))
    second = swebench_verdict(tmp_path / "a.traj", "a")
    assert first is not None
    assert second is not None
    assert (first.resolved, second.resolved) == (True, False)


@pytest.mark.parametrize("instance", ["", ".", "..", "../a", "a/b", "a\\b"])
def test_an_instance_leads_to_no_other_folder(tmp_path: Path, instance: str) -> None:
    write(tmp_path / "a.report.json", {instance: {"resolved": True}})
    write(tmp_path / "report.json", {instance: {"resolved": True}})
    assert swebench_verdict(tmp_path / "x" / "a.traj", instance) is None


def test_links_and_broken_files_say_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere.json"
    write(secret, {"a": {"resolved": True}, "resolved_ids": ["a"]})
    folder = tmp_path / "deep" / "trajs"
    folder.mkdir(parents=True)
    (folder / "a.report.json").symlink_to(secret)
    (folder / "eval_report.json").symlink_to(secret)
    (folder / "other_report.json").write_bytes(b"\x1f\x8bno gzip")
    assert swebench_verdict(folder / "a.traj", "a") is None
