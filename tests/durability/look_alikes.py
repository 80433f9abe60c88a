"""Texts that look like secrets and are none, made from patterns and a seed when a test runs."""

from __future__ import annotations

import base64
import hashlib
import string
import uuid
from collections.abc import Callable
from random import Random

from tests.durability.secret_corpus import ALNUM, BASE64, HEX, WORD, drawn

Make = Callable[[Random], str]

_WORDS = (
    "account",
    "billing",
    "cache",
    "deploy",
    "editor",
    "filter",
    "gateway",
    "helper",
    "index",
    "journal",
    "kernel",
    "layout",
    "monitor",
    "network",
    "order",
    "parser",
    "query",
    "report",
    "session",
    "table",
    "upload",
    "view",
    "worker",
    "yield",
    "zone",
)


def words(random: Random, count: int, joint: str = "-") -> str:
    return joint.join(random.choices(_WORDS, k=count))


def _crockford(random: Random) -> str:
    return "01" + drawn(random, 24, "0123456789ABCDEFGHJKMNPQRSTVWXYZ")


def _certificate(random: Random) -> str:
    body = "\n".join(drawn(random, 64, BASE64) for _ in range(12))
    dashes, kind = "-" * 5, random.choice(["CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY"])
    return f"{dashes}BEGIN {kind}{dashes}\n{body}\n{dashes}END {kind}{dashes}"


def _integrity(random: Random) -> str:
    digest = base64.b64encode(random.randbytes(64)).decode()
    return f'"resolved": "https://r.example.org/a/-/a-1.2.3.tgz",\n"integrity": "sha512-{digest}"'


def _minified(random: Random) -> str:
    names = [random.choice(string.ascii_letters) + drawn(random, 2) for _ in range(30)]
    body = "".join(
        f"var {a}=function({b},{c}){{return {b}.{c}?{a}({b}):{{k:{c},t:'{b}'}}}};"
        for a, b, c in zip(names, names[1:], names[2:], strict=False)
    )
    return f"!function(e,t){{'use strict';{body}e.token=t,e.secret=n(t),this.password=r}}(window)"


def _one_of(*texts: str) -> Make:
    return lambda random: random.choice(texts)


