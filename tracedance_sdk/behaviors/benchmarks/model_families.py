"""Families of models, by their names: ``claude-sonnet-4-20250514`` is a ``claude``."""

from __future__ import annotations

import re
from typing import Final

_STARTS: Final = {
    "claude": "claude",
    "gpt": "gpt",
    "chatgpt": "gpt",
    "codex": "gpt",
    "davinci": "gpt",
    "o1": "gpt",
    "o3": "gpt",
    "o4": "gpt",
    "gemini": "gemini",
    "gemma": "gemma",
    "llama": "llama",
    "codellama": "llama",
    "meta": "llama",
    "qwen": "qwen",
    "qwq": "qwen",
    "deepseek": "deepseek",
    "mistral": "mistral",
    "mixtral": "mistral",
    "codestral": "mistral",
    "devstral": "mistral",
    "ministral": "mistral",
    "magistral": "mistral",
    "grok": "grok",
    "kimi": "kimi",
    "moonshot": "kimi",
    "glm": "glm",
    "chatglm": "glm",
    "minimax": "minimax",
    "abab": "minimax",
    "doubao": "doubao",
    "phi": "phi",
    "command": "command",
    "nova": "nova",
}
_WORDS: Final = re.compile(r"[a-z]+[0-9]?")
_OTHER: Final = "other"


def model_family(model: str | None) -> str | None:
    """Return the family of a model; ``other`` for one that is not known, None for no model.

    Example:
        >>> model_family("openrouter/anthropic/claude-3.5-sonnet"), model_family("gpt-4o-mini")
        ('claude', 'gpt')
    """
    if not model or not model.strip("<>- "):
        return None
    name = model.lower().rsplit("/", 1)[-1].rsplit(":", 1)[-1] or model.lower()
    for text in (name, model.lower()):
        for word in _WORDS.findall(text):
            family = _STARTS.get(word) or _STARTS.get(word.rstrip("0123456789"))
            if family is not None:
                return family
    return _OTHER
