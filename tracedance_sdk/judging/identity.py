"""Which judge it was: the model, the prompt and the rubric together."""

from __future__ import annotations

from typing import Final, NamedTuple

from tracedance_sdk.trace import json_digest

_SHORT: Final = 12


class JudgeIdentity(NamedTuple):
    """A judge; whoever differs in model, prompt or rubric is another one.

    Attributes:
        model: As ``provider:model[@base_url]``.
        prompt_sha256: Of everything that shapes a question but the rubric and what is judged.
        rubric_sha256: Of what is shown of the rubric.

    Example:
        >>> JudgeIdentity("openai:gpt-x", "ab" * 32, "cd" * 32).name
        'openai:gpt-x#b832fa65808a'
    """

    model: str
    prompt_sha256: str
    rubric_sha256: str

    @property
    def digest(self) -> str:
        """SHA-256 of the three, 64 hex characters."""
        return json_digest(list(self))

    @property
    def name(self) -> str:
        """The judge's name in rows, reports and files."""
        return f"{self.model}#{self.digest[:_SHORT]}"
