"""Tables of tools in YAML: what a row says, and what is wrong with one that says it badly.

A table is a list of rows under ``tools``::

    tools:
      - agent: my-agent            # a name, a pattern, or a list of them; without it, any agent
        name: fetch_*              # a name, a pattern (`*` as for file names), or a list of them
        effect: read               # pure, read, write, terminal, unknown
        kind: read                 # shell, read, write, edit, search, plan, ask, send, ...
        description: Looks up a record.
        arguments: {id: string, fields?: strings}

`arguments` is the short way to write ``parameters``, which takes any JSON Schema: ``?`` marks an
argument that may be absent, ``a|b`` either type, and a plural a list of that type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from tracedance_sdk.errors import InvalidOption, InvalidSpec, Problem, shown
from tracedance_sdk.trace import Effect, Json, Kind, parse_yaml, path_text

MOST_ROWS: Final = 10_000
"""Most rows that a table may have."""

_TYPES: Final = ("string", "integer", "number", "boolean", "array", "object", "null")
_PLURALS: Final = {f"{word}s": word for word in ("string", "integer", "number", "object", "array")}
_MOST_NAMED: Final = 20


class ToolRow(NamedTuple):
    """One row of a table; None where it says nothing.

    Attributes:
        agents: Names or patterns, in the spelling of `agent_key`.
        name: The tool's name, or a pattern.
    """

    agents: tuple[str, ...]
    name: str
    description: str | None = None
    parameters: dict[str, Json] | None = None
    effect: Effect | None = None
    kind: Kind | None = None


class _Entry(BaseModel):
    """A row as it is written."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | list[str]
    agent: str | list[str] | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None
    arguments: dict[str, str] | None = None
    effect: Effect | None = None
    kind: Kind | None = None


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    agent: str | list[str] | None = None
    tools: list[_Entry]


def agent_key(name: str) -> str:
    """Return an agent's name in the spelling that tables are searched by.

    Example:
        >>> agent_key("Tau_Bench")
        'tau-bench'
    """
    return re.sub(r"[\s_]", "-", name[:200].lower())


def read_rows(data: bytes | str, *, where: str) -> list[ToolRow]:
    """Return the rows of a table.

    Args:
        data: The YAML.
        where: What it is, for messages.

    Raises:
        InvalidOption: Not YAML, an unknown field or word, a wrong type, or no JSON Schema;
            `problems` lists them.
    """
    try:
        document = parse_yaml(data, where=where)
    except InvalidSpec as error:
        raise InvalidOption(str(error), problems=error.problems) from error
    try:
        table = _Table.model_validate(document)
    except ValidationError as error:
        raise _refused([*_problems(error)], where) from error
    if len(table.tools) > MOST_ROWS:
        what = f"{len(table.tools):,} rows; at most {MOST_ROWS:,} are read"
        raise _refused([Problem(what, "$.tools")], where)
    problems: list[Problem] = []
    rows: list[ToolRow] = []
    for index, entry in enumerate(table.tools):
        row = _row(entry, table.agent, f"$.tools[{index}]", problems)
        rows += [row._replace(name=name) for name in _listed(entry.name)]
    if problems:
        raise _refused(problems, where)
    return rows


def _row(
    entry: _Entry, agent: str | list[str] | None, path: str, problems: list[Problem]
) -> ToolRow:
    parameters = entry.parameters
    if "" in _listed(entry.name) or not entry.name:
        problems.append(Problem("a tool without a name", f"{path}.name"))
    if entry.arguments is not None:
        if parameters is not None:
            what = "both 'arguments' and 'parameters'; give one"
            problems.append(Problem(what, path))
        parameters = _schema(entry.arguments, f"{path}.arguments", problems)
    elif parameters is not None and (fault := _schema_fault(parameters)):
        problems.append(Problem(f"no JSON Schema: {fault}", f"{path}.parameters"))
    return ToolRow(
        tuple(agent_key(name) for name in _listed(entry.agent or agent or "*")),
        "",
        entry.description,
        parameters,
        entry.effect,
        entry.kind,
    )


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _schema(arguments: dict[str, str], path: str, problems: list[Problem]) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    for key, words in arguments.items():
        name = key.removesuffix("?")
        try:
            properties[name] = _type(words)
        except KeyError:
            known = ", ".join([*_TYPES, "any", *_PLURALS])
            problems.append(Problem(f"the type {shown(words)} is none of {known}", f"{path}.{key}"))
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    required = [key for key in arguments if not key.endswith("?")]
    if required:
        schema["required"] = required
    return schema


def _type(words: str) -> dict[str, Json]:
    if words == "any":
        return {}
    found: list[str] = []
    items: dict[str, Json] = {}
    for word in words.split("|"):
        if word in _PLURALS:
            found.append("array")
            items = {"items": {"type": _PLURALS[word]}}
        elif word in _TYPES:
            found.append(word)
        else:
            raise KeyError(word)
    return {"type": found[0] if len(found) == 1 else found, **items}


def _schema_fault(schema: dict[str, Json]) -> str | None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return " ".join(error.message.split())
    except RecursionError:
        return "nested too deeply"
    return None


def _problems(error: ValidationError) -> Iterable[Problem]:
    for item in error.errors(include_url=False, include_context=False)[:_MOST_NAMED]:
        steps = item["loc"]
        for union in ("agent", "name"):
            if union in steps:
                steps = steps[: steps.index(union) + 1]
        named = item["type"] in ("missing", "extra_forbidden")
        what = item["msg"] if named else f"{item['msg']}, got {shown(item['input'])}"
        if item["type"] == "extra_forbidden":
            what = f"unknown field {shown(steps[-1])}"
        yield Problem(what, path_text(steps))


def _refused(problems: list[Problem], where: str) -> InvalidOption:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return InvalidOption(f"{where}: {problems[0]}{more}", problems=problems)
