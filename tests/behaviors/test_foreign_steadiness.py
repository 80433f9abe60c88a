"""Anchors of a user's own find the same each time; what they name that is not there is told."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.test_foreign_anchors import CALLS, NOTHING, behavior
from tests.store.stored import agent, call, human, run
from tracedance_sdk.behaviors import Wanted, packaged_behaviors, parse_behavior, scan_store
from tracedance_sdk.behaviors.foreign.grammar import check_source
from tracedance_sdk.behaviors.foreign.place_errors import PlaceErrors
from tracedance_sdk.behaviors.foreign.search import check_foreign
from tracedance_sdk.behaviors.foreign.steady_texts import offered_texts
from tracedance_sdk.behaviors.foreign.surroundings import compiled
from tracedance_sdk.errors import InvalidQuery, InvalidSpec
from tracedance_sdk.store import TraceStore

AGENT = "SELECT trace_id, turn FROM turns WHERE role = 'assistant'"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    made = TraceStore.create(tmp_path_factory.mktemp("steady") / "s")
    failing = call("Bash", {"command": "make"}, "error: no rule to make target", ok=False)
    made.add(
        [
            run("t0", human("Build."), agent("I try.", failing), agent("Again.", failing)),
            run("t1", human("See <f at 0x7f12ab34>."), agent("Seen.", failing), agent("It fails.")),
        ]
    )
    made.index()
    return made


def notes(store: TraceStore, code: str, sql: str = AGENT) -> list[str]:
    one = behavior(sql, code)
    scan = scan_store(store, [Wanted(one, {})])
    assert scan.errors == ()
    found = sorted(scan.occurrences["X01"], key=lambda item: (item.trace_id, item.turn))
    return [item.note for item in found]


def errors(store: TraceStore, sql: str, code: str | None = None) -> tuple[str, ...]:
    scan = scan_store(store, [Wanted(behavior(sql, code), {})])
    assert scan.funnels[0].hits == 0
    return scan.errors


@pytest.mark.parametrize(
    "asked",
    [
        "now()", "today()", "current_timestamp", "CURRENT_DATE", "localtime", "random()", "uuid()",
        "Main.NOW()", "age(started_at)", "ago(INTERVAL 3 DAY)", "get_current_timestamp()",
        "transaction_timestamp()", "gen_random_uuid()", "nextval('s')", "txid_current()",
        "list_transform([1], lambda x: x + random())", "(SELECT {'a': now()})",
        "reservoir_quantile(turns, 0.5)",
    ],
)  # fmt: skip
def test_sql_that_asks_for_the_clock_or_for_chance_is_refused(
    store: TraceStore, asked: str
) -> None:
    one = behavior(f"SELECT trace_id, 1 FROM traces WHERE {asked} IS NOT NULL")
    with pytest.raises(InvalidQuery) as caught:
        scan_store(store, [Wanted(one, {})])
    assert "\n" not in str(caught.value)
    assert "something else each time" in str(caught.value) or "is not allowed" in str(caught.value)


@pytest.mark.parametrize("sample", ["TABLESAMPLE 50%", "USING SAMPLE 1 ROWS"])
def test_sql_that_takes_a_sample_is_refused(sample: str) -> None:
    with pytest.raises(InvalidQuery, match="a sample gives something else"):
        check_foreign(behavior(f"SELECT trace_id, turn FROM turns {sample}"))


@pytest.mark.parametrize(
    "asked",
    [
        "hour(started_at)",
        "date_trunc('week', started_at)",
        "age(started_at, TIMESTAMP '2026-01-01')",
        "strftime(started_at, '%G')",
        "started_at - INTERVAL 1 DAY",
        "CASE WHEN turns < 0 THEN error('never') END",
        "list_sort([turns])",
        "'2026-01-01'::DATE",
        "epoch(started_at)",
    ],
)
def test_sql_that_reckons_with_recorded_times_is_not(asked: str) -> None:
    check_foreign(behavior(f"SELECT trace_id, 1 FROM traces WHERE {asked} IS NOT NULL"))


@pytest.mark.parametrize(
    "source",
    [
        "import datetime\n    return datetime.datetime.now()",
        "from datetime import datetime\n    return datetime.utcnow()",
        "from datetime import date\n    read = date.today\n    return read()",
        "from datetime import datetime as d\n    return list(map(d.now, []))",
    ],
)
def test_source_that_reads_the_clock_is_refused(source: str) -> None:
    with pytest.raises(InvalidSpec, match="which reads the clock, is not allowed @ line"):
        check_source(NOTHING + source)


@pytest.mark.parametrize("name", ["id", "hash"])
def test_source_that_asks_where_something_lies_is_refused(name: str) -> None:
    with pytest.raises(InvalidSpec, match=f"the name '{name}' is not allowed"):
        check_source(NOTHING + f"return {{'turn': 1, 'note': str({name}(run))}}")


@pytest.mark.parametrize(
    "value", ["anchor", "iter([])", "(x for x in '')", "map(str, [])", "lambda: 0", "[].append"]
)
@pytest.mark.parametrize(
    "way",
    [
        "repr(found)", "str(found)", "ascii(found)", "format(found)", "str([found])", "f'{found}'",
        "f'{found!r:.24}'", "f'{[found]:>9}'", "'%r' % found", "'%.24s' % (found,)",
        "'%(a)s' % {'a': found}", "str(b'%a' % found)", "str(KeyError(found))",
        "', '.join(map(str, [found]))", "f'{found=}'", "str({'a': (found,)})",
    ],
)  # fmt: skip
def test_texts_of_what_has_none_of_its_own_are_without_addresses(value: str, way: str) -> None:
    told = made(f"found = {value}\n    return {way}")
    assert "0x" not in told
    assert told.isascii()
    assert len(told) > 8


def made(body: str) -> Any:
    """Return what a function with a body comes to, as source of an anchor."""
    return compiled(check_source(NOTHING + body))()({}, {}, {})


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("'%s at 0x7f12ab34 %d%%' % ('x', 7)", "x at 0x7f12ab34 7%"),
        ("'%s' % 'x at 0x7f12ab34'", "x at 0x7f12ab34"),
        ("f'{7:03d} {1.5:.2f} {\"a\"!r:>5} {None}'", "007 1.50   'a' None"),
        ("format(255, 'x') + str(b'ab', 'utf-8') + str() + str(1)", "ffab1"),
        ("str(list(map(str.upper, 'ab'))) + repr(str)", "['A', 'B']<class 'str'>"),
        ("str(7 % 4) + str(-7.5 % 2) + str(isinstance('a', (int, str)))", "30.5True"),
        ("str(isinstance(1, str)) + ' '.join(sorted(['b', 'a'], key=str))", "Falsea b"),
        ("'%r %s' % ([1], {'a': 2})", "[1] {'a': 2}"),
        ("'%5.1f|%-4s|%c' % (2.25, 'ab', 'z')", "  2.2|ab  |z"),
    ],
)
def test_texts_are_made_as_ever(asked: str, told: str) -> None:
    assert made(f"return {asked}") == told
    assert made(f"n = 7\n    n %= 4\n    d = [9]\n    d[0] %= 5\n    return {asked}") == told


def test_source_cannot_ask_for_an_address_by_what_an_error_says(store: TraceStore) -> None:
    code = """
