"""Rows of tables: CSV as spreadsheets save it, and JSON lines."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson

from tracedance_sdk.errors import InvalidJSON, InvalidOption, shown
from tracedance_sdk.trace import Json, parse_json

_DELIMITERS: Final = ",;\t"
_MISREAD_MARK: Final = "\u00ef\u00bb\u00bf"
"""What becomes of the mark of UTF-8 where a program takes it for text and writes it anew."""

TableRow = tuple[int, dict[str, str] | str]
"""The line at which a row begins, and the row by the names of its columns, or what is wrong."""


def table_rows(data: bytes, where: str) -> Iterator[TableRow]:
    r"""Yield the rows of a table: JSON lines by the name of the file, else CSV.

    Args:
        data: The file's bytes: UTF-8, or UTF-16 with its mark.
        where: The name of the file.

    Raises:
        InvalidOption: Another encoding, no header, or one that names a column twice.

    Example:
        >>> list(table_rows(b"item;score\ni1;4\n", "labels.csv"))
        [(2, {'item': 'i1', 'score': '4'})]
    """
    is_json = Path(where).suffix.lower() in (".jsonl", ".ndjson")
    yield from _json_rows(data) if is_json else _csv_rows(data, where)


def _csv_rows(data: bytes, where: str) -> Iterator[TableRow]:
    text = _decoded(data, where)
    first = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            if header is None:
                raise InvalidOption(f"{where!r} is no table: line {line}: {error}") from error
            yield line, f"no row of a table: {error}"
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if header is None:
            header = _header(cells, where)
        elif any(cells[len(header) :]):
            yield line, f"{len(cells)} cells under {len(header)} columns"
        else:
            yield line, dict(zip(header, cells, strict=False))
    if header is None:
        raise InvalidOption(f"{where!r} is empty")


def _header(cells: list[str], where: str) -> list[str]:
    names = [cell.strip().casefold() for cell in cells]
    twice = [name for name in names if name and names.count(name) > 1]
    if twice:
        raise InvalidOption(f"{where!r} has two columns {shown(twice[0])}; rename one of them")
    return cells


def _json_rows(data: bytes) -> Iterator[TableRow]:
    for line, text in enumerate(data.splitlines(), 1):
        if not text.strip():
            continue
        try:
            row = parse_json(text, where="the line", unique_keys=True)
        except InvalidJSON as error:
            yield line, str(error)
            continue
        if not isinstance(row, dict):
            yield line, f"an object is needed, not {shown(row)}"
        else:
            yield line, {name: _cell_text(value) for name, value in row.items()}


def _cell_text(value: Json) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return orjson.dumps(value).decode()


def _decoded(data: bytes, where: str) -> str:
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        # Programs that do not know the mark of the one before put another one first.
        text = data.decode("utf-16" if is_wide else "utf-8").lstrip("\ufeff")
    except UnicodeDecodeError as error:
        raise InvalidOption(
            f"{where!r} is not UTF-8 (byte {error.start}); save it as 'CSV UTF-8'"
        ) from error
    return text.removeprefix(_MISREAD_MARK)
