from __future__ import annotations

import json
import math
import re
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.traces import traces, values
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording import Pseudonymiser, SecretRedactor, read_names
from tracedance_sdk.trace import Trace, decode, encode_json

KEY = b"k" * 32
PEOPLE = [["Ann Lee", "ann@corp.com", "alee"], ["Müller"], ["王小明"], ["Nora"], ["Bc"]]
WORK = Pseudonymiser(key=KEY, people=PEOPLE)
ANN, MULLER, WANG, NORA, _ = (WORK.pseudonym(names[0]) for names in PEOPLE)
BOB = Pseudonymiser(key=KEY).pseudonym("bob")

UUID = "8c1f2a3b-bc01-4000-8000-0123456789ab"


def written(value: Any, people: list[list[str]] | None = None) -> Any:
    work = Pseudonymiser(key=KEY, people=PEOPLE if people is None else people)
    data = orjson.dumps(value)
    found = work.redact(data)
    assert work.redact(found) is found
    return json.loads(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Ann Lee", ANN, id="a name"),
        pytest.param("dear ANN LEE, ann lee: ", f"dear {ANN}, {ANN}: ", id="in any case"),
        pytest.param(
            "ann.lee Ann_Lee ann-lee AnnLee Ann%20Lee Ann\nLee",
            " ".join([ANN] * 6),
            id="joined in any way",
        ),
        pytest.param("ann.lee2 alee7", f"{ANN}2 {ANN}7", id="with digits behind"),
        pytest.param("send_to_alee()", f"send_to_{ANN}()", id="inside an identifier"),
        pytest.param("Ann Leeward, annlees, Ann", "Ann Leeward, annlees, Ann", id="part of words"),
        pytest.param("Müller MÜLLER Mu\u0308ller", " ".join([MULLER] * 3), id="composed or not"),
        pytest.param(r'{"by": "M\u00fcller"}', f'{{"by": "{MULLER}"}}', id="escaped in JSON"),
        pytest.param("他说王小明好", f"他说{WANG}好", id="without spaces"),
        pytest.param("Nora说", f"{NORA}说", id="beside such a script"),
        pytest.param(r'"a\nNora"', rf'"a\n{NORA}"', id="behind an escape"),
        pytest.param(r"C:\nora", rf"C:\n{NORA}", id="behind what may be one"),
        pytest.param(
            "8c1f2a3b-0000-4000-8000-0123456789ab",
            "8c1f2a3b-0000-4000-8000-0123456789ab",
            id="UUID",
        ),
        pytest.param("ann@corp.com", f"{ANN}@example.invalid", id="an address of a listed one"),
        pytest.param("mailto:ANN%40Corp.Com?", f"mailto:{ANN}%40example.invalid?", id="in a link"),
        pytest.param("git@github.com:a/b.git", "git@github.com:a/b.git", id="git's own"),
        pytest.param("lodash@4.17.21 @scope/x.y", "lodash@4.17.21 @scope/x.y", id="packages"),
        pytest.param("/home/alee/x:/Users/alee", f"/home/{ANN}/x:/Users/{ANN}", id="home folders"),
        pytest.param(r"C:\Users\Ann Lee\x", rf"C:\Users\{ANN}\x", id="Windows"),
        pytest.param(r"c:\\users\\alee\\x", rf"c:\\users\\{ANN}\\x", id="Windows in JSON"),
        pytest.param("-Users-alee-code/a.jsonl", f"-Users-{ANN}-code/a.jsonl", id="a slug"),
        pytest.param("/x/-home-alee-code", f"/x/-home-{ANN}-code", id="a slug in a path"),
        pytest.param("/Users/Shared /api/users/7", "/Users/Shared /api/users/7", id="nobody's"),
        pytest.param("/home/$USER --home-dir", "/home/$USER --home-dir", id="a variable"),
        pytest.param(
            "src/pages/home/bob.tsx ./home/bob ../Users/bob $(pwd)/home/bob app/Users/bob",
            "src/pages/home/bob.tsx ./home/bob ../Users/bob $(pwd)/home/bob app/Users/bob",
            id="folders deeper down",
        ),
        pytest.param("pii/home/h.jsonl", "pii/home/h.jsonl", id="a relative path"),
        pytest.param(r"src\pages\home\bob.ts", r"src\pages\home\bob.ts", id="with backslashes"),
        pytest.param(
            "https://a.com/home/cart http://localhost:80/home/cart https://home/cart s3://b/home/x",
            "https://a.com/home/cart http://localhost:80/home/cart https://home/cart s3://b/home/x",
            id="web addresses",
        ),
        pytest.param('import "@/home/Cart"', 'import "@/home/Cart"', id="a module's alias"),
        pytest.param("my-projects/home-work", "my-projects/home-work", id="no slug"),
        pytest.param(
            "file:///home/alee/x host:/home/bob ssh://h/home/bob/r -I/home/bob/i #!/home/bob/b",
            f"file:///home/{ANN}/x host:/home/{BOB} ssh://h/home/{BOB}/r -I/home/{BOB}/i "
            f"#!/home/{BOB}/b",
            id="where paths begin",
        ),
        pytest.param(
            "/var/home/bob /mnt/c/Users/bob c:/users/bob /Volumes/Mac HD/Users/bob",
            f"/var/home/{BOB} /mnt/c/Users/{BOB} c:/users/{BOB} /Volumes/Mac HD/Users/{BOB}",
            id="roots of disks",
        ),
        pytest.param(
            r"\/home\/bob\/x %2Fhome%2Fbob%2Fx a\n/home/bob",
            rf"\/home\/{BOB}\/x %2Fhome%2F{BOB}%2Fx a\n/home/{BOB}",
            id="escaped slashes",
        ),
        pytest.param(
            "x -Users-bob-code C--Users-bob-code",
            f"x -Users-{BOB}-code C--Users-{BOB}-code",
            id="slugs as words",
        ),
        pytest.param(
            "[MASKED:nora:0a0a0a] nora", f"[MASKED:nora:0a0a0a] {NORA}", id="masked already"
        ),
    ],
)
def test_personal_text_is_replaced_and_keeps_its_shape(text: str, expected: str) -> None:
    assert written(text) == expected
    assert written({"a": [{text: text}]}) == {"a": [{expected: expected}]}


