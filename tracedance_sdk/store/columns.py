"""The columns of a store's files and views: one table from which all else follows.

A column is public when it has a meaning; the others only serve the store itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.store.libraries import arrow

ROW: Final = "trace_row"
"""Which row of its partition's traces a row of turns, calls or features belongs to."""


class Column(NamedTuple):
    """One column.

    Attributes:
        name: As it stands in files and views.
        type: ``text``, ``long`` (text of any length), ``int``, ``float``, ``flag``, ``time``
            (UTC, microseconds), ``texts`` (a list), ``bytes`` or ``keys`` (64-bit numbers).
        meaning: In one line; empty for the store's own columns.
        serves: Ids of the behaviour families (A01 to C05) that it was made for.
    """

    name: str
    type: str
    meaning: str = ""
    serves: tuple[str, ...] = ()


TRACES: Final = (
    Column("trace_id", "text", "the trace"),
    Column("session_id", "text", "the conversation it belongs to"),
    Column("family", "text", "session, or root of the chain of parents, or the trace itself"),
    Column("parent_trace_id", "text", "of a sub-agent: the trace that started it"),
    Column("parent_call_id", "text", "of a sub-agent: the call that started it"),
    Column("agent", "text", "name of the agent or client"),
    Column("agent_version", "text", "its version"),
    Column("models", "texts", "the models of its turns, each once, in order"),
    Column("trace_group", "text", "the leave-out unit (`Trace.group`)"),
    Column("task_id", "text", "what the run is about"),
    Column("collector", "text", "which collector read it; null where it was recorded here"),
    Column("source_uri", "text", "the file or system it was read from"),
    Column("native_id", "text", "its id there"),
    Column("project", "text", "`metadata.project`, where it is text"),
    Column("cwd", "text", "`metadata.cwd`, where it is text"),
    Column("git_branch", "text", "`metadata.git_branch`, where it is text"),
    Column("started_at", "time", "start of the run, else of its first turn"),
    Column("ended_at", "time", "end of the run, else the last time of a turn"),
    Column("turns", "int", "number of turns"),
    Column("human_turns", "int", "turns of origin human"),
    Column("assistant_turns", "int", "turns of role assistant"),
    Column("calls", "int", "number of calls, whoever made them"),
    Column("results", "int", "calls with a recorded result, more than an interruption"),
    Column("failed_calls", "int", "calls that the source says failed"),
    Column("input_tokens", "int", "sum over turns; null where none reports any"),
    Column("output_tokens", "int", "as above"),
    Column("cost_usd", "float", "as above"),
    Column("success", "flag", "the source's own verdict"),
    Column("reward", "float", "the source's own number"),
    Column("ended", "flag", "whether the run came to its proper end"),
    Column("outcome_error", "text", "what stopped the run: `type: message`"),
    Column("fit_reading", "flag", "fit for reading"),
    Column("fit_grading", "flag", "fit for grading"),
    Column("fit_state_grading", "flag", "fit for grading the final state"),
    Column("fit_next_turn", "flag", "fit for a next turn"),
    Column("fit_rebuilt_test", "flag", "fit for a rebuilt test"),
    Column("notes", "texts", "kinds of fidelity notes"),
    Column("tools", "texts", "names of the tools the trace defines"),
    Column("recorded_tools", "int", "how many of them were recorded with the run"),
    Column("document_bytes", "int", "length of the stored JSON document"),
    Column("document_sha256", "text", "its SHA-256, 64 hex characters"),
    Column(
        "protection",
        "text",
        "how it was imported: plain, masked (no secrets), pseudonymised (no people either), or "
        "pseudonymised_only (people replaced, secrets kept)",
    ),
    Column("links", "keys"),
)

DOCUMENTS: Final = (
    Column("trace_id", "text", "the trace"),
    Column("document", "bytes", "its JSON document (`tracedance.trace`)"),
)

TURNS: Final = (
    Column("trace_id", "text", "the trace"),
    Column("session_id", "text", "its session"),
    Column("turn", "int", "index of the turn in the trace, from 0"),
    Column("role", "text", "system, user or assistant"),
    Column("origin", "text", "human, harness, agent or environment, as imported"),
    Column("origin_rule", "text", "the rule by which the importer knew"),
    Column("text", "long", "its text parts, joined by newlines; no reasoning"),
    Column("reasoning_chars", "int", "length of its reasoning in characters"),
    Column("media", "int", "number of parts that are neither text nor reasoning"),
    Column("calls", "int", "number of calls in it"),
    Column("name", "text", "the speaker's name"),
    Column("model", "text", "the model that wrote it"),
    Column("finish_reason", "text", "why the model stopped"),
    Column("input_tokens", "int", "tokens read, cached ones included"),
    Column("output_tokens", "int", "tokens written, reasoning included"),
    Column("cache_read_tokens", "int", "tokens read from the cache"),
    Column("cache_write_tokens", "int", "tokens written to the cache"),
    Column("reasoning_tokens", "int", "tokens of reasoning"),
    Column("cost_usd", "float", "its cost"),
    Column("started_at", "time", "start"),
    Column("ended_at", "time", "end"),
    Column("synthetic", "flag", "opened by a call outside any model turn"),
    Column(ROW, "int"),
)

CALLS: Final = (
    Column("trace_id", "text", "the trace"),
    Column("session_id", "text", "its session"),
    Column("turn", "int", "index of the turn that requested it"),
    Column("call", "int", "index among all calls of the trace, from 0"),
    Column("position", "int", "position among the calls of its turn, from 0"),
    Column("call_id", "text", "the source's id; may repeat"),
    Column("name", "text", "the tool"),
    Column("arguments", "long", "the arguments as JSON; null when unknown"),
    Column("raw_arguments", "long", "what the model wrote, where it is not that JSON"),
    Column("has_result", "flag", "whether a result was recorded, more than an interruption"),
    Column("result", "long", "the result's text: text as it is, text parts joined, else JSON"),
    Column("ok", "flag", "whether it succeeded, as the source says; null when it does not"),
    Column("exit_code", "int", "of a process, as the source says"),
    Column("error_type", "text", "type of the error"),
    Column("error_message", "long", "its message"),
    Column("interrupted", "flag", "never came to its end"),
    Column("truncated", "flag", "cut at the source"),
    Column("requested_by", "text", "agent, user or tool"),
    Column("parent_call_id", "text", "the call inside which it was made"),
    Column("bound_by", "text", "how it was matched to the model's request"),
    Column("started_at", "time", "start"),
    Column("duration_ms", "float", "of the execution"),
    Column(ROW, "int"),
)


def public(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of the columns that views show."""
    return tuple(column.name for column in columns if column.meaning)


def arrow_schema(columns: Sequence[Column]) -> Any:
    """Return the Arrow schema of a file with these columns."""
    pa = arrow()
    types = {
        "text": pa.string(),
        "long": pa.large_string(),
        "int": pa.int64(),
        "float": pa.float64(),
        "flag": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        "texts": pa.list_(pa.string()),
        "bytes": pa.large_binary(),
        "keys": pa.list_(pa.uint64()),
    }
    return pa.schema([(column.name, types[column.type]) for column in columns])
