"""An item as a person reads it: the very text that a judge is shown, set out in lines.

A judge reads lines of JSON between marks. A labeller is shown the same entries, shortened in the
same places, with texts written out. What a judge is not shown is not here either: who answered,
what the model thought, what came of the run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from tracedance_sdk.judging.condensing import MOST_CHARACTERS
from tracedance_sdk.judging.items import JudgedItem
from tracedance_sdk.judging.rubric_prompt import message
from tracedance_sdk.trace import Json

LineKind = Literal["heading", "text", "prompt", "aside"]

_OPENS: Final = re.compile(r"<<<(\w+) ([0-9a-f]+)")
_LONGEST_INLINE: Final = 100
_PROMPTS: Final = ("system_prompt", "tools")


class TextLine(NamedTuple):
    """A piece of what is shown; its text may have several lines, and nothing vouches for it.

    Attributes:
        kind: ``heading``, ``text`` that was recorded, a ``prompt`` (a system prompt, or the names
            of tools: recorded too, and much the same for every item), or an ``aside`` of ours.
        text: To be made safe before a terminal gets it.
    """

    kind: LineKind
    text: str


class ItemTexts(NamedTuple):
    """What a labeller reads.

    Attributes:
        context: What came before the response, or the whole run.
        response: What is to be labelled; empty where it is the run.
    """

    context: tuple[TextLine, ...]
    response: tuple[TextLine, ...]


def item_texts(item: JudgedItem, *, most_characters: int = MOST_CHARACTERS) -> ItemTexts:
    """Return an item in lines for people.

    Args:
        item: What is to be labelled.
        most_characters: As for a judge, see `condensed`.

    Raises:
        InvalidOption: Too few characters.

    Example:
        >>> from tracedance_sdk.grading import Subject
        >>> from tracedance_sdk.trace import Text, Trace, Turn
        >>> said = Turn(index=0, role="user", origin="human", content=(Text(text="2 + 1?"),))
        >>> run = JudgedItem(Subject(trace_id="t"), Trace(id="t", turns=(said,)))
        >>> [line.text for line in item_texts(run).context]
        ['[0] user', '2 + 1?']
    """
    sections = dict(_sections(message([item], "single", most_characters=most_characters)))
    return ItemTexts(
        tuple(line for entry in sections.get("trace", ()) for line in _lines(entry)),
        tuple(line for entry in sections.get("response", ()) for line in _lines(entry)),
    )


def _sections(text: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the name and the entries of each part between marks."""
    name, end, entries = "", "", list[dict[str, Any]]()
    for line in text.split("\n"):
        if not end:
            if opened := _OPENS.fullmatch(line):
                name, end, entries = opened[1], f"{opened[1]} {opened[2]}>>>", []
        elif line == end:
            yield name, entries
            end = ""
        elif line:
            entries.append(_entry(line))


def _entry(line: str) -> dict[str, Any]:
    """Return a line as the object it holds; one beyond what JSON readers take as its own text."""
    try:
        return dict(json.loads(line))
    except (ValueError, RecursionError):
        return {"text": line}


def _lines(entry: dict[str, Any]) -> Iterator[TextLine]:
    if about := entry.get("about"):
        shown, whole = about["characters_shown"], about["characters"]
        yield TextLine("aside", f"({shown:,} of {whole:,} characters are shown)")
    elif gone := entry.get("left_out"):
        told = f"{_told(gone['texts'], 'text')} and {_told(gone['calls'], 'call')}"
        yield TextLine("aside", f"({told} left out)")
    elif "tool" in entry:
        yield from _call_lines(entry, f"call {entry['tool']}")
        yield from _result_lines(entry)
    elif isinstance(asked := entry.get("calls"), str):
        yield from _call_lines(entry, f"asks for {asked}")
    elif "role" in entry:
        origin = f" ({entry['origin']})" if "origin" in entry else ""
        yield TextLine("heading", f"[{entry['turn']}] {entry['role']}{origin}")
        yield from _texts(entry["text"], "prompt" if entry["role"] == "system" else "text")
    elif set(entry) == {"text"}:
        yield from _texts(entry["text"])
    else:
        for name, value in entry.items():
            yield TextLine("heading", name.replace("_", " "))
            is_list = name == "tools" and isinstance(value, list)
            kind: LineKind = "prompt" if name in _PROMPTS else "text"
            yield from _texts(", ".join(map(str, value)) if is_list else value, kind)


def _call_lines(entry: dict[str, Any], title: str) -> Iterator[TextLine]:
    title += f" (by {entry['by']})" if "by" in entry else ""
    arguments = entry.get("arguments")
    inline = "" if "arguments" not in entry else _compact(arguments)
    if not isinstance(arguments, dict) or len(inline) <= _LONGEST_INLINE:
        yield TextLine("heading", f"{title} {inline}".rstrip())
    else:
        yield TextLine("heading", title)
        for name, value in arguments.items():
            text = value if isinstance(value, str) else _compact(value)
            yield TextLine("text", f"{name}:\n{text}" if "\n" in text else f"{name}: {text}")


def _result_lines(entry: dict[str, Any]) -> Iterator[TextLine]:
    if entry.get("recorded") is False:
        yield TextLine("aside", "(no result was recorded)")
        return
    marks = [] if "ok" not in entry else ["ok"] if entry["ok"] else ["failed"]
    marks += [name for name in ("interrupted", "truncated") if entry.get(name)]
    marks += [f"exit code {entry['exit_code']}"] if "exit_code" in entry else []
    if marks:
        yield TextLine("aside", f"({', '.join(marks)})")
    for name in ("error", "result"):
        if name in entry:
            yield from _texts(entry[name])


def _texts(value: Json, kind: LineKind = "text") -> Iterator[TextLine]:
    if value not in ("", None):
        yield TextLine(kind, value if isinstance(value, str) else _compact(value))


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _told(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
