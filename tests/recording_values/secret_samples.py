"""Secrets that never were, one or more of each kind, and texts that only look like secrets.

Each secret is put together from pieces, so that nobody's scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid

_RANDOM = random.Random(20260101)
ALNUM = string.ascii_letters + string.digits


def letters(count: int, characters: str = ALNUM) -> str:
    """Return made-up characters, digits and both cases among them."""
    rest = "".join(_RANDOM.choices(characters, k=count))
    return rest if count < 3 or characters != ALNUM else f"a1{rest[2:-1]}Z"


def hexadecimal(count: int) -> str:
    return letters(count, "0123456789abcdef")


def jwt() -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": letters(10)})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts]
    return ".".join([*(part.decode() for part in encoded), letters(43)])


def private_key(kind: str = "RSA ") -> str:
    body = "\n".join(letters(64) for _ in range(12))
    dashes = "-" * 5
    return (
        f"{dashes}BEGIN {kind}PRIVATE KEY{dashes}\n{body}\n{letters(20)}==\n"
        f"{dashes}END {kind}PRIVATE KEY{dashes}"
    )


SHAPED: list[tuple[str, str]] = [
    ("anthropic_key", "sk-" + "ant-api03-" + letters(80)),
    ("openai_key", "sk-" + letters(48)),
    ("openai_key", "sk-" + "proj-" + letters(60) + "_" + letters(30) + "-" + letters(20)),
    ("openai_key", "sk-" + "or-v1-" + hexadecimal(64)),
    ("aws_access_key_id", "AK" + "IA" + letters(16, string.ascii_uppercase + string.digits)),
    ("aws_access_key_id", "AS" + "IA" + letters(16, string.ascii_uppercase + string.digits)),
    ("google_api_key", "AI" + "za" + letters(35)),
    ("google_oauth", "GOC" + "SPX-" + letters(28)),
    ("github_token", "gh" + "p_" + letters(36)),
    ("github_token", "gh" + "s_" + letters(36)),
    ("github_token", "github_" + "pat_" + letters(22) + "_" + letters(59)),
    ("gitlab_token", "gl" + "pat-" + letters(20)),
    ("slack_token", "xo" + "xb-" + letters(12, string.digits) + "-" + letters(24)),
    ("stripe_key", "sk_" + "live_" + letters(24)),
    ("stripe_key", "rk_" + "test_" + letters(24)),
    ("sendgrid_key", "SG" + "." + letters(22) + "." + letters(43)),
    ("npm_token", "np" + "m_" + letters(36)),
    ("pypi_token", "py" + "pi-AgEIcHlwaS5vcmc" + letters(150)),
    ("huggingface_token", "h" + "f_" + letters(34)),
    ("twilio_key", "S" + "K" + hexadecimal(32)),
    ("databricks_token", "da" + "pi" + hexadecimal(32)),
    ("digitalocean_token", "dop" + "_v1_" + hexadecimal(64)),
    ("shopify_token", "shp" + "at_" + hexadecimal(32)),
    ("groq_key", "gs" + "k_" + letters(52)),
    ("replicate_token", "r" + "8_" + letters(37)),
    ("vault_token", "hv" + "s." + letters(90)),
    ("docker_token", "dck" + "r_pat_" + letters(27)),
    ("mailgun_key", "ke" + "y-" + hexadecimal(32)),
    ("telegram_token", letters(9, string.digits) + ":" + "AA" + letters(33)),
    ("azure_client_secret", letters(3) + "8" + "Q~" + letters(34)),
    ("jwt", jwt()),
    ("private_key", private_key()),
    ("private_key", private_key("OPENSSH ")),
]
"""Kind and secret, recognised wherever it stands."""


def _basic() -> str:
    return base64.b64encode(f"bob:{letters(8)}".encode()).decode()


IN_CONTEXT: list[tuple[str, str, str]] = [
    ("url_password", "postgres://bob:{}@db.example:5432/app", "s3cr3t!" + letters(6)),
    ("url_password", "redis://:{}@cache:6379/0", letters(12)),
    ("url_password", "see https:\\/\\/bob:{}@host\\/path", letters(12)),
    ("bearer", "Authorization: Bearer {}", letters(32)),
    ("bearer", "curl -H 'authorization: bearer {}' https://x", letters(32)),
    ("basic_auth", "Authorization: Basic {}", _basic()),
    ("azure_key", "AccountName=a;AccountKey={};EndpointSuffix=x", letters(86) + "=="),
    ("azure_key", "https://a.blob.example/c?sv=2024&sig={}&se=1", letters(42) + "%3D"),
    ("slack_webhook", "https://hooks.slack.com/services/{}", "T00A/B00B/" + letters(24)),
    ("password", "DB_PASSWORD={}\nPORT=1", "letmein"),
    ("password", "PGPASSWORD={} psql", "correcthorse"),
    ("password", "mysql --password {} app", "hunter2000"),
    ("password", 'config = {{"password": "{}"}}', "my pass phrase"),
    ("password", "{{'db_password': '{}', 'port': 1}}", "my pass"),
    ("password", "login?user=bob&password={}&x=1", "hunter2000"),
    *(
        ("password", text, secret)
        for secret in (
            "tr0ub4dor&3xyz",
            "tr0ub;4dor",
            "tr0ub,4dor",
            "tr0ub}4dor",
            "tr0ub)4dor",
            "tr0ub]4",
            "tr0ub|4dor",
            "tr0ub<4dor",
            "tr0ub>4dor",
            "hunter&2abc4",
            "tr0ub(4dor",
            "tr0ub{4dor",
            "tr0ub\\c4dor",
        )
        for text in (
            "DB_PASSWORD: {}",
            "DB_PASSWORD={}\nPORT=1",
            "password: {}\nuser: ann",
            "a password={}",
        )
    ),
    ("password", "{{password: {}}}", "hunter2000"),
    ("password", "Config(user=ann,password={},port=1)", "hunter2000"),
    ("password", "Config(user=ann, password={}, port=1)", "hunter2000"),
    ("password", "[{{password:{}}},{{password:x}}]", "hunter2000"),
    ("password", "Server=db;Password={};Database=shop", "hunter2000"),
    ("password", "|password|{}|note|", "hunter2000"),
    ("password", "<p>password: {}</p>", "hunter2000"),
    ("password", "GET /login?password={}&debug HTTP/1.1", "hunter2000"),
    ("password", "GET /login?user=ann&password={};x", "hunter2000"),
    ("password", "the password is {}, or so", "tr0ub4dor&3xyz"),
    ("secret_key", 'app.secretKey: "{}"', "abc"),
    ("secret", "client_secret={}", letters(20)),
    ("access_key", "AWS_SECRET_ACCESS_KEY={}", letters(40, ALNUM + "+/")),
    ("access_key", "secretAccessKey: '{}'", letters(40, ALNUM + "+/")),
    ("api_key", "X-Api-Key: {}", letters(20)),
    ("api_key", "export WEATHER_API_KEY='{}'", letters(10)),
    ("token", "access_token={}&expires=3600", letters(24)),
    ("cookie", "Cookie: {}", "session=" + letters(20) + "; theme=dark1"),
]
"""Kind, text with a place for the secret, and the secret."""

LOOK_ALIKES: list[str] = [
    str(uuid.UUID(int=_RANDOM.getrandbits(128))),
    hashlib.sha256(b"a").hexdigest(),
    hashlib.sha1(b"a").hexdigest(),
    hashlib.md5(b"a").hexdigest(),
    "commit " + hashlib.sha1(b"b").hexdigest() + "\nAuthor: Ann <ann@example.org>",
    "sha512-" + base64.b64encode(hashlib.sha512(b"a").digest()).decode(),
    "data:image/png;base64," + base64.b64encode(_RANDOM.randbytes(6000)).decode(),
    base64.urlsafe_b64encode(_RANDOM.randbytes(6000)).decode(),
    "https://example.org:8080/a/b?page=2#top",
    "https://user@example.org/a and ssh://git@example.org:22/x",
    "see http://a.example:80 and mail bob@example.org",
    "sk-estimator-doc-link-fitted sk-container-id-1 sk-toggleable__label-arrow",
    "task-1234567890 risk-assessment-2026-report-final disk-usage-by-directory-0001",
    "password: incorrect, please try again",
    "Enter your password: ",
    "The password must be at least 8 characters",
    "password = get_password()",
    "password = os.environ['DB_PASSWORD']",
    "password=${DB_PASSWORD} token=$TOKEN secret=<your secret> api_key={api_key} password=****",
    "def login(user: str, password: str = None, token: Optional[str] = None): ...",
    "connect(password=password, token=token, api_key=self.api_key)",
    "basic understanding of the Basic Authentication scheme",
    "a bearer of good news, bearer understanding-is-everything",
    "token: the next token is predicted from the previous tokens",
    "max_tokens=4096, next_page_token=CAEQAhgBIhIJAFx1y2z3, eos_token='</s>'",
    "prior authorization: approved 2026-01-02",
    "npm_config_registry and npm_package_version, hf_hub_download, hf_transfer",
    "SKU-1234567890 SKILLS SG.1 SG.A pypi-publish-action key-value-store xai-explainability",
    "secret: 'sk-...' password: [REDACTED] api_key='YOUR_API_KEY' pwd='${a}-${b}'",
    "password:e.value;send(x1) password:t,min:8;n=1 {password:user&&user.pass1} password=a(b1)c",
    "password: get(user, 1) or password: secrets[user1] or password=foo(1 if b else c)",
    "reset your password: https://www.example.org/reset-password",
    'os.WriteFile(f, []byte("key="+secret+"secret="+highEntropySecret), 0o644); "a"',
    "-" * 5 + "BEGIN CERTIFICATE" + "-" * 5 + "\nMIIB\n" + "-" * 5 + "END CERTIFICATE" + "-" * 5,
    "-" * 5 + "BEGIN PUBLIC KEY" + "-" * 5 + "\nMIIB\n" + "-" * 5 + "END PUBLIC KEY" + "-" * 5,
    "credit card 4111 1111 1111 1111, order 123456789012345678, phone +1 555 0100",
    "eyJ is how base64 of JSON begins; eyJhbGciOiJIUzI1NiJ9 alone is a header",
    "diff --git a/x b/x\nindex 83db48f..bf269f4 100644\n--- a/x\n+++ b/x",
    "2026-01-02T03:04:05.678901+00:00 INFO [main] 12.5ms id=0190163d-8694-739b-aea5-966c26f8ad91",
]
"""Texts without a secret in them."""
