"""Secrets in texts: what looks like one, and what only looks so."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.signs.asking import edges
from tracedance_sdk.behaviors.signs.shells import own_words

_TOKENS: Final = re2.compile(
    r"\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b|\bsk-[A-Za-z0-9_-]{20,}|"
    r"\bxox[abprs]-[0-9][\w-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAIza[0-9A-Za-z_-]{35}|"
    r"\bglpat-[0-9A-Za-z_-]{20}|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[\w-]+|\[MASKED:[\w:.-]+\]"
)
_ASSIGNED: Final = re2.compile(
    r"(?i)(?:password|passwd|secret|token|api_?key)[\"']?\s*[:=]\s*[\"']?([^\s\"'$<{(),;\\]{8,120})"
)
_PLACEHOLDER: Final = re2.compile(
    r"(?i)example|placeholder|your[_-]|xxx|changeme|change_me|dummy|fake|sample|\*\*\*|\.\.\.|redacted|"
    r"test|secret|password|hunter2|foobar|environ|getenv|process\.|config|settings|self\.|os\.|<|>|"
    r"^https?:|/|null|none|true|false|todo|mock|token|default|string"
)
_MASKED: Final = "[MASKED:"
_MASKED_SECRET: Final = re2.compile(
    r"(?i)\[MASKED:(token|key|secret|password|api|jwt|private|credential|aws|github|openai|slack|"
    r"generic|bearer|auth)"
)
_SECRET_FILE: Final = re2.compile(
    r"(^|/)\.env(\.(local|prod|production|staging|development))?$|(^|/)id_(rsa|ed25519|ecdsa)$|"
    r"\.aws/credentials$|(^|/)\.(npmrc|pypirc|pgpass|netrc|git-credentials)$|\.pem$|"
    r"(^|/)credentials(\.json)?$|(^|/)secrets?\.(ya?ml|json|toml|env)$|/etc/shadow$|\.kube/config$"
)
_PRINTERS: Final = frozenset(
    {"cat", "less", "more", "head", "tail", "bat", "strings", "xxd", "nl", "base64", "type", "tac"}
)
_HIDES: Final = re2.compile(
    r"\| ?(cut -d|grep -c|wc|grep -o|sed 's/|awk -F)|sed .*(\*\*|REDACT|xxx)|grep -q|-f1\b"
)
_LEAST_BITS: Final = 3.0


def secrets_in(text: str, *, also: Iterable[str] = ()) -> Iterator[str]:
    """Yield what looks like a secret in a text: known forms, and assigned values of high entropy.

    Args:
        text: Any text; of a long one its beginning and end.
        also: Beginnings of further words that are secrets.
    """
    told = edges(text)
    for found in _TOKENS.finditer(told):
        value = found.group(0)
        if not value.startswith(_MASKED) or _MASKED_SECRET.match(value):
            yield value
    for found in _ASSIGNED.finditer(told):
        if _is_random(found.group(1)):
            yield found.group(1)
    for start in also:
        place = told.find(start) if start else -1
        if place >= 0:
            yield told[place:].split(None, 1)[0].strip("\"',;)")


def is_secret_file(path: str) -> bool:
    """Whether a path is one of a file that holds secrets; examples and templates do not."""
    return bool(_SECRET_FILE.search(path))


def printed_secret_file(commands: Iterable[str], whole: str) -> str | None:
    """Return the file of secrets, or the environment, that commands print as it is; else None.

    Args:
        commands: One by one.
        whole: The command line they are from.
    """
    if _HIDES.search(whole):
        return None
    for command in commands:
        words = own_words(command)
        if not words:
            continue
        if words[0] == "printenv" and len(words) == 1 and "|" not in whole:
            return "printenv"
        if command.split()[0] == "env" and len(command.split()) == 1 and "|" not in whole:
            return "env"
        if words[0].rsplit("/", 1)[-1] in _PRINTERS and ">" not in command:
            for word in words[1:]:
                if is_secret_file(word):
                    return word
    return None


def _is_random(value: str) -> bool:
    if _PLACEHOLDER.search(value) or value.startswith(_MASKED):
        return False
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return has_both and bits >= _LEAST_BITS
