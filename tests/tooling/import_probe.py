"""Import one module and print, as JSON, everything that the import did besides.

    python -B import_probe.py MODULE

Run as a program of its own, so that nothing else has imported the module before.
"""

from __future__ import annotations

import atexit
import importlib
import json
import logging
import os
import sys
import threading
import warnings

HEAVY = ("opentelemetry", "pydantic", "duckdb", "pyarrow", "openai")
WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
EVENTS = ("socket.", "subprocess.", "_thread.start_new_thread", "os.fork", "os.putenv", "os.mkdir")

found: list[str] = []
watching = False


def audit(event: str, arguments: tuple[object, ...]) -> None:
    if not watching:
        return
    if event == "open":
        path, mode, flags = arguments
        written = isinstance(mode, str) and set(mode) & set("wax+")
        if written or (isinstance(flags, int) and flags & WRITING_FLAGS):
            found.append(f"opened for writing: {path!r}")
    elif event.startswith(EVENTS):
        found.append(f"{event}: {arguments!r}")


def watch_environment() -> None:
    """Note every look at one of our variables, and every walk over all of them."""
    environment = type(os.environ)
    read_one, walk = environment.__getitem__, environment.__iter__

    def getitem(self: os._Environ[str], key: str) -> str:
        name = os.fsdecode(key)
        if watching and name.startswith(("TRACEDANCE_", "OTEL_")):
            found.append(f"environment read: {name}")
        return read_one(self, key)

    def iterate(self: os._Environ[str]) -> object:
        if watching:
            found.append("environment read: all of it")
        return walk(self)

    environment.__getitem__ = getitem  # type: ignore[method-assign]  # the point of the probe
    environment.__iter__ = iterate  # type: ignore[method-assign,assignment]  # as above


def watch_threads() -> None:
    """Note every thread, those that end before the import does too."""
    start = threading.Thread.start

    def noted(self: threading.Thread) -> None:
        if watching:
            found.append(f"thread started: {self.name}")
        start(self)

    threading.Thread.start = noted  # type: ignore[method-assign]  # as in watch_environment


def process_state() -> dict[str, object]:
    """Return what an import could change in the process for everybody."""
    loggers = [logging.root, *logging.Logger.manager.loggerDict.values()]
    return {
        "threads": [thread.name for thread in threading.enumerate()],
        "exit hooks": atexit._ncallbacks(),
        "sys.excepthook": repr(sys.excepthook),
        "sys.unraisablehook": repr(sys.unraisablehook),
        "threading.excepthook": repr(threading.excepthook),
        "sys.meta_path": repr(sys.meta_path),
        "sys.path": list(sys.path),
        "warning filters": repr(warnings.filters),
        "logger class": repr(logging.getLoggerClass()),
        "loggers with a configuration": {
            logger.name: (logger.level, repr(logger.handlers), logger.propagate, logger.disabled)
            for logger in loggers
            if isinstance(logger, logging.Logger)
            and (logger.level or logger.handlers or not logger.propagate or logger.disabled)
        },
    }


def main(module: str) -> None:
    global watching  # noqa: PLW0603  # the audit hook can take no arguments and never leaves
    sys.addaudithook(audit)
    watch_environment()
    watch_threads()
    modules_before, before = set(sys.modules), process_state()
    watching = True
    importlib.import_module(module)
    watching = False
    after = process_state()
    found.extend(
        f"{key}: {before[key]!r} became {after[key]!r}"
        for key in before
        if before[key] != after[key]
    )
    imported = {name.partition(".")[0] for name in set(sys.modules) - modules_before}
    found.extend(f"imported: {name}" for name in HEAVY if name in imported)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
