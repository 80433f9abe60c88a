"""The work of `tracedance rebuild`: traces in, test files and a report out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.replay import EFFECTS, PersonaRule, Rebuilt, rebuild, save_tests
from tracedance_sdk.trace import Effect, Trace


class RebuildPlan(NamedTuple):
    """What the verb was asked to do; the fields are named as its options."""

    out: Path
    effects: tuple[str, ...] = ()
    pure: tuple[str, ...] = ()
    rule: PersonaRule = "R3"


class RebuildDone(NamedTuple):
    """What came of it."""

    plan: RebuildPlan
    rebuilt: Rebuilt
    files: list[Path]

    @property
    def decided(self) -> Counter[tuple[str, bool]]:
        """How often each reason decided, and whether it kept the value."""
        decisions = (item for items in self.rebuilt.decisions.values() for item in items)
        return Counter((item.reason, item.is_kept) for item in decisions)

    @property
    def n_by_number_alone(self) -> int:
        """Values that are kept although only a number of an answer agrees, which may be chance."""
        decisions = (item for items in self.rebuilt.decisions.values() for item in items)
        return sum(
            item.is_kept and item.backing is not None and item.backing.is_number
            for item in decisions
        )


def run_rebuild(plan: RebuildPlan, traces: Iterable[Trace]) -> RebuildDone:
    """Rebuild the traces and write the files.

    Raises:
        InvalidOption: An effect that there is not, no conversation, or a file that is there.
        UnreadableFile: The folder cannot be written.
    """
    effects = _effects(plan)
    rebuilt = rebuild(list(traces), effects=effects, rule=plan.rule)
    if not rebuilt.tests:
        reasons = Counter(item.reason for item in rebuilt.left_out)
        told = ", ".join(f"{reason} ({number:,})" for reason, number in reasons.most_common(4))
        raise InvalidOption(f"no conversation to make a test of{f': {told}' if told else ''}")
    strangers = sorted(effects.keys() - rebuilt.tools.keys())
    if strangers:
        known = ", ".join(list(rebuilt.tools)[:8])
        raise InvalidOption(f"no conversation has a tool {strangers[0]!r}; there are {known}")
    return RebuildDone(plan, rebuilt, save_tests(rebuilt.tests, plan.out))


def report_of(done: RebuildDone) -> dict[str, Any]:
    """Return the report of a rebuild as JSON."""
    rebuilt = done.rebuilt
    return {
        "format": "tracedance.rebuild",
        "version": 1,
        "out": str(done.plan.out),
        "rule": done.plan.rule,
        "tests": len(rebuilt.tests),
        "groups": len({test.source.group for test in rebuilt.tests}),
        "recordings": sum(len(test.recordings) for test in rebuilt.tests),
        "unanswered": rebuilt.unanswered,
        "left_out": dict(Counter(item.reason for item in rebuilt.left_out)),
        "tools": [
            {
                "name": name,
                "effect": tool.definition.effect,
                "effect_from": tool.effect_from,
                "definition": tool.definition.origin,
                "recordings": sum(
                    call.name == name for test in rebuilt.tests for call in test.recordings
                ),
            }
            for name, tool in rebuilt.tools.items()
        ],
        "values": [
            {"kept": is_kept, "reason": reason, "number": number}
            for (reason, is_kept), number in done.decided.most_common()
        ],
        "kept_by_number_alone": done.n_by_number_alone,
        "people": {
            name: [
                {
                    "value": item.value,
                    "kind": item.kind,
                    "first_speaker": item.first_speaker,
                    "first_turn": item.first_turn,
                    "call_id": None if item.backing is None else item.backing.call_id,
                    "kept": item.is_kept,
                    "reason": item.reason,
                }
                for item in items
            ]
            for name, items in rebuilt.decisions.items()
        },
    }


def _effects(plan: RebuildPlan) -> dict[str, Effect]:
    found: dict[str, Effect] = {}
    pairs = [
        *(text.rpartition("=") for text in plan.effects),
        *((n, "=", "pure") for n in plan.pure),
    ]
    for name, mark, effect in pairs:
        if not mark or not name:
            raise InvalidOption(
                f"--effect {effect!r} is not TOOL=EFFECT, such as book_flight=write"
            )
        chosen = next((item for item in EFFECTS if item == effect), None)
        if chosen is None:
            raise InvalidOption(
                f"--effect {name}={effect}: the effect is one of {', '.join(EFFECTS)}"
            )
        if found.setdefault(name, chosen) != chosen:
            raise InvalidOption(f"two effects are given for {name!r}: {found[name]} and {chosen}")
    return found
