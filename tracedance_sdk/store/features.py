"""Derive the rows of the view `features` from a trace: one pass, in order of events.

What a row says of the past (``edits_before``, ``equal_failures_before``, ...) counts what came
before its turn or call, never what came after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, Final

from tracedance_sdk.store.call_signs import CHANGING, CallSigns, signs_of
from tracedance_sdk.store.claims import claims_passing
from tracedance_sdk.store.facts import Row
from tracedance_sdk.store.feature_columns import OF_CALLS, OF_TURNS
from tracedance_sdk.store.signals import secrets, speech
from tracedance_sdk.store.tool_facts import ToolFacts, ToolLookup
from tracedance_sdk.trace import Call, Text, Trace, Turn

DUPLICATE: Final = "duplicate"
"""The rule by which a turn that stands in several sessions is a harness's."""

_NO_TURN: Final = (None,) * len(OF_TURNS)
_NO_CALL: Final = (None,) * len(OF_CALLS)
_UNKNOWN_TOOL: Final = ToolFacts("other", "unknown", None, None)
_HUMAN: Final = frozenset({"states_restriction", "approves", "requests_effect"})
_AGENT: Final = frozenset(
    {
        "asks_question", "announces_action", "claims_tests_pass", "claims_success", "claims_fix",
        "claims_delivery", "cites_source", "says_cannot",
    }
)  # fmt: skip


class Deriver:
    """Derives features; one is used for many traces, as it remembers tools.

    Args:
        tools: Where kinds, effects and schemas are looked up.
    """

    def __init__(self, tools: ToolLookup | None = None) -> None:
        self._tools = tools or ToolLookup()

    def rows(self, trace: Trace, *, duplicates: Collection[int] = ()) -> list[Row]:
        """Return a trace's rows, without the number of its own row.

        Args:
            trace: Any trace.
            duplicates: Indexes of human turns that stand word for word in other sessions too: they
                are a harness's.
        """
        tools = self._tools.of(trace)
        about = (trace.id, trace.session_id, trace.agent.name)
        past = _Past()
        rows: list[Row] = []
        for turn in trace.turns:
            is_human = turn.role == "user" and turn.origin == "human"
            is_duplicate = is_human and turn.index in duplicates
            is_human = is_human and not is_duplicate
            said = past.turn_row(turn, is_human=is_human, is_duplicate=is_duplicate)
            rows.append((*about, "turn", turn.index, None, *said, *_NO_CALL))
            for call in turn.calls:
                signs = signs_of(call, tools.get(call.name, _UNKNOWN_TOOL))
                what = past.call_row(call, signs)
                rows.append((*about, "call", turn.index, call.index, *_NO_TURN, *what))
                past.take_in(call, signs)
            past.close(turn, is_human=is_human)
        return rows


