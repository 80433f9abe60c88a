"""Benchmarks are built: what is in the files, what is not, and that nothing is half-written."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.benchmark_stores import ADDRESS, SECRET, lines, retrying, store_of
from tests.store.stored import agent, call, human, run
from tests.support.scripted_models import Answer, Request, saying, scripted_models
from tracedance_sdk.behaviors import (
    Benchmark,
    BuildSettings,
    Built,
    Caps,
    Confirmer,
    audit_path,
    build_benchmark,
    build_benchmarks,
    construction_path,
    datasheet_path,
    parse_query,
    read_benchmark,
)
from tracedance_sdk.errors import (
    BenchmarkRejected,
    InvalidOption,
    UnknownFormat,
    UnreadableFile,
    UnsupportedVersion,
)
from tracedance_sdk.llm import Asker, Context, chat_model
from tracedance_sdk.replay import Instance, instance_point
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Trace, encode_json


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    return store_of(tmp_path_factory.mktemp("building") / "runs", 6)


def built(
    store: TraceStore, out: Path, text: str = "F01", *, kmin: int = 1, kmax: int = 50, **how: Any
) -> Built:
    confirmer = how.pop("confirmer", None)
    settings = BuildSettings(**how)
    query = parse_query(text, kmin=kmin, kmax=kmax)
    return build_benchmark(query, store, out, settings=settings, confirmer=confirmer)


@pytest.fixture(scope="module")
def made(store: TraceStore, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    out = tmp_path_factory.mktemp("made") / "f01.jsonl"
    built(store, out)
    return read_benchmark(out)


def extra(instance: Instance) -> dict[str, Any]:
    return instance.model_extra or {}


def test_an_instance_ends_at_the_failing_result_and_says_where_it_comes_from(
    made: Benchmark,
) -> None:
    assert len(made.instances) == len(made.construction) == 6
    for instance in made.instances:
        lineage = extra(instance)["lineage"]
        number = int(instance.trace.id[1:])
        assert [turn.role for turn in instance.trace.turns] == ["user", "assistant"]
        assert instance.turn == lineage["cut"] == 2
        assert lineage["turns_withheld"] == 2
        assert lineage["trace_id"] == f"t{number:04}"
        assert (lineage["product"], lineage["model"]) == ("claude-code", "claude-x-4")
        assert lineage["model_family"] == "claude"
        digest = hashlib.sha256(encode_json(instance.trace)).hexdigest()
        assert lineage["context_sha256"] == digest
        assert extra(instance)["status"] == "unconfirmed"
        assert extra(instance)["rubrics"]["F01"]["levels"].keys() >= {"0", "5"}
        assert [tool.name for tool in instance.trace.tools][:1] == ["Bash"]
    assert made.about["status"] == "unconfirmed"
    assert made.about["instances"] == 6


def test_what_the_source_did_is_in_the_construction_and_nowhere_else(made: Benchmark) -> None:
    public = made.path.read_text() + datasheet_path(made.path).read_text()
    for instance in made.instances:
        number = int(instance.trace.id[1:])
        one = made.construction[instance.id]
        assert one.withheld.text == f"Once more, number {number}."
        assert one.hit("F01").turn == 2
        assert one.withheld.text not in public
    for word in ("Once more", "fails still", "canary-of-reasoning"):
        assert word not in public


def test_no_key_of_the_construction_is_sent_to_a_model(made: Benchmark) -> None:
    keys = set(lines(construction_path(made.path))[1]) | set(extra(made.instances[0]))
    for api in ("openai:m@http://127.0.0.1:9/v1", "anthropic:m@http://127.0.0.1:9"):
        model: Any = chat_model(api)
        for instance in made.instances:
            point: Any = instance_point(instance)
            request = model.request(point.context, tools=point.trace.tools, settings=_settings())
            text = json.dumps(request)
            for key in keys - {"id", "parameters"}:
                assert f'"{key}"' not in text
            assert extra(instance)["canary"] not in text
            assert made.construction[instance.id].withheld.text not in text
            assert instance.id not in text


def _settings() -> Any:
    from tracedance_sdk.llm import Settings

    return Settings()


def test_secrets_and_people_are_taken_out_and_equal_ones_stay_equal(made: Benchmark) -> None:
    files = (made.path, construction_path(made.path), datasheet_path(made.path))
    for path in files:
        text = path.read_text()
        assert SECRET not in text
        assert ADDRESS not in text
    told = {
        word for one in made.instances for word in one.trace.turns[0].text.split() if "@" in word
    }
    assert len(told) == 1
    results = [one.trace.turns[1].calls[0].result for one in made.instances]
    masks = {str(result.content).split()[-1] for result in results if result is not None}
    assert len(masks) == 1


def test_secrets_and_people_in_the_question_and_in_ids_are_taken_out(tmp_path: Path) -> None:
    from tracedance_sdk.behaviors import TraceConstraints

    named = TraceStore.create(tmp_path / "named")
    named.add([retrying(1, id=f"{ADDRESS}/run1"), retrying(2)])
    limits = TraceConstraints(where=f"trace_id LIKE '%{ADDRESS}%' OR project = '{SECRET}'")
    out = tmp_path / "n.jsonl"
    build_benchmark(parse_query("F01", kmin=1, constraints=limits), named, out)
    for path in (out, datasheet_path(out)):
        text = path.read_text()
        assert ADDRESS not in text
        assert SECRET not in text


def test_names_of_a_list_are_replaced_too(store: TraceStore, tmp_path: Path) -> None:
    named = TraceStore.create(tmp_path / "named")
    turns = [
        human("Ann Lee asks."),
        agent("", call("Bash", {"command": "x"}, "error: no", ok=False)),
    ]
    named.add([run("n1", *turns, agent("", call("Bash", {"command": "x"}, "error: no", ok=False)))])
    built(named, tmp_path / "n.jsonl", people=(("Ann Lee",),))
    assert "Ann Lee" not in (tmp_path / "n.jsonl").read_text()


def test_instances_are_read_by_whatever_reads_instances(made: Benchmark) -> None:
    from tracedance_sdk.replay import is_instance_file, read_instances

    assert is_instance_file(made.path)
    assert [one.id for one in read_instances(made.path) if isinstance(one, Instance)] == [
        one.id for one in made.instances
    ]


BUILD = """
import sys
from pathlib import Path
from tracedance_sdk.behaviors import BuildSettings, Caps, build_benchmark, parse_query
from tracedance_sdk.store import TraceStore

