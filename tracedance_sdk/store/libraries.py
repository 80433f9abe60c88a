"""The libraries a store needs, imported when first used; absent, one line says how to install."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Final

from tracedance_sdk.errors import MissingDependency

_NEEDED: Final = ("duckdb", "pyarrow")
"""What no store does without; others are needed for some files or places."""


def require_store_extra() -> None:
    """See that what every store needs is there, without importing it.

    Raises:
        MissingDependency: It is not.
    """
    for name in _NEEDED:
        if importlib.util.find_spec(name) is None:
            raise MissingDependency.for_extra(name, extra="store")


def arrow() -> ModuleType:
    """Return pyarrow.

    Raises:
        MissingDependency: It is not installed.
    """
    return _load("pyarrow")


def parquet() -> ModuleType:
    """Return pyarrow's reader and writer of Parquet.

    Raises:
        MissingDependency: It is not installed.
    """
    return _load("pyarrow.parquet")


def compute() -> ModuleType:
    """Return pyarrow's functions over arrays.

    Raises:
        MissingDependency: It is not installed.
    """
    return _load("pyarrow.compute")


def duck() -> ModuleType:
    """Return DuckDB.

    Raises:
        MissingDependency: It is not installed.
    """
    return _load("duckdb")


def remote_files() -> ModuleType:
    """Return fsspec's core.

    Raises:
        MissingDependency: It is not installed.
    """
    return _load("fsspec.core")


def _load(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependency.for_extra(name.partition(".")[0], extra="store") from error
