"""What a recorder does with its records, worked out from all the places that can say so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.settings import read_setting, read_text

if TYPE_CHECKING:
    from tracedance_sdk.recording.redaction import Redactor

Durability = Literal["os", "fsync"]
_T = TypeVar("_T")

_CAPTURED: Final = frozenset({"span_only", "span_and_event", "true"})

defaults: Final[dict[str, Any]] = {}
"""What `configure` was given, by argument."""


class PipelineOptions(NamedTuple):
    """What decides whether two recorders share a pipeline.

    Attributes:
        journal: Absolute path of the journal's folder; None keeps records in memory.
        durability: What a written record survives.
        exporter: ``otlp``, ``console``, a span exporter, or None.
        redaction: True, False, or a redactor.
        exports_content: Whether exported spans hold content.
    """

    journal: str | None
    durability: Durability
    exporter: Any
    redaction: bool | Redactor
    exports_content: bool


def pipeline_options(
    *,
    journal: str | os.PathLike[str] | Literal[False] | None,
    durability: Durability | None,
    exporter: Any,
    redaction: bool | Redactor | None,
    content: Literal["on", "off"] | None,
    isolated: bool,
    around: PipelineOptions | None,
) -> PipelineOptions:
    """Work out the options: argument, else enclosing recorder, `configure`, environment, default.

    Args:
        journal: A folder; False for none.
        durability: See `PipelineOptions`.
        exporter: ``otlp``, ``console``, an object with ``export``; False or ``none`` for none.
        redaction: See `PipelineOptions`.
        content: Whether exported spans hold content.
        isolated: No provider of the user's takes the spans, so that OpenTelemetry's own
            endpoint variables may ask for export.
        around: Of the enclosing recorder.

    Raises:
        InvalidOption: A value that cannot be used.
    """
    if around is not None:
        inherited: Mapping[str, Any] = around._asdict()
    else:
        inherited = {
            "journal": _folder(_first(defaults.get("journal"), read_text("journal"))),
            "durability": _first(defaults.get("durability"), read_text("durability")),
            "exporter": _exporter(
                _first(defaults.get("exporter"), _exporter_asked_for(isolated=isolated))
            ),
            "redaction": _first(defaults.get("redaction"), read_setting("redaction")),
            "exports_content": _exports_content(defaults.get("content")),
        }
    return PipelineOptions(
        journal=inherited["journal"] if journal is None else _folder(journal),
        durability=_checked_durability(_first(durability, inherited["durability"])),
        exporter=inherited["exporter"] if exporter is None else _exporter(exporter),
        redaction=_checked_redaction(_first(redaction, inherited["redaction"])),
        exports_content=(
            inherited["exports_content"] if content is None else _exports_content(content)
        ),
    )


def writes_by_default() -> bool:
    """Whether what a recorder records without options of its own goes anywhere."""
    provider = defaults.get("tracer_provider")
    found = pipeline_options(
        journal=None,
        durability=None,
        exporter=None,
        redaction=None,
        content=None,
        isolated=provider is None,
        around=None,
    )
    return not (provider is None and found.journal is None and found.exporter is None)


def check_options(given: Mapping[str, Any]) -> None:
    """Check arguments of `configure` or of a recorder, each for itself; None is none given.

    Raises:
        InvalidOption: One that cannot be used.
    """
    _folder(given.get("journal"))
    _exporter(given.get("exporter"))
    if given.get("durability") is not None:
        _checked_durability(given["durability"])
    if given.get("redaction") is not None:
        _checked_redaction(given["redaction"])
    if given.get("content") not in (None, "on", "off"):
        raise InvalidOption(f"content={given['content']!r} is neither 'on' nor 'off'")
    if given.get("state_changes") not in (None, "per_call"):
        raise InvalidOption(f"state_changes={given['state_changes']!r} is not 'per_call'")
    for option in ("group", "session_id"):
        check_text(option, given.get(option))
    metadata = given.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidOption(f"metadata={metadata!r} is no mapping of names to values")
    provider = given.get("tracer_provider")
    if provider is not None and not callable(getattr(provider, "get_tracer", None)):
        raise InvalidOption(f"tracer_provider={provider!r} has no get_tracer()")


def check_text(option: str, text: object) -> None:
    """Check an argument that is words; None is none given.

    Raises:
        InvalidOption: It is no text, or empty, as from a variable that is not set.
    """
    if text is not None and not isinstance(text, str):
        raise InvalidOption(f"{option}={text!r} is no text")
    if text is not None and not text.strip():
        raise InvalidOption(f"{option}={text!r} is empty; give a text or leave it out")


def _first(given: _T | None, otherwise: Any) -> Any:
    return otherwise if given is None else given


def _folder(journal: str | os.PathLike[str] | Literal[False] | None) -> str | None:
    if journal is None or journal is False:
        return None
    if isinstance(journal, str) and not journal.strip():
        raise InvalidOption(
            f"journal={journal!r} is empty; give a folder's path, or False for no journal"
        )
    try:
        path = Path(journal).absolute()
    except (TypeError, ValueError) as error:
        raise InvalidOption(f"journal={journal!r} is no folder's path; give one") from error
    if "\0" in str(path):
        raise InvalidOption(f"journal={journal!r} is no folder's path; remove the NUL")
    if path.exists() and not path.is_dir():
        raise InvalidOption(f"journal={str(journal)!r} is a file; give a folder")
    return str(path)


def _exporter(exporter: Any) -> Any:
    if exporter is None or exporter is False or exporter == "none":
        return None
    if exporter == "":
        raise InvalidOption("exporter='' is empty; give 'otlp' or 'console', or False for none")
    if exporter in ("otlp", "console") or callable(getattr(exporter, "export", None)):
        return exporter
    raise InvalidOption(
        f"exporter={exporter!r} is neither 'otlp', 'console', 'none' nor an object with export()"
    )


def _exporter_asked_for(*, isolated: bool) -> Any:
    if not isolated:
        return None
    named = read_text("exporter")
    if named is not None:
        return named
    if read_setting("otel_disabled") or read_text("otel_traces_exporter") == "none":
        return None
    asked = read_text("otlp_traces_endpoint") or read_text("otlp_endpoint")
    return "otlp" if asked else None


def _exports_content(content: str | None) -> bool:
    captured = read_text("capture_content")
    if captured is not None:
        return captured in _CAPTURED
    content = content if content is not None else read_text("content")
    if content not in ("on", "off"):
        raise InvalidOption(f"content={content!r} is neither 'on' nor 'off'")
    return content == "on"


def _checked_durability(durability: Any) -> Durability:
    if durability == "os" or durability == "fsync":  # noqa: PLR1714  # narrows the type
        return "fsync" if durability == "fsync" else "os"
    raise InvalidOption(f"durability={durability!r} is neither 'os' nor 'fsync'")


def _checked_redaction(redaction: Any) -> bool | Redactor:
    if isinstance(redaction, bool):
        return redaction
    if callable(getattr(redaction, "redact", None)):
        found: Redactor = redaction
        return found
    raise InvalidOption(
        f"redaction={redaction!r} is neither True, False nor an object with redact(data)"
    )
