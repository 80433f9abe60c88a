"""What frameworks and instrumentations write as the text of Python objects."""

from __future__ import annotations

import ast
import re
from typing import Final

from tracedance_sdk.formats import Message, SeenCall, read_message
from tracedance_sdk.otel.dialects.decoding import literal
from tracedance_sdk.trace import UNKNOWN, Json

_OBJECTS: Final = ("ChatMessage(role=", "StopEvent(result=")
_ADDRESSED: Final = re.compile(r"<[\w.]{1,200} object at 0x[0-9a-f]{6,16}>")
_OPENAI_CALL: Final = "ResponseFunctionToolCall("
_MOST_REPR: Final = 200_000
_ASKED: Final = "Calling tools:"
_CODE_TOOL: Final = "python_interpreter"


def is_object_text(value: Json) -> bool:
    """Whether a text stands for an object of a framework's: its words are told elsewhere."""
    if not isinstance(value, str):
        return False
    return value.startswith(_OBJECTS) or _ADDRESSED.fullmatch(value) is not None


def unquoted(text: str) -> str:
    """Return what stands between the quotes of a Python string's text; other text as it is."""
    if len(text) < 2 or text[0] != "'" or text[-1] != "'":
        return text
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    return found if isinstance(found, str) else text


def schema_value(value: Json) -> Json:
    """Return a part of a schema that was written as the text of a Python value."""
    if isinstance(value, str):
        found = literal(value)
        return unquoted(value) if found is UNKNOWN else found
    if isinstance(value, list):
        return [schema_value(item) for item in value]
    return value


def openai_call(text: str) -> SeenCall | None:
    """Read a request that an instrumentation wrote as the text of OpenAI's object."""
    if not text.startswith(_OPENAI_CALL) or len(text) > _MOST_REPR:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(tree, ast.Call) or tree.args:
        return None
    fields = {
        word.arg: word.value.value
        for word in tree.keywords
        if word.arg is not None and isinstance(word.value, ast.Constant)
    }
    name, call_id, written = (fields.get(key) for key in ("name", "call_id", "arguments"))
    if not isinstance(name, str) or not isinstance(written, str):
        return None
    return SeenCall(name, call_id if isinstance(call_id, str) else None, text=written)


def step_message(role: str, message: Message) -> Message:
    """Return a message in a role of smolagents' own: what an agent's step asked and brought.

    It says nothing where it repeats what the model said: its code.
    """
    if role == "tool-response":
        return message._replace(speaker="tool")
    listed = literal(message.text.removeprefix(_ASKED).strip())
    asked = read_message({"role": "assistant", "tool_calls": listed})
    if asked is None or not asked.calls:
        return message._replace(speaker="assistant")
    kept = tuple(call for call in asked.calls if call.name != _CODE_TOOL)
    return message._replace(speaker="assistant", pieces=kept)
