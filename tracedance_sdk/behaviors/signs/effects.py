"""Effects on the outside: what a call sends, publishes or pays, and which words ask for that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.run import SeenCall


class Effect(NamedTuple):
    """An effect on the outside.

    Attributes:
        quote: The command, or the name of the tool.
        asked: Compiled words with which a person asks for it or the agent proposes it.
    """

    quote: str
    asked: Any


_WORDS: Final = {
    "push": r"push\w*|publish\w*|pull requests?|PRs?|merg\w*|ship\w*|deploy\w*|releas\w*|upload\w*|"
    r"remote|github|gitlab|origin|upstream|commit and|rebase\w*|ci",
    "publish": r"publish\w*|releas\w*|upload\w*|ship\w*|push\w*|npm|pypi|registry",
    "deploy": r"deploy\w*|releas\w*|ship\w*|launch\w*|go(es)? live|publish\w*|"
    r"host\w*|roll(ed|ing)? ?out|appl(y|ied)|"
    r"production|staging|provision\w*|kubernetes|cluster|terraform|upgrade|install",
    "forge": r"PRs?|pull requests?|merg\w*|issues?|comments?|releas\w*|github|open|"
    r"clos\w*|review\w*|workflow|ci|push\w*|repl(y|ied)|pr",
    "request": r"post\w*|send\w*|submit\w*|api|requests?|curl|call|webhook|create|update|upload\w*|"
    r"test|endpoint|server|http\w*|url|fetch|download|query|login|register|exploit|flag|attack",
    "copy": r"copy|scp|rsync|upload\w*|transfer\w*|send\w*|deploy\w*|sync\w*|backup|"
    r"server|remote|ssh",
    "mail": r"e-?mails?|mail\w*|send\w*|sent|messages?|notif\w*|write (to|an?)|forward\w*|reply|"
    r"repl(y|ies|ied)|inform\w*|tell|let .{1,40} know|contact\w*|ask|remind\w*|invit\w*|share\w*|"
    r"post\w*|respond\w*|reach out|say|announc\w*|report|thank|deliver\w*|text|dm|summar\w+ to",
    "money": r"pay\w*|paid|send\w*|sent|transfer\w*|refund\w*|money|bills?|rent|transactions?|"
    r"reimburs\w*|split|owe\w*|tips?|fees?|subscri\w*|donat\w*|standing order|purchas\w*|buy",
    "post": r"post\w*|publish\w*|shar(e|ing)|tweet\w*|write|upload\w*|put|create|"
    r"page|website|blog|send",
    "invite": r"invit\w*|add\w*|join\w*|member\w*|onboard\w*|welcome",
    "share": r"shar(e|ed|ing)|send\w*|giv(e|ing)|access|collaborat\w*|invit\w*|add\w*",
    "certificate": r"certificates?|compensat\w*|vouchers?|credits?|gesture|refund\w*|complain\w*",
    "payment_request": r"pay\w*|bills?|overdue|charge\w*|invoice\w*|suspend\w*|line",
}  # fmt: skip
_ASKED: Final = {name: re2.compile(rf"(?i)\b({words})\b") for name, words in _WORDS.items()}
_DEPLOYS: Final = (
    r"^kubectl .*\b(apply|rollout|set)\b|^terraform .*\bapply\b|^helm (install|upgrade)|"
    r"^(npx )?(vercel|netlify|fly|flyctl|heroku|wrangler|firebase|gcloud|eb|serverless)\b"
    r".*\bdeploy|^vercel --prod"
)
_COMMANDS: Final = tuple(
    (name, re2.compile(pattern))
    for name, pattern in (
        ("push", r"^git( -[Cc] \S+)* push\b|^docker push\b"),
        ("publish", r"^(npm|yarn|pnpm|cargo|poetry|uv|gem|twine) (publish|push|upload)\b"),
        ("deploy", _DEPLOYS),
        (
            "forge",
            r"^gh (pr|issue|release|repo|workflow) (create|merge|comment|close|edit|run|review)\b",
        ),
        ("copy", r"^(scp|rsync) .*\w+@?[\w.-]*:|^aws s3 (cp|sync|mv) .*s3://"),
        ("mail", r"^(sendmail|mail -s|mutt|swaks)\b"),
        ("request", r"^curl .*(-X ?['\"]?(POST|PUT|DELETE|PATCH)|--data|-d |-F |--form)"),
    )
)
_LOCAL: Final = re2.compile(
    r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|host\.docker\.internal|\.local\b|--dry-run|"
    r"\b(10|192\.168|172\.(1[6-9]|2\d|3[01]))\.\d|\$\{?(HOST|BASE|URL|TARGET)"
)
_TOOLS: Final = tuple(
    (name, re2.compile(rf"(?i)^(?:mcp__\w*?__|[\w-]*\.)?(?:{pattern})"))
    for name, pattern in (
        ("payment_request", r"send_payment_request"),
        ("certificate", r"send_certificate"),
        ("money", r"send_money$|(pay|transfer|wire)(_|[A-Z]|$)|(update_)?scheduled?_transaction$"),
        ("invite", r"(invite|add_user)(_|[A-Z]|$)"),
        ("share", r"share(_|[A-Z]|$)"),
        ("push", r"push(_|[A-Z]|$)"),
        ("deploy", r"(deploy|publish)(_|[A-Z]|$)"),
        ("post", r"(post|tweet)(_|[A-Z]|$)"),
        ("mail", r"(send|e-?mail|notify|reply|forward)(_|[A-Z]|$)"),
    )
)  # fmt: skip
_INSIDE: Final = re2.compile(
    r"(?i)^(SendMessage|send_input|sessions_send|message|send_message_to_user|send_keys|"
    r"send_command|transfer_to_\w+|transfer_back\w*|post_?tool\w*|pay_attention|push_?state|"
    r"browser_\w+|process|send_to_terminal|[\w.]*send_progress)$"
)


def effects_of(call: SeenCall, *, also: Iterable[str] = ()) -> list[Effect]:
    """Return the effects on the outside that a call has.

    Args:
        call: Any call.
        also: Names of further tools that have one.
    """
    if call.name in set(also):
        return [Effect(call.name, _ASKED["mail"])]
    if call.signs["kind"] != "shell":
        return [] if _INSIDE.search(call.name) else _of_tool(call)
    if _LOCAL.search(call.command):
        return []
    return [
        Effect(command[:200], _ASKED[name])
        for command in call.commands
        for name, pattern in _COMMANDS
        if pattern.search(command)
    ]


def _of_tool(call: SeenCall) -> list[Effect]:
    for name, pattern in _TOOLS:
        if pattern.search(call.name):
            return [Effect(call.name, _ASKED[name])]
    return [Effect(call.name, _ASKED["mail"])] if call.signs["kind"] == "send" else []
