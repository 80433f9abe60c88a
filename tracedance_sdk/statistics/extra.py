"""The libraries of the extra `stats`, imported when a function first needs one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tracedance_sdk.errors import MissingDependency


def load(module: str) -> Any:
    """Import a module of numpy, scipy or statsmodels.

    Args:
        module: Its dotted name, such as ``scipy.stats``.

    Raises:
        MissingDependency: The library is not installed; the message has the install line.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingDependency.for_extra(module.partition(".")[0], extra="stats") from error
