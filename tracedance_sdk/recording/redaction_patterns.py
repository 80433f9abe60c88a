"""The secrets that are recognised by their shape, as data; see `SecretPattern`."""

from __future__ import annotations

from typing import Final

from tracedance_sdk.recording.secret_tokens import TOKENS, SecretPattern

_SPACE: Final = r"(?:\s|\\+[nrt])"
_BASE64: Final = r"(?:[A-Za-z0-9+=%_.-]|\\*/)"
_ARGUMENT: Final = r"\\*[\"']?([^\x00-\x20\"'\\|;]+)"

_SHAPES: Final = (
    SecretPattern(
        "sendgrid_key",
        r"(SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64})",
        r"SG\.[A-Za-z0-9_-]{16}",
        ("SG.",),
        "word",
        cut=r"(SG\.[A-Za-z0-9_-]{16,32}(?:\.[A-Za-z0-9_-]*)?)",
    ),
    SecretPattern(
        "jwt",
        r"(eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){0,3}"
        r"|[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}))",
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8}",
        ("eyJ",),
        "word",
    ),
    SecretPattern(
        "airtable_token",
        r"(pat[A-Za-z0-9]{14}\.[0-9a-f]{64})",
        r"pat[A-Za-z0-9]{14}\.[0-9a-f]{16}",
        ("pat",),
        "word",
        cut=r"(pat[A-Za-z0-9]{14}\.[0-9a-f]{16,})",
    ),
    SecretPattern(
        "discord_token",
        r"([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})",
        r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{12}",
        standing="word",
        look="snowflake",
        cut=r"([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{12,})",
    ),
    SecretPattern(
        "azure_key",
        rf"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=({_BASE64}{{20}}(?:{_BASE64}|&)*)",
        r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=",
        ("AccountKey=", "SharedAccess"),
    ),
    SecretPattern(
        "azure_key",
        rf"(?:[?&;]|%26)sig=({_BASE64}{{30}}{_BASE64}*)",
        rf"(?:[?&;]|%26)sig={_BASE64}{{16}}",
        ("sig=",),
    ),
    SecretPattern(
        "url_signature",
        r"(?:X-(?:Amz|Goog)-(?:Signature|Security-Token)|[?&;]Signature)"
        rf"(?:=|%3D)({_BASE64}{{30}}{_BASE64}*)",
        rf"(?:Signature|Security-Token)(?:=|%3D){_BASE64}{{16}}",
        ("Signature", "Security-Token"),
    ),
    SecretPattern(
        "azure_client_secret",
        r"([A-Za-z0-9_.~-]{3}[78]Q~[A-Za-z0-9_.~-]{31,})",
        r"[78]Q~[A-Za-z0-9_.~-]{12}",
        ("7Q~", "8Q~"),
        "word",
        cut=r"([A-Za-z0-9_.~-]{3}[78]Q~[A-Za-z0-9_.~-]{12,})",
    ),
    SecretPattern(
        "telegram_token",
        r"([0-9]{8,10}(?::|%3A)AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|\z)",
        r"[0-9]{8}(?::|%3A)AA[A-Za-z0-9_-]{16}",
        (":AA", "%3AAA"),
        "word",
        cut=r"([0-9]{8,10}(?::|%3A)AA[A-Za-z0-9_-]{16,33})",
    ),
    SecretPattern(
        "slack_webhook",
        r"hooks\.slack\.com(?:\\*/)(?:services|workflows|triggers)\\*/([A-Za-z0-9_/\\]{20,})",
        r"hooks\.slack\.com",
        ("hooks.slack.com",),
    ),
    SecretPattern(
        "discord_webhook",
        r"discord(?:app)?\.com\\*/api\\*/webhooks\\*/[0-9]+\\*/([A-Za-z0-9_-]{20,})",
        r"discord(?:app)?\.com\\*/api\\*/webhooks",
        ("discord",),
    ),
    SecretPattern(
        "bearer",
        r"(?i:bearer)(?:\s|%20|\\[nt])+((?:[A-Za-z0-9._~+=-]|\\*/){16,})",
        r"(?i:bearer)(?:\s|%20|\\+[nt])+(?:[A-Za-z0-9._~+=-]|\\*/){16}",
        look="varied",
    ),
    SecretPattern(
        "basic_auth",
        r"(?i:basic)(?:\s|%20)+((?:[A-Za-z0-9+_-]|\\*/){8,}={0,2})",
        r"(?i:basic)(?:\s|%20)+(?:[A-Za-z0-9+_-]|\\*/){8}",
        look="basic",
    ),
    SecretPattern(
        "url_password",
        r":(?:\\*/){2}[^\s/:@\"'<>\\]*:([^\x00-\x20/\"'<>\\]+)@",
        r":(?:\\*/){2}[^\s/:@\"'<>\\]*:[^\s/\"'<>\\]+@",
        ("@",),
        look="literal",
    ),
    SecretPattern(
        "url_token",
        r":(?:\\*/){2}([A-Za-z0-9_.~-]{20,})@",
        r":(?:\\*/){2}[A-Za-z0-9_.~-]{20,}@",
        ("@",),
        look="mixed",
    ),
    SecretPattern(
        "password",
        r"(?:curl|wget)\s(?:[^\n]*?\s)?(?:-u|-U|--user|--proxy-user)[ =]"
        rf"\\*[\"']?[^\s:\"'\\]+:{_ARGUMENT}",
        r"(?:curl|wget)\s(?:.*?\s)?(?:-u|-U|--user|--proxy-user)[ =]",
        ("curl", "wget"),
        look="literal",
    ),
    SecretPattern(
        "password",
        rf"(?:sshpass\s+-p\s*|mysql(?:dump|admin)?\s(?:[^\n|;]*?\s)?-p"
        rf"|redis-cli\s(?:[^\n|;]*?\s)?(?:-a|--pass)\s+"
        rf"|(?:docker|podman|helm registry)\s+login\s(?:[^\n|;]*?\s)?-p\s+){_ARGUMENT}",
        r"(?:sshpass|mysql(?:dump|admin)?|redis-cli|(?:docker|podman|helm registry)\s+login)\s.*?"
        r"-(?:p|a|-pass)",
        ("sshpass", "mysql", "redis-cli", "login"),
        look="literal",
    ),
    SecretPattern(
        "password",
        rf"machine{_SPACE}+[A-Za-z0-9.:-]+{_SPACE}+login{_SPACE}+[^\s\\]+{_SPACE}+password{_SPACE}+"
        r"([^\x00-\x20\"'\\]+)",
        rf"machine{_SPACE}+[A-Za-z0-9.:-]+{_SPACE}+login{_SPACE}",
        ("machine",),
        look="literal",
    ),
)

SECRET_PATTERNS: Final = TOKENS + _SHAPES
"""Every kind that is recognised by shape, the more specific before the more general."""

PRIVATE_KEY_PROBE: Final = r"-----(?:BEGIN|END)[A-Z0-9 %+]*PRIVATE(?: |%20|\+)KEY"
"""Where a private key in PEM form begins or ends; in URLs its spaces are written otherwise."""
