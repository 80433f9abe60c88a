"""Public faces that import a submodule only when one of its names is first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence


def lazy_face(
    package: str, table: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Build ``__getattr__`` and ``__dir__`` for a package's ``__init__``.

    Args:
        package: The package's ``__name__``.
        table: Submodule → the public names it defines. The package's ``TYPE_CHECKING`` block and
            ``__all__`` say the same for readers and type checkers; a test keeps them equal.

    Returns:
        The two module attributes, in the order named above.
    """
    homes = {name: module for module, names in table.items() for name in names}

    def load(name: str) -> object:
        module = homes.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(homes)
