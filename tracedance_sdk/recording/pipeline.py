"""What the records of equal recorders go through together: redaction, journal, exporter."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Final

import orjson

from tracedance_sdk.recording.evidence import Evidence, JournalEvidence, MemoryEvidence
from tracedance_sdk.recording.options import PipelineOptions
from tracedance_sdk.recording.pools import SharedPool

if TYPE_CHECKING:
    from tracedance_sdk.journal import JournalWriter
    from tracedance_sdk.recording.exporting import Export


class Pipeline:
    """The way of a run's records.

    Attributes:
        options: What it was opened with; holds the exporter and redactor given.
        redact: Masks secrets in JSON bytes; None when redaction is off.
        is_clean: Tells at little cost that JSON bytes surely hold no secret; None where the
            redactor is somebody else's.
        journal: Writes records to disk; None keeps them in memory.
        export: Sends ended spans away; None sends nothing.
    """

    def __init__(
        self,
        options: PipelineOptions,
        *,
        redact: Callable[[bytes], bytes] | None,
        journal: JournalWriter | None,
        export: Export | None,
    ) -> None:
        self.options = options
        self.redact = redact
        ours = getattr(redact, "__self__", None) if options.redaction is True else None
        self.is_clean: Callable[[bytes], bool] | None = getattr(ours, "is_clean", None)
        self.journal = journal
        self.export = export

    def evidence(self, otel_trace_id: str) -> Evidence:
        """Return where one run keeps its records."""
        if self.journal is None:
            return MemoryEvidence()
        return JournalEvidence(self.journal, otel_trace_id)

    def start_afresh_in_child(self) -> None:
        """Write a journal of this process's own; exports are pooled, and part by themselves."""
        if self.journal is not None:
            self.journal.start_afresh_in_child()

    def close(self) -> None:
        """Close the journal, and give the exporter back to those who share it."""
        try:
            if self.journal is not None:
                self.journal.close()
        finally:
            if self.export is not None:
                EXPORTS.release(_export_key(self.options))


PIPELINES: Final[SharedPool[Pipeline]] = SharedPool()
EXPORTS: Final[SharedPool[Export]] = SharedPool()


def acquire_pipeline(options: PipelineOptions) -> Pipeline:
    """Return the pipeline shared by all recorders with these options; `release` it when done.

    Raises:
        JournalError: The redaction key beside the journal cannot be used.
        InvalidOption: A variable of OpenTelemetry's cannot be used.
    """
    return PIPELINES.acquire(_key(options), partial(_open_pipeline, options))


def release_pipeline(pipeline: Pipeline) -> None:
    """Give a pipeline back."""
    PIPELINES.release(_key(pipeline.options))


def _open_pipeline(options: PipelineOptions) -> Pipeline:
    return Pipeline(
        options,
        redact=_redact(options),
        journal=None if options.journal is None else _journal(options, options.journal),
        export=None if options.exporter is None else _acquire_export(options),
    )


def _key(options: tuple[object, ...]) -> Hashable:
    """Compare names by what they say, objects by what they are."""
    return tuple(
        value if value is None or isinstance(value, (str, bool)) else id(value) for value in options
    )


def _export_key(options: PipelineOptions) -> Hashable:
    return _key((options.exporter, options.exports_content))


def _acquire_export(options: PipelineOptions) -> Export:
    from tracedance_sdk.recording.exporting import open_export

    if options.exporter == "otlp":
        from tracedance_sdk.recording.otlp_headers import check_headers

        check_headers(os.environ)
    make = partial(open_export, options.exporter, with_content=options.exports_content)
    return EXPORTS.acquire(_export_key(options), make)


def _redact(options: PipelineOptions) -> Callable[[bytes], bytes] | None:
    if options.redaction is False:
        return None
    if options.redaction is True:
        from tracedance_sdk.recording.pseudonyms import redaction_key
        from tracedance_sdk.recording.redaction import SecretRedactor

        return SecretRedactor(key=redaction_key(options.journal)).redact
    return partial(_redacted, options.redaction.redact)


def _redacted(redact: Callable[[bytes], bytes], data: bytes) -> bytes:
    """Return what somebody else's redactor makes of JSON, which has to be JSON."""
    found = redact(data)
    if found is not data:
        orjson.loads(found)
    return found


def _journal(options: PipelineOptions, folder: str) -> JournalWriter:
    from tracedance_sdk.journal import JournalWriter, journal_key

    return JournalWriter(folder, key=journal_key(), durability=options.durability)