def anchor(run, place, parameters):
    try:
        [].index(anchor)
    except ValueError as error:
        return {'turn': place['turn'], 'note': str(error)}
"""
    assert set(notes(store, code)) == {"<function anchor> is not in list"}
    with pytest.raises(InvalidSpec, match="the attribute 'args' is not allowed"):
        check_source(code.replace("str(error)", "error.args[0]"))


def test_a_number_made_of_an_address_cannot_be_had(store: TraceStore) -> None:
    code = NOTHING + "n = int(repr(anchor).split('0x')[1].rstrip('>'), 16)\n    return n % 2"
    assert "IndexError" in errors(store, AGENT, code)[0]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux lays processes out alike")
@pytest.mark.parametrize(
    "value", ["{(n, None) for n in range(20)}", "{int, str, float, list, dict, tuple, None}"]
)
def test_sets_of_what_is_ordered_by_its_place_in_memory_have_one_order(
    store: TraceStore, value: str
) -> None:
    code = NOTHING + f"return {{'turn': place['turn'], 'note': str(list({value}))}}"
    first = notes(store, code)
    assert notes(store, code) == first
    assert len(set(first)) == 1


def test_a_note_may_quote_an_address_that_stands_in_the_run(store: TraceStore) -> None:
    code = NOTHING + "return {'turn': place['turn'], 'note': run['turns'][0]['text']}"
    assert "See <f at 0x7f12ab34>." in notes(store, code)


def test_errors_of_source_are_told_without_addresses(store: TraceStore) -> None:
    code = NOTHING + "raise ValueError(repr(anchor))"
    told = errors(store, AGENT, code)
    assert "ValueError: '<function anchor>'" in told[0]


def test_sets_of_texts_have_the_same_order_each_time(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = NOTHING + "return {'turn': place['turn'], 'note': ''.join({c for c in 'abcdefghij'})}"
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    first = notes(store, code)
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    assert notes(store, code) == first


def test_the_zone_of_the_machine_does_not_show(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    code = """
from datetime import datetime

