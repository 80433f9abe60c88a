"""Whether the calls of a turn are as their tools' schemas want them.

Schemas come from recorded traces, so they are not trusted: nothing outside a schema is looked up,
regular expressions take linear time (re2), and a schema that is too large, or takes too many steps
for the size of the arguments, is left aside. What is left aside finds no fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any, Final

import orjson

from tracedance_sdk.trace import Json, Trace, Turn, canonical_json, path_text

_MOST_CALLS: Final = 20
_MOST_SCHEMA_BYTES: Final = 100_000
_MOST_STEPS: Final = 20_000
_MOST_WORK: Final = 50_000_000
"""Steps by bytes of the arguments: each step may write out all of them in a message."""
_MOST_SHOWN: Final = 200
_DRAFTS: Final = ("Draft6", "Draft7", "Draft201909", "Draft202012")
_UNBOUNDED: Final = ("unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef")
"""Keywords that are not checked, as what they take cannot be counted."""

_Rule = Callable[[Any, Any, Any, Any], Iterator[Any]]
_steps_left: ContextVar[int] = ContextVar("steps_left", default=_MOST_STEPS)


class _TooMuch(Exception):
    """A schema takes too many steps."""


def bad_arguments(trace: Trace, turn: Turn) -> list[dict[str, Json]]:
    """Return the calls of a turn whose arguments break their tool's schema.

    Args:
        trace: With the tools that were offered.
        turn: Whose calls are looked at. Calls of unknown tools, and of tools without a schema or
            with one that cannot be used, are passed over.

    Returns:
        In call order, at most 20: ``{"name": ..., "problem": ...}`` with the first problem as
        ``what @ $.path``, of at most some 200 characters before the path.

    Source: JSON Schema, drafts 6 to 2020-12, without ``format`` and the ``unevaluated`` keywords.

    Example:
        >>> from tracedance_sdk.trace import Call, ToolDefinition
        >>> schema = {"type": "object", "properties": {"room": {"type": "string"}}}
        >>> trace = Trace(id="a", tools=(ToolDefinition(name="book", parameters=schema),))
        >>> call = Call(index=0, id="c", name="book", arguments={"room": 7})
        >>> turn = Turn(index=0, role="assistant", origin="agent", calls=(call,))
        >>> bad_arguments(trace, turn)
        [{'name': 'book', 'problem': "7 is not of type 'string' @ $.room"}]
    """
    schemas = {tool.name: tool.parameters for tool in trace.tools}
    found: list[dict[str, Json]] = []
    for call in turn.calls[: _MOST_CALLS * 10]:
        problem = argument_problem(schemas.get(call.name), call.arguments)
        if problem is not None:
            found.append({"name": call.name, "problem": problem})
    return found[:_MOST_CALLS]


def argument_problem(schema: Json, arguments: Json) -> str | None:
    """Return the first problem of some arguments as ``what @ $.path``; see `bad_arguments`."""
    if not isinstance(schema, dict):
        return None
    try:
        validator = _validator(orjson.dumps(schema))
        n_bytes = len(orjson.dumps(arguments))
    except TypeError:
        return None  # numbers beyond 64 bits, which no schema needs
    if validator is None:
        return None
    from referencing.exceptions import Unresolvable

    token = _steps_left.set(min(_MOST_STEPS, _MOST_WORK // n_bytes))
    try:
        error = next(validator.iter_errors(arguments), None)
    except (_TooMuch, Unresolvable):
        return None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None  # a reference to what is no schema, or to itself
    finally:
        _steps_left.reset(token)
    if error is None:
        return None
    line, half = " ".join(error.message.split()), _MOST_SHOWN // 2
    told = line if len(line) <= _MOST_SHOWN else f"{line[:half]}...{line[-half:]}"
    return f"{told} @ {path_text(tuple(error.absolute_path))}"


@lru_cache(maxsize=256)
def _validator(data: bytes) -> Any:
    """Return what checks by a schema; None for a schema that cannot be used."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry

    if len(data) > _MOST_SCHEMA_BYTES:
        return None
    schema = orjson.loads(data)
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        own = _self_contained(schema)
        kind.check_schema(own)
    except (LookupError, RecursionError, SchemaError):
        return None
    if not kind.__name__.startswith(_DRAFTS):
        return None
    return _bounded(kind)(own, registry=Registry())


def _self_contained(part: Json) -> Json:
    """Return a schema without names of its own and without other dialects inside it.

    Raises:
        LookupError: It refers to another document.
    """
    if isinstance(part, list):
        return [_self_contained(item) for item in part]
    if not isinstance(part, dict):
        return part
    reference = part.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        raise LookupError(reference)
    return {
        key: _self_contained(value)
        for key, value in part.items()
        if not (key in ("$id", "$schema") and isinstance(value, str))
    }


@cache
def _bounded(kind: Any) -> Any:
    """Return a class of validators whose keywords count their steps."""
    from jsonschema.validators import create

    own: dict[str, _Rule] = {
        "additionalProperties": _additional_properties,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    rules: dict[str, Any] = {**kind.VALIDATORS, **own}
    for name in _UNBOUNDED:
        rules.pop(name, None)
    return create(
        meta_schema=kind.META_SCHEMA,
        validators={name: _counted(rule) for name, rule in rules.items()},
        type_checker=kind.TYPE_CHECKER,
        id_of=kind.ID_OF,
    )


def _counted(rule: _Rule) -> _Rule:
    def step(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        left = _steps_left.get()
        if left <= 0:
            raise _TooMuch
        _steps_left.set(left - 1)
        return rule(validator, value, instance, schema)

    return step


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> Any:
    """Return a compiled expression; None for one that re2 does not take."""
    import re2  # type: ignore[import-untyped]  # the wheel has no stubs

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


def _fits(pattern: str, text: str) -> bool:
    """Whether an expression is found in a text, or cannot be searched for."""
    expression = _expression(pattern)
    return expression is None or expression.search(text) is not None


def _error(message: str) -> Any:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message)


def _pattern(validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "string") and not _fits(pattern, instance):
        yield _error(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, rules: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, rule in rules.items():
        if _expression(pattern) is not None:
            for name, value in instance.items():
                if _fits(pattern, name):
                    yield from validator.descend(value, rule, path=name, schema_path=pattern)


def _additional_properties(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in known or any(_fits(pattern, name) for pattern in patterns):
            continue
        if rule is False:
            yield _error(f"{name!r} is unexpected: additional properties are not allowed")
        else:
            yield from validator.descend(value, rule, path=name)


def _unique_items(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if wanted is True and validator.is_type(instance, "array"):
        items = [canonical_json(item) for item in instance]
        if len(set(items)) < len(items):
            yield _error(f"{instance!r} has non-unique elements")
