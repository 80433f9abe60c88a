"""What is known of a tool by its client, by a table of one's own, and by its name."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.formats import KnownTool, tool_table
from tracedance_sdk.formats.tool_rows import MOST_ROWS, agent_key, read_rows


@pytest.fixture(autouse=True)
def _no_table_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEDANCE_TOOLS", raising=False)


def traits(agent: str, name: str) -> tuple[str, str, str] | None:
    found = tool_table().lookup(agent, name)
    return None if found is None else (found.effect, found.kind, found.by)


@pytest.mark.parametrize(
    ("agent", "name", "expected"),
    [
        ("claude-code", "Bash", ("unknown", "shell", "packaged")),
        ("Claude Code", "Grep", ("read", "search", "packaged")),
        ("claude-code", "Task", ("unknown", "subagent", "packaged")),
        ("claude-code", "TodoWrite", ("write", "plan", "packaged")),
        ("claude-code", "mcp__mail__send_mail", ("write", "send", "pattern")),
        ("codex", "apply_patch", ("write", "edit", "packaged")),
        ("openclaw", "read", ("read", "read", "packaged")),
        ("openclaw", "exec", ("unknown", "shell", "packaged")),
        ("pi", "edit", ("write", "edit", "packaged")),
        ("swe-agent", "submit", ("terminal", "other", "packaged")),
        ("mini-swe-agent", "bash", ("unknown", "shell", "packaged")),
        ("openhands", "think", ("pure", "plan", "packaged")),
        ("agentdojo", "send_money", ("write", "send", "packaged")),
        ("agentdojo", "get_unread_emails", ("write", "read", "packaged")),
        ("tau_bench", "calculate", ("pure", "other", "packaged")),
        ("tau2-bench", "transfer_to_human_agents", ("terminal", "other", "packaged")),
        ("my-agent", "Bash", ("unknown", "shell", "pattern")),
        ("my-agent", "open", None),
    ],
)
def test_tools_of_known_agents_have_their_effect_and_kind(
    agent: str, name: str, expected: tuple[str, str, str] | None
) -> None:
    assert traits(agent, name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get_weather", ("read", "read")),
        ("listIssues", ("read", "read")),
        ("HTTPGet", None),
        ("search-flights", ("read", "search")),
        ("Web-Search", ("read", "search")),
        ("read_file", ("read", "read")),
        ("get_or_create_user", ("write", "write")),
        ("send_email", ("write", "send")),
        ("delete_account", ("write", "write")),
        ("updateOrder", ("write", "write")),
        ("create", ("write", "write")),
        ("book_flight", ("write", "write")),
        ("cancel_order", ("write", "write")),
        ("calculate", ("pure", "other")),
        ("think", ("pure", "plan")),
        ("transfer_to_human_agents", ("terminal", "other")),
        ("transfer_to_math_agent", ("unknown", "subagent")),
        ("submit", ("terminal", "other")),
        ("finish", ("terminal", "other")),
        ("execute_bash", ("unknown", "shell")),
        ("remote_shell", ("unknown", "shell")),
        ("get_terminal_of_flight", ("read", "read")),
        ("check_in_passenger", ("write", "write")),
        ("query_database", ("unknown", "search")),
        ("mcp__github__create_issue", ("write", "write")),
        ("getaway", None),
        ("bookkeeping", None),
        ("", None),
        ("\x00" * 10_000, None),
        ("get_" + "bash_" * 100_000, ("read", "read")),
    ],
)
def test_a_name_alone_tells_something(name: str, expected: tuple[str, str] | None) -> None:
    found = tool_table().lookup("agent", name)
    assert (found and (found.effect, found.kind)) == expected
    assert found is None or found.by == "pattern"
    assert found is None or not found.is_defined


def test_a_known_tool_has_the_arguments_of_its_client() -> None:
    found = tool_table().lookup("claude-code", "Write")
    assert found is not None
    assert found.parameters == {
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["file_path", "content"],
    }


def test_every_packaged_row_is_read_and_says_something() -> None:
    folder = files("tracedance_sdk.formats") / "data" / "tools"
    tables = [item for item in folder.iterdir() if item.name.endswith(".yaml")]
    assert len(tables) > 5
    for item in tables:
        rows = read_rows(item.read_bytes(), where=item.name)
        assert rows
        for row in rows:
            assert row.effect or row.kind, (item.name, row.name)
            if item.name != "name_rules.yaml":
                assert row.agents != ("*",), (item.name, row.name)
            Draft202012Validator.check_schema(row.parameters or {})


def test_no_row_of_the_packaged_tables_is_hidden_by_another() -> None:
    folder = files("tracedance_sdk.formats") / "data" / "tools"
    seen: dict[tuple[tuple[str, ...], str], str] = {}
    for item in folder.iterdir():
        if not item.name.endswith(".yaml") or item.name == "name_rules.yaml":
            continue
        for row in read_rows(item.read_bytes(), where=item.name):
            key = (row.agents, row.name)
            assert key not in seen, (key, item.name, seen[key])
            seen[key] = item.name


OWN = """
tools:
  - agent: my-*
    name: get_*
    effect: write
    description: Not what it seems.
  - agent: [my-agent, other]
    name: get_time
    effect: read
    arguments: {zone?: string|null, places: strings}
  - name: frobnicate
    kind: send
    parameters: {type: object, properties: {n: {type: integer}}}
  - agent: claude-code
    name: Bash
    effect: write
