from __future__ import annotations

import pytest

from tests.durability.redaction_figures import (
    Figures,
    Planted,
    cut_secrets,
    look_alikes,
    measured,
    secrets,
    table,
)
from tracedance_sdk.recording.redaction import SecretRedactor

REDACTOR = SecretRedactor(key=b"k" * 32)
KINDS = 20


def shown(failures: list[tuple[Planted, str]]) -> str:
    lines = [f"{place.kind} / {place.surrounding}: {text[:300]}" for place, text in failures]
    return "\n".join(lines[:20])


@pytest.fixture(scope="module")
def found() -> tuple[Figures, str]:
    failures: list[tuple[Planted, str]] = []
    return measured(REDACTOR, secrets(), failures), shown(failures)


def test_every_planted_secret_is_masked_in_every_surrounding(found: tuple[Figures, str]) -> None:
    figures, failures = found
    assert len(figures.planted) >= KINDS
    assert figures.planted.total() > 10_000
    assert figures.share == 1.0, failures


def test_every_secret_of_which_half_is_left_at_a_cut_edge_is_masked() -> None:
    failures: list[tuple[Planted, str]] = []
    figures = measured(REDACTOR, cut_secrets(), failures)
    assert figures.share == 1.0, shown(failures)


def test_at_most_one_mask_in_two_hundred_hides_a_look_alike(found: tuple[Figures, str]) -> None:
    failures: list[tuple[Planted, str]] = []
    figures = measured(REDACTOR, look_alikes(), failures)
    masked = found[0].masked.total()
    assert figures.planted.total() > 10_000
    assert masked / (masked + figures.masked.total()) >= 0.995, shown(failures)
    assert all(
        figures.masked[kind] <= planted / 100 for kind, planted in figures.planted.items()
    ), table("look-alike", figures)


def test_a_redactor_that_does_nothing_fails_the_measurement() -> None:
    class Idle(SecretRedactor):
        def redact(self, data: bytes) -> bytes:
            return data

    figures = measured(Idle(key=b"k"), secrets(samples=1), [])
    assert figures.masked.total() == 0
