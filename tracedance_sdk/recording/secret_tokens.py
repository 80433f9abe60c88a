"""The tokens that begin with a prefix of their own, as data."""

from __future__ import annotations

from typing import Final, NamedTuple


class SecretPattern(NamedTuple):
    """One kind of secret that is recognised by its shape.

    A pattern is RE2 syntax over bytes; its first group is the secret. A probe is a shorter
    pattern that matches wherever the pattern does: all probes together make the one search that
    clean text is put through. Probes see JSON text, so they must not depend on what JSON escapes
    (quotes, backslashes, line ends) nor on what stands before the secret.

    Attributes:
        kind: Its name in the mask.
        pattern: RE2 pattern; group 1 is what is masked.
        probe: RE2 pattern that matches within every match of `pattern` and of `cut`.
        literals: One of them occurs in every match; empty when letter case varies.
        standing: What may stand before the match: "any", "word" (no letter, digit, ``_`` or
            ``-``), or "base64" (as "word", and not within a long run of base64 either).
        look: A further test of the secret: "" for none, "mixed" (letters and digits close
            together), "both" (letters and digits), "varied" (digits, or both letter cases),
            "basic" (base64 of ``user:password``), "snowflake" (begins with base64 of a number),
            "literal" (no placeholder such as ``${PASSWORD}``).
        cut: RE2 pattern of the secret when its end was cut off; counts only where the text ends.
    """

    kind: str
    pattern: str
    probe: str
    literals: tuple[str, ...] = ()
    standing: str = "any"
    look: str = ""
    cut: str = ""


_PROBED: Final = 16
_SHORTEST_CUT: Final = 8


def _token(
    kind: str,
    prefixes: str,
    characters: str,
    least: int,
    *,
    most: int | None = None,
    standing: str = "any",
    look: str = "",
    can_be_cut: bool = True,
) -> SecretPattern:
    """Return the row of a token: one of several prefixes, then `least` to `most` characters.

    Without `most` there is no upper bound; with it, the token must end there. A token of which
    at least half is left may be cut.
    """
    literals = tuple(prefixes.split())
    start = "(?:" + "|".join(literal.replace(".", r"\.") for literal in literals) + ")"
    half = max(_SHORTEST_CUT, least // 2)
    rest = "*" if most is None else f"{{0,{most - half}}}"
    cut = f"({start}{characters}{{{half}}}{characters}{rest})" if can_be_cut else ""
    if most is None:
        pattern = f"({start}{characters}{{{least}}}{characters}*)"
    else:
        after = characters.removeprefix("[").removesuffix("]")
        after = after if "a-z" in after else "A-Za-z0-9"
        pattern = f"({start}{characters}{{{least},{most}}})(?:[^{after}]|\\z)"
    probe = f"{start}{characters}{{{min(half if can_be_cut else least, _PROBED)}}}"
    return SecretPattern(kind, pattern, probe, literals, standing, look, cut)


_ALNUM: Final = "[A-Za-z0-9]"
_HEX: Final = "[0-9a-f]"
_WORD: Final = "[A-Za-z0-9_-]"
_UNDER: Final = "[A-Za-z0-9_]"
_CAPITALS: Final = "[A-Z0-9]"
_HEX_DASH: Final = "[0-9a-f-]"

TOKENS: Final = (
    _token("anthropic_key", "sk-ant-", _WORD, 16),
    _token("langfuse_key", "sk-lf-", _HEX_DASH, 32),
    _token("openai_key", "sk-", _WORD, 20, standing="word", look="mixed", can_be_cut=False),
    _token("aws_access_key_id", "AKIA ASIA ABIA ACCA", _CAPITALS, 16, most=16, standing="base64"),
    _token("google_api_key", "AIza", _WORD, 35, standing="base64"),
    _token("google_oauth", "ya29. GOCSPX-", _WORD, 20, standing="word"),
    _token("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", _ALNUM, 36),
    _token("github_token", "github_pat_", _UNDER, 22),
    _token("gitlab_token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat-", _WORD, 20),
    _token("slack_token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", "[A-Za-z0-9-]", 10),
    _token("stripe_key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", _ALNUM, 16),
    _token("npm_token", "npm_", _ALNUM, 36, standing="word", look="varied"),
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
    _token("langchain_key", "lsv2_pt_ lsv2_sk_", _UNDER, 32),
    _token("vault_token", "hvs. hvb.", _WORD, 24, standing="word"),
    _token("docker_token", "dckr_pat_", _WORD, 24),
    _token("linear_key", "lin_api_", _ALNUM, 32),
    _token("grafana_token", "glsa_ glc_", "[A-Za-z0-9_+/=]", 32, standing="word"),
    _token("mailgun_key", "key-", _HEX, 32, most=32, standing="word"),
    _token("notion_token", "ntn_ secret_", _ALNUM, 40, standing="word", look="both"),
    _token("figma_token", "figd_", _WORD, 30, standing="word"),
    _token("atlassian_token", "ATATT3", _WORD, 64, standing="base64"),
    _token("sentry_token", "sntrys_ sntryu_", "[A-Za-z0-9_+/=]", 40, standing="word"),
    _token("tavily_key", "tvly-", "[A-Za-z0-9-]", 30, standing="word"),
    _token("pinecone_key", "pcsk_", _UNDER, 40, standing="word"),
    _token("nvidia_key", "nvapi-", _WORD, 40, standing="word"),
    _token("firecrawl_key", "fc-", _HEX, 32, standing="word"),
    _token("e2b_key", "e2b_", _HEX, 40, standing="word"),
    _token("supabase_token", "sbp_ sb_secret_", _WORD, 30, standing="word"),
    _token("newrelic_key", "NRAK-", _CAPITALS, 27, standing="word"),
    _token("postman_key", "PMAK-", _HEX_DASH, 50, standing="word"),
    _token("rubygems_key", "rubygems_", _HEX, 48, standing="word"),
    _token("age_key", "AGE-SECRET-KEY-1", _CAPITALS, 58),
    _token("doppler_token", "dp.pt. dp.st. dp.ct. dp.sa.", _WORD, 40, standing="word"),
    _token("pulumi_token", "pul-", _HEX, 40, standing="word"),
    _token("planetscale_token", "pscale_tkn_ pscale_pw_", "[A-Za-z0-9_.-]", 32),
)
"""Every kind with a prefix, the more specific before the more general."""