def anchor(run, place, parameters):
    return {'turn': place['turn'], 'note': datetime.fromtimestamp(0).isoformat()}
"""
    assert set(notes(store, code)) == {"1970-01-01T00:00:00"}


def test_times_are_parsed_and_written(store: TraceStore) -> None:
    code = """
from datetime import datetime

def anchor(run, place, parameters):
    found = datetime.strptime("3 Feb 2026 10:00", "%d %b %Y %H:%M")
    return {'turn': place['turn'], 'note': found.strftime("%Y-%m-%d") + f" {found:%H} {10**3000}"}
"""
    assert {note[:14] for note in notes(store, code)} == {"2026-02-03 10 "}


def test_every_builtin_is_offered_or_refused_by_name() -> None:
    for name in dir(builtins):
        if name.startswith("_"):
            continue
        source = NOTHING + f"return {name}"
        if f"the name '{name}' is not allowed" not in refusals(source):
            found = compiled(check_source(source))()({}, {}, {})
            if name not in offered_texts():
                assert found is getattr(builtins, name)


def refusals(source: str) -> str:
    try:
        check_source(source)
    except InvalidSpec as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ("nothing", "NameError"),
        ("{}['x']", "KeyError"),
        ("[][1]", "IndexError"),
        ("''.x", "AttributeError"),
        ("b'\\xff'.decode()", "UnicodeDecodeError"),
        ("f(f)", "RecursionError"),
        ("1 / 0", "ZeroDivisionError"),
        ("next(iter([]))", "StopIteration"),
        ("'a' * 10 ** 11", "MemoryError"),
    ],
)
def test_errors_that_python_raises_can_be_caught(store: TraceStore, wrong: str, error: str) -> None:
    code = f"""
f = lambda g: g(g)

def anchor(run, place, parameters):
    try:
        {wrong}
    except {error}:
        return {{'turn': place['turn'], 'note': 'caught'}}
"""
    assert set(notes(store, code)) == {"caught"}


def test_what_is_not_needed_may_be_called_an_underscore(store: TraceStore) -> None:
    code = """
def anchor(run, place, parameters):
    first, _ = 1, 2
    number = sum(1 for _ in run["turns"])
    for _ in range(2):
        number += (lambda _: first)(0)
    return {'turn': place['turn'], 'note': str(number)}
