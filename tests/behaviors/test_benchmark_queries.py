"""What a benchmark is asked to be, and what is refused before anything is looked at."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.benchmark_stores import store_of
from tracedance_sdk.behaviors import (
    REASONS,
    BuildSettings,
    Query,
    TraceConstraints,
    build_benchmark,
    model_family,
    packaged_behaviors,
    parse_query,
)
from tracedance_sdk.errors import BenchmarkRejected, UnreadableFile
from tracedance_sdk.store import TraceStore


@pytest.mark.parametrize(
    ("text", "operator", "name"),
    [
        ("F01", "SINGLE", "F01"),
        ("f01", "SINGLE", "F01"),
        (" F01 ", "SINGLE", "F01"),
        ("Unchanged retries after failure", "SINGLE", "F01"),
        ("F01 AND F02", "AND", "F01+F02"),
        ("f02 and f01", "AND", "F02+F01"),
        ("F01 OR F02", "OR", "F01+F02"),
        ("Ignoring the stated fix OR F01", "OR", "F02+F01"),
        ("F01\nAND\tF02", "AND", "F01+F02"),
    ],
)
def test_one_or_two_behaviours_are_asked_for_in_words(text: str, operator: str, name: str) -> None:
    query = parse_query(text)
    assert (query.operator, query.name) == (operator, name)
    assert (query.kmin, query.kmax) == (10, 50)


def test_every_behaviour_of_the_catalogue_is_found_by_id_and_by_both_names() -> None:
    for behavior in packaged_behaviors().values():
        for name in (behavior.id, behavior.name, behavior.desirable or behavior.id):
            values = {
                key: "x" for key, value in behavior.parameters.items() if value.default is None
            }
            assert parse_query(name, parameters=values).behaviors == (behavior,)


def test_one_of_two_makes_two_queries_and_two_at_once_make_one() -> None:
    assert [part.name for part in parse_query("F01 OR F02").parts()] == ["F01", "F02"]
    assert {part.operator for part in parse_query("F01 OR F02").parts()} == {"SINGLE"}
    assert [part.name for part in parse_query("F01 AND F02").parts()] == ["F01+F02"]


LEVELS = {0: "does it", 5: "does not"}


def behavior_file(folder: Path, **fields: Any) -> Path:
    import yaml

    document = {
        "format": "tracedance.behavior",
        "version": 1,
        "id": "X01",
        "name": "Something",
        "frame": "action",
        "definition": "It happens.",
        "criterion": "It is seen.",
        "anchor": {"sql": "SELECT trace_id, turn FROM turns WHERE role = 'assistant'"},
        "question": "Does it?",
        "levels": LEVELS,
        **fields,
    }
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def rejection(asked: Any) -> BenchmarkRejected:
    with pytest.raises(BenchmarkRejected) as caught:
        asked()
    error = caught.value
    assert error.reason in REASONS
    assert "\n" not in str(error)
    assert str(error).startswith(f"rejected, {error.reason}: ")
    return error


@pytest.mark.parametrize(
    ("text", "reason", "nearest"),
    [
        ("F01 AND F02 AND F03", "too_many_behaviours", "would work: --behavior 'F01 AND F02'"),
        ("F01 OR F02 OR F03 OR F04", "too_many_behaviours", "would work: --behavior 'F01 OR F02'"),
        ("F01, F02, F03", "too_many_behaviours", "would work: --behavior 'F01 AND F02'"),
        ("a.yaml AND b.yaml AND F03", "too_many_behaviours", "--behavior 'a.yaml AND b.yaml'"),
        ("F01 AND what AND F03", "too_many_behaviours", "would work: --behavior 'F01 AND "),
        ("", "adversarial_or_invalid", "would work: --behavior "),
        ("F01 AND F01", "adversarial_or_invalid", "would work: --behavior F01"),
        ("f01 OR F01 OR F01", "adversarial_or_invalid", "would work: --behavior F01"),
        ("F01 OR F02 OR F01", "adversarial_or_invalid", "would work: --behavior 'F01 OR F02'"),
        ("F01 F02", "adversarial_or_invalid", "would work: --behavior 'F01 AND F02'"),
        ("F01, F02", "adversarial_or_invalid", "would work: --behavior 'F01 AND F02'"),
        ("unchanged retry", "unsupported_request", "would work: --behavior F01 "),
        ("F01 OR whatever", "unsupported_request", "would work: --behavior 'F01 OR "),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_nearest_request(
    text: str, reason: str, nearest: str
) -> None:
    error = rejection(lambda: parse_query(text))
    assert (error.reason, nearest in error.nearest) == (reason, True), error


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("F02 and not F01", "not F01: a benchmark is of what shows"),
        ("F02 AND NOT f01", "NOT F01: a benchmark is of what shows"),
        ("F02 without F01", "without F01: a benchmark is of what shows"),
        ("F02 and !F01", "! F01: a benchmark is of what shows"),
    ],
)
def test_what_should_not_show_cannot_be_asked_for(text: str, told: str) -> None:
    error = rejection(lambda: parse_query(text))
    assert error.found.startswith(told)
    assert (error.reason, error.nearest) == ("unsupported_request", "would work: --behavior F02")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("F02 AND", "no behaviour is named after AND; would work: --behavior F02"),
        ("f02 and", "no behaviour is named after AND; would work: --behavior F02"),
        ("OR F02", "no behaviour is named before OR; would work: --behavior F02"),
        ("AND", "no behaviour is named before AND; would work: --behavior A01"),
        (
            "F02 AND OR F01",
            "no behaviour is named between AND and OR; would work: --behavior 'F02 AND F01'",
        ),
    ],
)
def test_an_operator_with_nothing_on_one_side_is_said(text: str, told: str) -> None:
    error = rejection(lambda: parse_query(text))
    assert str(error) == f"rejected, adversarial_or_invalid: {told}"


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ((9, 8), "--kmin 9 is more than --kmax 8; would work: --kmin 8 --kmax 9"),
        ((10, 5), "--kmin 10, the default, is more than --kmax 5; would work: --kmin 5 --kmax 5"),
        (
            (60, 50),
            "--kmin 60 is more than --kmax 50, the default; would work: --kmin 60 --kmax 60",
        ),
        (
            (0, 50),
            (
                "--kmin 0 is less than 1, and a benchmark has one instance at least"
                "; would work: --kmin 1 --kmax 50"
            ),
        ),
        ((5, 0), "--kmin 5 is more than --kmax 0; would work: --kmin 1 --kmax 5"),
    ],
)
def test_numbers_that_no_benchmark_could_have_are_said_with_some_that_work(
    numbers: tuple[int, int], told: str
) -> None:
    kmin, kmax = numbers
    error = rejection(lambda: parse_query("F01", kmin=kmin, kmax=kmax))
    assert str(error) == f"rejected, contradictory_constraints: {told}"
    words = error.nearest.split()
    parse_query("F01", kmin=int(words[3]), kmax=int(words[5]))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"levels": {0: "a"}}, "no_valid_spec"),
        ({"levels": {5: "a"}}, "no_valid_spec"),
        ({"levels": {0: "It runs.", 5: " it runs. "}}, "not_undesirable_behaviour"),
        ({"frame": "dance"}, "no_valid_spec"),
        ({"parameters": {"tool": {"about": "which tool"}}}, "missing_parameter"),
    ],
    ids=["no 5", "no 0", "0 is as good as 5", "no such frame", "a value that nobody gave"],
)
def test_a_file_that_is_no_behaviour_to_look_for_is_refused(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    path = behavior_file(tmp_path, **fields)
    assert rejection(lambda: parse_query(str(path))).reason == reason


def test_a_file_that_is_not_there_is_no_rejection_but_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="does not exist"):
        parse_query(str(tmp_path / "nowhere.yaml"))
    (tmp_path / "odd.yaml").write_text("{{{ no yaml")
    assert rejection(lambda: parse_query(str(tmp_path / "odd.yaml"))).reason == "no_valid_spec"


def test_a_value_that_is_given_is_taken_and_one_that_nobody_asks_for_is_refused(
    tmp_path: Path,
) -> None:
    path = behavior_file(tmp_path, parameters={"tool": {"about": "which tool"}})
    query = parse_query(str(path), parameters={"tool": "Bash"})
    assert query.values(query.behaviors[0]) == {"tool": "Bash"}
    error = rejection(lambda: parse_query("F01", parameters={"tool": "Bash"}))
    assert (error.reason, error.nearest) == ("adversarial_or_invalid", "leave out --param tool=...")


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({"kmin": 11, "kmax": 10}, {}),
        ({"kmin": 0}, {}),
        ({"kmin": -3, "kmax": -1}, {}),
        ({}, {"min_turns": 9, "max_turns": 8}),
        ({}, {"min_failures": 2, "max_failures": 1}),
        ({}, {"since": date(2026, 3, 2), "until": date(2026, 3, 1)}),
    ],
)
def test_limits_that_contradict_each_other_are_refused(
    fields: dict[str, Any], limits: dict[str, Any]
) -> None:
    error = rejection(lambda: parse_query("F01", constraints=TraceConstraints(**limits), **fields))
    assert error.reason == "contradictory_constraints"
    assert error.nearest.startswith("would work: --")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    return store_of(tmp_path_factory.mktemp("benchmarks") / "runs", 6)


def asked(**limits: Any) -> Query:
    return parse_query("F01", constraints=TraceConstraints(**limits), kmin=1)


def number_built(store: TraceStore, folder: Path, **limits: Any) -> int:
    built = build_benchmark(asked(**limits), store, folder / "b.jsonl")
    return int(built.about["instances"])


@pytest.mark.parametrize(
    ("limits", "number"),
    [
        ({}, 6),
        ({"sources": ("claude-code",)}, 6),
        ({"sources": ("claude-code", "codex")}, 6),
        ({"model_families": ("claude",)}, 6),
        ({"min_turns": 4, "max_turns": 4}, 6),
        ({"min_failures": 2}, 6),
        ({"max_failures": 2}, 6),
        ({"tools": ("Bash",)}, 6),
        ({"since": date(2026, 3, 3)}, 4),
        ({"until": date(2026, 3, 3)}, 3),
        ({"since": date(2026, 3, 3), "until": date(2026, 3, 3)}, 1),
        ({"where": "trace_id IN ('t0001', 't0004')"}, 2),
        ({"where": "trace_id IN ('t0001', 't0004')", "since": date(2026, 3, 3)}, 1),
    ],
)
def test_only_traces_that_meet_the_limits_are_taken(
    store: TraceStore, tmp_path: Path, limits: dict[str, Any], number: int
) -> None:
    assert number_built(store, tmp_path, **limits) == number


@pytest.mark.parametrize(
    ("limits", "reason", "nearest"),
    [
        ({"sources": ("claude-cod",)}, "unknown_domain", "would work: --source claude-code"),
        ({"model_families": ("gpt",)}, "unknown_domain", "would work: --model-family claude"),
        ({"tools": ("Read",)}, "unknown_domain", "would work: --tool Bash"),
        ({"where": "wrong = 1"}, "adversarial_or_invalid", "a condition over the columns"),
        ({"where": "random() < 0.5"}, "adversarial_or_invalid", "a condition over the columns"),
        ({"where": "now() IS NOT NULL"}, "adversarial_or_invalid", "a condition over the columns"),
        ({"where": "true) OR (SELECT 1"}, "adversarial_or_invalid", "a condition over"),
        ({"where": "1 IN (SELECT 1 FROM read_csv('/etc/passwd'))"}, "adversarial_or_invalid", "a"),
        (
            {"min_turns": 5},
            "too_few_instances",
            "would work: the same without limits on traces (6 occurrences)",
        ),
        ({"sources": ("codex",)}, "too_few_instances", "would work: the same without limits"),
        ({"min_failures": 3}, "too_few_instances", "would work: the same without limits"),
        ({"max_failures": 1}, "too_few_instances", "would work: the same without limits"),
    ],
)
def test_limits_that_nothing_of_the_store_meets_are_refused(
    store: TraceStore, tmp_path: Path, limits: dict[str, Any], reason: str, nearest: str
) -> None:
    error = rejection(lambda: build_benchmark(asked(**limits), store, tmp_path / "b.jsonl"))
    assert (error.reason, error.nearest[: len(nearest)]) == (reason, nearest)
    assert list(tmp_path.iterdir()) == []


def test_an_anchor_that_asks_for_what_is_not_allowed_is_refused(
    store: TraceStore, tmp_path: Path
) -> None:
    sql = "SELECT * FROM read_csv('/etc/passwd')"
    query = parse_query(str(behavior_file(tmp_path, anchor={"sql": sql})), kmin=1)
    error = rejection(lambda: build_benchmark(query, store, tmp_path / "b.jsonl"))
    assert error.reason == "unsafe_anchor"
    assert not (tmp_path / "b.jsonl").exists()


def test_fewer_than_are_wanted_at_least_is_said_with_what_there_is(
    store: TraceStore, tmp_path: Path
) -> None:
    error = rejection(
        lambda: build_benchmark(parse_query("F01", kmin=7), store, tmp_path / "b.jsonl")
    )
    assert error.reason == "too_few_instances"
    assert error.found == ("6 occurrences in 12 sessions, 6 kept, 6 left of the 7 wanted at least")
    assert error.nearest == "would work: --kmin 6"
    few = BuildSettings(most_tokens=20)
    error = rejection(
        lambda: build_benchmark(
            parse_query("F01", kmin=1), store, tmp_path / "b.jsonl", settings=few
        )
    )
    assert "6 refused when cut (size)" in error.found
    assert list(tmp_path.iterdir()) == []


def test_an_empty_store_and_one_without_hits_are_refused(tmp_path: Path) -> None:
    from tests.behaviors.benchmark_stores import fine

    store = TraceStore.create(tmp_path / "empty")
    error = rejection(lambda: build_benchmark(parse_query("F01"), store, tmp_path / "b.jsonl"))
    assert (error.reason, error.found) == ("too_few_instances", "the store is empty")
    store.add([fine(1)])
    error = rejection(lambda: build_benchmark(parse_query("F01"), store, tmp_path / "b.jsonl"))
    assert error.found.startswith("0 occurrences in 1 session, 0 kept, 0 left of the 10")
    assert not (tmp_path / "b.jsonl").exists()


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-sonnet-4-20250514", "claude"),
        ("us.anthropic.claude-3-5-haiku-v1:0", "claude"),
        ("gpt-4o-mini-2024-07-18", "gpt"),
        ("o3-mini", "gpt"),
        ("openai/gpt-oss-120b", "gpt"),
        ("meta-llama/llama-4-maverick", "llama"),
        ("Qwen2.5-Coder-32B-Instruct", "qwen"),
        ("deepseek-ai/DeepSeek-V3", "deepseek"),
        ("swe-agent-llama-70b", "llama"),
        ("gemini-2.5-pro", "gemini"),
        ("something-new", "other"),
        ("<synthetic>", "other"),
        ("", None),
        (None, None),
    ],
)
def test_models_have_families(model: str | None, family: str | None) -> None:
    assert model_family(model) == family
