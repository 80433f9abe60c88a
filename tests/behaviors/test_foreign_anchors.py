"""Anchors that did not come with the package: what they can do, and that they can do no more."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.store.stored import agent, call, human, run
from tracedance_sdk.behaviors import Behavior, Wanted, parse_behavior, scan_store
from tracedance_sdk.behaviors.foreign.grammar import check_source
from tracedance_sdk.errors import InvalidQuery, InvalidSpec
from tracedance_sdk.store import TraceStore

CALLS = "SELECT trace_id, turn, call FROM calls"
NOTHING = "def anchor(run, place, parameters):\n    "


def behavior(sql: str = CALLS, code: str | None = None, **fields: Any) -> Behavior:
    anchor: dict[str, Any] = {"sql": sql}
    if code is not None:
        anchor["code"] = code
    return parse_behavior(
        {
            "format": "tracedance.behavior",
            "version": 1,
            "id": "X01",
            "name": "Mine",
            "frame": "action",
            "definition": "d",
            "criterion": "c",
            "question": "q",
            "levels": {0: "bad", 5: "good"},
            "anchor": anchor,
            **fields,
        }
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    folder = tmp_path_factory.mktemp("foreign") / "s"
    made = TraceStore.create(folder)
    made.add(
        [
            run(
                f"t{number}",
                human("Remove what is old."),
                agent("I look.", call("Bash", {"command": "ls"}, "old\nnew", ok=True)),
                agent("I remove.", call("Bash", {"command": f"rm -r old{number}"}, "", ok=True)),
            )
            for number in range(3)
        ]
    )
    made.index()
    return made


def scanned(store: TraceStore, one: Behavior, **parameters: Any) -> Any:
    return scan_store(store, [Wanted(one, one.filled(parameters))])


def test_sql_and_source_of_a_users_own_find_occurrences(store: TraceStore) -> None:
    code = """
import re
from collections import Counter

REMOVES = "rm "

def anchor(run, place, parameters):
    turn = run["turns"][place["turn"]]
    for call in turn["calls"]:
        if re.search("^RM ", call["arguments"]["command"], flags=re.I):
            before = Counter(c["name"] for t in run["turns"][:place["turn"]] for c in t["calls"])
            if before["Bash"] >= parameters["looks"] and call["signs"]["is_destructive"]:
                quote = call["arguments"]["command"]
                shown = [{"turn": turn["index"], "call": call["index"], "quote": quote}]
                return {"turn": turn["index"], "evidence": shown, "note": f"{len(before)} tool"}
    return None
