"""Pieces that, said a million times, make a slow search slow."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from tracedance_sdk.recording.redaction_patterns import SECRET_PATTERNS

_PEM: Final = "-" * 5 + "BEGIN PRIVATE KEY" + "-" * 5

PIECES: Final[dict[str, str]] = {
    "one letter": "a",
    "letters and spaces": "a ",
    "names of no scheme": "a:",
    "schemes": "a://",
    "colons": "://a:",
    "users": "://a:b",
    "users without hosts": "://a:b@",
    "equal signs": "=",
    "named equal signs": "password=",
    "single quotes": "'",
    "double quotes": '"',
    "backticks": "`",
    "backslashes": "\\",
    "escaped quotes": '\\"',
    "escapes of plain letters": "\\u0041",
    "escapes of quotes": "\\u0022",
    "escaped slashes": "\\/",
    "escaped line ends": "\\n",
    "line ends": "\n",
    "tabs": "\t",
    "spaces": " ",
    "dashes": "-",
    "dots": ".",
    "at signs": "@",
    "pipes": "|",
    "stars": "*",
    "brackets": "[",
    "angles": "<",
    "percent signs": "%20",
    "colours": "\x1b[31m",
    "wide letters": "\u3001\u3002\uff1a",
    "bearer": "Bearer ",
    "bearers of nothing": "bearer  ",
    "basic": "Basic ",
    "basic base64": "Basic YWJjOmRlZg ",
    "jwt starts": "eyJ",
    "jwt parts": "eyJa.",
    "jwt pairs": "eyJhbGciOiJIUzI1.",
    "pem starts": _PEM,
    "pem ends": _PEM.replace("BEGIN", "END"),
    "pem starts and text": _PEM + " text ",
    "pem bodies": "A1b2" * 16 + "\n",
    "names": "password",
    "names and colons": "password:",
    "names, colons, spaces": "password:   ",
    "names and values": "password: x1y2z3 ",
    "names that say": "password is ",
    "names and numbers said": "password is a1 ",
    "names, then value": "password value ",
    "weak names": "token=",
    "open quotes": "password='",
    "both quotes": "password='password=\"",
    "escaped named values": 'password=\\"x\\" ',
    "elements": "<password>",
    "cells": "|password|",
    "typed": "password: str ",
    "flags": "--password ",
    "curl": "curl ",
    "curl users": "curl -u ",
    "curl users and colons": "curl -u a:",
    "commands": "mysql -h ",
    "commands and flags": "redis-cli -a ",
    "netrc": "machine a login b ",
    "masks": "[MASKED:a:00]",
    "torn masks": "[MASKED:",
    "secrets": "password=hunter2 ",
    "cookies": "Cookie: a=b; ",
    "cookies of nothing": "cookie:",
    "variables": "PASSWORD=",
    "elements of nothing": "<password>a",
    "typed names": "password: str = ",
    "wide colons": "password\uff1a",
    "numbers": "123456789:",
    "base64": "QUJDREVG",
}
"""Name and piece."""

for _row in SECRET_PATTERNS:
    for _literal in _row.literals:
        PIECES[f"{_row.kind}: {_literal}"] = f"{_literal}aB3-"
        PIECES[f"{_row.kind}: {_literal} and digits"] = f"{_literal}0123456789abcdef "


def repeated(piece: str) -> Callable[[int], str]:
    """Return what makes a text of about so many characters of one piece."""
    return lambda size: piece * (size // len(piece))


def nested(depth: int) -> Callable[[int], str]:
    """Return what makes JSON inside JSON strings, as deep as given, of about so many characters."""

    def make(size: int) -> str:
        text = json.dumps({"password": "hunter2", "note": "a"})
        for _ in range(depth):
            text = json.dumps({"a": text}) if len(text) < size // 3 else text
        return text * max(1, size // len(text))

    return make


TEXTS: Final[dict[str, Callable[[int], str]]] = {
    **{name: repeated(piece) for name, piece in PIECES.items()},
    "nested strings": nested(20),
    "one letter, then a name": lambda size: "a" * size + "password=",
    "a name, then one letter": lambda size: "password=" + "a" * size,
    "a quoted name, then backslashes": lambda size: "password='" + "\\" * size,
    "an unclosed quote, then quotes": lambda size: 'password=\\"' + '"' * size,
    "a bearer, then one letter": lambda size: "Bearer " + "a" * size,
    "a scheme, then one letter": lambda size: "a://b:" + "a" * size,
    "a private key without an end": lambda size: _PEM + "\n" + "A1b2" * (size // 4),
    "an end of a key after base64": lambda size: (
        "A1b2" * (size // 4) + "\n" + _PEM.replace("BEGIN", "END")
    ),
}
"""Name, and what makes a text of about so many characters."""
