"""What the exit codes of the verbs mean, as their help says it."""

from __future__ import annotations

from typing import Final

EXIT_CODES: Final = """\b
Exit codes:
  0  every trace passed
  1  at least one trace failed or is critical
  2  wrong use, or nothing could be read
  3  no failure, but at least one error or inconclusive verdict
"""
