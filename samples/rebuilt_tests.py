"""Turn recorded conversations into tests, and run another agent through them.

Run it with: python samples/rebuilt_tests.py
"""

import json

import tracedance_sdk as td
from tracedance_sdk.replay import (
    FunctionAgent,
    FunctionGrader,
    Players,
    RuleCustomer,
    Suite,
    rebuild,
    run_all,
)

PRICES = {"apples": 3, "pears": 4}


@td.tool(effect="read")
def price_of(fruit: str) -> int:
    """Look a price up."""
    return PRICES[fruit]


def record(fruit: str) -> td.Trace:
    """Record a conversation with the agent in use."""
    with td.TraceRecorder(agent="grocer", session_id=fruit) as recorder:
        recorder.record_turn("user", f"What do {fruit} cost?")
        recorder.record_turn("assistant", f"{price_of(fruit)} dollars.")
    return recorder.trace


def new_agent(messages):
    """Stand in for a model: it asks for the price of apples, whatever the customer wants."""
    if messages[-1]["role"] == "tool":
        return {"role": "assistant", "content": f"{messages[-1]['content']} dollars."}
    function = {"name": "price_of", "arguments": json.dumps({"fruit": "apples"})}
    return {"tool_calls": [{"id": "a", "type": "function", "function": function}]}


def right_price(trace):
    """Grade a run by the price list itself."""
    fruit = trace.turns[0].text.split()[2]
    return str(PRICES[fruit]) in trace.turns[-1].text


def main() -> None:
    suite = Suite(rebuild([record(fruit) for fruit in PRICES]).tests)
    players = Players(
        agent=lambda: FunctionAgent(new_agent),
        customer=RuleCustomer,
        grader=FunctionGrader(right_price, "right price"),
    )
    for item in run_all(suite, players):
        answers = ", ".join(answer.stamp for answer in item.run.answers)
        print(f"{item.run.test.id}: {item.verdict} (answers: {answers})")


if __name__ == "__main__":
    main()
