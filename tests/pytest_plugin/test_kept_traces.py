"""Names of kept files, and how many stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.pytest_plugin import kept
from tracedance_sdk.pytest_plugin.kept import KeptTraces, file_stem, forget_old_runs, run_name
from tracedance_sdk.trace import Trace, decode, parse_json

RESERVED = set('/\\:*?"<>|\0') | {chr(code) for code in range(32)}


@given(st.text())
def test_every_node_id_gives_a_name_that_every_file_system_takes(node_id: str) -> None:
    stem = file_stem(node_id)

    assert not RESERVED & set(stem)
    assert stem.isascii()
    assert 9 <= len(stem) <= 109
    assert not stem.startswith((".", "-"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.py::test[x/y]", "a.py::test[x-y]"),
        ("a.py::test[A]", "a.py::test[a]"),
        ("one/a.py::test", "two/a.py::test"),
        ("a.py::test[" + "x" * 500 + "1]", "a.py::test[" + "x" * 500 + "2]"),
    ],
)
def test_two_tests_never_share_a_name(one: str, other: str) -> None:
    assert file_stem(one).lower() != file_stem(other).lower()


def test_a_name_shows_the_file_the_test_and_its_parameters() -> None:
    stem = file_stem("tests/[old]/test_mail.py::TestSend::test_to[a/../b]")

    assert stem.startswith("test_mail.py-TestSend-test_to-a-..-b-")


def test_a_second_trace_of_a_test_lies_beside_the_first(tmp_path: Path) -> None:
    traces = KeptTraces(tmp_path / "base" / run_name(), started_in=tmp_path)

    first = traces.keep(Trace(id="one"), node_id="test_a.py::test")
    second = traces.keep(Trace(id="two"), node_id="test_a.py::test")

    assert second.name == first.name.replace(".json", ".2.json")
    assert [decode(parse_json(path.read_bytes(), where="")).id for path in (first, second)] == [
        "one",
        "two",
    ]


def test_git_does_not_see_a_folder_that_we_made(tmp_path: Path) -> None:
    KeptTraces(tmp_path / "made" / run_name(), started_in=tmp_path).keep(Trace(id="a"), node_id="t")
    (tmp_path / "there").mkdir()
    KeptTraces(tmp_path / "there" / run_name(), started_in=tmp_path).keep(
        Trace(id="a"), node_id="t"
    )

    assert (tmp_path / "made" / ".gitignore").read_text() == "*\n"
    assert not (tmp_path / "there" / ".gitignore").exists()


def test_one_run_keeps_only_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_FILES", 2)
    traces = KeptTraces(tmp_path / run_name(), started_in=tmp_path)
    traces.keep(Trace(id="a"), node_id="t")
    traces.keep(Trace(id="b"), node_id="t")

    with pytest.raises(OSError, match="2 traces are kept already"):
        traces.keep(Trace(id="c"), node_id="t")


def test_only_the_latest_runs_stay_and_nothing_else_is_touched(tmp_path: Path) -> None:
    for name in ("run-20250101T000000-aaaaaaaa", "run-20250102T000000-aaaaaaaa"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.json").write_text("{}")
    (tmp_path / "run-20250103T000000-aaaaaaaa").mkdir()
    for name in ("mine", "run-", "run-20250101T000000"):
        (tmp_path / name).mkdir()
    outside = tmp_path.parent / "outside"
    outside.mkdir()
    (tmp_path / "run-20240101T000000-aaaaaaaa").symlink_to(outside)

    forget_old_runs(tmp_path, n_runs=1)

    assert {path.name for path in tmp_path.iterdir()} == {
        "run-20250102T000000-aaaaaaaa",
        "mine",
        "run-",
        "run-20250101T000000",
        "run-20240101T000000-aaaaaaaa",
    }
    assert outside.is_dir()


def test_names_of_runs_sort_by_time_and_differ() -> None:
    names = [run_name() for _ in range(5)]

    assert len(set(names)) == 5
    assert sorted(name[:19] for name in names) == [name[:19] for name in names]
