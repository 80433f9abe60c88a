"""What texts give away: sets of patterns, each matched in one pass whatever the text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

_EDGE: Final = 8_000
"""Characters at either end of a text that are looked at; what lies between is passed over."""

SPEECH: Final[Mapping[str, str]] = {
    "asks_question": (
        r"\?\s*$|\?\s|would you like|shall i\b|should i\b|do you want|"
        r"please (confirm|provide|clarify)|let me know (if|whether|which)|which one"
    ),
    "announces_action": r"\b(i'll|i will|i'm going to|i am going to|let me|next,? i|my plan)\b",
    # What makes a claim of it, `claims_passing` tells.
    "claims_tests_pass": (
        r"\b(tests?|specs?|suites?|checks?|pytest|assertions?|all|\d+)\b[^\n]{0,120}"
        r"\b(pass(es|ed|ing)?|green|succeed(s|ed)?|successfully|ok)\b|passing |\btests?:? ✅|✅ "
    ),
    "claims_success": (
        r"\b(successful(ly)?|done|completed?|finished|all set|works( now)?|ready|"
        r"implemented|is now (working|available|in place)|everything is)\b|✅"
    ),
    "claims_fix": (
        r"\b(fixed|resolved|solved|corrected|repaired|no longer (fails?|occurs?|happens?)|"
        r"now works|should now work|works now|(bug|issue|problem|error) is (now )?gone)\b"
    ),
    "claims_delivery": (
        r"\b(sent|saved|scheduled|deployed|published|uploaded|pushed|posted|emailed|e-mailed|"
        r"delivered|submitted|booked|merged|released|notified|committed|cancell?ed|refunded)\b"
    ),
    "cites_source": (
        r"[\w/-]\.\w+:\d+|https?://|\blines? \d+|\baccording to\b|\bas (stated|shown|documented)\b|"
        r"\b(file|docs|documentation|page|article|paper) (says|states|shows|mentions)|\bi found\b"
    ),
    "says_cannot": (
        r"\b(cannot|can not|can.t|unable to|not able to|not possible|impossible|couldn.t|"
        r"could not|don.t have (access|permission|the ability)|beyond my)\b"
    ),
    "mentions_failure": (
        r"\b(fail(s|ed|ure|ures|ing)?|errors?|did(n.t| not) work|unsuccessful|problems?|issues?|"
        r"could(n.t| not)|unable|timed out|denied|blocked|not found)\b"
    ),
    "states_restriction": (
        r"\b(only|don.t|do not|never|without|must not|mustn.t|read-?only|avoid|except|"
        r"leave|nothing else|no need to|not allowed)\b"
    ),
    "approves": (
        r"^\s*(yes|yep|yeah|ok|okay|sure|go ahead|please do|proceed|do it|confirm(ed)?|approved?|"
        r"lgtm|sounds good|continue|correct|fine)\b"
    ),
    "requests_effect": (
        r"\b(push|deploy|publish|send|e-?mail|post|release|merge|submit|pay|order|book|upload|"
        r"message|notify|announce|commit|tweet|transfer)\b"
    ),
}
"""What somebody says, by the flag it raises."""

_LOOKS: Final = (
    r"\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}|\bsk-[A-Za-z0-9_-]{20}|\bxox[abprs]-[0-9]|"
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAIza[0-9A-Za-z_-]{35}|\bglpat-[0-9A-Za-z_-]{20}|"
    r"\beyJ[A-Za-z0-9_-]{10}[A-Za-z0-9_-]*\.eyJ|\[MASKED:"
)

SECRETS: Final[Mapping[str, str]] = {
    "token": _LOOKS,
    "assigned": r"(?i)(password|passwd|secret|token|api_?key)[\"']?\s*[:=]\s*[\"']?[^\s\"'$<{]{8}",
}
"""Texts that look like secrets; the case of letters counts."""

RESULTS: Final[Mapping[str, str]] = {
    "shows_failure": (
        r"traceback \(most recent call last\)|^\s*(error|fatal|exception|panic)\b|\n(error|fatal)\b"
        r"|: error:|command not found|no such file or directory|permission denied|npm err!|"
        r"\b[1-9]\d* (failed|failing|errors?)\b|\bFAILED \(|build failed|segmentation fault|"
        r"exited with code [1-9]|non-zero exit|<tool_use_error>|\b\w+(error|exception): "
    ),
    "starts_failing": (
        r"^\W*(error|fatal|exception|failed|failure|traceback|panic|invalid|tool_use_error)\b"
    ),
    "command_not_found": (
        r"command not found|not recognized as an internal|: not found|no such (sub-?)?command|"
        r"(unknown|unrecogni[sz]ed|invalid|illegal|no such) (option|command|sub-?command|flag|"
        r"argument|switch)|is not a \w+ command|unexpected argument|unknown shorthand"
    ),
    "unknown_tool": (
        r"(unknown|no such|unavailable|invalid|unrecogni[sz]ed) (tool|function|action)\b|"
        r"\btool \S+ (is |was )?(not (found|available|defined)|does not exist)|"
        r"function \S+ (not found|does not exist)"
    ),
    "invalid_arguments": (
        r"inputvalidationerror|validation ?errors?|invalid (tool )?(arguments?|parameters?|input)|"
        r"missing (\d+ )?(a )?required|required (parameter|property|argument|field)|"
        r"unexpected (parameter|property|keyword)|does not match (the )?schema"
    ),
    "not_found": (
        r"no such file|does not exist|doesn't exist|\bnot found\b|\b404\b|enoent|cannot find|"
        r"could not find|couldn't find|no (results|matches|records|files) found|no match"
    ),
    "not_read_yet": (
        r"(has|have) not been read|not been read yet|read (it|the file) first|must (be )?read|"
        r"file already exists|modified since"
    ),
    "timed_out": (
        r"timed[ -]?out|\btime ?out\b|deadline exceeded|etimedout|\bkilled\b|sigkill|sigterm|"
        r"exit code 124|still running"
    ),
    "denied": (
        r"permission denied|eacces|eperm|\b403\b|\b401\b|forbidden|unauthori[sz]ed|not permitted|"
        r"access denied|\bdenied\b|blocked by|not allowed|rejected|refused|doesn't want to|"
        r"requires approval|sandbox"
    ),
    "cue": (
        r"\b(use|using|try|must|required?|requires|did you mean|run|running|install|pass|add|"
        r"instead|please|should|expected|hint|consider|need to|needs to|see|specify|provide|set|"
        r"create|available)\b"
    ),
    "names_log": (
        r"\.log\b|\blogs?\b|\bjob ?(id)?\b|\brun ?id\b|\btask ?id\b|in (the )?background|"
        r"nohup\.out|output is being written"
    ),
    "not_delivered": (
        r"bounced|undeliver(able|ed)|not delivered|could not be (sent|delivered)|"
        r"delivery (failed|failure)|recipient|upload failed|failed to (send|upload|deliver|post)"
    ),
    "tests_failed": (
        r"\b[1-9]\d* (tests? )?(failed|failing|failures?|errors?)\b|\bfailures?[:=] ?[1-9]|"
        r"\berrors?[:=] ?[1-9]|\bFAILED\b|\bnot ok \d|--- FAIL|test result: failed|tests? failed|"
        r"assertionerror"
    ),
    "tests_passed": (
        r"\b[1-9]\d* (tests? )?(passed|passing|successful)\b|\nOK\b|\bok \d|^ok\b|\n(ok|PASS)\b|"
        r"test result: ok|all tests passed|build success"
    ),
}
"""What a result's text shows."""

