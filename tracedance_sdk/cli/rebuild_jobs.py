"""The work of `tracedance rebuild`: traces in, test files and a report out."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.cli.wanted import Missed
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording import (
    Pseudonymiser,
    Redactor,
    SecretRedactor,
    holds_redaction_key,
    keep_redaction_key,
    read_names,
    redaction_key,
)
from tracedance_sdk.replay import (
    EFFECTS,
    PersonaRule,
    Rebuilt,
    RebuiltTest,
    rebuild,
    save_tests,
)
from tracedance_sdk.trace import Effect, Trace

_KEY_BYTES: Final = 32


class RebuildPlan(NamedTuple):
    """What the verb was asked to do; the fields are named as its options."""

    out: Path
    sources: tuple[Path, ...] = ()
    effects: tuple[str, ...] = ()
    pure: tuple[str, ...] = ()
    overrule: tuple[str, ...] = ()
    rule: PersonaRule = "R3"
    redact: bool = True
    pseudonymise: bool = False
    names: Path | None = None


class Protection:
    """What takes secrets and people out of conversations, and the key of the pseudonyms.

    The key is the one that lies in the folder of the tests already, else the one of the first
    source that has one (a store, a journal), so that equal secrets stay equal; else a new one.

    Args:
        plan: What the user asked for.

    Attributes:
        missed: Counts what could not be read, and says it without secrets.
        redactor: None where nothing is to be taken out.

    Raises:
        TraceDanceError: A key or a list of names that cannot be used.
    """

    def __init__(self, plan: RebuildPlan) -> None:
        self._out = plan.out
        holders = (path for path in (plan.out, *plan.sources) if holds_redaction_key(path))
        holder = next(holders, None)
        self._key = secrets.token_bytes(_KEY_BYTES) if holder is None else redaction_key(holder)
        found: list[Redactor] = []
        if plan.redact:
            found.append(SecretRedactor(key=self._key))
        if plan.pseudonymise:
            people = [] if plan.names is None else read_names(plan.names)
            found.append(Pseudonymiser(key=self._key, people=people))
        self.redactor: Redactor | None = _InTurn(found) if found else None
        self.missed = _CleanMissed(self.redactor)

    def keep_key(self, tests: Iterable[RebuiltTest]) -> None:
        """Keep the key beside the tests where something is masked, so that calls are recognised.

        Raises:
            JournalError: It cannot be written.
        """
        if self.redactor is not None and any("[MASKED:" in t.model_dump_json() for t in tests):
            keep_redaction_key(self._out, self._key)


class _InTurn:
    """Several redactors, one after another."""

    def __init__(self, redactors: Sequence[Redactor]) -> None:
        self._redactors = redactors

    def redact(self, data: bytes) -> bytes:
        for redactor in self._redactors:
            data = redactor.redact(data)
        return data


class _CleanMissed(Missed):
    """Says what could not be read without the secrets in it."""

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor

    def tell(self, problem: str) -> None:
        from tracedance_sdk.store import cleaned_text

        clean = problem if self._redactor is None else cleaned_text(problem, self._redactor)
        super().tell(clean)


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


def run_rebuild(plan: RebuildPlan, traces: Iterable[Trace], protection: Protection) -> RebuildDone:
    """Rebuild the traces and write the files.

    Args:
        plan: What the user asked for.
        traces: The conversations.
        protection: Takes out what must not be kept.

    Raises:
        InvalidOption: An effect that there is not, no conversation, or a file that is there.
        UnreadableFile: The folder cannot be written.
    """
    effects = _effects(plan)
    rebuilt = rebuild(
        list(traces),
        effects=effects,
        overrule=plan.overrule,
        rule=plan.rule,
        redactor=protection.redactor,
    )
    if not rebuilt.tests:
        reasons = Counter(item.reason for item in rebuilt.left_out)
        told = ", ".join(f"{reason} ({number:,})" for reason, number in reasons.most_common(4))
        raise InvalidOption(f"no conversation to make a test of{f': {told}' if told else ''}")
    strangers = sorted({*effects, *plan.overrule} - rebuilt.tools.keys())
    if strangers:
        known = ", ".join(list(rebuilt.tools)[:8])
        raise InvalidOption(f"no conversation has a tool {strangers[0]!r}; there are {known}")
    files = save_tests(rebuilt.tests, plan.out)
    protection.keep_key(rebuilt.tests)
    return RebuildDone(plan, rebuilt, files)


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
        "masked": dict(sorted(rebuilt.masked.items())),
        "left_out": dict(Counter(item.reason for item in rebuilt.left_out)),
        "tools": [
            {
                "name": name,
                "effect": tool.definition.effect,
                "effect_from": tool.effect_from,
                "overrules": tool.overrules,
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
