"""Every setting that the environment can give, in one table.

Nothing is read at import: `read_setting` looks when it is asked. An argument beats `configure`,
`configure` beats the environment, the environment beats the default.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption


class Setting(NamedTuple):
    """One row of the table.

    Attributes:
        name: As the argument of the same meaning is called.
        env: The environment variable.
        default: In words of the variable; None means unset.
        type: ``text``, ``path``, ``integer``, ``flag`` (``true`` or ``false``), or the words
            allowed, separated by ``|`` (case is ignored).
        meaning: What it does.
    """

    name: str
    env: str
    default: str | None
    type: str
    meaning: str


SETTINGS: Final[Mapping[str, Setting]] = {
    row.name: row
    for row in (
        Setting(
            "journal",
            "TRACEDANCE_JOURNAL",
            None,
            "path",
            "Folder of the journal. Unset: records stay in memory.",
        ),
        Setting(
            "journal_key",
            "TRACEDANCE_JOURNAL_KEY",
            None,
            "text",
            "Secret that makes the journal's chain an HMAC, so that rewriting it needs the key; "
            "@PATH names a file that holds it.",
        ),
        Setting(
            "durability",
            "TRACEDANCE_DURABILITY",
            "os",
            "os|fsync",
            "What a written record survives: the process, or (fsync) the machine.",
        ),
        Setting(
            "exporter",
            "TRACEDANCE_EXPORTER",
            None,
            "otlp|console|none",
            "Where ended spans go. Unset: to OTLP when one of its endpoints is set, else nowhere.",
        ),
        Setting(
            "redaction",
            "TRACEDANCE_REDACTION",
            "true",
            "flag",
            "Whether secrets are masked before anything is written.",
        ),
        Setting(
            "content",
            "TRACEDANCE_CONTENT",
            "on",
            "on|off",
            "Whether exported spans hold arguments, results and messages.",
        ),
        Setting(
            "capture_content",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
            None,
            "no_content|span_only|event_only|span_and_event|true|false",
            "OpenTelemetry's switch for content; when set it decides instead of `content`.",
        ),
        Setting(
            "otlp_endpoint",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            None,
            "text",
            "OpenTelemetry's endpoint for everything; set, spans are exported to it.",
        ),
        Setting(
            "otlp_traces_endpoint",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            None,
            "text",
            "OpenTelemetry's endpoint for spans; set, spans are exported to it.",
        ),
        Setting(
            "otel_disabled",
            "OTEL_SDK_DISABLED",
            "false",
            "flag",
            "OpenTelemetry's main switch; on, no endpoint variable asks for export.",
        ),
        Setting(
            "otel_traces_exporter",
            "OTEL_TRACES_EXPORTER",
            None,
            "text",
            "OpenTelemetry's choice of exporter; with none, no endpoint variable asks for export.",
        ),
        Setting(
            "otlp_protocol",
            "OTEL_EXPORTER_OTLP_PROTOCOL",
            "http/protobuf",
            "http/protobuf|grpc",
            "OpenTelemetry's choice of protocol for everything.",
        ),
        Setting(
            "otlp_traces_protocol",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            None,
            "http/protobuf|grpc",
            "OpenTelemetry's choice of protocol for spans.",
        ),
        Setting(
            "bsp_queue",
            "OTEL_BSP_MAX_QUEUE_SIZE",
            "2048",
            "integer",
            "Most spans that wait to be exported; further ones are dropped and counted.",
        ),
        Setting(
            "bsp_batch",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
            "512",
            "integer",
            "Most spans in one request.",
        ),
        Setting(
            "bsp_delay",
            "OTEL_BSP_SCHEDULE_DELAY",
            "5000",
            "integer",
            "How long a span waits for others to be sent with, in milliseconds.",
        ),
        Setting(
            "attribute_length",
            "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
            None,
            "integer",
            "Longest attribute of an exported span, in characters.",
        ),
        Setting(
            "span_attribute_length",
            "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
            None,
            "integer",
            "The same, for spans alone; beats the one above.",
        ),
        Setting(
            "tools",
            "TRACEDANCE_TOOLS",
            None,
            "path",
            "YAML file with what is known of your agents' tools; goes before the packaged table.",
        ),
        Setting(
            "origins",
            "TRACEDANCE_ORIGINS",
            None,
            "path",
            "YAML file with rules that tell injected messages from human ones; go before ours.",
        ),
    )
}
"""Name → row."""

_FLAGS: Final = {"true": True, "1": True, "yes": True, "on": True} | dict.fromkeys(
    ("false", "0", "no", "off"), False
)


def read_setting(name: str) -> str | int | bool | None:
    """Return a setting from the environment, or its default.

    An empty variable counts as unset, as OpenTelemetry wants it.

    Args:
        name: A key of `SETTINGS`.

    Returns:
        Text, a lower-case word, an integer, a boolean, or None when unset without a default.

    Raises:
        InvalidOption: The variable's value is not of the setting's type.
        KeyError: No such setting.
    """
    row = SETTINGS[name]
    text = os.environ.get(row.env, "").strip() or row.default
    if text is None or row.type in ("text", "path"):
        return text
    if row.type == "flag":
        return _flag(row, text)
    if row.type == "integer":
        return _integer(row, text)
    word = text.lower()
    if word not in row.type.split("|"):
        raise InvalidOption(
            f"{row.env}={text!r} is not one of {row.type.replace('|', ', ')}; correct or unset it"
        )
    return word


def read_text(name: str) -> str | None:
    """Return a setting of type text, path or words; see `read_setting`."""
    value = read_setting(name)
    return None if value is None else str(value)


def _flag(row: Setting, text: str) -> bool:
    try:
        return _FLAGS[text.lower()]
    except KeyError:
        raise InvalidOption(
            f"{row.env}={text!r} is neither true nor false; correct or unset it"
        ) from None


def _integer(row: Setting, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise InvalidOption(f"{row.env}={text!r} is no integer; correct or unset it") from None
    if value < 0:
        raise InvalidOption(f"{row.env}={text!r} is negative; correct or unset it")
    return value
