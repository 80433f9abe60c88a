"""Write JSON as YAML for people to read and edit; our reader, and any other, gives it back."""

from __future__ import annotations

from typing import Any

import yaml

from tracedance_sdk.trace.markers import Json
from tracedance_sdk.trace.yaml_reading import is_plain_text


class _Dumper(yaml.SafeDumper):
    """Writes neither aliases nor lists at the margin, and text by `_text`."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the dumper's own signature
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


class _BlockDumper(_Dumper):
    """The same, with texts of several lines as blocks."""


def _style(text: str) -> str | None:
    if not text.isprintable():
        # Every character that YAML takes for a line break must be written as an escape.
        return '"'
    return None if is_plain_text(text) and text != "<<" else "'"


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_lines = "\n" in text and text.replace("\n", "").isprintable()
    style = "|" if is_lines else _style(text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
_BlockDumper.add_representer(str, _block)


def yaml_text(value: Json, *, blocks: bool = False) -> str:
    """Return a JSON value as YAML.

    Args:
        value: Text in it must hold no lone surrogates; see `spelled_out`.
        blocks: Write texts of several lines as blocks, which people read more easily.

    Example:
        >>> print(yaml_text({"id": "a", "said": "no: later"}), end="")
        id: a
        said: 'no: later'
    """
    text: str = yaml.dump(
        value,
        Dumper=_BlockDumper if blocks else _Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=100,
        indent=2,
    )
    return text
