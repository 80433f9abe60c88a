"""Measure what redaction finds and what it takes for a secret wrongly.

    python -m tests.durability.redaction_figures

Prints how many planted secrets of each kind were masked, in every surrounding, and how many
look-alikes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple
from urllib.parse import unquote

from tests.durability.look_alikes import MADE, SAID
from tests.durability.secret_corpus import NAMES, SHAPED, WRITTEN, named_value
from tests.durability.surroundings import NAMED, TEXT, TOKEN
from tracedance_sdk.recording.redaction import SecretRedactor
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import MASK

SEED = 20260704
SAMPLES = 4
_PIECE = 12


class Planted(NamedTuple):
    """One document with one secret, or with none.

    Attributes:
        kind: Of the secret or look-alike.
        surrounding: Name of where it stands.
        value: The document.
        cores: What must not survive; empty for a look-alike.
    """

    kind: str
    surrounding: str
    value: Any
    cores: tuple[str, ...]


class Figures(NamedTuple):
    """Counts by kind: planted documents, and those among them that were masked."""

    planted: Counter[str]
    masked: Counter[str]

    @property
    def share(self) -> float:
        """The share of all planted documents that were masked."""
        return self.masked.total() / self.planted.total()


def secrets(samples: int = SAMPLES) -> Iterator[Planted]:
    """Yield a document for every kind of secret, sample and surrounding."""
    for kind, make in [*SHAPED.items(), *WRITTEN.items()]:
        places = {**TEXT, **TOKEN} if kind in SHAPED else TEXT
        random = Random(f"{SEED} {kind}")
        for name, place in places.items():
            for _ in range(samples):
                secret = make(random)
                yield Planted(kind, name, place(secret.line), secret.cores)
    for kind in NAMES:
        random = Random(f"{SEED} {kind}")
        for name, written in NAMED.items():
            for _ in range(samples):
                label, value = named_value(kind, random)
                yield Planted(f"{kind} (by name)", name, written(label, value), (value,))


def cut_secrets(samples: int = SAMPLES) -> Iterator[Planted]:
    """Yield texts that end within a secret, of which more than half is there."""
    for kind, make in SHAPED.items():
        random = Random(f"{SEED} cut {kind}")
        for _ in range(samples * 4):
            secret = make(random)
            ending = secret.text.index(secret.cores[-1]) + len(secret.cores[-1]) * 2 // 3
            end = random.choice(["", "...", "…", " [truncated]", '"}'])
            yield Planted(kind, "cut", f"got: {secret.text[:ending]}{end}", secret.cores)


def look_alikes(samples: int = SAMPLES) -> Iterator[Planted]:
    """Yield a document for every kind of look-alike, sample and surrounding."""
    for kind, make in MADE.items():
        random = Random(f"{SEED} {kind}")
        for name, place in TEXT.items():
            for _ in range(samples):
                yield Planted(kind, name, place(make(random)), ())
    for kind, texts in SAID.items():
        for text in texts:
            for name, place in TEXT.items():
                yield Planted(kind, name, place(text), ())


def survives(planted: Planted, data: bytes) -> bool:
    """Whether a piece of the secret, 12 characters or all of a shorter one, is still there."""
    texts = [data.decode().replace("\\", "")]
    texts.append(unquote(texts[0]))
    for core in planted.cores:
        size = min(_PIECE, len(core))
        pieces = [core[at : at + size] for at in range(len(core) - size + 1)]
        if any(piece in text for piece in pieces for text in texts):
            return True
    return False


def measured(
    redactor: SecretRedactor, documents: Iterator[Planted], failures: list[tuple[Planted, str]]
) -> Figures:
    """Count what is masked; what should not be as it is goes to `failures`, as written."""
    figures = Figures(Counter(), Counter())
    for planted in documents:
        data = redactor.redact(freeze(planted.value))
        is_secret = bool(planted.cores)
        is_masked = MASK.search(data.decode()) is not None
        if is_secret:
            is_masked = is_masked and b"[MASKED:error:" not in data and not survives(planted, data)
        figures.planted[planted.kind] += 1
        figures.masked[planted.kind] += is_masked
        if is_masked != is_secret:
            failures.append((planted, data.decode()))
    return figures


def table(title: str, figures: Figures) -> str:
    """Write the counts of every kind and of all."""
    rows = [f"{title:34} {'planted':>8} {'masked':>8}"]
    for kind, planted in figures.planted.items():
        rows.append(f"{kind:34} {planted:8} {figures.masked[kind]:8}")
    rows.append(f"{'all':34} {figures.planted.total():8} {figures.masked.total():8}")
    return "\n".join(rows)


def main() -> None:
    """Print the tables; with ``--failures``, what went wrong too."""
    redactor = SecretRedactor(key=b"k" * 32)
    failures: list[tuple[Planted, str]] = []
    found = measured(redactor, secrets(), failures)
    cut = measured(redactor, cut_secrets(), failures)
    wrong = measured(redactor, look_alikes(), failures)
    print(table("secret", found), end="\n\n")
    print(table("secret, cut off", cut), end="\n\n")
    print(table("look-alike", wrong), end="\n\n")
    precision = found.masked.total() / (found.masked.total() + wrong.masked.total())
    print(f"recall {found.share:.4f}, of cut secrets {cut.share:.4f}, precision {precision:.4f}")
    if "--failures" in sys.argv:
        places: dict[str, Counter[str]] = defaultdict(Counter)
        example = {planted.kind: shown for planted, shown in failures}
        for planted, _ in failures:
            places[planted.kind][planted.surrounding] += 1
        for kind, counts in places.items():
            print(f"{kind}: {dict(counts)}\n    {json.dumps(example[kind])[:300]}")


if __name__ == "__main__":
    main()