MADE: dict[str, Make] = {
    "md5": lambda random: hashlib.md5(random.randbytes(9)).hexdigest(),
    "sha1": lambda random: hashlib.sha1(random.randbytes(9)).hexdigest(),
    "sha256": lambda random: hashlib.sha256(random.randbytes(9)).hexdigest(),
    "sha512": lambda random: hashlib.sha512(random.randbytes(9)).hexdigest(),
    "image digest": lambda random: "app@sha256:" + drawn(random, 64, HEX),
    "uuid": lambda random: str(uuid.UUID(int=random.getrandbits(128), version=4)),
    "uuid in braces": lambda random: f"{{{uuid.UUID(int=random.getrandbits(128))}}}".upper(),
    "git commit": lambda random: f"commit {drawn(random, 40, HEX)}\nAuthor: Ann <ann@a.example>",
    "git index": lambda random: f"index {drawn(random, 7, HEX)}..{drawn(random, 7, HEX)} 100644",
    "ulid": _crockford,
    "trace context": lambda random: f"00-{drawn(random, 32, HEX)}-{drawn(random, 16, HEX)}-01",
    "image data url": lambda random: (
        "data:image/png;base64," + base64.b64encode(random.randbytes(3000)).decode()
    ),
    "bare base64": lambda random: base64.b64encode(random.randbytes(9000)).decode(),
    "base64 in lines": lambda random: base64.encodebytes(random.randbytes(3000)).decode(),
    "url-safe base64": lambda random: base64.urlsafe_b64encode(random.randbytes(3000)).decode(),
    "integrity hash": _integrity,
    "certificate": _certificate,
    "ssh public key": lambda random: (
        f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{drawn(random, 44, BASE64)} ann@host"
    ),
    "long file name": lambda random: f"/srv/{words(random, 5, '/')}/{words(random, 6)}-v2.1.tar.gz",
    "pod name": lambda random: f"{words(random, 2)}-{drawn(random, 10, HEX)}-{drawn(random, 5)}",
    "bucket": lambda random: f"s3://{words(random, 3)}-eu-1/{words(random, 4, '_')}/part-00012",
    "phone number": lambda random: f"+1 555 {drawn(random, 3, '0123456789')} 0100",
    "order number": lambda random: random.choice(["#W", "SK", "ORD-"]) + drawn(random, 7, "12345"),
    "long number": lambda random: str(random.randrange(10**17, 10**18)),
    "css classes": lambda random: (
        f"sk-{words(random, 2)}-1 sk-{words(random, 3, '__')} task-{words(random, 4)}"
    ),
    "hyphenated words": _one_of(
        "task-force ask-me-anything-about-it-2026 risk-assessment-of-2026-q1-final-report",
        "disk-usage-by-directory-0001 desk-1234567890123456 mask-rcnn-resnet50-fpn-coco",
        "flask-sqlalchemy-session-0123456789 kiosk-terminal-id-00000000001",
        "sk-learn sk-SK sk-estimator-id-1 sk-toggleable__label-arrow sk-fading-circle12",
    ),
    "minified js": _minified,
    "hex colour": lambda random: (
        f"color:#{drawn(random, 6, HEX)};background:#{drawn(random, 8, HEX)}"
    ),
    "url": lambda random: f"https://www.example.org:8080/{words(random, 3, '/')}?page=2&q=a#top",
    "url with @": _one_of(
        "https://ann@example.org/a",
        "ssh://git@example.org:22/a/b.git",
        "git@example.org:a/b.git and ann@example.org",
        "https://medium.example/@ann/post:1 http://a:8080/x@y",
        "npm install https://r.example.org/@scope/pkg@1.2.3",
    ),
    "reset link": lambda random: (
        f"reset your password: https://www.example.org/reset-password/{words(random, 2)}"
    ),
    "cursor": lambda random: f'{{"next_page_token": "{drawn(random, 24)}", "items": []}}',
    "etag": lambda random: f'etag: W/"{drawn(random, 32, HEX)}" cache-key: {words(random, 2)}',
    "wallet address": lambda random: "0x" + drawn(random, 40, HEX),
    "base58 address": lambda random: "1" + drawn(random, 33, ALNUM.replace("0", "")),
    "youtube ids": lambda random: f"https://video.example/watch?v={drawn(random, 11, WORD)}",
    "mac and ip": lambda random: "fe80::1ff:fe23:4567:890a 02:42:ac:11:00:02 10.0.0.1:5432",
    "account sid": lambda random: "AC" + drawn(random, 32, HEX),
    "session in a path": lambda random: f"/tmp/session-{drawn(random, 8, HEX)}/state.json",
    "dependency list": lambda random: (
        f"tokenizers==0.21.{random.randrange(9)} secretstorage==3.3 passlib==1.7.4 keyring>=25"
    ),
    "parquet name": lambda random: f"part-{uuid.UUID(int=random.getrandbits(128))}.snappy.parquet",
}

