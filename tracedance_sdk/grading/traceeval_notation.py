"""TraceEval's notation of task specifications: camelCase, ``rules`` lists or flattened rules.

``{task: {id, description, initialState, expectedState}, requiredOutcomes, actionCriteria,
criticalErrorCriteria}``. An action or critical-error criterion with ``actionType`` and no
``rules`` is one with a single rule. Values have no conditions in this notation, and it has no
condition that nothing else changed; keys it does not know are kept as metadata.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.grading.predicates import literal
from tracedance_sdk.trace import Json

_GROUPS: Final = {
    "requiredOutcomes": "outcomes",
    "actionCriteria": "actions",
    "criticalErrorCriteria": "critical_errors",
}
_TASK: Final = ("id", "description", "initialState", "expectedState")
_CRITERION: Final = ("id", "name", "description")


def is_traceeval(document: dict[str, Json]) -> bool:
    """Whether a document is in TraceEval's notation."""
    return "format" not in document and (
        "task" in document or not _GROUPS.keys().isdisjoint(document)
    )


def translate(document: dict[str, Json]) -> tuple[dict[str, Json], dict[str, str]]:
    """Return a document in our own notation, and where its parts stand in TraceEval's.

    Returns:
        The document, and paths in it → paths in the original.
    """
    places: dict[str, str] = {}
    fields: dict[str, Json] = {"unexpected_changes": False}
    metadata = {k: v for k, v in document.items() if k not in ("task", *_GROUPS)}
    task = document.get("task")
    if isinstance(task, dict):
        fields |= {name: task[name] for name in ("id", "description") if name in task}
        if "initialState" in task:
            fields["initial_state"] = task["initialState"]
        metadata |= {name: value for name, value in task.items() if name not in _TASK}
    elif "task" in document:
        fields["task"] = task
    for name in ("id", "description"):
        places[f"$.{name}"] = f"$.task.{name}"
    for theirs, ours in _GROUPS.items():
        if theirs in document:
            fields[ours] = _group(document[theirs], theirs, ours, places)
    expected = task.get("expectedState") if isinstance(task, dict) else None
    if isinstance(task, dict) and "expectedState" in task:
        if "requiredOutcomes" in document:
            metadata["expectedState"] = expected
        else:
            fields["outcomes"] = [{"expected_state": literal(expected)}]
            places["$.outcomes[0].expected_state"] = "$.task.expectedState"
    if metadata:
        fields["metadata"] = metadata
    return fields, places


def _group(value: Json, theirs: str, ours: str, places: dict[str, str]) -> Json:
    places[f"$.{ours}"] = f"$.{theirs}"
    if not isinstance(value, list):
        return value
    made = []
    for index, item in enumerate(value):
        here, there = f"$.{ours}[{index}]", f"$.{theirs}[{index}]"
        if not isinstance(item, dict):
            made.append(item)
        elif ours == "outcomes":
            made.append(_outcome(item, here, there, places))
        else:
            made.append(_rules(item, ours, (here, there), places))
    return made


def _outcome(item: dict[str, Json], here: str, there: str, places: dict[str, str]) -> Json:
    places[f"{here}.expected_state"] = f"{there}.expectedState"
    fields = _named(item, (*_CRITERION, "expectedState"))
    if "expectedState" in item:
        fields["expected_state"] = literal(item["expectedState"])
    return fields


def _rules(
    item: dict[str, Json], group: str, where: tuple[str, str], places: dict[str, str]
) -> Json:
    here, there = where
    flat = "rules" not in item and "actionType" in item
    own = ("actionType", "acceptableInputs") if group == "actions" else ("actionType", "matches")
    fields = _named(item, (*_CRITERION, "rules", *(own if flat else ())))
    rules = [item] if flat else item.get("rules")
    if not isinstance(rules, list):
        return fields if rules is None else {**fields, "rules": rules}
    fields["rules"] = []
    for index, rule in enumerate(rules):
        ours, theirs = f"{here}.rules[{index}]", there if flat else f"{there}.rules[{index}]"
        places[f"{ours}.action"] = f"{theirs}.actionType"
        places[f"{ours}.acceptable_inputs"] = f"{theirs}.acceptableInputs"
        places[ours] = theirs
        fields["rules"].append(_rule(rule, group, flat=flat) if isinstance(rule, dict) else rule)
    return fields


def _rule(rule: dict[str, Json], group: str, *, flat: bool) -> Json:
    fields: dict[str, Json] = {}
    if "actionType" in rule:
        fields["action"] = literal(rule["actionType"])
    if group == "actions":
        known: tuple[str, ...] = ("actionType", "acceptableInputs")
        inputs = rule.get("acceptableInputs")
        if inputs is not None:
            listed = isinstance(inputs, list)
            fields["acceptable_inputs"] = [literal(i) for i in inputs] if listed else inputs
    else:
        known = ("actionType", "matches", "description")
        fields["matches"] = literal(rule["matches"]) if "matches" in rule else {}
        # Flattened, the description is the criterion's.
        if "description" in rule and not flat:
            fields["description"] = rule["description"]
    return fields if flat else _kept(rule, known, fields)


def _named(item: dict[str, Json], known: tuple[str, ...]) -> dict[str, Any]:
    fields = {name: item[name] for name in _CRITERION if item.get(name) is not None}
    return _kept(item, known, fields)


def _kept(
    item: dict[str, Json], known: tuple[str, ...], fields: dict[str, Json]
) -> dict[str, Json]:
    further = {name: value for name, value in item.items() if name not in known}
    return {**fields, "metadata": further} if further else fields
