"""Names of parametrised cases that are short and the same in every process."""

from __future__ import annotations

import re


def short_repr(value: object) -> str:
    """Return the value's repr without addresses, at most 60 characters long."""
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."
