"""One store used by several threads, and a store without its libraries."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.store.stored import human, of_session, run
from tracedance_sdk.errors import MissingDependency
from tracedance_sdk.store import TraceStore


def test_threads_may_share_a_store(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path, tools="recorded")
    store.add([run("first")])

    def work(number: int) -> None:
        for step in range(6):
            store.add([of_session(f"{number}-{step}", f"s{step}"), run(f"grows-{number}")])
            store.add([run(f"grows-{number}", *(human("hello") for _ in range(step + 2)))])
            assert store.get("first").id == "first"
            assert f"{number}-{step}" in [trace.id for trace in store]
            store.remove([f"{number}-{step}"] if step % 3 == 0 else [])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    expected = {f"{n}-{step}" for n in range(4) for step in range(6) if step % 3}
    expected |= {"first", *(f"grows-{n}" for n in range(4))}
    assert sorted(trace.id for trace in store) == sorted(expected)
    assert all(len(store.get(f"grows-{n}").turns) == 7 for n in range(4))
    assert store.select("SELECT count(*), count(DISTINCT trace_id) FROM traces").rows == (
        (len(expected), len(expected)),
    )


def _use(folder: Path, *, is_remote: bool) -> None:
    store = TraceStore.open("s3://b/x") if is_remote else TraceStore.create(folder)
    store.add([run("one")])
    store.select("SELECT 1")


@pytest.mark.parametrize("package", ["pyarrow", "duckdb", "fsspec"])
def test_a_library_that_is_not_installed_is_one_line_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependency) as caught:
        _use(tmp_path / "made", is_remote=package == "fsspec")
    expected = f"{package} is not installed; install it with: pip install 'tracedance-sdk[store]'"
    assert str(caught.value) == expected
    if package != "fsspec":
        assert caught.value.__cause__ is None  # a traceback of one error, not of two
    assert not (tmp_path / "made").exists()