"""
    assert set(notes(store, code)) == {"5"}


@pytest.mark.parametrize(
    ("quote", "stands"), [("MAKE", "make"), ("make", "make"), ("NO rule TO", "no rule to")]
)
def test_a_quote_is_kept_in_the_case_in_which_it_stands(
    store: TraceStore, quote: str, stands: str
) -> None:
    shown = f"[{{'turn': 1, 'call': 0, 'quote': '{quote}'}}]"
    one = behavior(AGENT + " AND turn = 1", NOTHING + f"return {{'turn': 1, 'evidence': {shown}}}")
    found = scan_store(store, [Wanted(one, {})]).occurrences["X01"]
    assert [item.evidence[0].quote for item in found] == [stands, stands]


@pytest.mark.parametrize("code", [None, NOTHING + "return {'turn': 1}"], ids=["SQL", "source"])
@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("-1", "the SQL names turn -1 of a run with 3 turns"),
        ("3", "the SQL names turn 3 of a run with 3 turns"),
        ("99", "the SQL names turn 99 of a run with 3 turns"),
        ("1, 77", "the SQL names call 77, which the run does not have"),
        ("1, -1", "the SQL names call -1, which the run does not have"),
    ],
)
def test_sql_that_names_what_a_run_does_not_have_is_told(
    store: TraceStore, named: str, told: str, code: str | None
) -> None:
    found = errors(store, f"SELECT trace_id, {named} FROM traces", code)
    assert found == (f"X01: trace t0: {told}; 1 more place is not there",)


def test_a_bounded_number_of_errors_is_told_with_how_many_there_are(store: TraceStore) -> None:
    sql = "SELECT trace_id, range FROM traces, range(150)"
    found = errors(store, sql, NOTHING + "return {'turn': 0}")
    assert found == (
        *(
            f"X01: trace t{n}, turn {turn}: the source turn 0 is no turn of the agent's"
            for n in range(2)
            for turn in range(3)
        ),
        "X01: trace t0: the SQL names turn 3 of a run with 3 turns; 293 more places are not there",
    )


def test_errors_beyond_a_hundred_are_counted() -> None:
    lines: list[str] = []
    errors = PlaceErrors(lines.append)
    for number in range(250):
        errors.failed(f"turn {number}: no")
    errors.end()
    assert len(lines) == 101
    assert lines[0] == "turn 0: no"
    assert lines[-1] == "150 more errors are not listed"


def own(predicate: str, sql: str, **fields: Any) -> Any:
    given = packaged_behaviors()["F01"].model_dump(mode="json", exclude_none=True)
    anchor = {"sql": sql, "predicate": predicate}
    given |= {"format": "tracedance.behavior", "version": 1, "id": "X02", "name": "Mine"}
    return parse_behavior({**given, "desirable": "Not mine", "anchor": anchor, **fields})


def test_a_users_own_sql_with_a_second_stage_of_the_catalogue(store: TraceStore) -> None:
    one = own("unchanged_retries", f"{CALLS} UNION ALL SELECT trace_id, 1, 0 FROM traces")
    scan = scan_store(store, [Wanted(one, one.filled())])
    found = [(item.trace_id, item.turn, item.note) for item in scan.occurrences["X02"]]
    assert found == [("t0", 2, "Bash is called again as it failed")], "t1 did not call again"
    assert scan.funnels[0].candidates == 3


def test_places_that_are_not_there_do_not_reach_the_catalogues_stages(store: TraceStore) -> None:
    one = own("unchanged_retries", "SELECT trace_id, 40, 50 FROM traces")
    scan = scan_store(store, [Wanted(one, one.filled())])
    assert (scan.funnels[0].hits, len(scan.errors)) == (0, 1)


def test_a_stage_or_a_judge_that_nobody_has_is_refused_at_once() -> None:
    with pytest.raises(InvalidSpec, match="no packaged predicate or judge 'nobodys'"):
        check_foreign(own("nobodys", CALLS))
    with pytest.raises(InvalidSpec, match="no packaged predicate or judge 'nobodys'"):
        check_foreign(own("unchanged_retries", CALLS, judge="nobodys"))


def test_a_condition_is_looked_at_by_what_it_leaves_in(store: TraceStore) -> None:
    one = behavior(AGENT, NOTHING + "return {'turn': 0}")
    scan = scan_store(store, [Wanted(one, {})], where="trace_id = 't0'")
    assert len(scan.errors) == 2
    assert all(error.startswith("X01: trace t0") for error in scan.errors)


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("coalesce(started_at, now()) > now() - INTERVAL 7 DAY", "now"),
        ("random() < 0.5", "random"),
        (
            "trace_id IN (SELECT trace_id FROM turns WHERE started_at < current_date)",
            "current_date",
        ),
    ],
)
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_condition_that_asks_for_the_clock_or_for_chance_is_refused(
    store: TraceStore, tmp_path: Path, where: str, named: str, *, is_kept: bool
) -> None:
    wanted = [Wanted(packaged_behaviors()["F01"], {"min_repeats": 1})]
    kept = tmp_path / "kept" if is_kept else None
    with pytest.raises(InvalidQuery, match=f"where: '{named}' gives something else each time"):
        scan_store(store, wanted, where=where, kept=kept)
    assert not (tmp_path / "kept").exists()
