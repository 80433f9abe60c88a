"""Secrets that never were, of many kinds, made from patterns and a seed when a test runs.

No literal in this file looks like a secret: every prefix is put together from pieces.
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable
from random import Random
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
CAPITALS = string.ascii_uppercase + string.digits
WORD = ALNUM + "_-"
BASE64 = ALNUM + "+/"


class Secret(NamedTuple):
    """One secret and how it is written.

    Attributes:
        text: The secret itself, all of which must go.
        line: The text that it is written in: the secret alone where its shape gives it away,
            else with the name, header or address that does.
        cores: The random parts, of which no piece may survive.
    """

    text: str
    line: str
    cores: tuple[str, ...]


Make = Callable[[Random], Secret]


def drawn(random: Random, count: int, characters: str = ALNUM) -> str:
    """Return random characters; at 16 and more, letters and digits are among them."""
    text = "".join(random.choices(characters, k=count))
    if count < 16 or (any(map(str.isdigit, text)) and any(map(str.isalpha, text))):
        return text
    return drawn(random, count, characters)


def token(prefixes: str, count: int, characters: str = ALNUM, end: str = "") -> Make:
    """Return the maker of tokens with one of several prefixes; ``+`` joins its pieces."""
    starts = prefixes.replace("+", "").split()

    def make(random: Random) -> Secret:
        core = drawn(random, count, characters) + end
        text = random.choice(starts) + core
        return Secret(text, text, (core,))

    return make


def written(lines: list[str], core: Callable[[Random], str]) -> Make:
    """Return the maker of secrets that only the text around them gives away."""

    def make(random: Random) -> Secret:
        text = core(random)
        return Secret(text, random.choice(lines).replace("{}", text), (text,))

    return make


def _jwt(random: Random) -> Secret:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": drawn(random, 12), "iat": 1767225600})
    encoded = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts
    ]
    signature = drawn(random, 43, WORD)
    text = ".".join([*encoded, signature])
    return Secret(text, text, (signature,))


def _private_key(random: Random) -> Secret:
    kind = random.choice(["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
    lines = [drawn(random, 64, BASE64) for _ in range(random.choice([3, 12, 25]))]
    lines.append(drawn(random, 22, BASE64) + "==")
    dashes = "-" * 5
    body = "\n".join(lines)
    text = f"{dashes}BEGIN {kind}PRIVATE KEY{dashes}\n{body}\n{dashes}END {kind}PRIVATE KEY{dashes}"
    return Secret(text, text, tuple(lines))


def _sendgrid(random: Random) -> Secret:
    cores = drawn(random, 22, WORD), drawn(random, 43, WORD)
    text = ".".join(["S" + "G", *cores])
    return Secret(text, text, cores)


def _basic(random: Random) -> Secret:
    text = base64.b64encode(f"{drawn(random, 5)}:{drawn(random, 14)}".encode()).decode()
    line = random.choice(["Authorization: Basic {}", "authorization: basic {}", "Basic {}"])
    return Secret(text, line.replace("{}", text), (text,))


def _pat_of_airtable(random: Random) -> Secret:
    cores = drawn(random, 14), drawn(random, 64, HEX)
    text = "p" + "at" + ".".join(cores)
    return Secret(text, text, cores)


def _discord_bot(random: Random) -> Secret:
    number = str(random.randrange(10**17, 10**18)).encode()
    cores = drawn(random, 6, ALNUM), drawn(random, 38, WORD)
    text = ".".join([base64.b64encode(number).decode().rstrip("="), *cores])
    return Secret(text, text, cores)


def _langfuse(random: Random) -> Secret:
    core = "-".join(drawn(random, count, HEX) for count in (8, 4, 4, 4, 12))
    text = "s" + "k-lf-" + core
    return Secret(text, text, (core,))


def pass_phrase(random: Random) -> str:
    """Return what a careful person might choose."""
    return drawn(random, random.choice([8, 12, 20]), ALNUM + "!#%^*+.") + random.choice(
        "0123456789"
    )


SHAPED: dict[str, Make] = {
    "openai_key": token("s+k- s+k-proj- s+k-svcacct- s+k-admin-", 48),
    "openai_key (long)": token("s+k-proj-", 150, WORD + ALNUM * 4),
    "openrouter_key": token("s+k-or-v1-", 64, HEX),
    "anthropic_key": token("s+k-ant-api03- s+k-ant-admin01-", 93, WORD, "AA"),
    "langfuse_key": _langfuse,
    "aws_access_key_id": token("AK+IA AS+IA", 16, string.ascii_uppercase + "234567"),
    "google_api_key": token("AI+za", 35, WORD),
    "google_oauth": token("GOC+SPX- ya2+9.", 40, WORD),
    "github_token (classic)": token("gh+p_ gh+o_ gh+u_ gh+s_ gh+r_", 36),
    "github_token (fine)": token("github_+pat_", 82, ALNUM + "_"),
    "gitlab_token": token("gl+pat- gl+rt- gl+dt-", 20, WORD),
    "slack_token": token("xo+xb- xo+xp- xa+pp-", 48, ALNUM),
    "stripe_key": token("sk_+live_ sk_+test_ rk_+live_ whs+ec_", 32),
    "sendgrid_key": _sendgrid,
    "npm_token": token("np+m_", 36),
    "pypi_token": token("py+pi-AgEIcHlwaS5vcmc", 140, WORD),
    "huggingface_token": token("h+f_", 34),
    "twilio_key": token("S+K", 32, HEX),
    "databricks_token": token("da+pi", 32, HEX),
    "digitalocean_token": token("do+p_v1_", 64, HEX),
    "shopify_token": token("shp+at_ shp+ss_", 32, HEX),
    "groq_key": token("gs+k_", 52),
    "xai_key": token("x+ai-", 80),
    "replicate_token": token("r+8_", 37),
    "perplexity_key": token("pp+lx-", 48),
    "vault_token": token("hv+s. hv+b.", 90, WORD),
    "docker_token": token("dck+r_pat_", 27, WORD),
    "mailgun_key": token("ke+y-", 32, HEX),
    "linear_key": token("lin+_api_", 40),
    "grafana_token": token("gl+sa_", 41, ALNUM + "_"),
    "langsmith_key": token("ls+v2_pt_ ls+v2_sk_", 43, HEX + "_"),
    "notion_token": token("nt+n_ sec+ret_", 43),
    "figma_token": token("fi+gd_", 40, WORD),
    "atlassian_token": token("AT+ATT3xFfGF0", 180, WORD),
    "airtable_token": _pat_of_airtable,
    "sentry_token": token("snt+rys_ snt+ryu_", 64, ALNUM),
    "tavily_key": token("tv+ly- tv+ly-dev-", 32),
    "pinecone_key": token("pc+sk_", 70, ALNUM + "_"),
    "nvidia_key": token("nv+api-", 64, WORD),
    "firecrawl_key": token("f+c-", 32, HEX),
    "e2b_key": token("e2+b_", 40, HEX),
    "supabase_token": token("sb+p_ sb+_secret_", 40, HEX),
    "newrelic_key": token("NR+AK-", 27, CAPITALS),
    "postman_key": token("PM+AK-", 59, HEX + "-"),
    "rubygems_key": token("ruby+gems_", 48, HEX),
    "age_key": token("AGE-SEC+RET-KEY-1", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "discord_token": _discord_bot,
    "telegram_token": token("71+23456789:A+A", 33, WORD),
    "azure_client_secret": token("a1Z8+Q~", 34, WORD),
    "jwt": _jwt,
    "private_key": _private_key,
}
"""Secrets that are recognised wherever they stand; some kinds by more than one form."""

WRITTEN: dict[str, Make] = {
    "bearer": written(
        ["Authorization: Bearer {}", "authorization: bearer {}", "Bearer {}", "Bearer%20{}"],
        lambda random: drawn(random, 40, WORD),
    ),
    "basic_auth": _basic,
    "url_password": written(
        [
            "https://ann:{}@example.org/a?b=1",
            "postgresql://app:{}@db.internal:5432/shop",
            "mysql+pymysql://root:{}@127.0.0.1/x",
            "mongodb+srv://u:{}@cluster0.example.net/?retryWrites=true",
            "redis://:{}@cache:6379/0",
            "amqps://u:{}@mq/vhost",
            "git clone https://oauth2:{}@git.example.org/a/b.git",
        ],
        lambda random: drawn(random, 16, ALNUM + "!-_.~$*"),
    ),
    "url_user_token": written(
        ["https://{}@git.example.org/a/b.git", "git+https://{}@git.example.org/a/b"],
        lambda random: drawn(random, 40, HEX),
    ),
    "azure_key": written(
        [
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core.x.net",
            "Endpoint=sb://b.x.net/;SharedAccessKeyName=Root;SharedAccessKey={}",
        ],
        lambda random: drawn(random, 86, BASE64) + "==",
    ),
    "azure_signature": written(
        ["https://a.blob.x.net/c/f.txt?sv=2024-11-04&se=2026-01-01&sr=b&sp=r&sig={}"],
        lambda random: drawn(random, 43) + "%3D",
    ),
    "aws_signature": written(
        [
            "https://b.s3.example.com/k?X-Amz-Date=20260101T000000Z&X-Amz-Expires=60&X-Amz-Signature={}"
        ],
        lambda random: drawn(random, 64, HEX),
    ),
    "slack_webhook": written(
        ["https://hooks." + "slack.com/services/T0A1B2C3D/B0A1B2C3D/{}"],
        lambda random: drawn(random, 24),
    ),
    "discord_webhook": written(
        ["https://discord." + "com/api/webhooks/1234567890123456789/{}"],
        lambda random: drawn(random, 68, WORD),
    ),
    "curl_user": written(
        ["curl -u ann:{} https://example.org", "curl -sS --user 'ann:{}' https://example.org"],
        lambda random: drawn(random, 14),
    ),
    "command_password": written(
        ["sshpass -p {} ssh ann@host", "mysql -u root -p{} shop", "redis-cli -h c -a {} ping"],
        lambda random: drawn(random, 14),
    ),
    "netrc": written(
        ["machine api.example.org login ann password {}"], lambda random: drawn(random, 20)
    ),
    "cookie": written(
        [
            "Cookie: session={}; theme=dark",
            "Set-Cookie: sid={}; Path=/; HttpOnly; Secure",
            "cookie: a=b; connect.sid={}",
        ],
        lambda random: drawn(random, 32),
    ),
    "spoken_password": written(
        [
            "My password is {} if you need it",
            "the password is: {}",
            'The admin passphrase is "{}".',
            "Your API key is {}",
            "password to {}",
        ],
        lambda random: drawn(random, 20),
    ),
}
"""Secrets that the text around them gives away."""

NAMES: dict[str, list[str]] = {
    "password": ["password", "DB_PASSWORD", "dbPassword", "user_passwd", "PGPASSWORD", "pwd"],
    "api_key": ["api_key", "OPENAI_API_KEY", "apiKey", "X-Api-Key", "weather-api-key", "APIKEY"],
    "token": ["access_token", "GITHUB_TOKEN", "refreshToken", "authToken", "id_token", "token"],
    "secret": ["client_secret", "JWT_SECRET", "clientSecret", "webhook-secret", "secret"],
    "access_key": ["AWS_SECRET_ACCESS_KEY", "SecretAccessKey", "aws_secret_access_key"],
    "secret_key": ["SECRET_KEY", "secretKey", "django_secret_key", "STRIPE_SECRET_KEY"],
    "private_key_value": ["private_key", "PRIVATE_KEY", "encryptionKey", "signing_key"],
    "credentials": ["credentials", "auth", "passphrase", "connection_string", "client-credential"],
    "session": ["PHPSESSID", "JSESSIONID", "csrf_token", "sessionToken", "X-CSRF-Token"],
}
"""Names that announce a secret, whatever its shape."""


def named_value(name_kind: str, random: Random) -> tuple[str, str]:
    """Return a name of a kind, and a secret value for it."""
    name = random.choice(NAMES[name_kind])
    if name_kind == "password":
        return name, pass_phrase(random)
    characters = BASE64 if name_kind == "access_key" else ALNUM
    return name, drawn(random, 40 if name_kind == "access_key" else 24, characters)
