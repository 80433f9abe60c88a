"""Evidence on disk: records as OTLP-JSON lines in a hash chain, and large values beside them.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.journal.blobs import blob_path, read_blob, write_blob
    from tracedance_sdk.journal.breaks import Break, BreakKind
    from tracedance_sdk.journal.decoding import decode_line, otlp_records
    from tracedance_sdk.journal.encoding import FORMAT, VERSION, encode_record, encode_spans
    from tracedance_sdk.journal.gaps import Gap, GapKind, Place
    from tracedance_sdk.journal.keys import journal_key
    from tracedance_sdk.journal.pruning import Pruning, prune
    from tracedance_sdk.journal.reader import (
        JournalContents,
        JournalProblem,
        read_journal,
    )
    from tracedance_sdk.journal.records import (
        CLIENT,
        INTERNAL,
        Attribute,
        Attributes,
        EventRecord,
        EvidenceRecord,
        Link,
        SpanRecord,
    )
    from tracedance_sdk.journal.verification import OpenTail, Verification, verify
    from tracedance_sdk.journal.writer import JournalSummary, JournalWriter

__all__ = [
    "CLIENT",
    "FORMAT",
    "INTERNAL",
    "VERSION",
    "Attribute",
    "Attributes",
    "Break",
    "BreakKind",
    "EventRecord",
    "EvidenceRecord",
    "Gap",
    "GapKind",
    "JournalContents",
    "JournalProblem",
    "JournalSummary",
    "JournalWriter",
    "Link",
    "OpenTail",
    "Place",
    "Pruning",
    "SpanRecord",
    "Verification",
    "blob_path",
    "decode_line",
    "encode_record",
    "encode_spans",
    "journal_key",
    "otlp_records",
    "prune",
    "read_blob",
    "read_journal",
    "verify",
    "write_blob",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "blobs": ("blob_path", "read_blob", "write_blob"),
        "breaks": ("Break", "BreakKind"),
        "decoding": ("decode_line", "otlp_records"),
        "encoding": ("FORMAT", "VERSION", "encode_record", "encode_spans"),
        "gaps": ("Gap", "GapKind", "Place"),
        "keys": ("journal_key",),
        "pruning": ("Pruning", "prune"),
        "reader": ("JournalContents", "JournalProblem", "read_journal"),
        "records": (
            "CLIENT",
            "INTERNAL",
            "Attribute",
            "Attributes",
            "EventRecord",
            "EvidenceRecord",
            "Link",
            "SpanRecord",
        ),
        "verification": ("OpenTail", "Verification", "verify"),
        "writer": ("JournalSummary", "JournalWriter"),
    },
)
