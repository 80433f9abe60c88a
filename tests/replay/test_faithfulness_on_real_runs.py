"""How faithful tests of 200 real conversations are, measured against the real airline.

Each ordered pair of trials of one task is a replay: the test of one, the recorded calls of the
other. What these do to the real database is known, so that every such replay has a verdict.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.replay.swaps import (
    Bed,
    Swapped,
    calculate,
    oracle_lines,
    recorded_bed,
    recorded_traces,
    swap,
    tools_of,
)
from tests.support.airline import Airline, shipped
from tests.support.shared_data import shared_data
from tests.support.tables import AddRow
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.grading import ResultRow, ResultSetWriter, Subject, Verdict, read_results
from tracedance_sdk.replay import (
    AnsweredCall,
    Faithfulness,
    FaithfulnessEvidence,
    FunctionGrader,
    Ladder,
    RuleBook,
    Shelf,
    Suite,
    Withheld,
    coverage_of,
    effects_of_traces,
    measure_faithfulness,
    production_of_replays,
    rebuild,
    recorded_suite,
    regrade,
    replayed_tests,
    self_check,
)
from tracedance_sdk.replay import (
    recorded_traces as as_recorded,
)
from tracedance_sdk.replay.recordings import Conversation, RecordingIndex, conversation_of
from tracedance_sdk.statistics import agreement_pairs
from tracedance_sdk.trace import Trace

Records = dict[str, dict[str, Any]]


class Task(NamedTuple):
    """What a run has to leave behind, and to say."""

    known: Records
    expected: Records
    outputs: list[str]


class Record:
    """The system of record: applies a run's writes to a fresh database and looks at the end."""

    def __init__(self) -> None:
        self.folder = shared_data("tau-bench") / "tau_bench" / "envs" / "airline" / "data"
        self.tasks = {
            str(line["task_id"]): Task(
                line["initial_state"], line["expected_final_state"], list(line["outputs_said"])
            )
            for line in oracle_lines()
        }

    def has_right_end(self, trace: Trace) -> bool:
        """Whether the run leaves the database as it should be."""
        task = self.tasks[str(trace.task_id)]
        airline = Airline(self.folder)
        for call in trace.actions:
            assert isinstance(call.arguments, dict)
            airline.call(call.name, json.loads(json.dumps(call.arguments)))
        known = ((table, name) for table, of in task.expected.items() for name in of)
        for table, name in {*known, *airline.changed}:
            before = shipped(self.folder)[table].get(name)
            after = airline.changed.get((table, name), before)
            if text(after) != text(task.expected.get(table, {}).get(name, before)):
                return False
        return True

    def grade(self, trace: Trace) -> dict[str, str]:
        """Grade a run by what it did, by what it said, and by whether it came to its end."""
        replies = [t.text for t in trace.turns if t.role == "assistant" and not t.calls]
        said = [reply.replace(",", "").casefold() for reply in replies]
        outputs = self.tasks[str(trace.task_id)].outputs
        checks = {
            "database": self.has_right_end(trace),
            "outputs": all(any(o.casefold() in s for s in said) for o in outputs),
            "end": trace.outcome is not None and trace.outcome.ended is True,
        }
        failed = [name for name, is_right in checks.items() if not is_right]
        return {"verdict": "fail" if failed else "pass", "reason": ", ".join(failed)}


def text(record: Any) -> str:
    """Return a record as text; the shipped database has another name for one field."""
    return json.dumps(record, sort_keys=True).replace('"state"', '"province"')


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    return recorded_traces()


@pytest.fixture(scope="module")
def record() -> Record:
    return Record()


@pytest.fixture(scope="module")
def bed() -> Bed:
    return recorded_bed()


@pytest.fixture(scope="module")
def suite(traces: list[Trace]) -> Suite:
    return Suite(rebuild(traces, effects={"calculate": "pure", "think": "pure"}).tests)


def test_writes_do_what_the_real_airline_does(record: Record) -> None:
    n_writes = 0
    for line in oracle_lines():
        airline = Airline(record.folder)
        for call in line["calls"]:
            told = airline.call(call["name"], json.loads(json.dumps(call["arguments"])))
            n_writes += told is not None
            assert told in (None, call["answer"])
    assert n_writes == 250


