"""The agent under test: a Python function, a command, or a service behind HTTP.

Each is asked the same: given the messages so far and the tools there are, what does the assistant
say next? It replies with a message of chat completions: text, calls of tools, or both. The calls
are answered from the recordings and the agent is asked again; it never reaches a real tool.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import http.client
import importlib
import inspect
import json
import os
import shlex
import shutil
import signal
import socket
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

from tracedance_sdk.errors import AgentFailed, AgentNotStarted, AgentUnreachable, InvalidOption
from tracedance_sdk.replay.running.messages import Message
from tracedance_sdk.trace import Json

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

_MOST_BYTES: Final = 16 * 1024**2
_SHOWN: Final = 300
_BLOCK: Final = 2**20
_PATIENCE_S: Final = 5
_LONGEST_WAIT_S: Final = 10
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class Request(NamedTuple):
    """What an agent is asked.

    Attributes:
        messages: The conversation so far, as chat completions have it.
        tools: Definitions of the tools, as chat completions have them.
        test_id: Of the test that is run.
        trial: Which repetition, from 0.
    """

    messages: list[Message]
    tools: list[dict[str, Any]]
    test_id: str
    trial: int

    @property
    def document(self) -> dict[str, Any]:
        """The request as JSON, for agents outside this process."""
        return {**self._asdict(), "format": "tracedance.agent_request", "version": 1}


class AgentUnderTest(Protocol):
    """Whoever is put into the recorded conversations."""

    @property
    def name(self) -> str:
        """Its name in reports."""

    async def reply(self, request: Request) -> Json:
        """Return the assistant's next message.

        Raises:
            AgentFailed: The agent raised, or replied with something that is no message.
            AgentUnreachable: It could not be asked: that is not the agent's answer, and the run
                may be tried again.
        """

    async def close(self) -> None:
        """Let go of what a run held."""


class FunctionAgent:
    """A Python function ``(messages, tools) -> message``, sync or async.

    Args:
        function: A function that takes one argument gets the messages alone.
        name: In reports; the function's own by default.
    """

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        own: str = getattr(function, "__qualname__", type(function).__name__)
        self.name = name or own
        self._function = function
        self._takes_tools = _takes_tools(function)

    async def reply(self, request: Request) -> Json:
        """Call the function; see `AgentUnderTest.reply`."""
        # A copy: what an agent does to its messages is its own affair.
        messages = json.loads(json.dumps(request.messages))
        given = (messages, json.loads(json.dumps(request.tools)))
        arguments = given if self._takes_tools else given[:1]
        try:
            if inspect.iscoroutinefunction(self._function):
                return await self._function(*arguments)
            replied = await _in_thread(self._function, *arguments)
            return await replied if inspect.isawaitable(replied) else replied
        except (Exception, SystemExit) as error:
            raise AgentFailed(f"the agent raised {type(error).__name__}: {error}") from error

    async def close(self) -> None:
        """Nothing is held."""


class FirstReply:
    """Whether an agent's program was ever seen to reply.

    Until it was, runs ask one after another, so that what is said of a program that cannot start
    does not depend on which run was faster. Nobody waits for a slow one longer than some seconds.
    """

    def __init__(self) -> None:
        self.was_seen = False
        self._turn: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Let nobody else ask while a first reply is waited for."""
        loop = asyncio.get_running_loop()
        if self._turn is None or self._loop is not loop:
            self._turn, self._loop = asyncio.Lock(), loop
        turn = self._turn
        try:
            await asyncio.wait_for(turn.acquire(), _LONGEST_WAIT_S)
        except TimeoutError:
            yield
            return
        try:
            yield
        finally:
            turn.release()


