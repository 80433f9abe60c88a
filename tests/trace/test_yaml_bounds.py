"""What keeps reading a task file quick, however large it is."""

from __future__ import annotations

import time

import pytest

from tracedance_sdk.errors import InvalidSpec
from tracedance_sdk.trace import yaml_reading
from tracedance_sdk.trace.yaml_reading import MOST_BYTES, parse_yaml


def test_a_large_yaml_file_is_refused_before_it_is_parsed() -> None:
    start = time.process_time()
    with pytest.raises(InvalidSpec, match=r"^t: 8,388,612 bytes of YAML; at most 8,388,608 are"):
        parse_yaml(b"a: " + b"x" * MOST_BYTES + b"\n", where="t")
    assert time.process_time() - start < 1


@pytest.mark.skipif(
    yaml_reading._Parser.__name__ != "CSafeLoader", reason="PyYAML was built without libyaml"
)
def test_many_keys_are_read_quickly() -> None:
    text = "".join(f"k{number}: {number}\n" for number in range(50_000))
    start = time.process_time()
    found = parse_yaml(text, where="t")
    assert found == {f"k{number}": number for number in range(50_000)}
    # Half a second on an idle machine; PyYAML's own parser takes ten times as long.
    assert time.process_time() - start < 3


def test_a_fault_in_a_long_file_has_its_place() -> None:
    text = "".join(f"k{number}: {number}\n" for number in range(30_000))
    with pytest.raises(InvalidSpec, match=r"^t: not YAML: .* \(line 30001, column 5\)$"):
        parse_yaml(f"{text}a: b: c\n", where="t")
    with pytest.raises(InvalidSpec, match=r"^t: the key 'k7' stands twice \(line 30001\)"):
        parse_yaml(f"{text}k7: 1\n", where="t")
    with pytest.raises(InvalidSpec, match=r"^t: nested deeper than 240 levels$"):
        parse_yaml("[" * 1_000_000, where="t")