def test_the_record_gives_200_of_200_stored_rewards(traces: list[Trace], record: Record) -> None:
    found = regrade(as_recorded(traces), FunctionGrader(record.grade, "record"))
    assert sum(item.agrees for item in found) == 200
    assert sum(item.stored is True for item in found) == 84


def test_the_recorded_agent_in_the_rebuilt_tests_ends_as_it_did(
    suite: Suite, record: Record
) -> None:
    """Tests do not hold the agent's words, so that only the database can be looked at."""
    grader = FunctionGrader(record.has_right_end, "database")
    found = regrade(recorded_suite(suite), grader)
    lines = {f"{line['task_id']}-{line['trial']}": line for line in oracle_lines()}
    assert len(found) == 200
    assert all((i.verdict == "pass") == lines[i.name]["final_state_equal"] for i in found)
    # The others have the right end, and did not say what had to be said, or never ended.
    assert sum(item.agrees for item in found) == 200 - sum(
        line["final_state_equal"] and not line["reward"] for line in lines.values()
    )


def test_a_recording_that_was_tampered_with_is_caught(
    traces: list[Trace], record: Record, add_row: AddRow
) -> None:
    effects = effects_of_traces(traces)
    found = self_check(
        as_recorded(traces),
        FunctionGrader(record.grade, "record"),
        effect_of=lambda name: effects.get(name, "unknown"),
    )
    assert (found.n_passing, found.n_without_writes, found.n_possible) == (84, 57, 86)
    assert not found.disagreeing
    for kind in ("left out", "altered"):
        of = [item for item in found.tampered if item.alteration.kind == kind]
        caught = sum(item.outcome == "caught" for item in of)
        add_row("tampered recordings", writes=kind, number=len(of), caught=caught)
    # The tool looks the origin of a flight up and does not heed the one that it is given.
    (missed,) = found.of("missed")
    assert missed.alteration.tool == "update_reservation_flights"
    assert ".origin: " in missed.alteration.what
    assert not found.of("error")


def test_a_grader_that_believes_what_the_agent_says_is_caught(traces: list[Trace]) -> None:
    """What a transcript sounds like does not change when a write is left out of it."""
    effects = effects_of_traces(traces)
    found = self_check(
        as_recorded(traces),
        FunctionGrader(lambda trace: bool(trace.outcome and trace.outcome.ended), "believer"),
        effect_of=lambda name: effects.get(name, "unknown"),
        most=50,
        seed=3,
    )
    assert len(found.tampered) == len(found.of("missed")) == 50
    assert found.n_possible > 50
    assert len(found.disagreeing) > 100


class SwappedSet(NamedTuple):
    """All pairs as replays: a row for each, and all answers."""

    rows: list[ResultRow]
    answers: list[AnsweredCall]


@pytest.fixture(scope="module")
def swapped(bed: Bed, traces: list[Trace], suite: Suite) -> SwappedSet:
    found = swap(bed, order="file")
    of_pair: dict[tuple[str, str], list[Swapped]] = defaultdict(list)
    for item in found:
        of_pair[item.pair].append(item)
    groups: dict[str, list[Trace]] = defaultdict(list)
    for trace in traces:
        groups[str(trace.group)].append(trace)
    pairs = [pair for members in groups.values() for pair in permutations(members, 2)]
    rows = [row_of(test, agent, of_pair[test.id, agent.id]) for test, agent in pairs]
    names = {test.source.trace_id: test.id for test in suite.tests}
    group_of = {trace.id: str(trace.group) for trace in traces}
    withheld = Withheld(suite.tests)
    arguments = {
        (c.id, r.place): r.arguments for c in bed.recorded.conversations for r in c.recordings
    }
    answers = []
    for (test, agent), items in of_pair.items():
        for place, item in enumerate(items):
            holds = withheld.holds(
                names[test],
                item.tool,
                arguments[agent, place],
                except_tests={names[agent]},
            )
            answer = item.answer
            answers.append(
                AnsweredCall(
                    names[test],
                    group_of[test],
                    item.tool,
                    answer.stamp,
                    answer.stale,
                    item.is_right,
                    holds,
                )
            )
    return SwappedSet(rows, answers)


