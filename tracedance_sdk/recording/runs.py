"""One open run: its identity, its place among other runs, and the way of its records."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import orjson

from tracedance_sdk.journal import Attributes, EvidenceRecord, Link, SpanRecord
from tracedance_sdk.recording.evidence import BLOB_BYTES, Evidence, stub_text
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.ledger import Ledger
from tracedance_sdk.recording.reentry import WRITING
from tracedance_sdk.recording.scopes import Scope, open_runs
from tracedance_sdk.recording.tallies import Tally
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import Json

if TYPE_CHECKING:
    from tracedance_sdk.recording.failures import Failure
    from tracedance_sdk.recording.pipeline import Pipeline
    from tracedance_sdk.recording.plans import Description
    from tracedance_sdk.recording.providers import ProviderSpans
    from tracedance_sdk.recording.snapshots import KeptState, StateReader, StateWatch
    from tracedance_sdk.recording.tools import Tool
    from tracedance_sdk.recording.turns import TurnLog

UNCHECKED: Final = b'"[MASKED:unchecked:]"'
"""Stands for a value that the redactor failed to look at."""

_MOST_NAMES: Final = 2048
"""How many names a run remembers."""

NOT_KEPT: Final = '{"$type":"blob","$repr":"a large value that could not be stored"}'


class Interruptible(Protocol):
    """What the end of the run interrupts."""

    def interrupt(self) -> None:
        """End here, as far as it has come."""


class Identity(NamedTuple):
    """Who a run is: ids, and where it stands in OpenTelemetry.

    Attributes:
        trace_id: Of our trace.
        otel_trace_id: Of the OpenTelemetry trace it is part of.
        span_id: Of its root span.
        parent_span_id: Of the span it was started in, in the same OpenTelemetry trace.
        parent_trace_id: Our trace that started this one, for a sub-agent.
        parent_call_id: The call in it that did.
        links: To the span around an isolated run.
    """

    trace_id: str
    otel_trace_id: str
    span_id: str
    parent_span_id: str | None = None
    parent_trace_id: str | None = None
    parent_call_id: str | None = None
    links: tuple[Link, ...] = ()


class Run:
    """What one recorder records between its opening and its closing.

    Attributes:
        identity: Its ids.
        description: What its recorder was told of it.
        start_ns: When it began, in nanoseconds since the epoch.
        attributes: What its start record says.
        root: The scope of calls made directly in the run.
        outer: The scope the run was opened in, or None.
        ledger: Its turns and calls in order.
        spans: Makes real spans in the user's own provider; None when isolated.
        is_open: Whether calls are still taken.
        written: Records kept so far.
        tally: What became of its spans at the exporter.
        faults: Faults of the recorder in this run, by place and type.
        unattributed: Calls that might have been this run's and joined none, by reason.
        children: Runs of sub-agents, in order of start.
        tools: Decorated functions called in the run, by tool name.
        streams: Calls of generators, and replies, that have not come to their end.
        paused: Calls that wait for somebody, by the model's id.
        watch: Takes the change of state of each call; None when not asked for.
        turns: Records its turns; None before it has begun.
        history: What the last requests of models' clients were read as; None when none was.
        talk: What integrations know of its conversation; None when none reported any.
        agent_seen: The framework's agent that this run is, once one has begun in it.
        agents_within: How many uses of that agent are going on.
        agent_failure: What the last use of that agent ended with; None when it went well.
        is_apart: Neither it nor its sub-agents make spans in a provider that nobody names to them.
        has_state: The recorder has a state source of its own.
        late_state: Takes the state at the end where the recorder has no source of its own.
        give_up: Ends the run without its recorder, when the program exits inside it.
    """

    def __init__(
        self,
        identity: Identity,
        *,
        description: Description,
        start_ns: int,
        pipeline: Pipeline,
        outer: Scope | None = None,
        spans: ProviderSpans | None = None,
        span: Any = None,
    ) -> None:
        self.identity = identity
        self.otel_trace_id = identity.otel_trace_id
        self.description = description
        self.start_ns = start_ns
        self.attributes: Attributes = {}
        self.pipeline = pipeline
        self.evidence: Evidence = pipeline.evidence(identity.otel_trace_id)
        self.outer = outer
        self.spans = spans
        self.root = Scope(self, identity.span_id, span=span)
        self.ledger = Ledger()
        self.is_open = False
        self.written = 0
        self.tally = Tally()
        self.faults: Counter[str] = Counter()
        self.unattributed: Counter[str] = Counter()
        self.children: list[Run] = []
        self.tools: dict[str, Tool] = {}
        self.streams: set[Interruptible] = set()
        self.paused: dict[str, Scope] = {}
        self.watch: StateWatch | None = None
        self.turns: TurnLog | None = None
        self.history: Any = None
        self.talk: Any = None
        self.agent_seen: str | None = None
        self.agents_within = 0
        self.agent_failure: Failure | None = None
        self.is_apart = False
        self.has_state = False
        self.late_state: StateReader | KeptState | None = None
        self.give_up: Callable[[], None] = self.shut
        self._counting = threading.Lock()
        self._put_blob = self.evidence.put_blob
        self._redact = pipeline.redact
        self._names: dict[str, str] = {}
        self._export = pipeline.export

    def take_agent(self, name: str) -> bool:
        """Whether a framework's agent of this name, begun in the run itself, is what it records.

        Of several that begin at the same time in several threads, one is.
        """
        with self._counting:
            if self.agents_within or self.agent_seen not in (None, name):
                return False
            self.agents_within, self.agent_seen = 1, name
            return True

    def open(self) -> None:
        """Take calls from now on."""
        self.is_open = True
        open_runs[self] = threading.get_ident()
        if self.outer is not None:
            self.outer.run.children.append(self)

    def shut(self) -> None:
        """Take no more calls."""
        self.is_open = False
        open_runs.pop(self, None)

    def start_afresh_in_child(self) -> None:
        """Become usable in a forked process, whatever the locks were doing in its parent."""
        self._counting = threading.Lock()
        self.ledger.start_afresh_in_child()
        if self.watch is not None:
            self.watch.start_afresh_in_child()

    def write(self, record: EvidenceRecord) -> None:
        """Keep a record; a fault in doing so is counted and never raised."""
        WRITING.do(GUARD.attempt, "write", self.faults, self._keep, record)

    def write_span(self, record: SpanRecord) -> None:
        """Keep an ended span and hand it to the exporter, when there is one."""
        WRITING.do(GUARD.attempt, "write", self.faults, self._keep, record)
        if self._export is not None:
            GUARD.attempt("export", self.faults, self._export.add, record, self.tally)

    def _keep(self, record: EvidenceRecord) -> None:
        self.evidence.append(record)
        with self._counting:
            self.written += 1

    def text(self, data: bytes) -> str:
        """Return JSON as it is kept: secrets masked, a large value beside a journal as a stub.

        Args:
            data: JSON of the value, just frozen.
        """
        if self._redact is not None:
            data = GUARD.attempt("redaction", self.faults, self._redact, data) or UNCHECKED
        return self.kept(data)

    def kept(self, data: bytes) -> str:
        """Return JSON that holds nothing to be masked as it is kept; see `text`."""
        if len(data) > BLOB_BYTES and self._put_blob is not None:
            return self._as_blob(data, self._put_blob)
        return data.decode()

    def is_clean(self, data: bytes) -> bool:
        """Whether JSON, and so every value in it, surely holds nothing to be masked."""
        if self._redact is None:
            return True
        look = self.pipeline.is_clean
        return look is not None and bool(GUARD.attempt("redaction", self.faults, look, data))

    def masked(self, data: bytes) -> bytes:
        """Return JSON with its secrets masked."""
        if self._redact is None:
            return data
        return GUARD.attempt("redaction", self.faults, self._redact, data) or UNCHECKED

    def stubbed(self, attributes: Attributes) -> Attributes:
        """Return attributes, already masked; beside a journal large texts in them as stubs."""
        put_blob = self._put_blob
        if put_blob is None:
            return attributes
        return {
            key: self._as_blob(value.encode(), put_blob)
            if isinstance(value, str) and len(value) > BLOB_BYTES
            else value
            for key, value in attributes.items()
        }

    def words(self, text: str) -> str:
        """Return plain text (a message, a name, a prompt) with its secrets masked."""
        data = freeze(text)
        masked = self.masked(data)
        if masked is data and text.isascii():
            return text
        return str(orjson.loads(masked))

    def name(self, text: str) -> str:
        """Return a name that comes again and again, with its secrets masked; looked at once."""
        if self._redact is None:
            return text
        found = self._names.get(text)
        if found is None:
            found = self.words(text)
            if len(self._names) < _MOST_NAMES:
                self._names[text] = found
        return found

    def masked_value(self, value: object) -> Json:
        """Return a value as JSON with its secrets masked."""
        return orjson.loads(self.masked(freeze(value)))

    def masked_object(self, value: Mapping[str, object]) -> dict[str, Json]:
        """Return an object with its secrets masked; empty when the redactor left none of it."""
        found = self.masked_value(value)
        return found if isinstance(found, dict) else {}

    def _as_blob(self, data: bytes, put_blob: Callable[[bytes], str]) -> str:
        digest = GUARD.attempt("blob", self.faults, put_blob, data)
        return NOT_KEPT if digest is None else stub_text(digest, len(data))
