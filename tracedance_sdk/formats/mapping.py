"""Read logs of one's own by a mapping: a YAML file that says what stands where in a record.

See ``docs/mapping.md`` for the format, with a worked example.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from tracedance_sdk.errors import InvalidOption, InvalidSpec, TraceDanceError, UnsupportedVersion
from tracedance_sdk.formats.detection import Signature
from tracedance_sdk.formats.guarding import guarded
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.mapping_paths import follow
from tracedance_sdk.formats.mapping_reading import Teller, error_of
from tracedance_sdk.formats.mapping_schema import Mapping, read_mapping
from tracedance_sdk.formats.mapping_signatures import signatures_of
from tracedance_sdk.formats.mapping_slots import is_number
from tracedance_sdk.formats.opening import documents
from tracedance_sdk.formats.places import Misfit, Place
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.trace import (
    UNKNOWN,
    Json,
    Trace,
    Unknown,
    assess,
    imported_trace_id,
    parse_yaml,
    read_bytes,
    source_digest,
)

_MOST_BYTES = 1024**2


class MappingCollector:
    """A collector for the files that a mapping describes.

    Args:
        mapping: What stands where.
    """

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping

    @property
    def name(self) -> str:
        """The mapping's name, which stands in ``trace.source.collector``."""
        return self._mapping.name

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """How a file with such records shows itself: by the places that every record must have."""
        return signatures_of(self._mapping)

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the first records of a file have the places that the mapping asks for."""
        return not path.is_dir() and any(item.matches(path, head) for item in self.signatures)

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the traces of a file; runs in the order in which they begin.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        if self._mapping.record == "run":
            yield from self._runs(path)
        else:
            yield from self._sessions(path)

    def _records(self, path: Path) -> Iterator[tuple[Json, Place, int | None] | ImportProblem]:
        steps = self._mapping.records
        for document in documents(path):
            if isinstance(document, ImportProblem):
                yield document
                continue
            where = str(path) if document.line is None else f"{path}:{document.line}"
            value = document.value if steps is None else follow(document.value, steps)
            if value is UNKNOWN:
                yield ImportProblem(
                    str(path), f"{where}: nothing at the path of 'records'", document.line
                )
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    yield item, Place(where, f"$[{index}]"), document.line
            else:
                yield value, Place(where), document.line

    def _runs(self, path: Path) -> Iterator[Trace | ImportProblem]:
        for found in self._records(path):
            if isinstance(found, ImportProblem):
                yield found
                continue
            record, place, line = found
            yield from guarded(partial(self._run, record, place, path), place, str(path), line)

    def _run(self, record: Json, place: Place, path: Path) -> Trace:
        teller = Teller(self._mapping, model=self._text("model", record))
        teller.run(record)
        return self._trace([record], teller, str(path), place)

    def _sessions(self, path: Path) -> Iterator[Trace | ImportProblem]:
        tellers: dict[str, Teller] = {}
        records: dict[str, list[Json]] = {}
        for found in self._records(path):
            if isinstance(found, ImportProblem):
                yield found
                continue
            record, place, line = found
            try:
                key = self._session(record)
                if key not in tellers:
                    tellers[key] = Teller(self._mapping, model=self._text("model", record))
                    records[key] = []
                self._tell(tellers[key], record)
                records[key].append(record)
            except Misfit as misfit:
                yield ImportProblem(str(path), str(place.located(misfit)), line)
        for key, teller in tellers.items():
            if not records[key]:
                continue
            if not teller.log.turns:
                reason = f"{path}: session {key!r}: no message, call or result in its records"
                yield ImportProblem(str(path), reason)
                continue
            try:
                yield self._trace(records[key], teller, str(path), Place(str(path)), session=key)
            except (Misfit, TraceDanceError) as error:
                yield ImportProblem(str(path), f"{path}: session {key!r}: {error}")

    def _tell(self, teller: Teller, record: Json) -> None:
        if self._mapping.record == "event":
            teller.event(record)
        else:
            teller.message(record)

    def _session(self, record: Json) -> str:
        slot = self._mapping.session
        value = UNKNOWN if slot is None else slot.value(record)
        if not (isinstance(value, str) or is_number(value)):
            raise Misfit("nothing that says which run it belongs to: see 'session'")
        return str(value)

    def _value(self, key: str, records: list[Json]) -> Json | Unknown:
        """Return a slot of the run in the first record that has it."""
        slot = self._mapping.run.get(key)
        if slot is None:
            return UNKNOWN
        found = (slot.value(record) for record in records)
        return next((value for value in found if value is not UNKNOWN), UNKNOWN)

    def _text(self, key: str, *records: Json) -> str | None:
        value = self._value(key, list(records))
        if isinstance(value, str):
            return value or None
        return str(value) if is_number(value) else None

    def _time(self, key: str, records: list[Json]) -> str | None:
        slot = self._mapping.run.get(key)
        times = () if slot is None else (slot.time(record) for record in records)
        return next((time for time in times if time is not None), None)

    def _trace(
        self,
        records: list[Json],
        teller: Teller,
        uri: str,
        place: Place,
        *,
        session: str | None = None,
    ) -> Trace:
        native_id = self._text("id", *records) or session or source_digest(records[0])
        agent = {
            "name": self._text("agent", *records),
            "version": self._text("agent_version", *records),
        }
        states = {
            key: value
            for key in ("initial_state", "final_state")
            if (value := self._value(key, records)) is not UNKNOWN
        }
        tools = self._value("tools", records)
        trace = teller.log.trace(
            imported_trace_id(self.name, self._begin(records[0]), native_id),
            where=place.where,
            session_id=self._text("session", *records) or session,
            group=self._text("group", *records),
            task_id=self._text("task", *records),
            agent={key: value for key, value in agent.items() if value is not None} or None,
            system_prompt=self._text("system_prompt", *records),
            tools=[] if tools is UNKNOWN else read_tools(tools),
            outcome=self._outcome(records),
            source={"collector": self.name, "uri": uri, "native_id": native_id},
            started_at=self._time("started_at", records),
            ended_at=self._time("ended_at", records),
            metadata=self._metadata(records, teller),
            **states,
        )
        nulls = {key: None for key, value in states.items() if value is None}
        # A state that is null was seen; None among a transcript's fields means nothing was said.
        seen = trace.model_copy(update=nulls)
        return assess(seen, notes=teller.log.notes()) if nulls else trace

    def _begin(self, record: Json) -> str:
        """Return what tells runs of one id apart: how the run begins, which stays as it grows."""
        section = self._mapping.messages
        if self._mapping.record != "run" or section is None or section.at is None:
            return "" if self._mapping.record == "run" else source_digest(record)
        found = follow(record, section.at)
        return source_digest(found[0] if isinstance(found, list) and found else None)

    def _outcome(self, records: list[Json]) -> dict[str, Any] | None:
        success, ended = self._value("success", records), self._value("ended", records)
        reward, error = self._value("reward", records), self._value("error", records)
        found: dict[str, Any] = {}
        if isinstance(success, bool):
            found["success"] = success
        if isinstance(ended, bool):
            found["ended"] = ended
        if is_number(reward):
            found["reward"] = reward
        if error not in (UNKNOWN, None, "", False):
            found["error"] = error_of(error)
        odd = {
            key: value
            for key, value in (("success", success), ("ended", ended), ("reward", reward))
            if value not in (UNKNOWN, None) and key not in found
        }
        return {**found, **({"details": odd} if odd else {})} or None

    def _metadata(self, records: list[Json], teller: Teller) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for name, slot in self._mapping.metadata.items():
            values = (slot.value(record) for record in records)
            value = next((item for item in values if item is not UNKNOWN), UNKNOWN)
            if value is not UNKNOWN:
                found[name] = value
        reference = self._value("reference", records)
        if reference is not UNKNOWN:
            found["reference"] = reference
        rest = teller.rest(records[0], "run") if self._mapping.record == "run" else {}
        return {**found, **({"record": rest} if rest else {})}


def load_mapping(path: str | os.PathLike[str]) -> MappingCollector:
    """Return the collector that a mapping describes.

    Args:
        path: The YAML file; JSON is YAML, too.

    Raises:
        UnreadableFile: The file is missing or too large.
        InvalidOption: The mapping is wrong, in one line: what, and where in the file.
        UnsupportedVersion: It is of a newer version.
    """
    where = os.fspath(path)
    data = read_bytes(path, limit=_MOST_BYTES)
    try:
        return MappingCollector(read_mapping(parse_yaml(data, where=where)))
    except Misfit as misfit:
        error = Place(where).located(misfit)
        raise InvalidOption(str(error), problems=error.problems) from None
    except UnsupportedVersion as error:
        raise UnsupportedVersion(f"{where}: {error}") from None
    except InvalidSpec as error:
        raise InvalidOption(str(error), problems=error.problems) from error