class _Past:
    """What has happened so far in a trace."""

    def __init__(self) -> None:
        self.human_turns = 0
        self.edits = 0
        self.tests_since_edit = 0
        self.last_test_passed: bool | None = None
        self.test_failed = False
        self.last_failed: bool | None = None
        self.turn_failed = False
        self.failing_turn = False
        self.failures = 0
        self.deliveries = 0
        self.last: CallSigns | None = None
        """The agent's call before this one."""
        self.equal: Counter[str] = Counter()
        self.equal_failures: Counter[str] = Counter()
        self.timed_out_heads: set[str] = set()
        self.touched: set[str] = set()
        self.manifest_seen = False
        self.inspected = False

    def turn_row(self, turn: Turn, *, is_human: bool, is_duplicate: bool) -> Row:
        """Return the columns of a turn, `OF_TURNS`."""
        text = _human_text(turn) if is_human else turn.text
        is_agent = turn.role == "assistant"
        said = speech().found(text) if text and (is_agent or is_human) else frozenset()
        if "claims_tests_pass" in said and not claims_passing(text):
            said -= {"claims_tests_pass"}
        own = _AGENT if is_agent else frozenset()
        extra = turn.__pydantic_extra__ or {}
        rule = extra.get("origin_rule")
        agent = [(name in said) if name in own else None for name in _ORDER_AGENT]
        human = [(name in said) if is_human else None for name in _ORDER_HUMAN]
        return (
            turn.role,
            "harness" if is_duplicate else turn.origin,
            DUPLICATE if is_duplicate else rule if isinstance(rule, str) else None,
            self.human_turns,
            not turn.calls if is_agent else None,
            *agent,
            "mentions_failure" in said if is_agent or is_human else None,
            *human,
            bool(secrets().found(turn.text)),
            self.edits,
            self.tests_since_edit,
            self.last_test_passed,
            self.last_failed,
            self.failures,
            self.deliveries,
        )

    def call_row(self, call: Call, signs: CallSigns) -> Row:
        """Return the columns of a call, `OF_CALLS`."""
        flags, shown, failed = signs.flags, signs.shown, signs.failed
        is_shell = signs.kind == "shell"
        changes, key = signs.kind in CHANGING, signs.key
        has_result = failed is not None
        heads = signs.heads or ()

        def of_result(name: str) -> bool | None:
            return name in shown if has_result else None

        return (
            call.name,
            signs.kind,
            signs.effect,
            signs.is_offered,
            signs.is_valid,
            signs.command,
            signs.commands,
            signs.heads,
            signs.paths,
            key,
            self._repeats(signs),
            None if key is None else self.equal.get(key, 0),
            None if key is None else self.equal_failures.get(key, 0),
            list(signs.changes),
            not self.timed_out_heads.isdisjoint(heads),
            signs.exit_code,
            failed,
            signs.failed_by,
            of_result("shows_failure"),
            self.failing_turn,
            of_result("command_not_found"),
            of_result("unknown_tool"),
            of_result("invalid_arguments"),
            of_result("not_found"),
            of_result("not_read_yet"),
            of_result("timed_out"),
            of_result("denied"),
            bool(failed) and "cue" in shown if has_result else None,
            of_result("names_log"),
            _is_lost(signs),
            signs.is_empty,
            not self.touched.isdisjoint(signs.paths) if changes else None,
            signs.is_test,
            signs.test_passed,
            self.test_failed,
            signs.edits_test,
            signs.weakens_test,
            is_shell and "installs" in flags,
            changes and signs.touches_manifest,
            self.manifest_seen,
            is_shell and "commits" in flags,
            is_shell and "stages_all" in flags,
            is_shell and "inspects_changes" in flags,
            self.inspected,
            "is_destructive" in flags,
            is_shell and "publishes" in flags,
            is_shell and "runs_long" in flags,
            signs.in_background,
            signs.has_time_limit,
            signs.swallows or (is_shell and "masks_error" in flags),
            is_shell and "escalates" in flags,
            "reads_secret_file" in flags,
            signs.holds_secret,
            "reads_log" in flags,
        )

    def _repeats(self, signs: CallSigns) -> bool | None:
        """Whether a call equals the agent's one before; None where that is not on record."""
        before = self.last
        if before is None:
            return False if signs.key is not None else None
        if signs.key is None or before.key is None:
            return None
        return signs.key == before.key

    def take_in(self, call: Call, signs: CallSigns) -> None:
        """Count a call among what happened."""
        if call.requested_by == "agent":
            self.last = signs
        failed, key = signs.failed, signs.key
        if failed is not None:
            self.last_failed = failed
            self.turn_failed |= failed
        if "timed_out" in signs.shown and signs.heads:
            self.timed_out_heads.update(signs.heads)
        if _may_have_changed(signs):
            self._take_in_change(signs)
        if key is not None:
            self.equal[key] += 1
            if failed:
                self.equal_failures[key] += 1
        self.failures += bool(failed)
        if signs.is_test:
            self.tests_since_edit += 1
            self.last_test_passed = signs.test_passed
            self.test_failed = signs.test_passed is False
            if signs.edits and not signs.test_is_last:
                self.tests_since_edit, self.last_test_passed = 0, None
        if not failed:
            self._take_in_success(signs)
        self.manifest_seen |= signs.touches_manifest

    def _take_in_change(self, signs: CallSigns) -> None:
        # Repeating a call is no change between its own repetitions.
        own = 0 if signs.key is None else self.equal_failures.get(signs.key, 0)
        self.equal_failures.clear()
        if signs.key is not None and own:
            self.equal_failures[signs.key] = own
        if signs.edits:
            self.edits += 1
            self.tests_since_edit, self.last_test_passed = 0, None
            self.inspected = False

    def _take_in_success(self, signs: CallSigns) -> None:
        self.touched.update(signs.paths)
        if signs.kind == "shell" and "inspects_changes" in signs.flags:
            self.inspected = True
        if signs.kind == "send" or "publishes" in signs.flags:
            self.deliveries += 1

    def close(self, turn: Turn, *, is_human: bool) -> None:
        """Count a turn among what happened."""
        self.human_turns += is_human
        if turn.calls:
            self.failing_turn, self.turn_failed = self.turn_failed, False


def _may_have_changed(signs: CallSigns) -> bool:
    """Whether a call changed anything: one that failed may have done so with an earlier command."""
    if not signs.changes:
        return False
    return not signs.failed or len(signs.commands or ()) > 1


def _is_lost(signs: CallSigns) -> bool | None:
    """Whether something was to be delivered and was not; None without a result."""
    if signs.failed is None:
        return None
    if signs.kind == "send" and signs.failed:
        return True
    return "not_delivered" in signs.shown and signs.kind in ("send", "shell", "other")


def _human_text(turn: Turn) -> str:
    """Return what a human wrote of a turn: parts that say they are a harness's are left out."""
    return "\n".join(
        part.text
        for part in turn.content
        if isinstance(part, Text)
        and (part.__pydantic_extra__ or {}).get("origin", "human") == "human"
    )


def _order(names: frozenset[str]) -> tuple[Any, ...]:
    return tuple(column.name for column in OF_TURNS if column.name in names)


_ORDER_AGENT: Final = _order(_AGENT)
_ORDER_HUMAN: Final = _order(_HUMAN)
