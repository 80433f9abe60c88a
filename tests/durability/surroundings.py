"""Where a text may stand: in prose, code, commands, logs, markup, and JSON of every depth."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

Surround = Callable[[str], Any]


def _in_string(text: str, *, depth: int = 1) -> str:
    value: Any = {"note": text, "page": 2}
    for _ in range(depth):
        value = {"arguments": json.dumps(value)}
    return str(value["arguments"])


def _all_escaped(text: str) -> str:
    return '{"a": "' + "".join(f"\\u{ord(letter):04x}" for letter in text) + '"}'


def _traceback(text: str) -> str:
    return (
        "Traceback (most recent call last):\n"
        '  File "app.py", line 7, in main\n'
        f"    raise ValueError({text!r})\n"
        f"ValueError: cannot use {text}\n"
    )


TEXT: dict[str, Surround] = {
    "bare": lambda text: text,
    "prose": lambda text: f"Please use {text} for the staging account, and tell Ann.",
    "end of sentence": lambda text: f"We were given ({text}).",
    "json value": lambda text: {"note": text, "page": 2},
    "json odd keys": lambda text: {"": [text], "Ключ \U0001f511": {'a"b\\': text}, "0": None},
    "json in a string": lambda text: {"arguments": _in_string(text)},
    "json in json in a string": lambda text: {"arguments": _in_string(text, depth=2)},
    "json four deep": lambda text: _in_string(text, depth=4),
    "json all escaped": _all_escaped,
    "json without spaces": lambda text: json.dumps({"note": text}, separators=(",", ":")),
    "json of a browser": lambda text: json.dumps({"note": text}).replace("/", "\\/"),
    "dict key": lambda text: {text: 1, "b": 2},
    "python list": lambda text: ["a", [[text]], None],
    "python repr": lambda text: repr({"note": text, "page": 2}),
    "python bytes": lambda text: text.encode(),
    "python code": lambda text: f'import x\nclient = x.Client("{text}", retries=3)\n',
    "js code": lambda text: f"const client = new Client('{text}', {{retries: 3}});",
    "js template": lambda text: f"const a=`{text}`;fetch(a)",
    "shell export": lambda text: f'export VALUE="{text}"\nmake\n',
    "shell command": lambda text: f'curl -sS -H "X-Custom: {text}" https://example.org/a',
    "yaml": lambda text: f"service:\n  port: 80\n  value: {text}\n  other: 1\n",
    "yaml list": lambda text: f"values:\n- {text}\n- b\n",
    "env line": lambda text: f"PORT=80\nVALUE={text}\nMODE=dev\n",
    "log line": lambda text: f"2026-01-02T03:04:05Z INFO [main] got {text} from peer=10.0.0.1",
    "log fields": lambda text: f"level=info value={text} status=200",
    "markdown code": lambda text: f"1. First run `{text}`\n2. Then wait",
    "markdown bold": lambda text: f"Use **{text}** now",
    "markdown table": lambda text: f"| name | value |\n|---|---|\n| a |{text}| b |",
    "markdown fence": lambda text: f"```sh\n{text}\n```",
    "html": lambda text: f"<td>{text}</td><td>2</td>",
    "xml attribute": lambda text: f'<a value="{text}" b="2"/>',
    "csv": lambda text: f"id,value\n7,{text},x\n",
    "diff": lambda text: f"@@ -1 +1 @@\n-old\n+{text}\n",
    "ansi colours": lambda text: f"\x1b[31m{text}\x1b[0m",
    "line ends of windows": lambda text: f"a\r\n{text}\r\nb",
    "tabs": lambda text: f"a\t{text}\tb",
    "unicode beside": lambda text: f"键{text}。次",
    "typographic quotes": lambda text: f"“{text}”, — she said…",
    "exception": lambda text: ValueError(f"bad value: {text}"),
    "exception text": lambda text: f"HTTPError: 401 Client Error: {text!r} rejected",
    "traceback": _traceback,
    "long text": lambda text: f"{'lorem ipsum dolor ' * 200}{text}{' sit amet' * 200}",
}
"""Surroundings for any text."""

TOKEN: dict[str, Surround] = {
    "url query": lambda text: f"https://example.org/v1?user=7&q={quote(text, safe='')}&page=2",
    "url path": lambda text: f"https://example.org/v1/{quote(text, safe='')}/x",
    "url fragment": lambda text: f"https://example.org/#a={quote(text, safe='')}",
    "form body": lambda text: f"a=1&value={quote(text, safe='')}",
    "percent name": lambda text: f"value%3D{quote(text, safe='')}%26page%3D2",
    "bearer header": lambda text: f'curl -H "Authorization: Bearer {text}" https://example.org',
    "header": lambda text: {"headers": {"X-Custom": text}},
    "named": lambda text: {"api_key": text},
    "assignment": lambda text: f"TOKEN={text}",
    "call": lambda text: f"connect(api_key={text!r}, timeout=3)",
}
"""Surroundings for a secret that its shape gives away."""

NAMED: dict[str, Callable[[str, str], Any]] = {
    "json": lambda name, value: {"user": "ann", name: value},
    "json deep": lambda name, value: {"a": [{"b": {name: value}}]},
    "json list": lambda name, value: {name: [value, value]},
    "json in a string": lambda name, value: {"arguments": json.dumps({"u": 1, name: value})},
    "json in json in a string": lambda name, value: json.dumps(
        {"arguments": json.dumps({"u": 1, name: value})}
    ),
    "json without spaces": lambda name, value: json.dumps(
        {"u": 1, name: value}, separators=(",", ":")
    ),
    "json of a browser": lambda name, value: json.dumps({name: value}).replace("/", "\\/"),
    "json indented": lambda name, value: json.dumps({"u": 1, name: value, "z": 2}, indent=2),
    "name and value": lambda name, value: {"env": [{"name": name, "value": value}]},
    "key and value": lambda name, value: [{"key": name, "value": value, "enabled": True}],
    "pair": lambda name, value: [[name, value], ["b", "c"]],
    "python repr": lambda name, value: repr({"user": "ann", name: value}),
    "python code": lambda name, value: f'{name.replace("-", "_")} = "{value}"\n',
    "python call": lambda name, value: f"connect(host='h', {name.replace('-', '_')}={value!r})",
    "python object": lambda name, value: f"Settings(url='h', {name.replace('-', '_')}={value!r})",
    "python types": lambda name, value: f"{name.replace('-', '_')}: str = '{value}'",
    "js code": lambda name, value: f"const c = {{host: 'h', '{name}': '{value}'}};",
    "js assignment": lambda name, value: f"config.{name.replace('-', '_')}='{value}';",
    "yaml": lambda name, value: f"service:\n  port: 80\n  {name}: {value}\n  other: 1\n",
    "yaml quoted": lambda name, value: f'{name}: "{value}"\nother: 1\n',
    "toml": lambda name, value: f'[a]\n{name} = "{value}"\n',
    "ini": lambda name, value: f"[a]\n{name} = {value}\nb = c\n",
    "env line": lambda name, value: f"PORT=80\n{name.upper().replace('-', '_')}={value}\nMODE=dev",
    "env quoted": lambda name, value: f"{name.upper().replace('-', '_')}='{value}'",
    "shell export": lambda name, value: f"export {name.replace('-', '_')}='{value}' && make",
    "shell prefix": lambda name, value: f"{name.upper().replace('-', '_')}={value} python app.py",
    "shell flag": lambda name, value: f"deploy --{name} {value} --force",
    "shell flag quoted": lambda name, value: f"deploy --{name}='{value}' --force",
    "argument list": lambda name, value: ["deploy", f"--{name}", value, "--force"],
    "docker": lambda name, value: f"docker run -e {name}={value} image:tag",
    "header": lambda name, value: f"GET / HTTP/1.1\r\nHost: h\r\n{name}: {value}\r\n\r\n",
    "curl header": lambda name, value: f"curl -H '{name}: {value}' https://example.org",
    "url query": lambda name, value: f"https://example.org/a?{name}={quote(value)}&page=2",
    "form body": lambda name, value: f"user=ann&{name}={quote(value)}&page=2",
    "xml": lambda name, value: f"<{name}>{value}</{name}>",
    "xml attribute": lambda name, value: f'<add host="h" {name}="{value}" />',
    "log fields": lambda name, value: f"2026-01-02 INFO login user=ann {name}={value} ok",
    "sql": lambda name, value: f"UPDATE users SET {name.replace('-', '_')} = '{value}' WHERE id=1",
    "markdown": lambda name, value: f"- **{name}**: `{value}`\n- host: `h`",
    "markdown code": lambda name, value: f"Set `{name}={value}` first",
    "table": lambda name, value: f"| user | ann |\n| {name} | {value} |\n",
    "exception": lambda name, value: ValueError(f"login failed with {name}={value!r}"),
    "unicode beside": lambda name, value: f"设置 {name}\N{FULLWIDTH COLON}{value}。",
}
"""Surroundings for a name and a secret value."""
