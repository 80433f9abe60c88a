"""Draft a task specification from one good run, as commented YAML to be edited."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from tracedance_sdk.grading.matching import ABSENT
from tracedance_sdk.grading.predicates import has_operators
from tracedance_sdk.grading.spec import FORMAT, VERSION
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Json,
    Trace,
    canonical_json,
    is_type_stub,
    is_unobserved,
    same_json,
    yaml_text,
)

_ANYTHING: Final = {"$absent": False}
_NOTHING: Final = {"$absent": True}


def draft_spec(trace: Trace, *, task_id: str | None = None) -> str:
    """Return a specification that this run passes, with comments that say how to go on.

    The expected state is only what the run changed; acceptable inputs are those it used. What is
    masked or kept elsewhere in the trace is left open.

    Args:
        trace: A run that went well.
        task_id: Of the specification; the trace's own when None, else ``my-task``.

    Example:
        >>> print(draft_spec(Trace(id="t", task_id="mail")).splitlines()[3])
        format: tracedance.task
    """
    sections = [
        _HEAD,
        yaml_text({"format": FORMAT, "version": VERSION}),
        "\n# With --tasks FOLDER a trace is graded by the file that has its task_id here.\n",
        yaml_text({"id": task_id or trace.task_id or "my-task"}),
        "# What the agent is to do. Judges read it; graders do not.\n",
        yaml_text({"description": _description(trace)}),
        *_outcome_section(trace),
        *_actions_section(trace),
        _critical_section(trace),
        _FURTHER,
    ]
    return "".join(sections)


def changed_part(before: Json, after: Json) -> Json:
    """Return the expected state that pins what differs between two states, and nothing else.

    Returns:
        An expected value that `after` fits in part; `ABSENT` when the states do not differ.
    """
    if isinstance(before, dict) and isinstance(after, dict) and not _opaque(before, after):
        return _changed_object(before, after)
    if isinstance(before, list) and isinstance(after, list):
        return _changed_list(before, after)
    if same_json(before, after):
        return ABSENT
    # What an object lost cannot be named when its names look like conditions.
    lost = isinstance(before, dict) and isinstance(after, dict) and not _opaque(after, {})
    return {"$exact": as_expected(after)} if lost else as_expected(after)


def as_expected(value: Json) -> Json:
    """Return an expected value that a recorded value fits, open where it is masked or elsewhere."""
    if is_unobserved(value):
        return _ANYTHING
    if is_type_stub(value):
        return value
    if isinstance(value, dict):
        if has_operators(dict.fromkeys(value)):
            return _ANYTHING if _veiled(value) else {"$literal": value}
        return {key: as_expected(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_expected(item) for item in value]
    return value


def _opaque(before: dict[str, Json], after: dict[str, Json]) -> bool:
    """Whether two objects are stubs, or have names that an expected object cannot have."""
    return any(
        is_unobserved(value) or is_type_stub(value) or has_operators(dict.fromkeys(value))
        for value in (before, after)
    )


def _changed_object(before: dict[str, Json], after: dict[str, Json]) -> Json:
    changed: dict[str, Json] = {}
    for key, item in after.items():
        part = changed_part(before[key], item) if key in before else as_expected(item)
        if part is not ABSENT:
            changed[key] = part
    changed |= {key: _NOTHING for key in before if key not in after}
    return changed or ABSENT


def _changed_list(before: list[Json], after: list[Json]) -> Json:
    if len(before) != len(after):
        # Positions have shifted, so only the whole list says what it should be.
        return {"$exact": as_expected(after)}
    parts = [changed_part(old, new) for old, new in zip(before, after, strict=True)]
    while parts and parts[-1] is ABSENT:
        parts.pop()
    if not parts:
        return ABSENT
    return [
        _unchanged(item) if part is ABSENT else part
        for part, item in zip(parts, after, strict=False)
    ]


def _unchanged(value: Json) -> Json:
    """Return the least that a value fits, so that any change of it is an unexpected one."""
    if isinstance(value, dict):
        return as_expected(value) if _opaque(value, {}) else {}
    return [] if isinstance(value, list) else as_expected(value)


def _veiled(value: Json) -> bool:
    if is_unobserved(value):
        return True
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, (dict, list)) and any(map(_veiled, items))


def _description(trace: Trace) -> str:
    first = next((turn.text for turn in trace.turns if turn.role == "user"), "")
    return " ".join(first.split())[:500]


def _outcome_section(trace: Trace) -> Iterator[str]:
    yield "\n# What must be achieved.\n"
    if trace.final_state is UNKNOWN:
        yield _NO_STATE
        return
    if trace.initial_state is UNKNOWN:
        yield "# The state before the run was not recorded, so this is the whole state after it:\n"
        yield "# keep what matters and delete the rest.\n"
        expected = as_expected(trace.final_state)
    else:
        expected = changed_part(trace.initial_state, trace.final_state)
        if expected is ABSENT:
            yield "# The run changed nothing in the environment.\n"
            expected = _unchanged(trace.final_state)
        else:
            yield "# Only what the run changed; the state may hold more.\n"
    yield _CONDITIONS
    yield yaml_text({"outcomes": [{"id": "final-state", "expected_state": expected}]})
    if trace.initial_state is not UNKNOWN:
        yield _FRAME


def _actions_section(trace: Trace) -> Iterator[str]:
    rules = _rules(trace.actions)
    if not rules:
        return
    yield "\n# What the agent's actions may be given: at least one of the acceptable inputs, with\n"
    yield "# further keys allowed. Tools that are not listed are free.\n"
    yield yaml_text({"actions": [{"id": "inputs", "rules": rules}]})


def _rules(actions: tuple[Call, ...]) -> list[dict[str, Json]]:
    inputs: dict[str, dict[bytes, Json]] = {}
    free: set[str] = set()
    for call in actions:
        known = inputs.setdefault(call.name, {})
        if (
            not isinstance(call.arguments, dict)
            or not call.arguments
            or _opaque(call.arguments, {})
        ):
            free.add(call.name)
            continue
        given = as_expected(call.arguments)
        known.setdefault(canonical_json(given), given)
    return [
        {"action": _written_name(name)}
        if name in free
        else {"action": _written_name(name), "acceptable_inputs": list(known.values())}
        for name, known in inputs.items()
    ]


def _critical_section(trace: Trace) -> str:
    last = next(
        (c for c in reversed(trace.actions) if isinstance(c.arguments, dict) and c.arguments),
        None,
    )
    name, key, value = "send_email", "to", "everyone@example.com"
    if last is not None:
        name, key = last.name, next(iter(last.arguments))
        value = "a value that must never be given"
    return _CRITICAL.format(name=_inline_action(name), key=_inline(key), value=_inline(value))


def _written_name(name: str) -> Json:
    """Return a tool's name as a rule's action; one that looks like a pattern is no name there."""
    return {"$literal": name} if any(letter in name for letter in "*?") else name


def _inline(text: str) -> str:
    """Return text as one YAML scalar on one line."""
    return json.dumps(text.encode("utf-8", "backslashreplace").decode())


def _inline_action(name: str) -> str:
    written = _written_name(name)
    return _inline(name) if written == name else f"{{$literal: {_inline(name)}}}"


_HEAD: Final = """\
# A task specification: what a run of this task must, may and must not do.
# Drafted from one run, so it is as narrow as that run was. Loosen what does not matter.
# Grade a run with it: tracedance evaluate RUN --spec task.yaml
"""

_NO_STATE: Final = """\
# The state after the run was not recorded. Give the recorder a state source and this becomes:
#
# outcomes:
#   - expected_state: {email: {sent: true}}
"""

_CONDITIONS: Final = """\
# A value may also be a condition:
#   {$regex: "^Total"}   {$glob: "*.csv"}   {$range: {min: 1, max: 9}}
#   {$one_of: [a, b]}    {$contains: a}     {$absent: true}      {$not: a}
"""

_FRAME: Final = """\
# Beside this, nothing else may change. To allow more:
# unexpected_changes:
#   allow_changes: ["/log/**", "/orders/*/updated_at"]
"""

_CRITICAL: Final = """\

# What must never be done, whatever happens afterwards. Remove the marks to use it.
# critical_errors:
#   - id: never
#     rules:
#       - action: {name}
#         matches: {{{key}: {value}}}
#         description: say here what is wrong with it
"""

_FURTHER: Final = """\

# Further criteria; each names its type. `severity: minor` reports and does not fail,
# `negate: true` requires the contrary.
# criteria:
#   - {type: budget, max_actions: 20, max_failures: 2}
#   - {type: idempotence}
#   - {type: order, first: look_up, then: write}
"""
