from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tests.support.names import short_repr
from tracedance_sdk.trace import (
    UNKNOWN,
    blob_digest,
    blob_stub,
    is_masked,
    is_type_stub,
    is_unobserved,
    mask_text,
    type_stub,
)


def test_unknown_stays_itself_through_copies_and_is_false() -> None:
    assert copy.deepcopy(UNKNOWN) is UNKNOWN
    assert pickle.loads(pickle.dumps(UNKNOWN)) is UNKNOWN
    assert not UNKNOWN
    assert repr(UNKNOWN) == "UNKNOWN"


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        pytest.param(mask_text("aws_key", "4be1a0c2"), True, id="whole"),
        pytest.param(f"key={mask_text('jwt', '0a')};", True, id="inside a text"),
        pytest.param(mask_text("email", ""), True, id="without pseudonym"),
        pytest.param("[MASKED:x]", False, id="no mask"),
        pytest.param("[MASKED:a b:00]", False, id="a kind with a blank"),
        pytest.param({"a": mask_text("x", "0a")}, False, id="an object around it"),
        pytest.param(None, False, id="null"),
    ],
)
def test_a_masked_text_is_recognised(value: Any, masked: bool) -> None:
    assert is_masked(value) is masked


@pytest.mark.parametrize(
    "value",
    [
        {"$blob": "sha256:" + "0" * 63, "$size": 1},
        {"$blob": "sha256:" + "Z" * 64, "$size": 1},
        {"$blob": "sha256:" + "0" * 64},
        {"$blob": 5, "$size": 1},
        "sha256:" + "0" * 64,
    ],
    ids=short_repr,
)
def test_what_only_resembles_a_blob_stub_is_a_value(value: Any) -> None:
    assert blob_digest(value) is None
    assert not is_unobserved(value)


def test_stubs_are_recognised() -> None:
    digest = "ab" * 32
    assert blob_digest(blob_stub(digest, 9)) == digest
    assert is_type_stub(type_stub("float", "nan"))
    assert not is_type_stub({"$type": "float", "$repr": "nan", "more": 1})
    assert is_unobserved(UNKNOWN)
    assert is_unobserved(blob_stub(digest, 9))
    assert is_unobserved(mask_text("jwt", "00"))
    assert not is_unobserved(None)
    assert not is_unobserved(type_stub("float", "nan"))
