"""Record turns and calls by hand: for tools behind HTTP or MCP, and frameworks of your own.

Run it with: python samples/by_hand.py
"""

import tracedance_sdk as td


def weather_service(city: str) -> dict[str, object]:
    """Stand in for a service somewhere else."""
    if city == "Atlantis":
        raise LookupError("no such city")
    return {"city": city, "celsius": 21}


def main() -> None:
    with td.TraceRecorder(task_id="weather", agent="forecaster") as recorder:
        recorder.record_turn("user", "What is the weather in Lisbon and Atlantis?")

        # What the model asked for; the calls below are bound to these by their ids.
        recorder.record_turn(
            "assistant",
            "Let me look.",
            model="some-model",
            calls=[
                {"id": "a", "name": "weather", "arguments": {"city": "Lisbon"}},
                {"id": "b", "name": "weather", "arguments": {"city": "Atlantis"}},
            ],
        )
        for call_id, city in (("a", "Lisbon"), ("b", "Atlantis")):
            try:
                with recorder.call("weather", {"city": city}, id=call_id) as call:
                    call.result = weather_service(city)
            except LookupError:
                pass  # recorded as a failed call; the agent goes on

        recorder.record_turn("assistant", "21 degrees in Lisbon; I know no Atlantis.")
        recorder.set_outcome(success=True)

    for turn in recorder.trace.turns:
        print(f"{turn.role}: {turn.text}")
        for call in turn.calls:
            result = call.result
            said = result.content if result.ok else f"{result.error.type}: {result.error.message}"
            print(f"  {call.id} {call.name}({call.arguments}) -> {said}")


if __name__ == "__main__":
    main()