def row_of(test: Trace, agent: Trace, items: list[Swapped]) -> ResultRow:
    """Return a replay of a test by another trial's calls, as `tracedance replay` writes it."""
    stamps = Counter(item.answer.stamp for item in items)
    doubts = [name for name in ("failed",) if stamps[name]]
    doubts += ["stale"] if any(item.answer.stale for item in items) else []
    raw = Verdict.PASS if succeeded(agent) else Verdict.FAIL
    own: dict[str, Any] = {
        "answers": dict(stamps),
        "rests_on": doubts,
        "ended": "customer",
        "production": "pass" if succeeded(test) else "fail",
    }
    return ResultRow(
        subject=Subject(trace_id=f"{test.id}/{agent.id}", instance_id=native(test)),
        sample=int(native(agent).partition("/")[2]),
        grader="replay",
        group=test.group,
        verdict=Verdict.INCONCLUSIVE if doubts else raw,
        raw_verdict=raw,
        **own,
    )


def succeeded(trace: Trace) -> bool:
    assert trace.outcome is not None
    return trace.outcome.success is True


def native(trace: Trace) -> str:
    assert trace.source is not None
    return str(trace.source.native_id)


@pytest.fixture(scope="module")
def measured(
    swapped: SwappedSet, traces: list[Trace], record: Record, tmp_path_factory: Any
) -> Faithfulness:
    folder = Path(tmp_path_factory.mktemp("swap")) / "results"
    with ResultSetWriter(folder, manifest={"command": "replay"}) as writer:
        writer.add(swapped.rows)
    replays = replayed_tests(read_results(folder).rows)
    evidence = FaithfulnessEvidence(
        replays,
        regraded=regrade(as_recorded(traces), FunctionGrader(record.grade, "record")),
        answers=swapped.answers,
    )
    return measure_faithfulness(evidence)


def test_all_pairs_agree_exactly_as_often_as_production_with_itself(
    swapped: SwappedSet, measured: Faithfulness
) -> None:
    replays = replayed_tests(swapped.rows)
    assert len(replays) == 600
    production = production_of_replays(replays)
    assert agreement_pairs(list(production.values())) == 300
    assert sum(item.passes for item in production.values()) == 84
    figures = measured.points[1].figures
    assert round(figures["self_agreement"], 3) == 0.707
    assert round(figures["sampling_floor"], 4) == 0.1285
    # Every pair is there in both orders, so that nothing but the split can differ.
    assert sum(item.matches for item in replays) / 600 == pytest.approx(0.70667, abs=1e-5)


def test_matches_with_and_without_doubtful_answers(measured: Faithfulness, add_row: AddRow) -> None:
    clean, doubtful, balance = (measured.points[n].figures for n in (1, 2, 3))
    assert clean["match"]["n"] + doubtful["match"]["n"] == 600
    assert doubtful["counting"] == 0
    for name, figures in (
        ("all answers evidence", clean["match"]),
        ("some answer missing or stale", doubtful["match"]),
        ("fails fail again", balance["fails_again"]),
        ("passes pass again", balance["passes_again"]),
    ):
        low, high = figures["wilson"]
        among = figures["clustered"]
        add_row(
            "the swap of 600 pairs beside production",
            which=name,
            hits=figures["hits"],
            of=figures["n"],
            rate=f"{figures['value']:.3f}",
            wilson=f"{low:.3f} to {high:.3f}",
            clustered=f"{among[0]:.3f} to {among[1]:.3f}",
        )
    assert measured.points[2].state == "holds"
    # Each trial is a test three times and an agent three times.
    assert balance["production_passes"] == balance["replay_passes"] == 84 * 3
    assert balance["difference"] == 0


