"""The file of a replayed test: what is read from it, and what a recording run adds to it."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

import orjson

from tracedance_sdk.errors import UnreadableFile
from tracedance_sdk.recording import AskedCall, Redactor, SecretRedactor
from tracedance_sdk.replay.answers import Origin
from tracedance_sdk.replay.rebuilt_test import (
    RebuiltTest,
    RecordedCall,
    TestSource,
    TestTool,
    answer_of,
    written_test,
)
from tracedance_sdk.trace import Effect, Json, Result, call_key

# Pseudonyms depend on a key that no other machine has, so that tests are compared without.
_PSEUDONYM: Final = re.compile(rb"\[MASKED:([A-Za-z0-9_.-]{1,40}):[0-9a-f]{1,16}\]")

UNFINISHED: Final = "unfinished"
"""Field of an answer: more items might have come, had anybody asked for them."""


class Masking:
    """Masks secrets in the same way on every machine: ``[MASKED:password:]``.

    Args:
        redactor: Finds them; None means `SecretRedactor`.
    """

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or SecretRedactor(key=secrets.token_bytes(32))

    def of(self, value: Json) -> Json:
        """Return a value without its secrets."""
        data = self._redactor.redact(orjson.dumps(value))
        found: Json = orjson.loads(_PSEUDONYM.sub(rb"[MASKED:\1:]", data))
        return found


def without_pseudonyms(test: RebuiltTest) -> RebuiltTest:
    """Return a test whose recordings have masked secrets as `Masking` leaves them."""
    calls = [call.model_dump(mode="json") for call in test.recordings]
    data = orjson.dumps(calls)
    if b"[MASKED:" not in data:
        return test
    plain = orjson.loads(_PSEUDONYM.sub(rb"[MASKED:\1:]", data))
    return test.model_copy(update={"recordings": tuple(map(RecordedCall.model_validate, plain))})


class Recorded(NamedTuple):
    """A call that was run.

    Attributes:
        after: How many of the recordings that were there come before it.
        call: As it is written.
    """

    after: int
    call: RecordedCall


class Take:
    """What one recording run has run so far.

    Args:
        before: The test as its file has it; None where there is no file.
        masking: Applied to all that is kept.
    """

    def __init__(self, before: RebuiltTest | None, masking: Masking) -> None:
        self._before = before
        self._masking = masking
        self._recorded: list[Recorded] = []
        self._effects: dict[str, tuple[Effect, bool]] = {}
        self._lock = threading.Lock()
        self._after = 0
        self._places = {} if before is None else _places(without_pseudonyms(before))

    def __len__(self) -> int:
        return len(self._recorded)

    def replayed(self, name: str, arguments: Json, origin: Origin) -> None:
        """Note that a recording was replayed: what is run next belongs after it."""
        place = self._places.get((call_key(name, arguments), origin.ordinal), 0)
        self._after = max(self._after, place)

    def begin(self, asked: AskedCall, effect: Effect) -> int:
        """Keep a call that is about to run, and return its number."""
        arguments = self._masking.of(asked.arguments)
        with self._lock:
            self._effects[asked.name] = (effect, asked.effect is not None)
            call = RecordedCall(name=asked.name, arguments=arguments)
            self._recorded.append(Recorded(self._after, call))
            return len(self._recorded) - 1

    def end(self, number: int, result: Result) -> None:
        """Keep what a call answered; of a stream that was not read to its end, its items."""
        document = answer_of(result)
        if result.interrupted:
            if not isinstance(result.content, list):
                return
            document = {"ok": True, "content": result.content, UNFINISHED: True}
        answer = self._masking.of(document)
        if not isinstance(answer, dict):  # a redactor that failed masks the whole
            return
        with self._lock:
            after, call = self._recorded[number]
            self._recorded[number] = Recorded(after, call.model_copy(update={"answer": answer}))

    def test(self, identity: str, *, anew: bool) -> RebuiltTest:
        """Return the test with what was run.

        Args:
            identity: Of a new test.
            anew: Without the recordings that were there.
        """
        kept = () if anew or self._before is None else self._before.recordings
        before = self._before or RebuiltTest(
            id=identity,
            source=TestSource(
                trace_id=identity,
                group=identity,
                started_at=datetime.now(UTC).replace(microsecond=0),
            ),
        )
        recordings: list[RecordedCall] = []
        for place in range(len(kept) + 1):
            recordings += kept[place - 1 : place] if place else ()
            recordings += [
                item.call for item in self._recorded if place == (item.after if kept else 0)
            ]
        return before.model_copy(
            update={"recordings": tuple(recordings), "tools": _tools(before.tools, self._effects)}
        )


def write_test(test: RebuiltTest, path: Path) -> None:
    """Write a test's file whole or not at all.

    Raises:
        UnreadableFile: It cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(written_test(test), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise UnreadableFile(f"{os.fspath(path)!r} cannot be written: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _places(test: RebuiltTest) -> Mapping[tuple[str, int], int]:
    """Return, by key and ordinal of an answered recording, its place from 1."""
    found: dict[tuple[str, int], int] = {}
    counts: dict[str, int] = {}
    for place, call in enumerate(test.recordings, 1):
        key = call_key(call.name, call.arguments)
        counts[key] = counts.get(key, 0) + 1
        if call.answer is not None:
            found[key, counts[key]] = place
    return found


def _tools(
    before: Sequence[TestTool], effects: Mapping[str, tuple[Effect, bool]]
) -> tuple[TestTool, ...]:
    """Return the tools with those that ran; what people wrote into the file stays."""
    kept = [
        tool
        for tool in before
        if tool.name not in effects or tool.effect_from == "explicit" or not effects[tool.name][1]
    ]
    names = {tool.name for tool in kept}
    return (*kept, *_new_tools(effects, names))


def _new_tools(
    effects: Mapping[str, tuple[Effect, bool]], known: Iterable[str]
) -> Iterable[TestTool]:
    for name, (effect, is_declared) in effects.items():
        if name not in known:
            by_table: Literal["default", "table"] = "default" if effect == "unknown" else "table"
            how = "recorded" if is_declared else by_table
            yield TestTool(name=name, effect=effect, effect_from=how)