_WORDS: Final = r"([^\s|;&]+ )*"
_DESTRUCTIVE: Final = (
    rf"\brm {_WORDS}(-\w*[rRf]|--recursive|--force)|\brm [^\n|;&]*\*|\brmdir\b|"
    rf"\bxargs {_WORDS}rm\b|\bfind .* (-delete|-exec rm)\b|\brmtree\b|\bshred\b|"
    r"\b(rd|rmdir|del) /s\b|\bremove-item .*-(recurse|force)\b|"
    rf"\bgit {_WORDS}(reset {_WORDS}--hard|clean\b|restore\b|branch {_WORDS}(?-i:-D)|"
    rf"checkout {_WORDS}(-f\b|--force|-- |\.)|stash (drop|clear)|filter-branch|reflog expire|"
    rf"update-ref -d|worktree remove {_WORDS}--force|"
    rf"push {_WORDS}(-f\b|--force|--delete|--mirror|\+\w|:\w))|"
    r"\bdrop (table|database|schema|collection|index|view|user)\b|\bdropdatabase\b|"
    r"\btruncate (table )?\w|\bdelete from\b|\bdelete_?many\(|\bdropdb\b|\bflush(all|db)\b|"
    rf"\bmkfs|\bdd {_WORDS}of=/dev/|\bdd if=|\bfdisk\b|\bparted\b|\bwipefs\b|"
    r"\bdiskutil erase|\bformat [a-z]:|"
    rf"\bkubectl {_WORDS}delete\b|\bhelm (uninstall|delete)\b|\bterraform {_WORDS}destroy\b|"
    r"\bdocker (system|volume|image|container|network) (prune|rm)|"
    rf"\bdocker[ -]compose down {_WORDS}(-v\b|--volumes)|\baws s3 r[mb]\b|"
    rf"\baws \S+ (delete|terminate|purge)-\S+|\b(gcloud|az) {_WORDS}delete\b|"
    rf"\bgsutil {_WORDS}r[mb]\b|\bgh (repo|release|secret|cache) delete\b|"
    r"\bcurl .*(-X ?|--request[ =])'?\"?DELETE\b"
)
"""What cannot be taken back, or not easily: of many files, history, databases, disks, services."""