def test_whoever_is_in_no_list_is_one_person_in_any_case() -> None:
    first, second, third = written(["x@Y.org", "X@y.ORG", "/home/x"], people=[])
    assert first == second
    assert re.fullmatch(r"user-\d[0-9a-f]{9}@example\.invalid", first)
    assert re.fullmatch(r"/home/user-\d[0-9a-f]{9}", third)
    other = Pseudonymiser(key=b"o" * 32)
    assert json.loads(other.redact(b'"x@y.org"')) != first


def test_two_keys_that_become_equal_stay_two() -> None:
    assert written({"Ann Lee": 1, "ann_lee": 2}) == {ANN: 1, f"{ANN} 2": 2}


def test_what_was_replaced_is_counted() -> None:
    work = Pseudonymiser(key=KEY, people=PEOPLE)
    work.redact(b'["Nora and Nora", "x@y.org", "/home/x", "nothing"]')
    assert work.counts == {"name": 2, "email": 1, "home": 1}


def test_what_cannot_be_read_is_masked_whole() -> None:
    data = Pseudonymiser(key=KEY, people=PEOPLE).redact(b"Nora")
    assert json.loads(data).startswith("[MASKED:error:")


def test_masks_of_secrets_stay() -> None:
    data = b'{"password":"nora-hunter2","by":"Nora"}'
    masked = SecretRedactor(key=KEY).redact(data)
    both = json.loads(Pseudonymiser(key=KEY, people=PEOPLE).redact(masked))
    assert both == {**json.loads(masked), "by": NORA}