class CommandAgent:
    """A program that reads one JSON line a request and writes one JSON line a reply.

    It is started once for each run and ended by closing its input; what it writes to its standard
    error is passed on.

    Args:
        command: The program with its arguments.
        start: Whether it was ever seen to reply, shared by the runs of one agent.
    """

    def __init__(self, command: Sequence[str], start: FirstReply | None = None) -> None:
        self.name = Path(command[0]).name
        self._command = tuple(command)
        self._start = start or FirstReply()
        self._process: asyncio.subprocess.Process | None = None

    async def reply(self, request: Request) -> Json:
        """Write a line and read one; see `AgentUnderTest.reply`."""
        if self._start.was_seen:
            return _parsed(await self._line(request))
        async with self._start.alone():
            line = await self._line(request)
            self._start.was_seen = True
        return _parsed(line)

    async def _line(self, request: Request) -> bytes:
        """Return the line that the program replies with."""
        process = await self._started()
        line = b""
        try:
            # Both were opened as pipes.
            written, read = (
                cast("StreamWriter", process.stdin),
                cast("StreamReader", process.stdout),
            )
            written.write(json.dumps(request.document).encode() + b"\n")
            await written.drain()
            line = await read.readline()
        except ValueError as error:
            raise AgentFailed(f"the agent's program broke off: {error}") from error
        except OSError:
            # It reads no more: it is told below how it ended.
            pass
        if line.endswith(b"\n"):
            return line
        self._process = None
        raise self._ended(await _exit_code(process))

    def _ended(self, code: int) -> AgentFailed | AgentNotStarted:
        if self._start.was_seen:
            return AgentFailed(f"the agent's program ended with exit code {code} without a reply")
        return AgentNotStarted(
            f"the agent's program {shlex.join(self._command)!r:.200} ended with exit code {code} "
            "before it replied to anything"
        )

    async def close(self) -> None:
        """End the program: first its input, then, if it stays, the program itself."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        await _exit_code(process)

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=_MOST_BYTES,
                )
            except OSError as error:
                raise AgentUnreachable(f"{self._command[0]!r} cannot be run: {error}") from error
        return self._process


class HttpAgent:
    """A service that is sent one JSON document a request and answers with one.

    Args:
        url: Where.
        offline: Refuse every address that is not on this machine.
        timeout_s: For one request.

    Raises:
        InvalidOption: No address of HTTP, or one that may not be reached.
    """

    def __init__(self, url: str, *, offline: bool = False, timeout_s: float = 120) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidOption(f"{url!r} is no address of HTTP")
        if parts.username or parts.password:
            raise InvalidOption("an agent's address must not hold a user or a password")
        if offline and parts.hostname not in _LOOPBACK:
            raise InvalidOption(f"{parts.hostname!r} is not on this machine, and --offline is set")
        self.name = f"{parts.netloc}{parts.path}"
        self._url = url
        self._timeout_s = timeout_s
        self._opener = _opener(is_loopback=parts.hostname in _LOOPBACK)

    async def reply(self, request: Request) -> Json:
        """Post a document; see `AgentUnderTest.reply`."""
        data = json.dumps(request.document).encode()
        return _parsed(await _in_thread(self._post, data))

    async def close(self) -> None:
        """Nothing is held."""

    def _post(self, data: bytes) -> bytes:
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self._url, data, headers)  # noqa: S310 - it was checked
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                body: bytes = response.read(_MOST_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read(_SHOWN * 4).decode("utf-8", "replace")
            told = f"{self.name} answered {error.code}"
            if error.code >= 500 or error.code == 429:
                raise AgentUnreachable(told) from error
            raise AgentFailed(f"{told}: {_shown(text)}") from error
        except (OSError, http.client.HTTPException) as error:
            told = _why_unreached(error, self._timeout_s)
            raise AgentUnreachable(f"{self.name} cannot be reached: {told}") from error
        if len(body) > _MOST_BYTES:
            raise AgentFailed(f"{self.name} answered more than {_MOST_BYTES:,} bytes")
        return body


def _why_unreached(error: Exception, timeout_s: float) -> str:
    """Return in plain words why a service gave no answer."""
    cause = getattr(error, "reason", error)
    if isinstance(cause, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    if isinstance(cause, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(cause, socket.gaierror):
        return "there is no such host"
    if isinstance(cause, (ConnectionError, http.client.HTTPException)):
        return "the connection broke off before there was an answer"
    return _shown(str(cause))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer, so that nothing is sent where nobody said it should be."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(*, is_loopback: bool) -> urllib.request.OpenerDirector:
    """Return what posts; no proxy may take a local call off this machine."""
    proxies = [urllib.request.ProxyHandler({})] if is_loopback else []
    return urllib.request.build_opener(_NoRedirects, *proxies)


def agent_named(name: str, *, offline: bool = False) -> Callable[[], AgentUnderTest]:
    """Return what makes the agent of a run, by how users name it.

    Args:
        name: ``module:function``, ``file.py:function``, ``cmd:PROGRAM ARGUMENTS``, or an address
            of HTTP.
        offline: Refuse every address that is not on this machine.

    Raises:
        InvalidOption: It names none.
    """
    if name.startswith(("http://", "https://")):
        HttpAgent(name, offline=offline)
        return lambda: HttpAgent(name, offline=offline)
    if name.startswith("cmd:"):
        command = shlex.split(name.removeprefix("cmd:"))
        if not command:
            raise InvalidOption("cmd: names no program")
        if shutil.which(command[0]) is None:
            raise InvalidOption(f"cmd: there is no program {command[0]!r:.200} that can be run")
        start = FirstReply()
        return lambda: CommandAgent(command, start)
    function = function_named(name)
    _check_signature(function, name)
    return lambda: FunctionAgent(function, name)


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
        signature.bind(*((None, None) if _takes_tools(function) else (None,)))
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
        found = getattr(found, part, None)
    if not callable(found):
        raise InvalidOption(f"{module_name!r} has no function {attribute!r}")
    function: Callable[..., Any] = found
    return function


def _module(name: str) -> Any:
    try:
        if name.endswith(".py"):
            return _module_of_file(Path(name))
        with _importable(Path.cwd()):
            return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise InvalidOption(
            f"{name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error


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


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that blocks; nobody waits for it once the run is over or interrupted."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if answered.done():
            return
        if error is None:
            answered.set_result(value)
        else:
            answered.set_exception(error)

    def work() -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = context.run(function, *arguments)
        except StopIteration as caught:
            # A future does not take this one.
            error = RuntimeError(f"StopIteration: {caught}")
        except BaseException as caught:  # noqa: BLE001 - it is raised where it is waited for
            error = caught
        with contextlib.suppress(RuntimeError):
            # The loop is closed where nobody waits any more.
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, name="agent under test", daemon=True).start()
    return await answered


async def _exit_code(process: asyncio.subprocess.Process) -> int:
    """Return how a program ended that talks no more; one that stays is ended.

    What it still writes is read and forgotten: asyncio counts a program as ended only when its
    output is. A child of the program that holds on to the output is not waited for.
    """
    forgetting = asyncio.create_task(_forget_output(process))
    try:
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(process.wait(), _PATIENCE_S)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        return -signal.SIGKILL if process.returncode is None else process.returncode
    finally:
        forgetting.cancel()
        await asyncio.gather(forgetting, return_exceptions=True)


async def _forget_output(process: asyncio.subprocess.Process) -> None:
    is_more = process.stdout is not None
    while is_more:
        is_more = bool(await cast("StreamReader", process.stdout).read(_BLOCK))


def _takes_tools(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(places) != 1 or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _parsed(data: bytes) -> Json:
    from tracedance_sdk.errors import InvalidJSON
    from tracedance_sdk.trace import parse_json

    try:
        return parse_json(data, where="the agent's reply")
    except InvalidJSON as error:
        raise AgentFailed(str(error)) from error


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