def test_wrong_answers_by_source_and_tool(measured: Faithfulness, add_row: AddRow) -> None:
    point = measured.points[4]
    by_stamp = {row["stamp"]: (row["n"], row["wrong"]) for row in point.figures["by_stamp"]}
    assert by_stamp == {
        "same": (1788, 6),
        "other": (183, 0),
        "pure": (526, 0),
        "failed": (995, 995),
    }
    assert point.figures["stale"] == {"n": 23, "wrong": 6}
    # All six are stale, so that none of them is taken for evidence.
    assert point.figures["evidence"]["hits"] == 0
    assert (point.figures["evidence"]["n"], point.state) == (1788 + 183 + 526 - 23, "holds")
    for row in point.figures["by_tool"]:
        add_row("answers of the swap by tool", **row)
    missing = {r["tool"]: r["n"] for r in point.figures["by_tool"] if r["stamp"] == "failed"}
    assert missing == {
        "search_direct_flight": 192,
        "update_reservation_flights": 188,
        "transfer_to_human_agents": 144,
        "book_reservation": 143,
        "get_reservation_details": 131,
        "get_user_details": 56,
        "cancel_reservation": 55,
        "search_onestop_flight": 37,
        "update_reservation_baggages": 34,
        "send_certificate": 9,
        "update_reservation_passengers": 6,
    }


def test_what_the_leave_out_rule_costs(measured: Faithfulness) -> None:
    point = measured.points[5]
    assert (point.figures["withheld"]["hits"], point.figures["withheld"]["n"]) == (359, 995)
    assert point.state == "holds"


@pytest.mark.parametrize(
    ("how", "numbers", "counts"),
    [
        pytest.param({"derives": False}, (1788, 183, 526, 0, 995, 359), (191, 23), id="left out"),
        pytest.param({}, (1788, 183, 526, 182, 813, 330), (335, 23), id="derived"),
        pytest.param(
            {"derives": False, "leaves_out": False},
            (1788, 579, 489, 0, 636, 0),
            (273, 14),
            id="siblings",
        ),
    ],
)
def test_coverage_gives_the_figures_of_the_swap_without_the_real_airline(
    suite: Suite,
    how: dict[str, bool],
    numbers: tuple[int, ...],
    counts: tuple[int, int],
    add_row: AddRow,
) -> None:
    clean, stale = counts
    found = coverage_of(suite, **how)
    total: Counter[str] = sum(found.tools.values(), Counter())
    for tool, numbered in [*found.tools.items(), ("all tools", total)]:
        add_row(f"coverage of siblings' calls (600 pairs, {how})", tool=tool, **numbered)
    names = ("same", "other", "pure", "derived", "failed", "withheld")
    assert tuple(total[name] for name in names) == numbers
    assert (found.n_tests, found.n_pairs, found.n_clean) == (200, 600, clean)
    # What a sibling was told is right: the six wrong answers show, and all of them are stale.
    same = found.stamps["same"]
    assert (same["stale"], same["history_differs"], same["differ"]) == (stale, 203, 6)
    assert all(call.stale for call in found.calls if call.stamp == "same" and call.differs)
    assert found.stamps.get("derived", {"differ": 0})["differ"] == 0


def test_what_needs_a_model_is_not_measured(measured: Faithfulness) -> None:
    assert measured.points[0].line == "200 of 200 stored verdicts"
    not_measured = {p.number: p.line for p in measured.points if p.state == "not measured"}
    assert sorted(not_measured) == [7, 8, 9]
    assert "--persona R1=DIR" in not_measured[7]
    others = {p.number: p.state for p in measured.points if p.number < 7}
    # 50 tasks are too few for a margin of ten points, though the rates are two points apart.
    assert others == {**dict.fromkeys(range(1, 7), "holds"), 2: "not shown"}
    low, high = measured.points[1].figures["above_self_agreement"]
    assert (round(low, 3), round(high, 3)) == (-0.112, 0.146)
    assert (measured.word, measured.exit_code) == ("not shown", 3)


AIRLINES = (
    "gpt-4.1_airline_default_gpt-4.1_1trials.json.gz",
    "ft_gpt-4.1-2025-04-14_sierra_tau2-full-sft_BzrYdMNm_airline_default_gpt-4.1_1trials.json.gz",
    (
        "claude-sonnet-4-5_aide-platform_2025-10-31__claude-sonnet-4-5_airline_default_gpt4.1"
        "_1trials.json.gz"
    ),
    "toolorchestra_nvidia_2025-12-02__toolorchestra_airline_gpt-5_1trial.json.gz",
)
"""One run of each task by four agents; two of them tried only 20 of the 50 tasks."""


