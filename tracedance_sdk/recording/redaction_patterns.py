"""The secrets that are recognised by their shape, as data.

Each row is one kind. A pattern is RE2 syntax over bytes; its first group is the secret. A
probe is a shorter pattern that matches wherever the pattern does: all probes together make the
one search that clean text is put through. Probes see JSON text, so they must not depend on what
JSON escapes (quotes, backslashes, line ends) nor on what stands before the secret.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class SecretPattern(NamedTuple):
    """One kind of secret.

    Attributes:
        kind: Its name in the mask.
        pattern: RE2 pattern; group 1 is what is masked.
        probe: RE2 pattern that matches within every match of `pattern`.
        literals: One of them occurs in every match; empty when letter case varies.
        standing: What may stand before the match: "any", "word" (no letter, digit, ``_`` or
            ``-``), or "base64" (as "word", and not within a long run of base64 either).
        look: A further test of the secret: "" for none, "mixed" (letters and digits in one run
            of 16), "varied" (digits, or both letter cases), "basic" (base64 of
            ``user:password``), "literal" (no placeholder such as ``${PASSWORD}``).
    """

    kind: str
    pattern: str
    probe: str
    literals: tuple[str, ...] = ()
    standing: str = "any"
    look: str = ""


_PROBED: Final = 16


def _token(
    kind: str,
    prefixes: str,
    characters: str,
    least: int,
    *,
    most: int | None = None,
    standing: str = "any",
    look: str = "",
) -> SecretPattern:
    """Return the row of a token: one of several prefixes, then `least` to `most` characters.

    Without `most` there is no upper bound; with it, the token must end at a word's end.
    """
    literals = tuple(prefixes.split())
    start = "|".join(literal.replace(".", r"\.") for literal in literals)
    times, end = ("+", "") if most is None else (f"{{0,{most - least}}}", r"\b")
    if most is None:
        pattern = f"((?:{start}){characters}{{{least - 1}}}{characters}{times}){end}"
    else:
        pattern = f"((?:{start}){characters}{{{least}}}{characters}{times}){end}"
    probe = f"(?:{start}){characters}{{{min(least, _PROBED)}}}"
    return SecretPattern(kind, pattern, probe, literals, standing, look)


_ALNUM: Final = "[A-Za-z0-9]"
_HEX: Final = "[0-9a-f]"
_WORD: Final = "[A-Za-z0-9_-]"

_TOKENS: Final = (
    _token("anthropic_key", "sk-ant-", _WORD, 16),
    _token("openai_key", "sk-", _WORD, 20, standing="word", look="mixed"),
    _token("aws_access_key_id", "AKIA ASIA ABIA ACCA", "[A-Z0-9]", 16, most=16, standing="base64"),
    _token("google_api_key", "AIza", _WORD, 35, most=35, standing="base64"),
    _token("google_oauth", "ya29. GOCSPX-", _WORD, 20, standing="word"),
    _token("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", _ALNUM, 36),
    _token("github_token", "github_pat_", "[A-Za-z0-9_]", 22),
    _token("gitlab_token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat-", _WORD, 20),
    _token("slack_token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", "[A-Za-z0-9-]", 10),
    _token("stripe_key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", _ALNUM, 16),
    _token("npm_token", "npm_", _ALNUM, 36, most=36, standing="word"),
    _token("pypi_token", "pypi-", _WORD, 32, standing="word", look="mixed"),
    _token("huggingface_token", "hf_ api_org_", _ALNUM, 30, standing="word", look="varied"),
    _token("twilio_key", "SK", _HEX, 32, most=32, standing="base64"),
    _token("databricks_token", "dapi", _HEX, 32, standing="base64"),
    _token("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", _HEX, 64),
    _token("shopify_token", "shpat_ shpca_ shppa_ shpss_", "[0-9a-fA-F]", 32),
    _token("groq_key", "gsk_", _ALNUM, 40, standing="word"),
    _token("xai_key", "xai-", _ALNUM, 40, standing="word"),
    _token("replicate_token", "r8_", _ALNUM, 37, standing="word"),
    _token("perplexity_key", "pplx-", _ALNUM, 32, standing="word"),
    _token("langchain_key", "lsv2_pt_ lsv2_sk_", "[A-Za-z0-9_]", 32),
    _token("vault_token", "hvs. hvb.", _WORD, 24, standing="word"),
    _token("docker_token", "dckr_pat_", _WORD, 24),
    _token("linear_key", "lin_api_", _ALNUM, 32),
    _token("grafana_token", "glsa_ glc_", "[A-Za-z0-9_+/=]", 32, standing="word"),
    _token("mailgun_key", "key-", _HEX, 32, most=32, standing="word"),
)

_SHAPES: Final = (
    SecretPattern(
        "sendgrid_key",
        r"(SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64})",
        r"SG\.[A-Za-z0-9_-]{16}",
        ("SG.",),
        "word",
    ),
    SecretPattern(
        "jwt",
        r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3})",
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8}",
        ("eyJ",),
        "word",
    ),
    SecretPattern(
        "azure_key",
        r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=([A-Za-z0-9+/=%&_.-]{20,})",
        r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=",
        ("AccountKey=", "SharedAccess"),
    ),
    SecretPattern(
        "azure_key",
        r"[?&]sig=([A-Za-z0-9%+/=_-]{30,})",
        r"[?&]sig=[A-Za-z0-9%+/=_-]{16}",
        ("sig=",),
    ),
    SecretPattern(
        "azure_client_secret",
        r"([A-Za-z0-9_.~-]{3}[78]Q~[A-Za-z0-9_.~-]{31,34})",
        r"[78]Q~[A-Za-z0-9_.~-]{16}",
        ("7Q~", "8Q~"),
        "word",
    ),
    SecretPattern(
        "telegram_token",
        r"([0-9]{8,10}:AA[A-Za-z0-9_-]{33})\b",
        r"[0-9]{8}:AA[A-Za-z0-9_-]{16}",
        (":AA",),
        "word",
    ),
    SecretPattern(
        "slack_webhook",
        r"hooks\.slack\.com(?:\\*/)(?:services|workflows)\\*/([A-Za-z0-9_/\\]{20,})",
        r"hooks\.slack\.com",
        ("hooks.slack.com",),
    ),
    SecretPattern(
        "bearer",
        r"(?i:bearer)(?:\s|%20|\\[nt])+([A-Za-z0-9._~+/=-]{16,})",
        r"(?i:bearer)(?:\s|%20|\\+[nt])+[A-Za-z0-9._~+/=-]{16}",
        look="varied",
    ),
    SecretPattern(
        "basic_auth",
        r"\b(?i:basic)(?:\s|%20)+([A-Za-z0-9+/_-]{8,}={0,2})",
        r"(?i:basic)(?:\s|%20)+[A-Za-z0-9+/_-]{8}",
        look="basic",
    ),
    SecretPattern(
        "url_password",
        r":(?:\\*/){2}[^\s/:@\"'<>\\]*:([^\s/\"'<>\\]+)@",
        r":(?:\\*/){2}[^\s/:@\"'<>\\]*:[^\s/\"'<>\\]+@",
        ("@",),
        look="literal",
    ),
)

SECRET_PATTERNS: Final = _TOKENS + _SHAPES
"""Every kind that is recognised by shape, the more specific before the more general."""

PRIVATE_KEY_PROBE: Final = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"
"""Where a private key in PEM form begins."""

_STRONG_ENDS: Final = (
    r"(?:passw(?:or)?d|pass[ _-]phrase|passphrase|pwd|secret|connection[ _-]?string"
    r"|(?:access|account|api|encryption|master|private|secret|signing)[ _-]?key)s?[0-9]*"
)
_WEAK_ENDS: Final = "(?:auth|authorization|cookie|credential|token)[0-9]*"
_QUOTE: Final = r"\\*[\"'`]"
_SPACE: Final = r"(?:\s|\\+[nrt])"


def name_pattern(more: str = "") -> str:
    """Return the pattern of how a name ends that may announce a secret; `more` are alternatives."""
    return f"(?i:{_STRONG_ENDS}|{_WEAK_ENDS}{more and '|'}{more})"


def named_probe(name: str) -> str:
    """Return what matches where such a name is followed by a value or stands alone as text."""
    beside = f"(?:{_QUOTE})?{_SPACE}*[:=]|{_QUOTE}{_SPACE}*[,}}\\]]"
    return f"{name}(?:{beside})|--[A-Za-z0-9_-]*{name}{_SPACE}"


def named_pattern(name: str) -> str:
    """Return what matches such a name in plain text, up to where its value begins.

    Group 1 is the name, or group 3 for a command's flag; group 2 is the quote after a name.
    """
    named = f"([A-Za-z0-9_.-]*{name})({_QUOTE})?[ \\t]*(?:=>|:=|[:=])"
    return f"(?:{named}|(--[A-Za-z0-9_-]*{name}){_SPACE}){_SPACE}*"
