"""Counts recorded verdicts against rewards, straight from the raw files.

Every line of a file of verdicts is JSON; the judge's reply in it is JSON in a code fence.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

PROMPTS = ("customer_outcome_v1", "policy_chain_of_thought_v1")


def count(folder: Path, prompt: str) -> Counter[tuple[str, bool]]:
    """Return how often each word stands beside each reward (whether it is 1)."""
    runs = json.loads(gzip.decompress((folder / "azure-airline-full.json.gz").read_bytes()))
    rewards = {run["id"]: run["reward_info"]["reward"] for run in runs["simulations"]}
    path = folder / f"airline-multi-judge-full_{prompt}.json.gz"
    found: Counter[tuple[str, bool]] = Counter()
    for line in gzip.decompress(path.read_bytes()).splitlines():
        record = json.loads(line)
        reply = record["judge_response"].strip().removeprefix("```json").removesuffix("```")
        assert record["judge_prompt_name"] == prompt
        assert record["tau2_reward"] == rewards[record["simulation_id"]]
        found[json.loads(reply)["verdict"], rewards[record["simulation_id"]] == 1] += 1
    return found