words = st.text(st.sampled_from("abcdefgäöéñżßλπжд"), min_size=2, max_size=8)
people = st.lists(
    st.lists(words, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=4, unique=True
)
gaps = st.sampled_from(["", " ", ". ", "_", "/", "\n", "\\n", '"', "1 ", " @ "])


@given(people, st.emails(), values, st.data())
def test_no_listed_name_and_no_address_survives_and_the_structure_is_the_same(
    names: list[str], address: str, value: Any, data: st.DataObject
) -> None:
    assume(address.partition("@")[0][-1].isalnum())
    assume(address.partition("@")[2].rpartition(".")[2].isalpha())
    items: list[str] = [*names, address]
    spoken = []
    for item in items:
        text = data.draw(st.sampled_from([item, item.lower(), item.upper()]))
        assume(text.casefold() == item.casefold())
        spoken.append(f"{data.draw(gaps)}{text}{data.draw(gaps)}")
    document = {spoken[0]: spoken, "value": value, "in": json.dumps({"a": spoken})}
    found = written(document, people=[[name] for name in names])
    assert shape(found) == shape(document)
    everything = " ".join(strings(found)).casefold()
    assert address.casefold() not in everything
    for name in names:
        assert not re.search(rf"(?<![^\W_]){re.escape(name.casefold())}(?![^\W_])", everything)
    json.loads(found["in"])


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted(repr(shape(item)) for item in value.values())
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value) if isinstance(value, str) else value


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in strings(item))]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


@given(traces())
def test_a_trace_stays_a_trace(trace: Trace) -> None:
    work = Pseudonymiser(key=KEY, people=[*PEOPLE, ["ab"]])
    found = decode(json.loads(work.redact(encode_json(trace))))
    assert len(found.turns) == len(trace.turns)
    assert [call.index for call in found.calls] == [call.index for call in trace.calls]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("x", "fewer than two letters"),
        ("42", "fewer than two letters"),
        ("Read", "a word that traces need"),
        ("USER", "a word that traces need"),
        ("n" * 300, "more than 200 characters"),
        ("a b c d e f g h i", "more than 8 words"),
    ],
)
def test_a_name_that_cannot_be_looked_for_is_refused(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(InvalidOption, match=why):
        Pseudonymiser(key=KEY, people=[[name]])


def test_a_list_has_one_person_a_line(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("# people\nAnn Lee, ann@corp.com ,alee\n\n  Müller  # head\n", "utf-8")
    assert read_names(path) == [["Ann Lee", "ann@corp.com", "alee"], ["Müller"]]
    path.write_text("Nora\nread\n")
    with pytest.raises(InvalidOption, match=r"names\.txt:2: the name 'read' is a word that"):
        read_names(path)
    path.write_bytes(b"M\xfcller")
    with pytest.raises(InvalidOption, match="not UTF-8 at byte 1"):
        read_names(path)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=text.strip()[:12] or "spaces")
        for text in ("a@", "\\", "a", "/home/", "\\users\\", "ann ", "ann lee ", "\\u00fc")
    ]
    + [
        pytest.param(text, id=text[:12])
        for text in (
            "a.a@a.aa ",
            "%40",
            "-home-",
            "/home/a ",
            "\\/home\\/",
            "%2Fhome%2F",
            "ann   ",
            "a.",
            "user-1",
            "nora",
            "[MASKED:",
        )
    ],
)
def test_it_takes_time_in_proportion_to_the_text(text: str) -> None:
    work = Pseudonymiser(key=KEY, people=PEOPLE)

    def seconds(size: int) -> float:
        data = orjson.dumps((text * size)[:size])
        best = math.inf
        for _ in range(3):
            start = time.process_time()
            work.redact(data)
            best = min(best, time.process_time() - start)
        return best

    # In proportion it is 16 times as much, by the square 256 times; the addend is for the clock.
    assert seconds(160_000) < 64 * seconds(10_000) + 0.05