def test_coverage_where_the_siblings_are_other_agents(add_row: AddRow) -> None:
    """The test of one agent's run, the calls of another agent on the same task."""
    files = [shared_data("tau2-bench") / name for name in AIRLINES]
    traces = [item.trace for item in collect_paths(files) if item.trace is not None]
    assert len(traces) == 140
    effects = {tool.name: tool.effect for trace in traces for tool in tools_of(trace)}
    effects["calculate"] = "pure"
    conversations = [conversation_of(t, lambda n: effects.get(n, "unknown")) for t in traces]
    index = RecordingIndex(conversations)
    book = RuleBook(index, lambda name: effects.get(name, "unknown"))
    bed = Bed(index, effects, {}, book)
    by_tool: dict[str, Counter[str]] = defaultdict(Counter)
    clean, n_pairs, n_wrong = 0, 0, 0
    for test, agent in pairs_of(conversations):
        stamps: Counter[str] = Counter()
        for tool, stamp, is_right in coverage(bed, test, agent):
            by_tool[tool][stamp] += 1
            stamps[stamp] += 1
            n_wrong += stamp == "derived" and not is_right
        n_pairs += 1
        clean += not stamps["failed"]
    total: Counter[str] = sum(by_tool.values(), Counter())
    assert n_pairs == 20 * 12 + 30 * 2
    for tool, stamps in [*sorted(by_tool.items()), ("all tools", total)]:
        add_row(
            "coverage of other agents' calls (tau2 airline, 300 pairs)",
            tool=tool,
            **{name: stamps[name] for name in ("same", "other", "pure", "derived", "failed")},
        )
    add_row("coverage: pairs", pairs=n_pairs, clean=clean)
    assert sum(total.values()) == sum(len(agent.recordings) for _, agent in pairs_of(conversations))
    assert total == {"same": 698, "other": 1280, "pure": 26, "derived": 88, "failed": 679}
    assert (clean, n_wrong) == (174, 0)
    assert {tool: stamps["failed"] for tool, stamps in by_tool.items() if stamps["failed"]} == {
        "search_direct_flight": 244,
        "search_onestop_flight": 170,
        "get_flight_status": 123,
        "book_reservation": 44,
        "cancel_reservation": 35,
        "update_reservation_flights": 29,
        "send_certificate": 10,
        "get_reservation_details": 9,
        "update_reservation_baggages": 8,
        "get_user_details": 4,
        "list_all_airports": 3,
    }
    assert by_tool["transfer_to_human_agents"] == {"derived": 88}
    # The rule is found and never wrong, but 20 calls cannot be left out of 20 that there are.
    (cancelling,) = book.tried("cancel_reservation")
    assert str(cancelling.proof) == "right 14 of 14 times in 11 groups left out"
    assert not book.rules("cancel_reservation")
    cancelled = {
        r.key for c in conversations for r in c.recordings if r.name == cancelling.rule.tool
    }
    assert len(cancelled) == 20


def pairs_of(conversations: list[Conversation]) -> Iterator[tuple[Conversation, Conversation]]:
    groups: dict[str, list[Conversation]] = defaultdict(list)
    for conversation in conversations:
        groups[conversation.group].append(conversation)
    for members in groups.values():
        yield from permutations(members, 2)


def coverage(bed: Bed, test: Conversation, agent: Conversation) -> Iterator[tuple[str, str, bool]]:
    """Yield each call's tool, where its answer came from, and whether the agent was told it."""
    groups, ids = frozenset({test.group}), frozenset({agent.id})
    ladder = Ladder(
        shelf=Shelf(bed.recorded, test.id, excluded_groups=groups, excluded_ids=ids),
        effect_of=bed.effect_of,
        pure={"calculate": calculate},
        rules=bed.book,
        excluded_groups=groups,
        excluded_ids=ids,
    )
    session = ladder.begin()
    for recording in agent.recordings:
        answer = session.answer(recording.name, recording.arguments)
        if answer.stamp == "other":
            assert answer.origin is not None
            assert ladder.shelf.conversation(answer.origin.conversation).group not in groups
        yield recording.name, answer.stamp, answer.result.content == recording.result.content
