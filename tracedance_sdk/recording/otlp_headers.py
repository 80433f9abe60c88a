"""The headers of OTLP requests, looked at before OpenTelemetry reads them.

Its exporters quote a header that they cannot read in a warning, and the transports below them quote
one that cannot be sent. Headers hold keys, so such a header is refused here without its text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from tracedance_sdk.errors import InvalidOption

_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
"""The first that is set is used."""

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_WRITTEN: Final = re.compile(r"[ !#-+\--:<-\[\]-~]*")
"""What OpenTelemetry reads: printable ASCII but for quotes, commas, semicolons, backslashes."""

_SENDABLE: Final = re.compile(r"[ -~]*")


def check_headers(environ: Mapping[str, str]) -> None:
    """Refuse headers that cannot be read or sent.

    Args:
        environ: Variables of the process.

    Raises:
        InvalidOption: One that is not ``name=value``, or whose value no request can hold. The
            message counts the headers from 1 and quotes none.

    Example:
        >>> check_headers({"OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=abc,x-team=shop"})
    """
    variable = next((name for name in _VARIABLES if environ.get(name)), None)
    if variable is None:
        return
    for number, header in enumerate(environ[variable].split(","), start=1):
        problem = _problem(header)
        if problem is not None:
            raise InvalidOption(
                f"{variable}: header {number} {problem}; write name=value,name=value with values"
                " percent-encoded"
            )


def _problem(header: str) -> str | None:
    name, mark, value = header.strip(" \t").partition("=")
    if not name and not mark:
        return None
    name, value = name.strip(" \t"), value.strip(" \t")
    if not mark or not _NAME.fullmatch(name):
        return "is not name=value"
    if not _WRITTEN.fullmatch(value):
        return "has characters in its value that must be encoded"
    if not _SENDABLE.fullmatch(unquote(value)):
        return "has a value that no request can hold"
    return None
