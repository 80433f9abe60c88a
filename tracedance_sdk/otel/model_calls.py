"""Model calls of a run: nested spans that tell of one call become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.journal import Attributes
from tracedance_sdk.otel import names
from tracedance_sdk.otel.times import iso_time
from tracedance_sdk.otel.tree import Key, Node, Run
from tracedance_sdk.otel.values import text_of
from tracedance_sdk.trace import Json

_USAGE: Final = {
    "input_tokens": names.INPUT_TOKENS,
    "output_tokens": names.OUTPUT_TOKENS,
    "cache_read_tokens": names.CACHE_READ_TOKENS,
    "cache_write_tokens": names.CACHE_WRITE_TOKENS,
    "reasoning_tokens": names.REASONING_TOKENS,
    "cost_usd": names.COST_USD,
}
_MESSAGES: Final = (names.INPUT_MESSAGES, names.OUTPUT_MESSAGES)


class ModelCall(NamedTuple):
    """One call of a model.

    Attributes:
        node: The outermost span that tells of it.
        spans: All that do, innermost first.
        attributes: Their facts together.
        error: What went wrong, None when nothing did.
    """

    node: Node
    spans: Sequence[Node]
    attributes: Attributes
    error: str | None


def model_calls(run: Run) -> list[ModelCall]:
    """Return the model calls of a run by start.

    A framework's span around a client library's is one call with it. A span around several calls,
    such as attempts, is none of its own when they tell what was said.
    """
    groups: dict[Key, list[Node]] = defaultdict(list)
    for node in run.nodes:
        if node.is_model:
            groups[run.around[node.key].outermost or node.key].append(node)
    found: list[ModelCall] = []
    for outermost, group in groups.items():
        found.extend(_told_by(outermost, group, run))
    return sorted(found, key=lambda call: (call.node.start_ns, call.node.key))


def _told_by(outermost: Key, group: list[Node], run: Run) -> list[ModelCall]:
    if len(group) == 1:
        return [_call(group)]
    known = {node.key: node for node in group}
    above = {key: _above(node, run) for key, node in known.items()}
    holders = set(above.values())
    leaves = [node for node in group if node.key not in holders]
    if len(leaves) == 1:
        chain = [leaves[0]]
        while (key := above[chain[-1].key]) in known and key is not None:
            chain.append(known[key])
        return [_call(chain)]
    speaking = [leaf for leaf in leaves if leaf.attributes.keys() & set(_MESSAGES)]
    if speaking or outermost not in known:
        return [_call([leaf]) for leaf in leaves]
    return [_call([known[outermost]])]


def _above(node: Node, run: Run) -> Key | None:
    around = None if node.parent is None else run.around.get(node.parent)
    return None if around is None else around.model


def _call(chain: list[Node]) -> ModelCall:
    """Join spans that tell of one call, innermost first: inner facts and the richest words."""
    attributes: Attributes = {}
    for node in chain:
        for key, value in node.attributes.items():
            attributes.setdefault(key, value)
    for key in _MESSAGES:
        told = [node.attributes[key] for node in chain if key in node.attributes]
        if told:
            attributes[key] = max(told, key=_pieces)
    error = next((node.error for node in chain if node.error is not None), None)
    return ModelCall(chain[-1], chain, attributes, error)


def _pieces(messages: Any) -> int:
    return sum(len(message.pieces) for message in messages) if isinstance(messages, list) else 0


def model_facts(call: ModelCall) -> dict[str, Any]:
    """Return the fields of a turn that stand beside what the model said in it."""
    attributes = call.attributes
    facts = turn_facts(attributes)
    facts["started_at"] = moment(call.node.start_ns)
    facts["ended_at"] = moment(call.node.end_ns)
    if call.error is not None:
        facts["error"] = {
            "type": text_of(attributes.get(names.ERROR_TYPE)) or "_OTHER",
            "message": text_of(attributes.get(names.ERROR_MESSAGE)) or call.error,
        }
    facts["otel"] = {"spans": [span_rest(node) for node in call.spans if node.facts is not None]}
    return {name: value for name, value in facts.items() if value is not None}


def turn_facts(attributes: Attributes) -> dict[str, Any]:
    """Return what the facts of a span say of a model's turn; None for what they do not say."""
    answering = text_of(attributes.get(names.RESPONSE_MODEL))
    return {
        "model": answering or text_of(attributes.get(names.REQUEST_MODEL)),
        "finish_reason": text_of(attributes.get(names.FINISH_REASONS)),
        "usage": usage(attributes) or None,
        "settings": attributes.get(names.SETTINGS),
        "provider": text_of(attributes.get(names.PROVIDER)),
        "response_id": text_of(attributes.get(names.RESPONSE_ID)),
    }


def usage(attributes: Attributes) -> dict[str, Json]:
    """Return tokens and cost by the fields of `Usage`."""
    return {field: attributes[name] for field, name in _USAGE.items() if name in attributes}


def moment(nanoseconds: int | None) -> str | None:
    """Return a span's time as documents have it; None where the source has none."""
    return iso_time(nanoseconds) if nanoseconds else None


def span_rest(node: Node) -> dict[str, Json]:
    """Return what a span says that no field of ours holds, with its id and its writer's name."""
    facts = node.facts
    found: dict[str, Json] = {"span_id": node.key[1], "name": node.name}
    if facts is None:
        return found
    if facts.scope[0]:
        found["scope"] = " ".join(text for text in facts.scope if text)
    if facts.rest:
        found["attributes"] = facts.rest
    if facts.events:
        found["events"] = list(facts.events)
    return found