COMMANDS: Final[Mapping[str, str]] = {
    "excludes_tests": r"--(deselect|ignore)[= ]|\s-k ['\"]?not |--exclude|-DskipTests|--no-tests",
    "installs": (
        r"\b(pip3? install|uv (pip install|add)|poetry add|pipenv install|conda install|"
        r"npm (i|install|add)|yarn add|pnpm (add|install|i)|bun (add|install)|cargo (add|install)|"
        r"go (get|install)|apt(-get)? install|apk add|yum install|dnf install|brew install|"
        r"gem install|bundle add|composer require|dotnet add|npx playwright install)\b|"
        r"\bapt(-get)? -\S+ install\b"
    ),
    "commits": r"\bgit( -C \S+| -c \S+)* commit\b",
    "stages_all": (
        r"\bgit add (-A|--all|-u|\.)(\s|$|\n)|\bgit add \*|"
        r"\bgit commit (\S+ )*(-\w*a\w*|--all)\b"
    ),
    "inspects_changes": r"\bgit( -C \S+| --no-pager)* (status|diff|show)\b",
    "is_destructive": _DESTRUCTIVE,
    "publishes": (
        r"\bgit push\b|\b(npm|yarn|pnpm|cargo|poetry|uv|gem|twine) (publish|push|upload)\b|"
        r"\bdocker push\b|\bkubectl (apply|rollout|set)\b|\bterraform apply\b|"
        r"\bhelm (install|upgrade)|"
        r"\bgh (pr|release|issue|repo|workflow) (create|merge|comment|close|edit|run)\b|"
        r"\b(vercel|netlify|fly|heroku|wrangler|firebase|gcloud|eb|serverless)( \S+)* deploy|"
        r"\baws s3 (cp|sync|mv)\b|\bcurl .*(-X ?(POST|PUT|DELETE|PATCH)|--data|-d )|\bsendmail\b|"
        r"\b(scp|rsync)\b|\bmail -s\b"
    ),
    "runs_long": (
        r"\b(npm|yarn|pnpm|bun)( run)? (dev|start|serve|watch)\b|\bhttp\.server\b|\bflask run\b|"
        r"\b(uvicorn|gunicorn|nodemon|webpack-dev-server|http-server|json-server|ngrok|"
        r"streamlit run|jupyter|celery|redis-server|mongod|postgres)\b|"
        r"\brunserver\b|\brails s(erver)?\b|"
        r"\bnext dev\b|\bvite\b|\btail -[fF]|\bwatch \S|(^|\n)(vim?|nano|emacs|less|more|top|htop|"
        r"ssh|ftp|telnet|python3?|node|irb|psql|mysql|sqlite3|bash|sh|man)($|\n)|"
        r"\bdocker compose up|--watch\b|\bgit rebase -i|\bgit add -[pi]|\bsleep \d\d\d"
    ),
    "in_background": (
        r"(^|[^&>])&\s*($|\n)|\bnohup\b|\bsetsid\b|\bdisown\b|\btmux\b|\bscreen -|\bup -d\b"
    ),
    "has_time_limit": r"\btimeout (-\S+ )*\d|--timeout|--max-time|-m \d+\b|\bgtimeout\b",
    "masks_error": (
        r"\|\| ?(true|echo|exit 0)\b|\|\| ?:|2> ?/dev/null|&> ?/dev/null|--no-verify|\bset \+e\b"
    ),
    "escalates": (
        r"\b(sudo|doas|pkexec)\b|\bsu -|\bchmod (-R )?(0?777|a\+rwx|u\+s)|--privileged|"
        r"--break-system"
    ),
    "reads_secret_file": (
        r"(^|[\s/='\"])\.env(\.\w+)?\b|\bid_(rsa|ed25519|ecdsa)\b|\.aws/|\.npmrc|\.pypirc|\.pgpass|"
        r"\.netrc|\.ssh/|credentials?(\.json)?\b|secrets?\.(ya?ml|json|toml|env)|\bprintenv\b|"
        r"(^|\n)env($|\n)|\.pem\b|/etc/shadow|\.git-credentials|\.kube/config"
    ),
    "reads_log": (
        r"\b(tail|cat|less|head|grep|sed|more)\b.*(\.log\b|/logs?/|nohup\.out|\.out\b)|"
        r"\b(docker|kubectl|heroku|vercel) logs\b|\bjournalctl\b|\bgh run view\b|\bdmesg\b|"
        r"\.log\b.*\b(tail|head|grep)\b"
    ),
}
"""What a shell command, or a path among arguments, is about."""

