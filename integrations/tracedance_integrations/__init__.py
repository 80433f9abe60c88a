"""Hooks into agent frameworks and model clients, one module for each.

    from tracedance_integrations import langchain

    langchain.install()

Each module has ``install()`` and ``uninstall()``, and imports its framework only then. Those of
other packages are found in the entry point group ``tracedance.integrations``; `install` takes all
by name. One whose hooks a program should ask for says ``OPT_IN = True``, and is installed only when
it is named.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

GROUP: Final = "tracedance.integrations"
"""Entry points that name modules with ``install()`` and ``uninstall()``."""


def available() -> dict[str, EntryPoint]:
    """Return the integrations that are installed, by name; their libraries may not be."""
    return {point.name: point for point in sorted(entry_points(group=GROUP))}


def install(*names: str) -> list[str]:
    """Install integrations, and return the names of those that are now in place.

    Args:
        names: Which ones; none means every one whose library is installed and that is not opt-in.

    Returns:
        Those of which at least one hook found its place. What found none is logged, and stands in
        the faults of every recorder.

    Raises:
        InvalidOption: No integration of this name.
        MissingDependency: The library of a named one is not installed.
    """
    from tracedance_sdk.errors import MissingDependency

    found = []
    for name, module in _modules(names).items():
        if not names and getattr(module, "OPT_IN", False):
            continue
        try:
            is_in_place = module.install()
        except MissingDependency:
            if names:
                raise
            continue
        if is_in_place is not False:
            # Modules of other packages may return nothing.
            found.append(name)
    return found


def uninstall(*names: str) -> None:
    """Uninstall integrations; without names all of them.

    Raises:
        InvalidOption: No integration of this name.
    """
    for module in _modules(names).values():
        module.uninstall()


def _modules(names: tuple[str, ...]) -> dict[str, Any]:
    from tracedance_sdk.errors import InvalidOption

    known = available()
    for name in names:
        if name not in known:
            raise InvalidOption(f"there is no integration {name!r}; there are {', '.join(known)}")
    return {name: known[name].load() for name in names or known}