"""


@pytest.mark.parametrize("by_setting", [False, True], ids=["argument", "setting"])
def test_a_table_of_ones_own_goes_before_the_packaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_setting: bool
) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text(OWN, encoding="utf-8")
    if by_setting:
        monkeypatch.setenv("TRACEDANCE_TOOLS", str(path))
    table = tool_table() if by_setting else tool_table(path)
    assert table.lookup("my-agent", "get_name") == KnownTool(
        "get_name", "Not what it seems.", None, "write", "read", "user"
    )
    timed = table.lookup("my-agent", "get_time")
    assert timed == KnownTool(
        "get_time",
        None,
        {
            "type": "object",
            "properties": {
                "zone": {"type": ["string", "null"]},
                "places": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["places"],
        },
        "read",
        "read",
        "user",
    )
    anyones = table.lookup("whoever", "frobnicate")
    assert anyones is not None
    assert (anyones.effect, anyones.kind, anyones.by) == ("unknown", "send", "user")
    shell = table.lookup("claude-code", "Bash")
    assert shell is not None
    # What the row leaves open comes from the packaged table.
    assert (shell.effect, shell.kind, shell.by) == ("write", "shell", "user")
    assert shell.parameters is not None
    assert "command" in shell.parameters["properties"]


def test_an_argument_beats_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEDANCE_TOOLS", str(tmp_path / "absent.yaml"))
    path = tmp_path / "tools.yaml"
    path.write_text("tools: []\n", encoding="utf-8")
    assert tool_table(path).lookup("agent", "frobnicate") is None
    with pytest.raises(InvalidOption, match=r"^TRACEDANCE_TOOLS: '.*absent.yaml' does not exist$"):
        tool_table()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t: the file is empty"),
        ("tools: {", "t: not YAML: "),
        ("[]", "t: Input should be a valid dictionary"),
        ("{}", "t: Field required @ $.tools"),
        ("tools: [{effect: read}]", "t: Field required @ $.tools[0].name"),
        ("tools: [{name: a, efect: read}]", "t: unknown field 'efect' @ $.tools[0].efect"),
        ("tools: [{name: a, effect: reads}]", "t: Input should be 'pure', 'read', 'write', "),
        ("tools: [{name: 7}]", "t: Input should be a valid string, got 7 @ $.tools[0].name"),
        ("tools: [{name: ''}]", "t: a tool without a name @ $.tools[0].name"),
        ("tools: [{name: []}]", "t: a tool without a name @ $.tools[0].name"),
        ("tools: [{name: a, agent: {}}]", "t: Input should be a valid string, got {} @ $.tools[0]"),
        (
            "tools: [{name: a, arguments: {b: text}}]",
            (
                "t: the type 'text' is none of string, integer, number, boolean, array, object, "
                "null, any, strings, integers, numbers, objects, arrays @ $.tools[0].arguments.b"
            ),
        ),
        (
            "tools: [{name: a, arguments: {}, parameters: {}}]",
            "t: both 'arguments' and 'parameters'; give one @ $.tools[0]",
        ),
        (
            "tools: [{name: a, parameters: {type: objekt}}]",
            (
                "t: no JSON Schema: 'objekt' is not valid under any of the given schemas "
                "@ $.tools[0].parameters"
            ),
        ),
        ("tools: [{name: a}, {name: a, x: 1}, {y: 2}]", "t: unknown field 'x' @ $.tools[1].x"),
        ("a: &a [*a]", "t: "),
    ],
)
def test_a_bad_table_is_refused_in_one_line_with_the_place(text: str, message: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_rows(text, where="t")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_table_has_its_bound() -> None:
    rows = "- {name: a}\n" * (MOST_ROWS + 1)
    with pytest.raises(InvalidOption, match=r"^t: 10,001 rows; at most 10,000 are read @ \$.tools"):
        read_rows(f"tools:\n{rows}", where="t")


def test_many_different_names_are_looked_up_without_being_kept() -> None:
    table = tool_table()
    for number in range(10_000):
        table.lookup("agent", f"get_{number}")
    assert len(table._found) <= 4_096


def test_agents_are_found_whatever_their_spelling() -> None:
    assert {agent_key(name) for name in ("Tau Bench", "tau_bench", "TAU-BENCH")} == {"tau-bench"}
