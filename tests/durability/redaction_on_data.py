"""Say what redaction masks in real traces that lie beside the project.

python -m tests.durability.redaction_on_data [--show]
"""

from __future__ import annotations

import gzip
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from tests.support.shared_data import SHARED_DATA
from tracedance_sdk.recording.redaction import SecretRedactor
from tracedance_sdk.trace import MASK

_KIND = re.compile(r"\[MASKED:([^:]+):")
_FILE = re.compile(r"\.(?:json|jsonl|traj)(?:\.gz)?$")
_MOST_DOCUMENTS = 4000


class Touched(NamedTuple):
    """What was masked in one set of traces."""

    documents: int
    changed: int
    kinds: Counter[str]


def documents(folder: Path, *, most: int = _MOST_DOCUMENTS) -> Iterator[bytes]:
    """Yield the JSON documents of a folder: whole files and lines; at most so many."""
    count = 0
    for path in sorted(path for path in folder.rglob("*") if _FILE.search(path.name)):
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        for part in data.splitlines() if ".jsonl" in path.name else [data]:
            if count >= most:
                return
            if part.strip() and _is_json(part):
                count += 1
                yield part


def _is_json(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


def masked_texts(data: bytes) -> list[str]:
    """Return the strings and keys of a JSON document that hold a mask."""
    found: list[str] = []
    open_values = [orjson.loads(data)]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict):
            open_values += [*value, *value.values()]
        elif isinstance(value, list):
            open_values += value
        elif isinstance(value, str) and MASK.search(value):
            found.append(value)
    return found


def touched(redactor: SecretRedactor, folder: Path, shown: list[str]) -> Touched:
    """Redact every document of a folder; what was masked goes to `shown`, with what stands by."""
    result = Touched(0, 0, Counter())
    for data in documents(folder):
        redacted = redactor.redact(data)
        masks = [] if redacted is data else masked_texts(redacted)
        result = result._replace(
            documents=result.documents + 1, changed=result.changed + bool(masks)
        )
        for text in masks:
            result.kinds.update(_KIND.findall(text))
            shown += [text[max(0, m.start() - 60) : m.end() + 20] for m in MASK.finditer(text)]
    return result


def main() -> None:
    """Print one row for each set of traces."""
    redactor = SecretRedactor(key=b"k" * 32)
    for folder in sorted(SHARED_DATA.iterdir()):
        if not folder.is_dir():
            continue
        shown: list[str] = []
        found = touched(redactor, folder, shown)
        kinds = ", ".join(f"{kind} {count}" for kind, count in found.kinds.most_common())
        print(f"{folder.name:28} {found.documents:7} {found.changed:7}  {kinds}")
        if "--show" in sys.argv:
            unmasked = Counter(MASK.sub(lambda m: m.group()[:24] + "]", text) for text in shown)
            for text, count in unmasked.most_common(25):
                print(f"    {count:5} {text!r}")


if __name__ == "__main__":
    main()
