"""What a model call costs beside the same call by the bare SDK, 32 at a time."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.performance.measuring import Budget, Effort, Measured, compare, timed

AT_ONCE = 32

CONNECT_WITHIN = 120.0
"""Seconds; a loaded machine takes longer than the SDK's own 5."""

SERVER = """
import asyncio, json, sys

message = {"role": "assistant", "content": "word " * 400}
body = json.dumps({
    "object": "chat.completion", "model": "m",
    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 400, "total_tokens": 409},
}).encode()
head = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n"

async def serve(reader, writer):
    try:
        while True:
            lines = (await reader.readuntil(b"\\r\\n\\r\\n")).lower().split(b"\\r\\n")
            size = next(line for line in lines if line.startswith(b"content-length"))
            await reader.readexactly(int(size.split(b":")[1]))
            writer.write(head % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def model_call(effort: Effort) -> Measured | str:
    """A conversation of 20 calls to a server on this machine; replies go to a cache."""
    try:
        import openai
    except ImportError:
        return "openai is not installed"
    from tests.performance.sample_data import conversation
    from tracedance_sdk.formats import trace_from_messages
    from tracedance_sdk.llm import Asker, Context, Question, ReplyCache, Settings, chat_model

    trace = trace_from_messages(conversation(1, n_calls=20), trace_id="run-1")
    last = max(turn.index for turn in trace.turns if turn.role == "assistant")
    context = Context.of(trace, last)
    n_calls = effort.calls(320)

    with _server() as port, tempfile.TemporaryDirectory() as folder:
        url = f"http://127.0.0.1:{port}/v1"
        request = chat_model(f"openai:m@{url}").request(  # type: ignore[union-attr]  # no recorded model
            context, tools=(), settings=Settings()
        )
        rounds = iter(range(10**9))

        async def theirs() -> None:
            client = openai.AsyncOpenAI(base_url=url, api_key="none", timeout=CONNECT_WITHIN)
            places = asyncio.Semaphore(AT_ONCE)

            async def one() -> None:
                async with places:
                    await client.chat.completions.create(**request)

            await asyncio.gather(*(one() for _ in range(n_calls)))
            await client.close()

        async def ours() -> None:
            cache = ReplyCache(Path(folder, str(next(rounds))), "m")
            asker = Asker(chat_model(f"openai:m@{url}"), cache=cache, concurrency=AT_ONCE)
            asked = (Question(context, (), Settings(sample=n)) for n in range(n_calls))
            async for _, reply in asker.ask_all(asked):
                assert reply.missing is None, reply.missing
            await asker.close()

        try:
            return compare(
                timed(lambda: asyncio.run(ours()), 1),
                timed(lambda: asyncio.run(theirs()), 1),
                rounds=max(5, effort.process_rounds),
            )
        except openai.APIConnectionError as error:
            return f"the machine is too busy to measure: {type(error).__name__}"


@contextmanager
def _server() -> Iterator[int]:
    process: Any = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True
    )
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


BUDGETS = (
    Budget(
        "model-call",
        f"{AT_ONCE} model calls at a time, replies cached",
        "the bare SDK loop doing the same",
        1.5,
        "x",
        model_call,
    ),
)