if __name__ == "__main__":
    settings = BuildSettings(caps=Caps(seed=int(sys.argv[3])), audit=4, processes=int(sys.argv[4]))
    store = TraceStore.open(sys.argv[1])
    build_benchmark(parse_query("F01", kmin=1, kmax=4), store, Path(sys.argv[2]), settings=settings)
"""


def test_the_same_seed_gives_the_same_bytes_in_any_process(
    store: TraceStore, tmp_path: Path
) -> None:
    script = tmp_path / "build.py"
    script.write_text(BUILD)
    assert store.path is not None
    found: dict[str, dict[str, bytes]] = {}
    for name, seed, processes in (("a", "7", "1"), ("b", "7", "2"), ("c", "8", "1")):
        (tmp_path / name).mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": str(ord(name))}
        command = [sys.executable, script, store.path, tmp_path / name / "f.jsonl", seed, processes]
        subprocess.run([str(part) for part in command], check=True, env=environment, timeout=100)
        found[name] = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
    assert sorted(found["a"]) == ["f.audit.jsonl", "f.construction.jsonl", "f.jsonl", "f.md"]
    assert found["a"] == found["b"]
    assert found["a"]["f.jsonl"] != found["c"]["f.jsonl"]


def test_it_stops_at_the_most_that_are_wanted_in_seeded_order(
    store: TraceStore, tmp_path: Path
) -> None:
    orders = []
    for seed in range(4):
        made = built(store, tmp_path / f"{seed}.jsonl", kmax=3, caps=Caps(seed=seed))
        assert (made.about["instances"], made.about["tried"]) == (3, 3)
        orders.append([one.id for one in read_benchmark(made.path).instances])
    assert len({tuple(order) for order in orders}) > 1


@pytest.mark.parametrize(("kmin", "is_built"), [(5, True), (6, True), (7, False)])
def test_the_fewest_that_are_wanted_are_enough(
    store: TraceStore, tmp_path: Path, kmin: int, is_built: bool
) -> None:
    try:
        built(store, tmp_path / "b.jsonl", kmin=kmin)
    except BenchmarkRejected:
        assert not is_built
        assert list(tmp_path.iterdir()) == []
    else:
        assert is_built


def test_the_same_context_again_is_left_out_even_where_duplicates_are_kept(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "runs")
    one = retrying(1)
    store.add([one, one.model_copy(update={"id": "twin"})])
    made = built(store, tmp_path / "b.jsonl", caps=Caps(similarity=None))
    assert made.about["refused"] == {"the same context again": 1}
    assert made.about["instances"] == 1


def test_refusals_are_counted_by_check(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "runs")
    error = call("Bash", {"command": "make"}, "error: no rule", ok=False)
    asked = {"name": "Bash", "arguments": {"command": "ls"}}
    turns = (human("Build it."), agent("", error, asked), agent("", error))
    store.add([retrying(1), run("t0002", *turns, agent={"name": "claude-code"})])
    made = built(store, tmp_path / "b.jsonl")
    assert made.about["refused"] == {"results": 1}
    assert made.refusals["results"].startswith("t0002: check 3 (results): turns[1].calls[1]")


def test_a_file_that_cannot_be_written_leaves_none_of_the_others(
    store: TraceStore, tmp_path: Path
) -> None:
    built(store, tmp_path / "f.jsonl", kmax=2)
    (tmp_path / "f.audit.jsonl").mkdir()
    (tmp_path / "f.audit.jsonl" / "in the way").touch()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    with pytest.raises(UnreadableFile, match=r"f\.audit\.jsonl' cannot be written"):
        built(store, tmp_path / "f.jsonl")
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert before == after


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("f.jsonl", "what was there"),
        ("f.jsonl", '{"format":"tracedance.instances","version":1}\n'),
        ("f.jsonl", '[{"id": "a trace"}]\n'),
        ("f.md", "# My own notes\n"),
        ("f.construction.jsonl", "{}\n"),
        ("f.audit.jsonl", '{"label": true}\n'),
    ],
)
def test_a_file_of_something_else_is_not_replaced(
    store: TraceStore, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidOption, match=f"{name}' is there, is no file of a benchmark"):
        built(store, tmp_path / "f.jsonl", audit=1)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: text}


def test_files_of_an_older_build_and_empty_ones_are_replaced(
    store: TraceStore, tmp_path: Path
) -> None:
    (tmp_path / "f.jsonl").touch()
    for number in (1, 2):
        built(store, tmp_path / "f.jsonl", audit=1, kmax=number)
        assert len(read_benchmark(tmp_path / "f.jsonl").instances) == number


def test_files_that_were_there_come_back_where_one_cannot_be_put(tmp_path: Path) -> None:
    from tracedance_sdk.behaviors.benchmarks.file import _put_all

    old, new, draft = (tmp_path / name for name in ("old", "new", "draft"))
    old.write_text("as it was")
    draft.write_text("draft")
    other = tmp_path / "draft of new"
    other.write_text("draft")
    with pytest.raises(FileNotFoundError):
        _put_all({old: draft, new: other, tmp_path / "third": tmp_path / "missing"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"old": "as it was"}


def test_files_that_were_there_come_back_where_putting_them_is_stopped(tmp_path: Path) -> None:
    from tracedance_sdk.behaviors.benchmarks.file import _put_all

    class Stopped(dict[Path, Path]):
        def items(self) -> Any:
            yield from super().items()
            raise KeyboardInterrupt

    (tmp_path / "old").write_text("as it was")
    (tmp_path / "draft").write_text("draft")
    with pytest.raises(KeyboardInterrupt):
        _put_all(Stopped({tmp_path / "old": tmp_path / "draft"}))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"old": "as it was"}


def test_a_benchmark_that_is_built_again_replaces_the_older_one(
    store: TraceStore, tmp_path: Path
) -> None:
    built(store, tmp_path / "f.jsonl")
    built(store, tmp_path / "f.jsonl", kmax=2)
    assert len(read_benchmark(tmp_path / "f.jsonl").instances) == 2


def test_a_construction_of_another_benchmark_is_refused(store: TraceStore, tmp_path: Path) -> None:
    built(store, tmp_path / "f.jsonl")
    with construction_path(tmp_path / "f.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(UnknownFormat, match="is not what this benchmark was made from"):
        read_benchmark(tmp_path / "f.jsonl")


def test_files_that_are_no_benchmark_are_refused(store: TraceStore, tmp_path: Path) -> None:
    from tracedance_sdk.replay import write_instances

    plain = tmp_path / "plain.jsonl"
    write_instances(plain, [Instance(id="a", trace=Trace(id="t"), turn=0)])
    with pytest.raises(UnknownFormat, match="holds instances and no benchmark"):
        read_benchmark(plain)
    write_instances(plain, [], benchmark={"version": 1, "id": "F01-0"})
    with pytest.raises(UnknownFormat, match=r"its first line.* @ \$\.name"):
        read_benchmark(plain)
    write_instances(plain, [], benchmark={"version": 2})
    with pytest.raises(UnsupportedVersion, match="reads version 1"):
        read_benchmark(plain)


# Two at once.

NO_RULE = "make: *** No rule to make target. Stop."
MANAGED = """error: externally-managed-environment
If you wish to install a package, create a virtual environment using python3 -m venv path/to/venv.
Then use path/to/venv/bin/python and path/to/venv/bin/pip."""


def retry(number: int, error: str, again: str = "") -> Trace:
    words = " ".join(f"word{number}x{place}" for place in range(60))
    command = {"command": "pip install requests"}
    second = {"command": again} if again else command
    return run(
        f"b{number:03}",
        human(words),
        agent("", call("Bash", command, error, ok=False)),
        agent("", call("Bash", second, error, ok=False)),
        agent={"name": "claude-code"},
    )


def test_two_behaviours_at_once_show_in_the_same_turn(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "runs")
    store.add(
        [
            retry(1, NO_RULE),
            retry(2, MANAGED),
            retry(3, MANAGED, again="pip install requests --quiet"),
            retry(4, MANAGED),
        ]
    )
    made = built(store, tmp_path / "b.jsonl", "F01 AND F02")
    assert made.about["found"]["both_at_once"] == 2
    benchmark = read_benchmark(tmp_path / "b.jsonl")
    assert sorted(one.trace.id for one in benchmark.instances) == ["b002", "b004"]
    one = benchmark.construction[benchmark.instances[0].id]
    assert one.hits.keys() == one.parameters.keys() == {"F01", "F02"}
    assert extra(benchmark.instances[0])["rubrics"].keys() == {"F01", "F02"}
    assert "the score is the lower of the two" in datasheet_path(made.path).read_text()
    near = TraceStore.create(tmp_path / "near")
    near.add([retry(2, MANAGED), retry(2, MANAGED).model_copy(update={"id": "other"})])
    assert built(near, tmp_path / "n.jsonl", "F01 AND F02").about["instances"] == 1


# Confirmed by a model.


def confirming(words: dict[str, Any] | None = None) -> Any:
    """Confirm the sessions with an even number, or answer as `words` say for a number."""

    def script(request: Request, _number: int) -> Answer:
        text = json.dumps(request.body["messages"])
        number = int(text.split("word")[1].split("x")[0])
        said = (words or {}).get(str(number), number % 2 == 0)
        if isinstance(said, str):
            return Answer(saying("openai", said))
        given = {"reason": "It does.", "evidence_turns": [1, 2, 99], "confirmed": said}
        return Answer(saying("openai", json.dumps(given)))

    return script


def test_a_model_confirms_and_only_what_it_confirms_is_taken(
    store: TraceStore, tmp_path: Path
) -> None:
    with scripted_models(confirming({"2": "no json"})) as server:
        model = chat_model(server.name("openai"))
        confirmer = Confirmer(Asker(model), model_name=model.name)
        made = built(store, tmp_path / "b.jsonl", confirmer=confirmer)
    assert made.about["confirmation"] == {"asked": 6, "confirmed": 2, "unreadable": 1}
    assert made.about["status"] == "confirmed"
    assert made.about["confirmed_by"] == confirmer.name
    benchmark = read_benchmark(tmp_path / "b.jsonl")
    assert sorted(one.trace.id for one in benchmark.instances) == ["t0000", "t0004"]
    assert {extra(one)["status"] for one in benchmark.instances} == {"confirmed"}
    said = benchmark.construction[benchmark.instances[0].id].confirmations["F01"]
    assert (said["reason"], said["evidence_turns"]) == ("It does.", [1, 2])
    asked = json.dumps([request.body for request in server.requests])
    assert "Once more, number" in asked
    assert "fails still" not in asked
    assert SECRET not in asked
    assert ADDRESS not in asked
    assert "canary-of-reasoning" not in asked


def test_a_model_is_asked_no_more_than_it_takes(store: TraceStore, tmp_path: Path) -> None:
    always = {str(number): True for number in range(6)}
    with scripted_models(confirming(always)) as server:
        model = chat_model(server.name("openai"))
        confirmer = Confirmer(Asker(model), model_name=model.name)
        built(store, tmp_path / "b.jsonl", kmax=2, confirmer=confirmer)
        assert len(server.requests) == 2
    with scripted_models(confirming()) as server:
        model = chat_model(server.name("openai"))
        confirmer = Confirmer(Asker(model), model_name=model.name)
        made = built(store, tmp_path / "b.jsonl", kmax=2, confirmer=confirmer)
        assert made.about["instances"] == 2
        assert len(server.requests) == made.about["confirmation"]["asked"] <= 5


def test_traces_outside_the_limits_are_never_asked_about(store: TraceStore, tmp_path: Path) -> None:
    from tracedance_sdk.behaviors import TraceConstraints

    limits = TraceConstraints(where="trace_id < 't0003'")
    with scripted_models(confirming({str(n): True for n in range(6)})) as server:
        model = chat_model(server.name("openai"))
        confirmer = Confirmer(Asker(model), model_name=model.name)
        query = parse_query("F01", kmin=1, constraints=limits)
        build_benchmark(query, store, tmp_path / "b.jsonl", confirmer=confirmer)
        assert len(server.requests) == 3


def test_nothing_confirmed_is_too_few(store: TraceStore, tmp_path: Path) -> None:
    with scripted_models(confirming({str(n): False for n in range(6)})) as server:
        model = chat_model(server.name("openai"))
        confirmer = Confirmer(Asker(model), model_name=model.name)
        with pytest.raises(BenchmarkRejected, match="0 of 6 confirmed, 0 left of the 1 wanted"):
            built(store, tmp_path / "b.jsonl", confirmer=confirmer)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_does_not_answer_is_said(store: TraceStore, tmp_path: Path) -> None:
    refused = {"error": {"message": "wrong key", "code": "invalid_api_key"}}
    with scripted_models(lambda *_: Answer(refused, status=401)) as server:
        model = chat_model(server.name("openai"), retries=0)
        confirmer = Confirmer(Asker(model), model_name=model.name)
        with pytest.raises(
            BenchmarkRejected, match=r"6 replies without an answer \(the first: "
        ) as e:
            built(store, tmp_path / "b.jsonl", confirmer=confirmer)
    assert e.value.nearest == "the same command asks anew about what was not answered"


# A sample of what was not found.


def test_an_audit_draws_places_where_nothing_was_found(store: TraceStore, tmp_path: Path) -> None:
    built(store, tmp_path / "f.jsonl", audit=8)
    header, *drawn = lines(audit_path(tmp_path / "f.jsonl"))
    assert list(header)[:3] == ["format", "version", "behavior"]
    assert header["behavior"] == "F01"
    assert header["benchmark"] == read_benchmark(tmp_path / "f.jsonl").about["id"]
    for path in tmp_path.glob("*.jsonl"):
        assert path.read_bytes().startswith(b'{"format":"tracedance.'), path.name
        assert list(lines(path)[0])[1] == "version", path.name
    assert header["strata"]["elsewhere"] == {"size": 12, "drawn": 8}
    assert header["strata"]["candidate"] == {"size": 0, "drawn": 0}
    assert len(drawn) == len({(one["trace_id"], one["turn"]) for one in drawn}) == 8
    assert all(one["turn"] == 3 or one["trace_id"].startswith("f") for one in drawn)


def test_a_foreign_anchor_is_searched_for_apart_in_an_audit_too(
    store: TraceStore, tmp_path: Path
) -> None:
    import yaml

    document: dict[str, Any] = {
        "format": "tracedance.behavior",
        "version": 1,
        "id": "X01",
        "name": "Speaks of it once more",
        "frame": "action",
        "definition": "It says so.",
        "criterion": "It is read.",
        "anchor": {
            "sql": "SELECT trace_id, turn FROM turns WHERE text LIKE 'Once more%'",
            "code": "def anchor(run, place, parameters):\n    return None",
        },
        "question": "Does it?",
        "levels": {0: "does it", 5: "does not"},
    }
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(BenchmarkRejected, match="0 occurrences in 12 sessions"):
        built(store, tmp_path / "x.jsonl", str(path), audit=4)
    document["anchor"] = {"sql": "SELECT trace_id, turn FROM turns WHERE text LIKE 'Once more%'"}
    path.write_text(yaml.safe_dump(document))
    made = built(store, tmp_path / "x.jsonl", str(path), audit=4, kmin=1)
    assert made.about["instances"] == 6
    header = lines(audit_path(tmp_path / "x.jsonl"))[0]
    assert header["strata"]["candidate"]["size"] == 0
    document["anchor"] = {**document["anchor"], "code": "import os"}
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(BenchmarkRejected, match="rejected, unsafe_anchor"):
        built(store, tmp_path / "y.jsonl", str(path))


def test_a_context_is_what_the_protocol_of_models_calls_one(made: Benchmark) -> None:
    point: Any = instance_point(made.instances[0])
    assert isinstance(point.context, Context)
    assert [turn.index for turn in point.context.turns] == [0, 1]


def test_no_occurrence_of_a_behaviour_is_said_where_there_is_none(made: Benchmark) -> None:
    from tracedance_sdk.errors import InvalidTrace

    one = made.construction[made.instances[0].id]
    with pytest.raises(InvalidTrace, match="says no occurrence of 'F02'"):
        one.hit("F02")


@pytest.mark.parametrize("as_text", [str, Path])
def test_the_path_may_be_text(store: TraceStore, tmp_path: Path, as_text: Any) -> None:
    out = as_text(str(tmp_path / "x.jsonl"))
    found = build_benchmark(parse_query("F01", kmin=1, kmax=1), store, out)
    assert found.path == tmp_path / "x.jsonl"
    assert read_benchmark(as_text(str(found.path))).path == found.path
    (other,) = build_benchmarks(parse_query("F01", kmin=1, kmax=1), store, out)
    assert isinstance(other, Built)


def test_a_store_at_a_url_is_refused(tmp_path: Path) -> None:
    from tracedance_sdk.errors import StoreError

    store_of(tmp_path / "runs", 1)
    remote = TraceStore.open(f"file://{tmp_path}/runs")
    with pytest.raises((StoreError, InvalidOption), match="lies at a URL"):
        built(remote, tmp_path / "b.jsonl")
