"""Replies that have to be one JSON object: how each API is asked for it, and how it is read.

OpenAI's APIs take the schema as the format of the reply. Anthropic's is given one tool of the
schema's name that has to be called, which other servers of that API understand as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from tracedance_sdk.errors import InvalidJSON, InvalidOption, Unsendable, shown
from tracedance_sdk.llm.chat import Missing, Reply, ReplySchema, Settings
from tracedance_sdk.trace import Json, Turn, parse_json, path_text, unfenced

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_SHOWN: Final = 200


def structured_value(reply: Reply, schema: ReplySchema) -> dict[str, Json] | Missing:
    """Return the object that a reply holds, or why there is none.

    Args:
        reply: To a question whose settings had the schema.
        schema: What the reply has to be.

    Returns:
        The arguments of the one call, text beside it left aside, or the JSON in the text, alone or
        in one code fence; it meets the schema. Otherwise the reply's own reason why it is missing,
        or *unparsable* with a reason of one line.

    Raises:
        InvalidOption: The schema is none that a reply can be asked for.

    Example:
        >>> from tracedance_sdk.trace import Text, Turn
        >>> told = Turn(index=0, role="assistant", origin="agent", content=(Text(text="[4]"),))
        >>> schema = {"type": "object", "additionalProperties": False, "properties": {}}
        >>> print(structured_value(Reply(told, None, None), ReplySchema("verdict", schema)))
        unparsable: the reply is no JSON object: [4]
    """
    validator = _validator(schema)
    if reply.missing is not None:
        return reply.missing
    value = _held(reply.turn, schema.name) if reply.turn is not None else Missing("empty", "")
    if isinstance(value, Missing):
        return value
    from jsonschema.exceptions import best_match

    problem = best_match(validator.iter_errors(value))
    if problem is None:
        return value
    where = path_text(tuple(problem.absolute_path))
    return Missing("unparsable", f"{_shortened(problem.message)} @ {where}")


def chat_format(settings: Settings) -> dict[str, Any]:
    """Return the fields of a chat completion's request that ask for the schema, if there is one.

    Raises:
        InvalidOption: The schema is none that a reply can be asked for.
    """
    if settings.reply_schema is None:
        return {}
    asked = _described(settings.reply_schema)
    return {"response_format": {"type": "json_schema", "json_schema": asked}}


def responses_format(settings: Settings) -> dict[str, Any]:
    """Return the fields of a Responses request that ask for the schema, if there is one.

    Raises:
        InvalidOption: The schema is none that a reply can be asked for.
    """
    if settings.reply_schema is None:
        return {}
    return {"text": {"format": {"type": "json_schema", **_described(settings.reply_schema)}}}


def forced_tool(settings: Settings, *, has_tools: bool) -> dict[str, Any]:
    """Return the fields of a Messages request that ask for the schema, if there is one.

    Args:
        settings: Of the question.
        has_tools: Whether the question offers tools.

    Raises:
        InvalidOption: The schema is none that a reply can be asked for.
        Unsendable: There are tools as well; the forced call could be one of theirs.
    """
    schema = settings.reply_schema
    if schema is None:
        return {}
    _validator(schema)
    if has_tools:
        raise Unsendable(
            "this API takes a schema of the reply only where no tools are offered",
            kind="a schema of the reply beside tools",
        )
    tool: dict[str, Any] = {"name": schema.name, "input_schema": schema.schema}
    if schema.description:
        tool["description"] = schema.description
    only_one = {"type": "any", "disable_parallel_tool_use": True}
    return {"tools": [tool], "tool_choice": only_one}


def _described(schema: ReplySchema) -> dict[str, Any]:
    _validator(schema)
    found = {"name": schema.name, "strict": True, "schema": schema.schema}
    return found | ({"description": schema.description} if schema.description else {})


def _held(turn: Turn, name: str) -> dict[str, Json] | Missing:
    if turn.calls:
        names = [call.name for call in turn.calls]
        if names != [name]:
            return Missing("unparsable", f"one call of {name!r} was asked for, got {shown(names)}")
        value = turn.calls[0].arguments
    else:
        try:
            value = parse_json(unfenced(turn.text), where="reply", unique_keys=True)
        except InvalidJSON as error:
            detail = " ".join(str(error).removeprefix("reply: ").split())
            return Missing("unparsable", f"the reply is not JSON: {shown(turn.text)}: {detail}")
    if not isinstance(value, dict):
        return Missing("unparsable", f"the reply is no JSON object: {shown(value)}")
    return value


def _shortened(message: str) -> str:
    """Return a validator's message on one line: what is wrong stands at its end."""
    line, half = " ".join(message.split()), _MOST_SHOWN // 2
    return line if len(line) <= _MOST_SHOWN else f"{line[:half]}...{line[-half:]}"


def _validator(schema: ReplySchema) -> Draft202012Validator:
    if _NAME.fullmatch(schema.name) is None:
        raise InvalidOption(
            f"the schema's name {shown(schema.name)} must be 1 to 64 of A-Z a-z 0-9 _ -"
        )
    return _checked(schema.name, orjson.dumps(schema.schema))


@lru_cache(maxsize=64)
def _checked(name: str, data: bytes) -> Draft202012Validator:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    schema = orjson.loads(data)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = path_text(tuple(error.absolute_path))
        raise InvalidOption(f"{name}: {_shortened(error.message)} @ {where}") from error
    if schema.get("type") != "object":
        raise InvalidOption(f"{name}: a reply has to be an object @ $.type")
    for problem in _problems(schema, ()):
        raise InvalidOption(f"{name}: {problem}")
    return Draft202012Validator(schema)


def _problems(part: Json, path: tuple[str | int, ...]) -> Iterator[str]:
    """Yield what strict APIs refuse: objects with fields left open or left out, foreign schemas."""
    if isinstance(part, list):
        for place, item in enumerate(part):
            yield from _problems(item, (*path, place))
    if not isinstance(part, dict):
        return
    reference = part.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        yield f"refers to another document @ {path_text(path)}"
    if part.get("type") == "object":
        if part.get("additionalProperties") is not False:
            yield f"give additionalProperties: false @ {path_text(path)}"
        fields = part.get("properties")
        fields = fields if isinstance(fields, dict) else {}
        if set(fields) != set(part.get("required") or ()):
            yield f"every field must be required @ {path_text((*path, 'required'))}"
    for key, value in part.items():
        if key not in ("enum", "const", "default", "examples"):
            yield from _problems(value, (*path, key))
