"""Build the turns of one Claude Code conversation from its records.

One message of the model is spread over several records with the same message id, the results of
its calls between them: it becomes one turn, its usage counted once. What the model was not shown
is kept beside the turns, each record without the fields that all records of the session share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.coding.claude_code_attachments import attachment_parts, is_seen
from tracedance_sdk.formats.coding.claude_code_records import Entry, is_answer
from tracedance_sdk.formats.coding.claude_code_results import duration_ms, result_fields
from tracedance_sdk.formats.coding.lenient import count_at, object_at, text_at, time_at, time_of
from tracedance_sdk.formats.message_pieces import SeenCall, SeenResult, answer, ask
from tracedance_sdk.formats.origins import attribute
from tracedance_sdk.formats.piece_shapes import read_pieces
from tracedance_sdk.formats.transcript import Transcript
from tracedance_sdk.trace import UNKNOWN, Json

AGENT: Final = "claude-code"
KEY: Final = "claude_code"

_SHARED: Final = (
    "sessionId", "session_id", "version", "cwd", "gitBranch", "userType", "entrypoint", "slug",
    "isSidechain", "agentId", "teamName", "sessionKind",
)  # fmt: skip
_SYNTHETIC: Final = "<synthetic>"
_IN_TURN: Final = frozenset({"role", "content", "model", "usage", "stop_reason", "type"})
_IN_USAGE: Final = frozenset(
    {
        "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
    }
)  # fmt: skip


class Told(NamedTuple):
    """A conversation.

    Attributes:
        log: Its turns.
        beginnings: Of each turn, the position of its first record among those given.
        records: What is no part of a turn, in order, each with its position.
    """

    log: Transcript
    beginnings: list[int]
    records: list[tuple[int, dict[str, Json]]]


def shared_fields(entries: Sequence[Entry]) -> dict[str, Json]:
    """Return the fields that the records of a session repeat, as the first that has them says."""
    found: dict[str, Json] = {}
    for key in _SHARED:
        holder = next((entry.fields for entry in entries if key in entry.fields), None)
        if holder is not None:
            found[key] = holder[key]
    return found


def tell_entries(
    entries: Sequence[Entry], *, shared: dict[str, Json], is_subagent: bool = False
) -> Told:
    """Return the conversation that some records are.

    Args:
        entries: In order.
        shared: Fields that are not repeated with each record; see `shared_fields`.
        is_subagent: The first message is another agent's task.
    """
    teller = _Teller(shared, is_subagent=is_subagent)
    for positions in _steps(entries):
        teller.take([entries[position] for position in positions], positions[0])
    return Told(teller.log, teller.beginnings, teller.records)


def _steps(entries: Sequence[Entry]) -> list[list[int]]:
    """Return the positions of records that belong together: those of one message."""
    steps: list[list[int]] = []
    open_steps: dict[tuple[str, str | None], list[int]] = {}
    for position, entry in enumerate(entries):
        name = text_at(entry.message, "id") if entry.kind == "assistant" else None
        if entry.says and not entry.answers:
            open_steps.clear()
        if name is None:
            steps.append([position])
            continue
        key = (name, text_at(entry.fields, "requestId"))
        if key in open_steps:
            open_steps[key].append(position)
        else:
            open_steps[key] = [position]
            steps.append(open_steps[key])
    return steps


class _Teller:
    def __init__(self, shared: dict[str, Json], *, is_subagent: bool) -> None:
        self.log = Transcript()
        self.beginnings: list[int] = []
        self.records: list[tuple[int, dict[str, Json]]] = []
        self._shared = shared
        self._awaits_task = is_subagent
        self._calls: dict[str, dict[str, Any]] = {}

    def take(self, step: list[Entry], position: int) -> None:
        entry = step[0]
        if entry.kind == "assistant":
            self._reply(step)
        elif entry.kind == "user" and entry.blocks:
            self._user(entry)
        elif entry.kind == "attachment" and is_seen(object_at(entry.fields, "attachment")):
            self._attachment(entry)
        elif entry.kind == "system" and entry.fields.get("subtype") == "local_command":
            self._say(entry, read_pieces(entry.fields.get("content")), taken=("content",))
        elif entry.kind == "tool_use" and text_at(entry.fields, "name"):
            self._bare_call(entry)
        elif entry.kind == "tool_result":
            self._bare_result(entry)
        else:
            self._keep(entry, position)
        self.beginnings += [position] * (len(self.log.turns) - len(self.beginnings))

    def _reply(self, step: list[Entry]) -> None:
        first = step[0]
        message = first.message
        is_synthetic = (
            message.get("model") == _SYNTHETIC or first.fields.get("isApiErrorMessage") is True
        )
        pieces = read_pieces(_merged([entry.blocks for entry in step]))
        reasons = [text_at(entry.message, "stop_reason") for entry in step]
        ended = time_at(step[-1].fields, "timestamp")
        usage = _fullest([object_at(entry.message, "usage") for entry in step])
        turn = self.log.say(
            "assistant",
            [piece for piece in pieces if isinstance(piece, dict)],
            origin="harness" if is_synthetic else "agent",
            model=None if message.get("model") == _SYNTHETIC else text_at(message, "model"),
            finish_reason=next((word for word in reversed(reasons) if word), None),
            usage=_usage(usage),
            started_at=time_at(first.fields, "timestamp"),
            ended_at=ended if len(step) > 1 else None,
        )
        turn[KEY] = self._left(first)
        if len(step) > 1:
            turn[KEY]["lines"] = [self._left(entry, first) for entry in step[1:]]
        for entry, left in zip(step, [turn[KEY], *turn[KEY].get("lines", ())], strict=True):
            if (spent := object_at(entry.message, "usage")) not in ({}, usage):
                left["usage"] = spent
        for piece in pieces:
            if isinstance(piece, SeenCall):
                call = ask(self.log, piece, keep_as=KEY)
                self._calls.setdefault(call["id"], call)
            elif isinstance(piece, SeenResult):
                answer(self.log, piece, keep_as=KEY)

    def _user(self, entry: Entry) -> None:
        left: dict[str, Json] = self._left(entry)
        for block in entry.blocks:
            if is_answer(block):
                self._result(block, entry, left)
                left = {key: left[key] for key in ("uuid",) if key in left}
        if entry.says:
            rest = [block for block in entry.blocks if not is_answer(block)]
            self._say(entry, read_pieces(rest), left=left)

    def _result(self, block: dict[str, Any], entry: Entry, left: dict[str, Json]) -> None:
        extra = {
            key: value
            for key, value in block.items()
            if key not in ("type", "tool_use_id", "content", "is_error")
        }
        call_id = text_at(block, "tool_use_id")
        when = entry.fields.get("timestamp")
        kept = {**left, **({"timestamp": when} if time_of(when) else {}), **extra}
        fields: dict[str, Any] = {**result_fields(block, entry.fields), KEY: kept or None}
        self.log.answer(call_id, **fields)
        call = self._calls.pop(call_id, None) if call_id else None
        if call is not None and (duration := duration_ms(entry.fields)) is not None:
            call["duration_ms"] = duration

    def _say(
        self,
        entry: Entry,
        pieces: Sequence[Any],
        *,
        left: dict[str, Json] | None = None,
        taken: tuple[str, ...] = (),
        flags: frozenset[str] = frozenset(),
    ) -> None:
        fields = entry.fields
        marks = {*flags, *(key for key, value in fields.items() if value is True)}
        if isinstance(fields.get("planContent"), str):
            marks.add("planContent")
        if (kind := text_at(object_at(fields, "origin"), "kind")) is not None:
            marks.add(f"origin:{kind}")
        if self._awaits_task and entry.kind == "user":
            marks.add("subagent_task")
            self._awaits_task = False
        parts = [piece for piece in pieces if isinstance(piece, dict)]
        found = attribute(parts, role="user", agent=AGENT, flags=marks)
        kept = self._left(entry, taken=taken) if left is None else left
        turn = self.log.say(
            "user",
            found.parts,
            origin=found.origin,
            origin_rule=found.rule,
            started_at=time_at(fields, "timestamp"),
            compaction=True if fields.get("isCompactSummary") is True else None,
        )
        if kept:
            turn[KEY] = kept

    def _attachment(self, entry: Entry) -> None:
        attachment = object_at(entry.fields, "attachment")
        content, rest = attachment_parts(attachment)
        left = {**self._left(entry, taken=("attachment",)), "attachment": rest}
        if attachment.get("type") == "queued_command":
            kind = text_at(object_at(attachment, "origin"), "kind")
            marks = {
                f"origin:{word}" for word in (kind, text_at(attachment, "commandMode")) if word
            }
            marks |= {key for key, value in attachment.items() if value is True}
            self._say(entry, read_pieces(content), left=left, flags=frozenset(marks))
            return
        self.log.say(
            "user",
            content,
            origin="harness",
            origin_rule="attachment",
            started_at=time_at(entry.fields, "timestamp"),
            **{KEY: left},
        )

    def _bare_call(self, entry: Entry) -> None:
        fields = entry.fields
        extra: dict[str, Any] = {KEY: self._left(entry, taken=("name", "input")) or None}
        self.log.request(fields["name"], arguments=fields.get("input", UNKNOWN), **extra)

    def _bare_result(self, entry: Entry) -> None:
        extra: dict[str, Any] = {KEY: self._left(entry, taken=("name", "output")) or None}
        content = entry.fields.get("output", UNKNOWN)
        self.log.answer(name=text_at(entry.fields, "name"), content=content, **extra)

    def _keep(self, entry: Entry, position: int) -> None:
        record = entry.fields
        if entry.kind == "progress" and "message" in (data := object_at(record, "data")):
            # The sub-agent's own trace holds what is left out here.
            data = {key: data[key] for key in data if key not in ("message", "prompt")}
            record = {**record, "data": data}
        kept = self._left(Entry(record, entry.line))
        self.records.append((position, {**kept, **_given(record, "type", "timestamp", "message")}))

    def _left(
        self, entry: Entry, first: Entry | None = None, *, taken: tuple[str, ...] = ()
    ) -> dict[str, Json]:
        """Return what a record says beyond its turn, the session, and the message's first line."""
        known = self._shared if first is None else {**self._shared, **first.fields}
        left = {
            key: value
            for key, value in entry.fields.items()
            if key not in ("type", "message", "timestamp", *taken)
            and not (key in known and known[key] == value)
        }
        if "timestamp" in entry.fields and time_of(entry.fields["timestamp"]) is None:
            left["timestamp"] = entry.fields["timestamp"]
        before = {} if first is None else first.message
        message = {
            key: value
            for key, value in entry.message.items()
            if key not in _IN_TURN and value is not None and before.get(key) != value
        }
        if entry.message.get("model") == _SYNTHETIC and first is None:
            message["model"] = _SYNTHETIC
        return {**left, "message": message} if message else left


