from __future__ import annotations

import dataclasses
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic
import pytest
from inline_snapshot import snapshot

from tracedance_sdk.errors import StateSourceError
from tracedance_sdk.recording.directory_state import MAX_ENTRIES, MAX_TEXT
from tracedance_sdk.recording.sqlite_state import MAX_ROWS
from tracedance_sdk.recording.state import state_source


@dataclasses.dataclass
class World:
    items: list[int]


class Model(pydantic.BaseModel):
    items: list[int]


class Environment:
    def get_state(self) -> dict[str, int]:
        return {"from": 1}

    def snapshot(self) -> dict[str, int]:
        return {"from": 2}


class Mailbox:
    def snapshot(self) -> dict[str, int]:
        return {"mails": 3}


@pytest.mark.parametrize(
    "make", [World, lambda items: Model(items=items), lambda items: {"items": items}]
)
def test_data_is_copied_when_the_snapshot_is_taken(make: Any) -> None:
    items = [1]
    world = make(items)
    take = state_source(world)
    items = world["items"] if isinstance(world, dict) else world.items
    items.append(2)
    before = take()
    items.append(3)
    assert before == {"items": [1, 2]}
    assert take() == {"items": [1, 2, 3]}


def test_a_callable_and_an_object_with_a_method_are_asked() -> None:
    assert state_source(lambda: 5)() == 5
    assert state_source(Environment())() == {"from": 1}
    assert state_source(Mailbox())() == {"mails": 3}
    assert state_source(Mailbox().snapshot)() == {"mails": 3}


def test_what_an_async_source_returns_is_left_to_be_awaited() -> None:
    async def read() -> int:
        return 5

    waiting: Any = state_source(read)()
    with pytest.raises(StopIteration) as done:
        waiting.send(None)
    assert done.value.value == 5


def test_an_error_of_the_source_is_the_callers_business() -> None:
    def fails() -> None:
        raise LookupError("no state today")

    with pytest.raises(LookupError):
        state_source(fails)()


