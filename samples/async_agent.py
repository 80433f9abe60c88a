"""An async agent: tools that run at the same time, and a sub-agent with a trace of its own.

Run it with: python samples/async_agent.py
"""

import asyncio

import tracedance_sdk as td


@td.tool(effect="read")
async def search_flights(day: str) -> list[str]:
    await asyncio.sleep(0.01)
    return [f"{day} 09:10", f"{day} 17:45"]


@td.tool(effect="write")
async def book(flight: str) -> str:
    await asyncio.sleep(0.01)
    return f"booked {flight}"


@td.agent(name="planner")
async def plan(days: list[str]) -> list[str]:
    """A sub-agent: what it does goes into a trace of its own."""
    found = await asyncio.gather(*(search_flights(day) for day in days))
    return [flights[0] for flights in found]


async def travel_agent() -> None:
    flights = await plan(["Monday", "Tuesday"])
    await book(flights[0])


async def main() -> None:
    async with td.TraceRecorder(task_id="travel", agent="travel") as recorder:
        recorder.record_turn("user", "Book me the first flight on Monday.")
        await travel_agent()

    for trace in recorder.traces:
        inside = " (inside another agent's run)" if trace.parent else ""
        print(f"{trace.agent.name}{inside}")
        for call in trace.calls:
            print(f"  {call.name}({call.arguments}) -> {call.result.content!r}")


if __name__ == "__main__":
    asyncio.run(main())
