"""SWE-agent's command language: its own commands beside those of the shell.

The agent writes one command line a step. What it may write beyond the shell's commands stands in
its prompt, where each command has a docstring and a signature.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tracedance_sdk.trace import ToolDefinition

SHELL: Final = "bash"
"""Name of calls whose command is none that the prompt documents, as SWE-agent itself has it."""

_ARGUMENT: Final = re.compile(r"\s+- (\w+) \((\w+)\) \[(required|optional)\]: (.*)")
_EDIT_REJECTED: Final = "Your proposed edit has introduced new syntax error(s)"
_TIMED_OUT: Final = "EXECUTION TIMED OUT"
_CANCELLED: Final = " was cancelled because it took more than "


def documented_commands(prompt: str) -> list[ToolDefinition]:
    r"""Return the commands that a prompt documents, with their documentation as it stands there.

    Their arguments are words of a command line, for which the prompt gives no schema.

    Args:
        prompt: SWE-agent's system prompt.

    Example:
        >>> found = documented_commands("COMMANDS:\nopen:\n  docstring: opens a file\n\n")
        >>> [(command.name, command.description) for command in found]
        [('open', 'docstring: opens a file')]
    """
    blocks = _blocks(prompt) or _one_line_entries(prompt)
    return [
        ToolDefinition(name=name, description="\n".join(part.strip() for part in block))
        for name, block in blocks.items()
    ]


def documented_functions(documentation: str) -> list[ToolDefinition]:
    r"""Return the tools that a run's configuration documents, with the schema of their arguments.

    Args:
        documentation: ``replay_config.agent.tools.command_docs`` of a run with function calling.

    Example:
        >>> line = "    - path (string) [required]: the file"
        >>> found = documented_functions(f"open:\n  docstring: opens\n  arguments:\n{line}\n")
        >>> found[0].parameters["required"]
        ['path']
    """
    found: list[ToolDefinition] = []
    for name, block in _blocks(documentation).items():
        arguments = [match for line in block if (match := _ARGUMENT.match(line))]
        schema = {
            "type": "object",
            "properties": {m[1]: {"type": m[2], "description": m[4]} for m in arguments},
            "required": [m[1] for m in arguments if m[3] == "required"],
        }
        description = block[0].strip().removeprefix("docstring: ")
        found.append(ToolDefinition(name=name, description=description, parameters=schema))
    return found


def _blocks(text: str) -> dict[str, list[str]]:
    """Return the lines under each heading that a docstring follows."""
    blocks: dict[str, list[str]] = {}
    lines: list[str] = []
    previous = ""
    for line in text.split("\n"):
        if line.startswith("  docstring: ") and _is_heading(previous):
            lines = blocks.setdefault(previous[:-1], [])
        elif not line.strip() or _is_heading(line):
            lines = []
        lines.append(line)
        previous = line
    return blocks


def _one_line_entries(text: str) -> dict[str, list[str]]:
    """Return the entries of older prompts: ``open <path> - opens the file``, up to a blank line."""
    _, heading, rest = text.partition("\nCOMMANDS:\n")
    entries: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in rest.split("\n") if heading else ():
        if not line.strip():
            break
        lines.append(line)
        if " - " in line:
            name = lines[0].split(None, 1)[0]
            if name.isidentifier():
                entries[name] = lines
            lines = []
    return entries


def _is_heading(line: str) -> bool:
    return line.endswith(":") and line[:-1].isidentifier()


def command_name(action: str, documented: frozenset[str]) -> str:
    """Return the name of the tool that a command line uses.

    Args:
        action: The command line, which may go on over many lines.
        documented: Names of SWE-agent's own commands.

    Example:
        >>> command_name("open setup.py 10", frozenset({"open"})), command_name("ls", frozenset())
        ('open', 'bash')
    """
    words = action.split(None, 1)
    return words[0] if words and words[0] in documented else SHELL


def command_result(observation: str) -> dict[str, Any]:
    """Return what an observation says of success, by SWE-agent's own words; else nothing.

    A rejected edit and a command stopped for its time are failures; whether any other command
    succeeded, the log does not tell.
    """
    if _EDIT_REJECTED in observation:
        message = "the edit has introduced new syntax errors"
        return {"ok": False, "error": {"type": "edit_rejected", "message": message}}
    first = observation.lstrip().partition("\n")[0]
    if first.startswith(_TIMED_OUT) or (first.startswith("The command ") and _CANCELLED in first):
        return {"ok": False, "error": {"type": "timeout", "message": first}}
    return {}
