"""Rows of an Arrow table whose values become Python's only when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_LONG: Final = ("text", "arguments", "raw_arguments", "result", "command")
"""Columns that are turned into Python one value at a time: most of them are never asked for."""


class LazyTable:
    """The columns of an Arrow table, each a list as soon as it is asked for.

    Args:
        table: The table.
    """

    def __init__(self, table: Any) -> None:
        self.names: tuple[str, ...] = tuple(table.column_names)
        self._table = table.combine_chunks()
        self._lists: dict[str, Sequence[Any]] = {}
        self._arrays: dict[str, Any] = {}

    def value(self, name: str, row: int) -> Any:
        """Return a value.

        Raises:
            KeyError: There is no such column.
        """
        values = self._lists.get(name)
        if values is not None:
            return values[row]
        if name not in self.names:
            raise KeyError(name)
        if name in _LONG:
            array = self._arrays.get(name)
            if array is None:
                array = self._arrays[name] = self._table.column(name)
            return array[row].as_py()
        self._lists[name] = found = self._table.column(name).to_pylist()
        return found[row]

    def column(self, name: str) -> Sequence[Any]:
        """Return all values of a column."""
        if name not in self._lists:
            self._lists[name] = self._table.column(name).to_pylist()
        return self._lists[name]


class LazyRow(Mapping[str, Any]):
    """One row of a `LazyTable`."""

    __slots__ = ("_place", "_table")

    def __init__(self, table: LazyTable, place: int) -> None:
        self._table = table
        self._place = place

    def __getitem__(self, name: str) -> Any:
        return self._table.value(name, self._place)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.names)

    def __len__(self) -> int:
        return len(self._table.names)
