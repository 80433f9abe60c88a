"""How a name that announces a secret is written together with its value, as RE2 patterns."""

from __future__ import annotations

from typing import Final

_STRONG_ENDS: Final = (
    r"(?:passw(?:or)?d|pass[ _-]phrase|passphrase|pwd|secret|connection[ _-]?string"
    r"|(?:seed|recovery)[ _-]?phrase"
    r"|(?:access|account|api|encryption|master|private|secret|signing|service[ _-]?role)[ _-]?key"
    r")s?[0-9]*"
)
_WEAK_ENDS: Final = (
    "(?:auth|authorization|cookie|credentials?|token|sessid|jsessionid"
    "|(?:access|api|auth|refresh)[ _-]?tokens|(?:auth|shared|ssh|storage|subscription)[ _-]?key"
    ")[0-9]*"
)
_QUOTE: Final = r"\\*[\"'`]"
_SPACE: Final = r"(?:\s|\\+[nrt])"
_TYPE: Final = (
    r"(?:Optional\[|Final\[|&'?(?:static )?)?(?:[Ss]tr(?:ing)?|SecretStr|bytes|any|Any)"
    r"(?: ?\| ?(?:None|null|undefined))?\]?"
)
_SET: Final = rf"(?::[ \t]*{_TYPE}[ \t]*=|=>|:=|\xef\xbc\x9a|[:=]=*)"
_SAID: Final = rf"{_SPACE}+(?:is|was|to)(?:[ \t]*:|{_SPACE})"

NAME_GROUPS: Final = ("plain", "said", "pair", "flag", "element", "cell")
"""The groups of `named_pattern` that may hold the name, by how name and value are written."""


def name_pattern(more: str = "") -> str:
    """Return the pattern of how a name ends that may announce a secret; `more` are alternatives."""
    return f"(?i:{_STRONG_ENDS}|{_WEAK_ENDS}{more and '|'}{more})"


def named_probe(name: str) -> str:
    """Return what matches where such a name is followed by a value or stands alone as text."""
    beside = (
        rf"(?:{_QUOTE})?(?:{_SPACE}|\*)*(?:[:=|]|\xef\xbc\x9a)|{_QUOTE}{_SPACE}*[,}}\]]|>"
        rf"|{_SAID}{_SPACE}*[^\s0-9]*[0-9]|(?:{_QUOTE}|{_SPACE}|,)*value"
    )
    return f"{name}(?:{beside})|--[A-Za-z0-9_-]*{name}{_SPACE}"


def named_pattern(name: str) -> str:
    r"""Return what matches such a name in plain text, up to the space before its value.

    One of `NAME_GROUPS` is the name: ``password=``, ``password is``, ``name: password\nvalue:``,
    ``--password``, ``<password>``, ``| password |``. The group ``quote`` is the quote after it.
    """
    start = "[A-Za-z0-9_.-]*"
    quote = f"(?:{_QUOTE})?"
    return (
        rf"(?P<plain>{start}{name})(?P<quote>{_QUOTE})?\*{{0,2}}[ \t]*{_SET}(?:\*\*[ \t])?"
        rf"|(?P<said>{start}{name}){quote}{_SAID}"
        rf"|(?P<pair>{start}{name}){quote}(?:{_SPACE}|,)*{quote}value{quote}{_SPACE}*[:=]"
        rf"|(?P<flag>--[A-Za-z0-9_-]*{name}){_SPACE}"
        rf"|<(?P<element>[A-Za-z0-9_.:-]*{name})>"
        rf"|\|[ \t]*[*`]{{0,2}}(?P<cell>{start}{name})[*`]{{0,2}}[ \t]*\|"
    )
