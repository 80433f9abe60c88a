"""Generated input of known size: one seed, no files from elsewhere."""

from __future__ import annotations

import random
from typing import Any

import orjson

_WORDS = (
    "flight", "reservation", "customer", "payment", "refund", "baggage", "economy", "cabin",
    "certificate", "upgrade", "airport", "departure", "insurance", "schedule", "confirm", "policy",
)  # fmt: skip


def words(generator: random.Random, n_words: int) -> str:
    """Return a sentence of the vocabulary above."""
    return " ".join(generator.choices(_WORDS, k=n_words))


def record_of_size(n_bytes: int, *, seed: int = 7) -> dict[str, Any]:
    """Return an object of mixed values whose JSON has `n_bytes` bytes, give or take one."""
    generator = random.Random(seed)
    record: dict[str, Any] = {
        "id": f"R{generator.randrange(10**6):06d}",
        "count": generator.randrange(100),
        "amount": round(generator.random() * 1000, 2),
        "confirmed": True,
        "comment": None,
        "tags": generator.choices(_WORDS, k=3),
    }
    number = 0
    while n_bytes - len(orjson.dumps(record)) > 60:
        record[f"field_{number}"] = words(generator, 3)
        number += 1
    rest = n_bytes - len(orjson.dumps(record)) - len(',"note":""')
    record["note"] = "n" * max(rest, 0)
    return record


def records_of_size(n_bytes: int) -> list[dict[str, Any]]:
    """Return records of about 350 bytes each, `n_bytes` bytes of JSON in all."""
    records: list[dict[str, Any]] = []
    size = 2
    while size < n_bytes:
        records.append(record_of_size(350, seed=len(records)))
        size += len(orjson.dumps(records[-1])) + 1
    return records


def text_of_size(n_bytes: int) -> str:
    """Return one long text with line breaks and quotes, as a file or web page has them."""
    generator = random.Random(11)
    lines: list[str] = []
    size = 0
    while size < n_bytes:
        lines.append(f'{len(lines):5d}  "{words(generator, 8)}"')
        size += len(lines[-1]) + 1
    return "\n".join(lines)[:n_bytes]


def conversation(seed: int, *, n_calls: int = 6) -> list[dict[str, Any]]:
    """Return one customer-service conversation as OpenAI chat messages."""
    generator = random.Random(seed)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": words(generator, 900)},
        {"role": "user", "content": words(generator, 30)},
    ]
    for number in range(n_calls):
        arguments = {"reservation_id": f"R{generator.randrange(999):03d}", "step": number}
        call_id = f"call_{seed}_{number}"
        function = {
            "name": f"tool_{number % 4}",
            "arguments": orjson.dumps(arguments).decode(),
        }
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call_id, "type": "function", "function": function}],
            },
            {
                "role": "tool",
                "tool_call_id": call_id,
                "name": function["name"],
                "content": orjson.dumps(record_of_size(900, seed=seed + number)).decode(),
            },
            {"role": "assistant", "content": words(generator, 40)},
            {"role": "user", "content": words(generator, 15)},
        ]
    return messages
