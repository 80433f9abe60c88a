"""An agent by the name that users give it, and functions by theirs."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.replay.running.apart import told_of
from tracedance_sdk.replay.running.asking import AgentUnderTest
from tracedance_sdk.replay.running.function_agent import FunctionAgent, takes_tools
from tracedance_sdk.replay.running.http_agent import HttpAgent
from tracedance_sdk.replay.running.program_agent import CommandAgent, FirstReply
from tracedance_sdk.replay.running.program_errors import ProgramErrors

if TYPE_CHECKING:
    from tracedance_sdk.replay.running.masking import Masked

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def agent_named(
    name: str, *, offline: bool = False, masked: Masked | None = None
) -> Callable[[], AgentUnderTest]:
    """Return what makes the agent of a run, by how users name it.

    Args:
        name: ``module:function``, ``file.py:function``, ``cmd:PROGRAM ARGUMENTS``, or an address
            of HTTP.
        offline: Refuse every address that is not on this machine.
        masked: Takes secrets out of what a program writes to its standard error; by default those
            that the recorder would find.

    Raises:
        InvalidOption: It names none.
    """
    if _ADDRESS.match(name):
        HttpAgent(name, offline=offline)
        return lambda: HttpAgent(name, offline=offline)
    if name.startswith("cmd:"):
        try:
            command = shlex.split(name.removeprefix("cmd:"))
        except ValueError as error:
            raise InvalidOption(f"cmd: is no command: {error}") from error
        if not command or not command[0]:
            raise InvalidOption("cmd: names no program")
        if shutil.which(command[0]) is None:
            raise InvalidOption(f"cmd: there is no program {command[0]!r:.200} that can be run")
        start, errors, folder = FirstReply(), ProgramErrors(masked), _here()
        return lambda: CommandAgent(command, start, errors=errors, folder=folder)
    function = function_named(name)
    _check_signature(function, name)
    return lambda: FunctionAgent(function, name)


def _here() -> str | None:
    """Return where this process is; None where the folder is there no more."""
    try:
        return os.fspath(Path.cwd())
    except OSError:
        return None


def _check_signature(function: Callable[..., Any], name: str) -> None:
    """Refuse a function that cannot be called as an agent is.

    Raises:
        InvalidOption: It takes other arguments.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # one of C, which tells nothing
    try:
        signature.bind(*((None, None) if takes_tools(function) else (None,)))
    except TypeError as error:
        raise InvalidOption(
            f"{name!r} takes {signature}; an agent is called with (messages, tools) or (messages)"
        ) from error


def function_named(name: str) -> Callable[..., Any]:
    """Return a function by ``module:function`` or ``file.py:function``.

    Raises:
        InvalidOption: It cannot be imported, or is no function.
    """
    module_name, mark, attribute = name.rpartition(":")
    if not mark or not module_name or not attribute:
        raise InvalidOption(
            f"{name!r} names no agent; write module:function, cmd:PROGRAM, or an address of HTTP"
        )
    found: Any = _module(module_name)
    for part in attribute.split("."):
        found = _attribute(found, part, name)
    if not callable(found):
        raise InvalidOption(f"{module_name!r} has no function {attribute!r}")
    function: Callable[..., Any] = found
    return function


def _attribute(of: Any, part: str, name: str) -> Any:
    try:
        return getattr(of, part, None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InvalidOption(f"{name!r} cannot be looked up: {told_of(error)}") from error


def _module(name: str) -> Any:
    try:
        if name.endswith(".py"):
            return _module_of_file(Path(name))
        with _importable(Path.cwd()):
            return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InvalidOption(f"{name!r} cannot be imported: {told_of(error)}") from error


def _module_of_file(path: Path) -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(f"_agent_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{os.fspath(path)} is no Python file")
    module = module_from_spec(spec)
    with _importable(path.resolve().parent):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _importable(folder: Path) -> Any:
    """Let modules of a folder be imported meanwhile, as `python -m` does."""
    text = os.fspath(folder)
    is_new = text not in sys.path
    if is_new:
        sys.path.insert(0, text)
    try:
        yield
    finally:
        if is_new:
            with contextlib.suppress(ValueError):
                sys.path.remove(text)