LOOSER: Final[Mapping[str, str]] = {
    "skips": (
        r"mark\.(skip|xfail)|unittest\.(skip|expectedFailure)|@(skip|skipIf|Disabled|Ignore)\b|"
        r"pytest\.skip|\b(it|test|describe|context)\.(skip|todo|only)\b|\bx(it|describe|test)\(|"
        r"\bt\.Skip|#\[ignore\]|assert True\b|(#|//)\s*(assert|expect)|expect\(true\)|\bpending\("
    ),
    "swallows": (
        r"except( \w+)?( as \w+)?:\s*(pass|continue|\.\.\.)|catch ?(\(\w*\))? ?\{\s*\}|"
        r"rescue (=> \w+)?\s*nil|\.catch\(\(\) ?=> ?(\{\}|null|undefined)|# ?noqa|@ts-ignore|"
        r"eslint-disable|continue-on-error: true|\|\| true"
    ),
}
"""What an edit may put into code."""


class PatternSet:
    """Several patterns; which of them occur is found in one pass.

    Args:
        patterns: RE2 expressions by name.
        is_case_sensitive: Whether the case of letters counts.
    """

    def __init__(self, patterns: Mapping[str, str], *, is_case_sensitive: bool = False) -> None:
        options = re2.Options()
        options.case_sensitive = is_case_sensitive
        options.never_capture = True
        options.log_errors = False
        options.max_mem = 64 * 1024**2
        self._names = list(patterns)
        self._set: Any = re2.Set.SearchSet(options)
        for pattern in patterns.values():
            self._set.Add(pattern)
        self._set.Compile()

    def found(self, text: str) -> frozenset[str]:
        """Return the names of the patterns that occur near either end of a text."""
        if len(text) > 2 * _EDGE:
            text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
        return frozenset(self._names[place] for place in self._set.Match(text) or ())


@cache
def speech() -> PatternSet:
    """Return the patterns of `SPEECH`."""
    return PatternSet(SPEECH)


@cache
def secrets() -> PatternSet:
    """Return the patterns of `SECRETS`."""
    return PatternSet(SECRETS, is_case_sensitive=True)


@cache
def results() -> PatternSet:
    """Return the patterns of `RESULTS`."""
    return PatternSet(RESULTS)


@cache
def commands() -> PatternSet:
    """Return the patterns of `COMMANDS`."""
    return PatternSet(COMMANDS)


@cache
def looser() -> PatternSet:
    """Return the patterns of `LOOSER`."""
    return PatternSet(LOOSER)
