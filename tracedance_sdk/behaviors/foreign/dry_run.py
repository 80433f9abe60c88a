"""What shows of a foreign behaviour before there is a store.

Its SQL is bound to empty views and the top of its source is run, both in a process behind walls, as
nobody knows yet what they are.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final

import orjson

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.foreign.grammar import check_source
from tracedance_sdk.behaviors.foreign.surroundings import compiled, load_what_is_offered
from tracedance_sdk.behaviors.foreign.walls import keep_steady, limit, started
from tracedance_sdk.errors import InvalidQuery, TraceDanceError, shown
from tracedance_sdk.store import columns_of_answer, end_with_parent
from tracedance_sdk.trace import spelled_out

_START_S: Final = 60.0
_KILL_S: Final = 3.0
_MOST_BYTES: Final = 1 << 20
_COLUMNS: Final = ("trace_id", "turn", "call")
_TEXT: Final = frozenset(("VARCHAR",))
_INDEX: Final = frozenset(
    f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
) | {"INTEGER", "UINTEGER"}
_NOTHING: Final = '"NULL"'


def dry_run(behavior: Behavior) -> None:
    """See whether a foreign behaviour could run, without a store.

    Args:
        behavior: Checked already by what it is made of; see `check_foreign`.

    Raises:
        InvalidQuery: Its SQL asks for what the views do not have, or names no places; the top of
            its source raises; or one of them takes longer or more than it may.
    """
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=_run, args=(sender, behavior.anchor.sql, behavior.anchor.code), daemon=True
    )
    doing = "anchor.sql"
    try:
        started(process)
        sender.close()
        if not receiver.poll(_START_S) or _told(receiver) != ["ready", None]:
            raise InvalidQuery(f"no process for behaviour {behavior.id} came up")
        for step in ("anchor.sql", "anchor.code"):
            doing = step
            if not receiver.poll(_KILL_S):
                raise InvalidQuery(f"behaviour {behavior.id}, {doing}: killed after {_KILL_S:g} s")
            kind, value = _told(receiver)
            if kind != "fine":
                raise InvalidQuery(f"behaviour {behavior.id}, {value}")
    except (EOFError, ConnectionResetError) as error:
        what = "its process died; it may take 1 GB beyond what it begins with"
        raise InvalidQuery(f"behaviour {behavior.id}, {doing}: {what}") from error
    finally:
        receiver.close()
        if process.pid is not None:
            process.kill()
            process.join()


def _told(receiver: Connection) -> list[str | None]:
    """Return one message. They are JSON: what comes out of that process is not to be unpickled."""
    found: list[str | None] = orjson.loads(receiver.recv_bytes(_MOST_BYTES))
    return found


def _tell(sender: Connection, kind: str, value: str | None = None) -> None:
    sender.send_bytes(orjson.dumps(spelled_out([kind, value])))


def _run(sender: Connection, sql: str, code: str | None) -> None:
    """Run in the new process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    keep_steady()
    load_what_is_offered()
    columns_of_answer("SELECT trace_id FROM traces")  # what this loads, it loads before the walls
    limit()
    _tell(sender, "ready")
    try:
        if problem := places_problem(columns_of_answer(sql)):
            _tell(sender, "refused", f"anchor.sql: {problem}")
            return
        _tell(sender, "fine")
        if code is not None:
            compiled(check_source(code))()
        _tell(sender, "fine")
    except TraceDanceError as error:
        told = str(error)
        _tell(sender, "refused", told if told.startswith("anchor.") else f"anchor.sql: {told}")


def places_problem(columns: Sequence[tuple[str, str]]) -> str | None:
    """Return why an answer with these columns names no places, or None.

    Args:
        columns: Their names with DuckDB's names of their types, in order.

    Example:
        >>> places_problem([("trace_id", "VARCHAR"), ("max(turn)", "BIGINT")])
        >>> places_problem([("trace_id", "VARCHAR"), ("call", "BIGINT")])
        'columns trace_id, turn and maybe call are needed, in this order, not trace_id, call'
    """
    names = [name for name, _ in columns]
    needed = "columns trace_id, turn and maybe call are needed, in this order"
    wrong = [
        name
        for name, wanted in zip(names, _COLUMNS, strict=False)
        if name.casefold() in _COLUMNS and name.casefold() != wanted
    ]
    if len(columns) not in (2, 3) or wrong:
        return f"{needed}, not {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}"
    for (name, kind), wanted in zip(columns, _COLUMNS, strict=False):
        fits = _TEXT if wanted == "trace_id" else _INDEX
        if kind not in fits and not (wanted == "call" and kind == _NOTHING):
            is_a = "a text" if wanted == "trace_id" else "a whole number"
            return f"{needed}; {wanted} is {is_a}, and {shown(name)} is {kind.strip(chr(34))}"
    return None