def test_what_is_no_source_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    messages = []
    for source in (3, None, b"x", World, "no.db", tmp_path / "notes.txt", "nul\0"):
        with pytest.raises(StateSourceError) as refused:
            state_source(source)
        messages.append(str(refused.value).replace(str(tmp_path), "").split("; give ")[0])
        assert "\n" not in messages[-1]
    assert messages == snapshot(
        [
            "no state can be taken from 3 of type 'int'",
            "no state can be taken from None of type 'NoneType'",
            "no state can be taken from b'x' of type 'bytes'",
            "the class 'World' is no instance",
            "no state can be taken from 'no.db': [Errno 2] No such file or directory: 'no.db'",
            "'/notes.txt' is neither a SQLite database nor a directory",
            "no state can be taken from 'nul\\x00': embedded null byte",
        ]
    )


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    path = tmp_path / "shop % & ü.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price REAL, image BLOB);
        CREATE TABLE log (line);
        CREATE TABLE stock (item TEXT, place INT, n INT, PRIMARY KEY (place, item)) WITHOUT ROWID;
        CREATE TABLE "odd ""name" ("the key" TEXT PRIMARY KEY, rowid, doubled AS (rowid * 2));
        CREATE VIRTUAL TABLE search USING fts5(body);
        CREATE VIEW cheap AS SELECT * FROM items;
        CREATE INDEX by_name ON items (name);
        INSERT INTO items VALUES (2, 'pen', 1.5, NULL), (1, 'ink', 9e999, x'00ff');
        INSERT INTO log VALUES ('a'), (NULL), (CAST(x'ff41' AS TEXT)), (zeroblob(5000));
        INSERT INTO stock VALUES ('pen', 7, 3);
        INSERT INTO "odd ""name" VALUES (NULL, 1), (NULL, 2), ('x', 3);
        INSERT INTO search VALUES ('hello');
        """
    )
    yield path, connection
    connection.close()


def test_a_database_is_read_table_by_table(shop: tuple[Path, sqlite3.Connection]) -> None:
    path, connection = shop
    state = state_source(path)()
    assert state == snapshot(
        {
            "items": {
                "1": {
                    "id": 1,
                    "name": "ink",
                    "price": {"$type": "float", "$repr": "inf"},
                    "image": {"$type": "bytes", "$repr": "b'\\x00\\xff'"},
                },
                "2": {"id": 2, "name": "pen", "price": 1.5, "image": None},
            },
            "log": {
                "1": {"line": "a"},
                "2": {"line": None},
                "3": {"line": "\\xffA"},
                "4": {
                    "line": {
                        "$type": "bytes",
                        "$repr": f"5000 bytes, sha256 {hashlib.sha256(bytes(5000)).hexdigest()}",
                    }
                },
            },
            'odd "name': {
                "null": {"the key": None, "rowid": 1, "doubled": 2},
                "null 2": {"the key": None, "rowid": 2, "doubled": 4},
                "x": {"the key": "x", "rowid": 3, "doubled": 6},
            },
            "search": {"1": {"body": "hello"}},
            "stock": {'[7,"pen"]': {"item": "pen", "place": 7, "n": 3}},
        }
    )
    assert state_source(str(path))() == state
    assert state_source(connection)() == state


def test_a_connection_shows_its_open_changes_and_keeps_its_transaction(
    shop: tuple[Path, sqlite3.Connection],
) -> None:
    path, connection = shop
    connection.execute("DELETE FROM items WHERE id = 1")
    outside: Any = state_source(path)()
    inside: Any = state_source(connection)()
    assert (list(outside["items"]), list(inside["items"])) == (["1", "2"], ["2"])
    assert connection.in_transaction
    connection.rollback()
    assert list(state_source(connection)()["items"]) == ["1", "2"]  # type: ignore[index]
    assert not connection.in_transaction


def test_the_settings_of_a_connection_do_not_matter_and_stay(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db", detect_types=sqlite3.PARSE_DECLTYPES)
    connection.execute("CREATE TABLE t (id TEXT PRIMARY KEY, day DATE)")
    connection.execute("INSERT INTO t VALUES ('k', 'no date')")
    connection.commit()
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda data: data[::-1]
    cursor = connection.execute("SELECT id FROM t")
    assert state_source(connection)() == {"t": {"k": {"id": "k", "day": "no date"}}}
    assert cursor.fetchone()["id"] == b"k"
    assert connection.row_factory is sqlite3.Row
    connection.close()


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_text_is_read_in_every_encoding_of_sqlite(tmp_path: Path, encoding: str) -> None:
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute(f"PRAGMA encoding = '{encoding}'")
    connection.execute("CREATE TABLE tä (k TEXT PRIMARY KEY)")
    connection.execute("INSERT INTO tä VALUES ('ü€😀')")
    connection.commit()
    assert state_source(connection)() == {"tä": {"ü€😀": {"k": "ü€😀"}}}
    connection.close()


def test_one_snapshot_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    writer = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    for table in "ab":
        writer.execute(f"CREATE TABLE {table} (n)")
        writer.execute(f"INSERT INTO {table} VALUES (0)")
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            writer.executescript("BEGIN; UPDATE a SET n = n + 1; UPDATE b SET n = n + 1; COMMIT;")

    other = threading.Thread(target=write)
    other.start()
    try:
        for _ in range(50):
            state: Any = state_source(path)()
            assert state["a"]["1"] == state["b"]["1"]
    finally:
        stop.set()
        other.join()
        writer.close()


def test_a_database_in_a_folder_that_may_not_be_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "closed" / "a.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (n)")
    connection.close()
    path.parent.chmod(0o500)
    try:
        assert state_source(path)() == {"t": {}}
    finally:
        path.parent.chmod(0o700)


def test_a_large_table_is_a_stub_that_changes_with_every_row(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE t (n)")
    connection.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(MAX_ROWS + 1)))
    before: Any = state_source(connection)()
    assert before["t"]["$repr"].startswith(f"{MAX_ROWS + 1} rows, sha256 ")
    connection.execute("UPDATE t SET n = -1 WHERE n = 77")
    assert state_source(connection)() != before
    connection.close()


def test_a_damaged_database_raises(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 4000)
    with pytest.raises(sqlite3.DatabaseError):
        state_source(path)()


def test_a_directory_is_read_entry_by_entry(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / ".git" / "objects").mkdir(parents=True)
    (root / "sub" / "deep" / "a.txt").write_text("hellö\n")
    (root / "sub" / "exact.txt").write_text("x" * MAX_TEXT)
    (root / "sub" / "large.txt").write_text("x" * (MAX_TEXT + 1))
    (root / "bytes").write_bytes(b"\xff\xfe")
    (root / "nul").write_bytes(b"a\0b")
    (tmp_path / "outside").write_text("not ours")
    (root / "link").symlink_to("../outside")
    (root / "way out").symlink_to("..", target_is_directory=True)
    os.mkfifo(root / "pipe")
    state: Any = state_source(root)()
    assert state.pop("sub/exact.txt") == "x" * MAX_TEXT
    assert list(state) == sorted(state)
    assert state == snapshot(
        {
            ".git/": {"skipped": "version control"},
            "bytes": {
                "sha256": "b3d510ef04275ca8e698e5b3cbb0ece3949ef9252f0cdc839e9ee347409a2209",
                "size": 2,
            },
            "empty/": {},
            "link": {"symlink": "../outside"},
            "nul": {
                "sha256": "59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138",
                "size": 3,
            },
            "pipe": {"special": "0o10644"},
            "sub/deep/a.txt": "hellö\n",
            "sub/large.txt": {
                "sha256": "cd72c76486c91c4032a0b357522fe03413380d37ad7d8661bd98feb5209f1bf6",
                "size": 32769,
            },
            "way out": {"symlink": ".."},
        }
    )


def test_a_change_of_one_byte_shows(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 100_000)
    take = state_source(tmp_path)
    before = take()
    (tmp_path / "large").write_bytes(b"x" * 99_999 + b"y")
    assert take() != before


def test_a_directory_that_is_too_large_is_refused_when_it_is_read(tmp_path: Path) -> None:
    for n in range(MAX_ENTRIES + 1):
        (tmp_path / str(n)).touch()
    with pytest.raises(StateSourceError, match="more than 10,000 entries; give a smaller one"):
        state_source(tmp_path)()
