"""Spans of agents from any program: OpenTelemetry's files, Jaeger, Tempo, Phoenix, printed spans.

Read are OTLP in JSON (one document, or one a line as collectors and file exporters write them, in
any of its spellings) and in protobuf (request bodies, and the length-prefixed files of the
collector), Tempo's and Jaeger's answers, and plain span objects: what the SDKs' console exporters
print, Phoenix's span lists, rows of CloudWatch. Log records are joined with their spans.

Each run of an agent is a trace, sub-agents' runs apart. Whose conventions the attributes follow is
found out span by span: see docs/spans.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidTrace, TraceDanceError, shown
from tracedance_sdk.formats import ImportProblem, Signature, unexpected
from tracedance_sdk.otel import ForeignLog, ForeignSpan, assemble, is_binary, spans_of_file
from tracedance_sdk.trace import Source, Trace

_MOST_NAMES: Final = 5


class BinarySignature(NamedTuple):
    """How protobuf and length-prefixed files show themselves: by their first bytes."""

    weight: int = 3

    def matches(self, path: Path, head: bytes) -> bool:
        """Whether a file begins so."""
        return is_binary(path, head)


class SpanCollector:
    """Reads files of spans, whatever wrote them."""

    name = "otlp"
    signatures = (
        Signature.of("resourceSpans"),
        Signature.of("resource_spans"),
        Signature.of("resourceLogs"),
        Signature.of("resource_logs"),
        Signature.of("resourceMetrics"),
        Signature.of("trace.resourceSpans"),
        Signature.of("batches[].scopeSpans"),
        Signature.of("batches[].instrumentationLibrarySpans"),
        Signature.of("data[].traceID", "data[].spans"),
        Signature.of("traceID", "spans", "processes"),
        Signature.of("trace_id", "span_id", "name", "attributes"),
        Signature.of("context.trace_id", "context.span_id", "name"),
        Signature.of("spanContext.traceId", "spanContext.spanId", "name"),
        Signature.of("spans[].trace_id", "spans[].span_id"),
        Signature.of("info.trace_id", "data.spans"),
        Signature.of(contains=(b'"spanContext"', b'"traceId"', b'"attributes"')),
        BinarySignature(),
    )
    companions = (
        Signature.of("eval_set_id", "eval_cases"),
        Signature.of("captureDate", "results", "attributeSummary"),
    )

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a file holds spans, by its first bytes."""
        return not path.is_dir() and any(s.matches(path, head) for s in self.signatures)

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the runs in a file by their start.

        Spans that are of no agent, model or tool are named as one problem when a file has no
        others.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        records = []
        for found in spans_of_file(path):
            if isinstance(found, ImportProblem):
                yield found
            else:
                records.append(found)
        problems: list[TraceDanceError] = []
        source = Source(collector=self.name, uri=str(path))
        traces = _assembled(records, source, problems)
        yield from traces
        yield from (ImportProblem(str(path), str(problem)) for problem in problems)
        if not traces and not problems and records:
            names = sorted({r.name for r in records if isinstance(r, ForeignSpan)})
            listed = ", ".join(map(repr, names[:_MOST_NAMES])) or "log records only"
            reason = f"{len(records)} spans and logs, none of an agent, model or tool ({listed})"
            yield ImportProblem(str(path), reason)


def _assembled(
    records: list[ForeignSpan | ForeignLog], source: Source, problems: list[TraceDanceError]
) -> list[Trace]:
    """Return the runs; where one of them makes reading fail, trace by trace of OpenTelemetry's."""
    try:
        return assemble(records, source=source, problems=problems)
    except Exception:  # noqa: BLE001 - foreign spans may make a reader fail in any way
        problems.clear()
    groups: dict[str, list[ForeignSpan | ForeignLog]] = {}
    for record in records:
        groups.setdefault(record.trace_id, []).append(record)
    traces: list[Trace] = []
    for trace_id, group in groups.items():
        try:
            traces += assemble(group, source=source, problems=problems)
        except Exception as error:  # noqa: BLE001 - as above
            where = f"{source.uri}: the spans of trace {shown(trace_id)}"
            problems.append(InvalidTrace(f"{where}: {unexpected(error)}"))
    return traces


collector = SpanCollector()
