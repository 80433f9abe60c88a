"""Tables of rules about who wrote a message: what a row says, and what is wrong with a bad one.

A table is a list of rules under ``rules``::

    rules:
      - id: nightly-prompt             # stands in the trace as `origin_rule`
        agents: [my-agent]             # names or patterns of clients; without it, any client
        prefix: ["Nightly check:"]     # or exact, tags, block, flag; see `OriginRow`
        origin: harness                # human, harness, agent or environment
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracedance_sdk.errors import InvalidOption, InvalidSpec, Problem, shown
from tracedance_sdk.trace import Origin, parse_yaml, path_text

MOST_ROWS: Final = 1_000
"""Most rules that a table may have."""

Test = Literal["flag", "exact", "prefix", "tags", "block"]

TESTS: Final[tuple[Test, ...]] = ("flag", "exact", "prefix", "tags", "block")
"""The tests of which a rule has one."""

_MOST_NAMED: Final = 20

_Texts = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


class OriginRow(NamedTuple):
    """One rule.

    Attributes:
        id: Its name.
        agents: Patterns of clients' names, lower case.
        test: ``flag``: what the source says of a message beside its text; ``exact``: the whole
            message, spaces around it left out; ``prefix``: how it begins; ``tags``: names of
            blocks such as ``<name> ... </name>``; ``block``: how a block begins and ends.
        texts: What the test compares with.
        origin: Who wrote the message, or the block.
    """

    id: str
    agents: tuple[str, ...]
    test: Test
    texts: tuple[str, ...]
    origin: Origin


class _Entry(BaseModel):
    """A rule as it is written."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, Field(min_length=1)]
    origin: Origin
    agents: _Texts = ["*"]
    flag: _Texts | None = None
    exact: _Texts | None = None
    prefix: _Texts | None = None
    tags: _Texts | None = None
    block: Annotated[_Texts, Field(min_length=2, max_length=2)] | None = None


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["tracedance.origin_rules"] | None = None
    version: Literal[1] = 1
    rules: Annotated[list[_Entry], Field(max_length=MOST_ROWS)]


def read_origin_rows(data: bytes | str, *, where: str) -> tuple[OriginRow, ...]:
    """Return the rules of a table in its order.

    Args:
        data: The YAML.
        where: What it is, for messages.

    Raises:
        InvalidOption: Not YAML, an unknown field, a wrong type, or a rule without exactly one
            test; `problems` lists them.
    """
    try:
        table = _Table.model_validate(parse_yaml(data, where=where))
    except InvalidSpec as error:
        raise InvalidOption(str(error), problems=error.problems) from error
    except ValidationError as error:
        raise _refused([*_problems(error)], where) from error
    problems: list[Problem] = []
    rows: list[OriginRow] = []
    for index, entry in enumerate(table.rules):
        given = [test for test in TESTS if getattr(entry, test) is not None]
        if len(given) != 1:
            what = f"{len(given)} tests ({', '.join(given) or 'none'}); give one"
            problems.append(Problem(what, f"$.rules[{index}]"))
            continue
        agents = tuple(agent.lower() for agent in entry.agents)
        texts = tuple(getattr(entry, given[0]))
        rows.append(OriginRow(entry.id, agents, given[0], texts, entry.origin))
    if problems:
        raise _refused(problems, where)
    return tuple(rows)


def _problems(error: ValidationError) -> Iterable[Problem]:
    for item in error.errors(include_url=False, include_context=False)[:_MOST_NAMED]:
        named = item["type"] in ("missing", "extra_forbidden")
        what = item["msg"] if named else f"{item['msg']}, got {shown(item['input'])}"
        yield Problem(what, path_text(item["loc"]))


def _refused(problems: list[Problem], where: str) -> InvalidOption:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return InvalidOption(f"{where}: {problems[0]}{more}", problems=problems)
