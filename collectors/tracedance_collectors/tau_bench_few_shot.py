"""tau-bench's few-shot conversations: JSON lines of ``{"messages_display": text}``."""

from __future__ import annotations

from tracedance_sdk.formats import Place, RecordCollector, Signature
from tracedance_sdk.formats.benchmarks import trace_from_few_shot
from tracedance_sdk.trace import Json, Trace


def read(record: Json, place: Place, uri: str) -> Trace:
    """Build the trace of a conversation."""
    return trace_from_few_shot(record, place, uri=uri)


_DATA = ("flights.json*", "reservations.json*", "users.json*", "orders.json*", "products.json*")

collector = RecordCollector(
    "tau_bench_few_shot",
    (Signature.of("messages_display"),),
    read,
    companions=(
        Signature.of(names=_DATA, contains=(b'"flight_number"',)),
        Signature.of(names=_DATA, contains=(b'"reservation_id"',)),
        Signature.of(names=_DATA, contains=(b'"payment_methods"',)),
        Signature.of(names=_DATA, contains=(b'"order_id"',)),
        Signature.of(names=_DATA, contains=(b'"product_id"',)),
    ),
)