"""
    one = behavior(code=code, parameters={"looks": {"about": "looks before", "default": 1}})
    scan = scanned(store, one)
    assert scan.errors == ()
    assert scan.funnels[0].candidates == 6
    found = sorted(scan.occurrences["X01"], key=lambda item: item.trace_id)
    assert [(item.trace_id, item.turn, item.note) for item in found] == [
        (f"t{number}", 2, "1 tool") for number in range(3)
    ]
    assert [item.evidence[0].quote for item in found] == [f"rm -r old{n}" for n in range(3)]
    assert scanned(store, one, looks=2).funnels[0].hits == 0


def test_sql_of_a_users_own_needs_no_source(store: TraceStore) -> None:
    sql = "SELECT trace_id, turn FROM features WHERE is_destructive"
    assert scanned(store, behavior(sql)).funnels[0].hits == 3


@pytest.mark.parametrize(
    ("source", "refused"),
    {
        "import os": ("import os\n" + NOTHING + "return os", "importing 'os'"),
        "from os": ("from os import path\n" + NOTHING + "pass", "importing from 'os'"),
        "star": ("from re import *\n" + NOTHING + "pass", "importing from 're'"),
        "private of a module": ("from re import _parser\n" + NOTHING + "pass", "'_parser'"),
        "submodule": ("import collections.abc\n" + NOTHING + "pass", "'collections.abc'"),
        "dunder chain": (NOTHING + "return ().__class__.__base__", "'__class__'"),
        "format": (NOTHING + "return '{0.__class__}'.format(run)", "'format'"),
        "format_map": (NOTHING + "return '{a.__class__}'.format_map(run)", "'format_map'"),
        "frame": (NOTHING + "return (x for x in run).gi_frame", "'gi_frame'"),
        "getattr": (NOTHING + "return getattr(run, 'x')", "'getattr'"),
        "eval": (NOTHING + "return eval('1')", "'eval'"),
        "exec": (NOTHING + "exec('x = 1')", "'exec'"),
        "open": (NOTHING + "return open('/etc/passwd').read()", "'open'"),
        "builtins": (NOTHING + "return __builtins__", "'__builtins__'"),
        "__import__": (NOTHING + "return __import__('os')", "'__import__'"),
        "type": (NOTHING + "return type(run)", "'type'"),
        "class": ("class A: pass\n" + NOTHING + "pass", "a class"),
        "decorator": ("@print\n" + NOTHING + "pass", "a decorator"),
        "lambda default": (NOTHING + "f = lambda __x: 1", "'__x'"),
        "endless loop": (NOTHING + "while True: pass", "a loop without an end"),
        "bare except": (NOTHING + "try:\n        pass\n    except: pass", "except without"),
        "base exception": (
            NOTHING + "try:\n        pass\n    except BaseException: pass",
            "'BaseException'",
        ),
        "async": ("async def anchor(run, place, parameters):\n    pass", "an async function"),
        "generator": (NOTHING + "yield 1", "yield"),
        "work at the top": ("print(1)\n" + NOTHING + "pass", "'print'"),
        "call at the top": ("len('a')\n" + NOTHING + "pass", "stand at the top"),
        "no function": ("x = 1", "one function 'anchor(run, place, parameters)'"),
        "other arguments": ("def anchor(session):\n    pass", "one function"),
        "no python": ("def anchor(", "no Python"),
        "attribute set": ("import json\n" + NOTHING + "json.x = 1", "setting the attribute 'x'"),
        "attribute added to": (NOTHING + "anchor.x += 1", "setting the attribute 'x'"),
        "return in finally": (
            NOTHING + "try:\n        f()\n    finally:\n        return 1",
            "return",
        ),
        "break in finally": (
            NOTHING + "for x in run:\n        try: f()\n        finally:\n            break",
            "break in finally",
        ),
        "continue in finally": (
            NOTHING
            + "for x in run:\n        try: f()\n        finally:\n            if x: continue",
            "continue in finally",
        ),
        "nested brackets": ("x = " + "(" * 500 + ")" * 500, "no Python"),
        "long": ("#" * 30_000, "more than 20,000 characters"),
        "many": ("x = [" + "0," * 5_000 + "]\n" + NOTHING + "pass", "more than 4,000 parts"),
        "nul": ("x = '\0'", "no Python"),
    }.values(),
)
def test_source_that_reaches_out_is_refused(source: str, refused: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        check_source(source)
    assert refused in str([str(problem) for problem in caught.value.problems])


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("n = 0\n    while n < 1:\n        n = n * 1", "more than 2 s"),
        ("return [x for x in range(10**12)]", ""),
        ("return 'a' * 10**10", "MemoryError"),
        ("return [0] * 10**10", "MemoryError"),
        ("return 9 ** 9 ** 9", ""),
        ("return sorted(range(3 * 10**8))", ""),
        ("import itertools\n    return list(itertools.product(range(999), repeat=9))", ""),
        ("f = lambda g: g(g)\n    return f(f)", "RecursionError"),
        ("return 1 / 0", "ZeroDivisionError"),
        ("return run['nothing']", "KeyError"),
        ("import re\n    return re.os", "AttributeError"),
        ("import json\n    return json.codecs", "AttributeError"),
        ("import collections\n    return collections.abc", "AttributeError"),
        ("import re\n    return re.search('(a*)*' * 9 + 'a', 'a' * 99999)", "None or"),
        ("return 'hit'", "None or"),
        ("return {'turn': 99}", "turn 99 of a run with 3 turns"),
        ("return {'turn': -1}", "turn -1"),
        ("return {'turn': True}", "turn True"),
        ("return {'turn': 0}", "no turn of the agent's"),
        ("return {'turn': 1, 'evidence': [{'turn': 2}]}", "lies after the source turn"),
        ("return {'turn': 1, 'evidence': [{'turn': 1, 'call': 77}]}", "no call 77"),
        ("return {'turn': 1, 'evidence': 'x' * 999}", "evidence is a list"),
        ("return {'turn': 1, 'note': run}", "the note is a text"),
    ],
    ids=[
        "loop", "big list", "long text", "long list", "power", "sorted", "product", "recursion",
        "zero", "key", "module of a module", "codecs", "abc", "pattern", "text", "beyond", "below",
        "true", "human", "later", "call", "evidence", "note",
    ],
)  # fmt: skip
def test_source_that_is_allowed_and_goes_wrong_is_an_error_or_is_killed(
    store: TraceStore, source: str, told: str
) -> None:
    began = time.monotonic()
    scan = scanned(store, behavior(code=NOTHING + source))
    assert scan.errors, "it goes wrong somewhere"
    assert scan.funnels[0].hits == 0
    assert told in scan.errors[0]
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*), 1 FROM range(1000000000000)",
        "SELECT lpad('x', 1000000000, 'y'), 1",
        "SELECT repeat('x', 2000000000), 1",
        "SELECT trace_id, turn FROM turns, range(100000), range(100000), range(10000)",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT 'x', n FROM r",
        "SELECT list_sort(range(300000000))::VARCHAR, 1",
        "COPY (SELECT 1) TO '/tmp/never'",
        "SELECT 1; DROP VIEW traces",
        "INSTALL httpfs",
        "ATTACH '/tmp/never.db'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "SELECT getenv('HOME'), 1",
        "PRAGMA database_list",
        "SET memory_limit = '100GB'",
        "SELECT trace_id FROM traces",
        "SELECT turn, trace_id FROM turns",
        "SELECT 1, 2, 3, 4",
        "",
        "nonsense",
    ],
)
def test_sql_that_harms_is_refused_or_killed(store: TraceStore, sql: str) -> None:
    before = {path.name for path in Path("/tmp").iterdir()}
    began = time.monotonic()
    try:
        scan = scanned(store, behavior(sql))
    except (InvalidQuery, InvalidSpec):
        pass
    else:
        assert scan.failed == ("X01",)
        assert scan.funnels[0].hits == 0
        assert "it was not looked for in this part of the store" in scan.errors[-1]
    assert time.monotonic() - began < 60
    assert "never" not in {path.name for path in Path("/tmp").iterdir()} - before
    assert scanned(store, behavior()).funnels[0].hits == 6, "the store is as it was"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = 'a' * 10**10\n" + NOTHING + "pass", "MemoryError"),
        ("x = sum(range(10**12))\n" + NOTHING + "pass", "source"),
        ("from re import sys\n" + NOTHING + "pass", "ImportError"),
        ("x = 1 / 0\n" + NOTHING + "pass", "ZeroDivisionError"),
    ],
    ids=["memory", "time", "import", "error"],
)
def test_what_stands_at_the_top_of_the_source_has_limits_too(
    store: TraceStore, source: str, told: str
) -> None:
    began = time.monotonic()
    try:
        scan = scanned(store, behavior(code=source))
    except InvalidQuery as error:
        what = str(error)
    else:
        assert scan.failed == ("X01",)
        what = scan.errors[0]
    assert told in what
    assert time.monotonic() - began < 60


def test_sql_that_names_a_trace_that_is_not_there_is_told(store: TraceStore) -> None:
    scan = scanned(store, behavior("SELECT 'nosuch' AS trace_id, 1 AS turn"))
    assert scan.funnels[0].hits == 0
    assert "'nosuch', which is not there" in scan.errors[0]


def test_a_quote_has_to_stand_where_it_is_said_to(store: TraceStore) -> None:
    code = NOTHING + "return {'turn': 1, 'evidence': [{'turn': 1, 'quote': 'never said'}]}"
    scan = scanned(store, behavior(code=code))
    assert scan.funnels[0].hits == 0
    assert "the quote 'never said' does not stand in turn 1" in scan.errors[0]


def test_a_foreign_behaviour_with_a_packaged_id_is_foreign_still(store: TraceStore) -> None:
    one = behavior("SELECT trace_id, turn FROM features WHERE is_destructive", id="F01")
    assert scan_store(store, [Wanted(one, {})]).funnels[0].hits == 3