def _given(record: dict[str, Any], *keys: str) -> dict[str, Json]:
    return {key: record[key] for key in keys if key in record}


def _merged(lines: list[list[Any]]) -> list[Any]:
    """Return the blocks of a message from its records.

    Each record has further blocks; one that was written while the message streamed in repeats
    those of the record before it, and more.
    """
    found: list[Any] = []
    places: dict[str, int] = {}
    before: list[Any] = []
    for blocks in lines:
        if before and len(before) <= len(blocks) and all(map(_extends, blocks, before)):
            del found[len(found) - len(before) :]
        for block in blocks:
            name = text_at(block, "id") if isinstance(block, dict) else None
            if name is not None and places.get(name, len(found)) < len(found):
                found[places[name]] = block
                continue
            if name is not None:
                places[name] = len(found)
            found.append(block)
        before = blocks
    return found


def _extends(block: Any, before: Any) -> bool:
    if not isinstance(block, dict) or not isinstance(before, dict):
        return False
    kind = str(before.get("type"))
    if block.get("type") != kind:
        return False
    if kind in ("text", "thinking"):
        text, old = block.get(kind), before.get(kind)
        if not isinstance(text, str) or not isinstance(old, str):
            return False
        return bool(old.strip()) and text.startswith(old)
    return kind == "tool_use" and "id" in block and block["id"] == before.get("id")


def _fullest(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the usage of a message: of its records, the last that counts most output."""
    return max(reversed(found), key=lambda item: count_at(item, "output_tokens") or 0)


def _usage(usage: dict[str, Any]) -> dict[str, Any] | None:
    if not usage:
        return None
    cached = count_at(usage, "cache_read_input_tokens")
    written = count_at(usage, "cache_creation_input_tokens")
    fresh = count_at(usage, "input_tokens")
    thought = count_at(object_at(usage, "output_tokens_details"), "thinking_tokens")
    counts = {
        "input_tokens": None if fresh is None else fresh + (cached or 0) + (written or 0),
        "output_tokens": count_at(usage, "output_tokens"),
        "cache_read_tokens": cached,
        "cache_write_tokens": written,
        "reasoning_tokens": thought,
    }
    rest = {k: v for k, v in usage.items() if k not in _IN_USAGE and v is not None}
    return {**{k: v for k, v in counts.items() if v is not None}, **({KEY: rest} if rest else {})}
