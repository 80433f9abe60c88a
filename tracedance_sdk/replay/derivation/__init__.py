"""Answers derived from recordings: rules learned from them alone, proven by leaving groups out."""

from __future__ import annotations

from tracedance_sdk.replay.derivation.known import KnownRecords, effective_write, named_values
from tracedance_sdk.replay.derivation.parsed import Parsed, Style, parsed
from tracedance_sdk.replay.derivation.rule import (
    LEAST_RIGHT,
    LEAST_USES,
    Proof,
    ProvenRule,
    Rule,
)
from tracedance_sdk.replay.derivation.rules import RuleBook
from tracedance_sdk.replay.derivation.terms import NotApplicable

__all__ = [
    "LEAST_RIGHT",
    "LEAST_USES",
    "KnownRecords",
    "NotApplicable",
    "Parsed",
    "Proof",
    "ProvenRule",
    "Rule",
    "RuleBook",
    "Style",
    "effective_write",
    "named_values",
    "parsed",
]
