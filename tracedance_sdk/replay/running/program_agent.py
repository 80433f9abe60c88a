"""An agent that is a program, spoken to over its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from tracedance_sdk.errors import AgentFailed, AgentNotStarted, AgentUnreachable
from tracedance_sdk.replay.running.asking import MOST_BYTES, Request, parsed_reply
from tracedance_sdk.replay.running.program_errors import ProgramErrors
from tracedance_sdk.trace import Json

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

_BLOCK: Final = 2**20
_PATIENCE_S: Final = 5
_LOOK_S: Final = 0.01
_PIPES_S: Final = 1
_LONGEST_WAIT_S: Final = 10


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

    It is started once for each run, in a process group of its own, and ended by closing its input.
    What is left of the group then is killed, at once where the program owes a reply. The
    first lines that it writes to its standard error are shown, without secrets.

    Args:
        command: The program with its arguments.
        start: Whether it was ever seen to reply, shared by the runs of one agent.
        errors: Shows its standard error, shared likewise.
        folder: Where it is run; by default where this process is.
    """

    runs_apart: Final = True

    def __init__(
        self,
        command: Sequence[str],
        start: FirstReply | None = None,
        *,
        errors: ProgramErrors | None = None,
        folder: str | None = None,
    ) -> None:
        self.name = Path(command[0]).name
        self._command = tuple(command)
        self._start = start or FirstReply()
        self._errors = errors or ProgramErrors()
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._telling: asyncio.Task[None] | None = None
        self._owes_reply = False

    async def reply(self, request: Request) -> Json:
        """Write a line and read one; see `AgentUnderTest.reply`."""
        if self._start.was_seen:
            return parsed_reply(await self._line(request))
        async with self._start.alone():
            line = await self._line(request)
            self._start.was_seen = True
        return parsed_reply(line)

    async def _line(self, request: Request) -> bytes:
        """Return the line that the program replies with."""
        process = await self._started()
        line = b""
        self._owes_reply = True
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
            self._owes_reply = False
            return line
        self._process = None
        raise self._ended(await _exit_code(process, self._telling))

    def _ended(self, code: int) -> AgentFailed | AgentNotStarted:
        if self._start.was_seen:
            return AgentFailed(f"the agent's program ended with exit code {code} without a reply")
        return AgentNotStarted(
            f"the agent's program {_shown(self._command)!r:.200} ended with exit code {code} "
            "before it replied to anything"
        )

    async def close(self) -> None:
        """End the program: first its input, then, if it stays, itself and all that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        if self._owes_reply:
            _kill_group(process)
        if process.stdin is not None:
            process.stdin.close()
        await _exit_code(process, self._telling)

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    cwd=self._folder,
                    limit=MOST_BYTES,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise AgentUnreachable(f"{self._command[0]!r} cannot be run: {error}") from error
            errors = cast("StreamReader", self._process.stderr)
            self._telling = asyncio.create_task(self._errors.read(errors))
        return self._process


def _shown(command: Sequence[str]) -> str:
    """Return a command without the keys that may stand in it."""
    from tracedance_sdk.recording import SecretRedactor, redaction_key
    from tracedance_sdk.replay.running.masking import Masked

    return Masked(SecretRedactor(key=redaction_key(None))).command(shlex.join(command))


async def _exit_code(
    process: asyncio.subprocess.Process, telling: asyncio.Task[None] | None
) -> int:
    """Return how a program ended that talks no more; one that stays is ended.

    What it still writes is read and forgotten, so that it is not held up. Its children are ended
    with it; one that has left its group may keep the pipes open, which are let go of all the same.

    Args:
        process: The program.
        telling: Reads its standard error.
    """
    reading = [asyncio.create_task(_forget_output(process))]
    if telling is not None:
        reading.append(telling)
    try:
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(_gone(process), _PATIENCE_S)
            _kill_group(process)
        return -signal.SIGKILL if process.returncode is None else process.returncode
    finally:
        _kill_group(process)
        # The pipes are let go of before the loop may be closed.
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(_PIPES_S):
                await asyncio.wait(reading)
                if process.stdin is not None:
                    process.stdin.close()
                    await process.stdin.wait_closed()
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        # asyncio has no public name for it; an open one complains once the loop is closed.
        process._transport.close()  # type: ignore[attr-defined]
        await asyncio.sleep(0)


async def _gone(process: asyncio.subprocess.Process) -> int:
    """Wait for a program; whoever holds on to its output is not waited for."""
    while process.returncode is None:  # noqa: ASYNC110 - `wait` waits for the output as well
        await asyncio.sleep(_LOOK_S)
    return process.returncode


def _kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill a program and what it started; it was made the first of a group of its own."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()


async def _forget_output(process: asyncio.subprocess.Process) -> None:
    is_more = process.stdout is not None
    while is_more:
        is_more = bool(await cast("StreamReader", process.stdout).read(_BLOCK))