SAID: dict[str, list[str]] = {
    "password in prose": [
        "Forgot your password? Click here.",
        "password: incorrect, please try again",
        "Enter your password: ",
        "The password must be at least 8 characters and is case sensitive.",
        "Your password is required. The password is incorrect. The password is too short.",
        "the password is stored hashed; a password is never logged",
        "I can reset your password to something new, or set the password to empty.",
        "Password: must contain 1 digit. Passwords: 3 attempts left.",
        "Change the secret: open Settings, then Security2FA.",
        "The API key is missing. Your API key is invalid. The token is expired.",
    ],
    "token in prose": [
        "token: the next token is predicted from the previous tokens",
        "total_tokens: 812, completion_tokens=77, max_tokens: 4096",
        'usage {"prompt_tokens": 812, "total_tokens": 1024, "token_type": "bearer"}',
        "eos_token='</s>' pad_token=<pad> bos_token_id=1 num_tokens=1024",
        "SyntaxError: Unexpected token: punc (}) at line 12, unexpected token 'else2'",
        "tokens per second: 12345.67, tokenizer: cl100k_base, token_count=8192abc",
    ],
    "authorization in prose": [
        "prior authorization: approved 2026-01-02",
        "a bearer of good news, bearer understanding-is-everything",
        "basic understanding of the Basic Authentication scheme; Basic dXNlZA training",
        "auth: enabled, Authorization: required, WWW-Authenticate: Basic realm=api",
        "Bearer token authentication is described in RFC 6750",
    ],
    "placeholder": [
        "password=${DB_PASSWORD} token=$TOKEN secret=<your secret> api_key={api_key}",
        "export OPENAI_API_KEY=<YOUR_API_KEY>",
        "api_key: xxxx, password: ********, secret: 'XXXXXXXXXXXX'",
        'API_KEY="your-api-key-here" TOKEN=your_token_here',
        "OPENAI_API_KEY=sk-... ANTHROPIC_API_KEY=sk-ant-... GITHUB_TOKEN=ghp_...",
        "sk-" + "x" * 48,
        "ghp_" + "X" * 36,
        "Authorization: Bearer <token>",
        "Authorization: Bearer ${ACCESS_TOKEN}",
        "Authorization: Bearer YOUR_ACCESS_TOKEN",
        "Authorization: Bearer {{access_token}}",
        "postgresql://user:password@localhost/db and redis://:${PASS}@h and a://u:<pw>@h",
        "https://user:****@example.org/ and https://user:xxxx@example.org",
        "password: [REDACTED] secret: (hidden) token: *** api_key: REDACTED_BY_POLICY",
        'password = "<PASSWORD>"',
        "${{ secrets.GITHUB_TOKEN }} and {{ vault_password }} and %(password)s and $(cat token1)",
        "password: \"{{ lookup('env', 'PASSWORD1') }}\"",
    ],
    "code that fetches": [
        'api_key = os.environ["API_KEY"]',
        "password = os.getenv('DB_PASSWORD1', default)",
        "const apiKey = process.env.OPENAI_API_KEY;",
        "token = get_token(user_id=7)",
        "connect(password=password, token=token2, api_key=self.api_key)",
        "client_secret = config.client_secret_v2",
        "let secret = secrets.find(s => s.id === secretId1);",
        "password: process.env.PASSWORD1 || undefined",
        "self.password = password1",
        "apiKey: string; password?: string; token: Optional[str] = None",
        "if token == expected_token2: pass",
        'String password = request.getParameter("password");',
        "password = getpass.getpass('Password: ')",
        'token := r.Header.Get("X-Auth-Token")',
        "$password = $_POST['password'];",
        "secret_key = base64.b64decode(encoded)",
    ],
    "schema": [
        '{"properties": {"password": {"type": "string", "minLength": 8}}}',
        '{"type": "object", "required": ["password", "api_key"], "token": {"type": "string"}}',
        "CREATE TABLE users (id INT, password VARCHAR(255) NOT NULL, api_key TEXT)",
        "def login(user: str, password: str = None, token: Optional[str] = None): ...",
        '<input type="password" name="password" placeholder="Enter password" autocomplete="off">',
        '<label for="password">Password:</label> <a class="forgot-password">Forgot?</a>',
        "/etc/passwd /etc/shadow ~/.ssh/known_hosts .env.example secrets.yaml token.txt",
        "usage: app [--password PASSWORD] [--token TOKEN] [--api-key KEY]",
        "--password TEXT  The password to use  [required]",
        "SELECT password, token FROM users WHERE password IS NOT NULL",
        "grant_type=password&scope=read response_type=token token_type=bearer",
    ],
    "trivial value": [
        '{"password": "password", "token": "test", "secret": "~"}',
        "password=password",
        "password: ~",
        "assert login(password='test')",
        "secret: 'secret'",
        "PASSWORD=test",
        "SECRET_KEY = 'test-secret-key'",
        'API_KEY="dummy-key-for-testing" SECRET_KEY=fake_secret_key',
        "Set-Cookie: sessionid=; expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/a1",
        '{"password": "Password", "password_label": "Password:", "api_key": "API key"}',
    ],
    "hashes by name": [
        "password_hash: 5f4dcc3b5aa765d61d8327deb882cf99",
        '{"token_id": "7a91", "secret_name": "db-main-01", "key": "order-2026-01"}',
        "public_key: MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE",
        "primary_key=id17 foreign_key=user_id2 sort_key: created_at1 cache_key='u:17:profile'",
        "pk_live_" + "51AbCdEfGh1234567890" + " is a publishable key",
        "keyboard: us1, monkey=banana12, turkey: 2kg, passport: X1234567, compass=north12",
        "secretary: Ann2, secretion=3ml, tokenize=True1, passwordless: yes1",
    ],
}
"""Texts of people, manuals and programs that speak of secrets and hold none."""
