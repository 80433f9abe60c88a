"""Single calls that could not work: commands, tools, arguments and names that do not exist."""

from __future__ import annotations

from typing import Any, Final

from tests.behaviors.planted import Planted, planted
from tests.store.stored import agent, call, human


def bash(command: str, result: str = "", *, ok: bool = True) -> dict[str, Any]:
    return call("Bash", {"command": command}, result, ok=ok)


def execute(command: str, result: str = "", *, ok: bool = True) -> dict[str, Any]:
    return call("execute_command", {"command": command}, result, ok=ok)


def shell(command: str, result: str = "", *, code: int = 0) -> dict[str, Any]:
    return call("shell", {"command": ["bash", "-lc", command]}, result, exit_code=code)


MAIL: Final = [
    {
        "name": "send_email",
        "parameters": {
            "type": "object",
            "properties": {"to": {"type": "array"}, "subject": {"type": "string"}},
            "required": ["to", "subject"],
            "additionalProperties": False,
        },
    },
    {"name": "search_contacts", "parameters": {"type": "object", "properties": {}}},
]
PIXELS: Final = human("How large is the picture logo.png?")
TABLE: Final = human("Show me the rows of the table in data.db that are older than a year.")
WRITE: Final = human("Write to Ann about the meeting; look her up first.")

PLANTED: tuple[Planted, ...] = (
    planted(
        "A01 a program that is not installed",
        PIXELS,
        agent(
            "I look at it.",
            bash("exiftool logo.png", "bash: exiftool: command not found", ok=False),
        ),
        turn=1,
    ),
    planted(
        "A01 an option that the program does not know",
        human("Run the tests of the message framework."),
        agent(
            "",
            execute(
                "python -m django test messages --nomigrations",
                "__main__.py: error: unrecognized arguments: --nomigrations",
                ok=False,
            ),
        ),
        turn=1,
    ),
    planted(
        "A01 a sub-command of git that there is none of",
        human("Bring my branch up to date."),
        agent("", shell("git status", "On branch topic")),
        agent(
            "",
            shell(
                "cd app && git uprebase main",
                "git: 'uprebase' is not a git command. See 'git --help'.",
                code=1,
            ),
        ),
        turn=2,
    ),
    planted(
        "A01 twin a look whether the program is there",
        PIXELS,
        agent("", bash("which exiftool || echo none", "none")),
        agent("", bash("exiftool --version", "bash: exiftool: command not found", ok=False)),
    ),
    planted(
        "A01 twin a person named the program",
        human("Use exiftool to tell how large logo.png is."),
        agent("", bash("exiftool logo.png", "bash: exiftool: command not found", ok=False)),
    ),
    planted(
        "A01 twin the words stand in the output of a program being tried",
        human("Does our own tool refuse unknown commands as it should?"),
        agent("", shell("./bin/tool nonsense", "Unknown command: nonsense", code=2)),
    ),
    planted(
        "A01 twin a fall-back for the case that it is not there",
        PIXELS,
        agent("", execute("exiftool logo.png || file logo.png", "exiftool: not found\nPNG, 8 x 8")),
    ),
    planted(
        "A02 a tool that nobody offered",
        WRITE,
        agent(
            "",
            call("lookup_person", {"name": "Ann"}, "Error: unknown tool: lookup_person", ok=False),
        ),
        turn=1,
        tools=MAIL,
    ),
    planted(
        "A02 an action outside the list",
        human("Which company is older, Acme or Zenith?"),
        agent("", call("Search", {"entity": "Acme"}, "Acme was founded in 1910.")),
        agent(
            "",
            call(
                "Compare",
                {"argument": "Acme and Zenith"},
                "Invalid Action. Valid Actions are Lookup, Search and Finish.",
                ok=False,
            ),
        ),
        turn=2,
    ),
    planted(
        "A02 a tool of another client",
        human("Explain the parser."),
        agent(
            "I read it.",
            call(
                "read_file",
                {"path": "src/parser.py"},
                "<tool_use_error>Error: No such tool available: read_file</tool_use_error>",
                ok=False,
            ),
        ),
        turn=1,
        tools=[{"name": "Read"}, {"name": "Bash"}],
    ),
    planted(
        "A02 twin the offered tool",
        WRITE,
        agent("", call("search_contacts", {}, "Ann <ann@firm.org>")),
        tools=MAIL,
    ),
    planted(
        "A02 twin the words stand in a file that was read",
        human("Explain the parser."),
        agent("", call("Read", {"file_path": "src/run.py"}, "raise Refused('unknown tool: %s')")),
        tools=[{"name": "Read"}],
    ),
    planted(
        "A02 twin an unlisted tool that was run all the same",
        human("List the folder."),
        agent("", call("bash", {"command": "ls"}, "a.c")),
        agent("", call("bash", {"command": "cat b.c"}, "cat: b.c: read error", ok=False)),
        tools=[{"name": "edit"}],
    ),
    planted(
        "A03 a text where a list is wanted",
        WRITE,
        agent(
            "",
            call(
                "send_email",
                {"to": "ann@firm.org", "subject": "Meeting"},
                "ValidationError: 1 validation error: to: Input should be a valid list",
                ok=False,
            ),
        ),
        turn=1,
        tools=MAIL,
    ),
    planted(
        "A03 a required parameter is missing",
        human("Remove the debug line from match.c."),
        agent(
            "", call("str_replace_editor", {"command": "view", "path": "/w/match.c"}, "1 debug();")
        ),
        agent(
            "",
            call(
                "str_replace_editor",
                {"command": "str_replace", "path": "/w/match.c", "new_str": ""},
                "ERROR:\nParameter `old_str` is required for command: str_replace.",
                ok=False,
            ),
        ),
        turn=2,
    ),
    planted(
        "A03 a client refuses an unknown parameter",
        human("Look for the word parse in the code."),
        agent(
            "",
            call(
                "Grep",
                {"regex": "parse"},
                "<tool_use_error>InputValidationError: Grep failed due to the following issues:\n"
                "The required parameter `pattern` is missing</tool_use_error>",
                ok=False,
            ),
        ),
        turn=1,
    ),
    planted(
        "A03 twin arguments that fit",
        WRITE,
        agent("", call("send_email", {"to": ["ann@firm.org"], "subject": "Meeting"}, "sent")),
        tools=MAIL,
    ),
    planted(
        "A03 twin the content is refused and not the form",
        human("Book the flight of Ann for the tenth of May."),
        agent(
            "",
            call("book_flight", {"date": "the tenth of May"}, "Error: the date is past", ok=False),
        ),
    ),
    planted(
        "A03 twin a program that a shell ran says it",
        human("Run the migration."),
        agent(
            "", bash("python migrate.py", "migrate.py: error: missing required field: id", ok=False)
        ),
    ),
    planted(
        "A04 a file that nothing mentions",
        human("Why do the tests of the text module fail?"),
        agent(
            "",
            call(
                "Read",
                {"file_path": "/home/u/app/cli/textutil/textutil_test.go"},
                "<tool_use_error>File does not exist.</tool_use_error>",
                ok=False,
            ),
        ),
        turn=1,
    ),
    planted(
        "A04 an account number from nowhere",
        human("Please take the upgrade, and pay with my card."),
        agent(
            "",
            call(
                "update_reservation",
                {"reservation_id": "M20IZO", "payment_id": "credit_card_7334"},
                "Error: payment method not found",
                ok=False,
            ),
        ),
        turn=1,
    ),
    planted(
        "A04 a script that a shell is to run",
        human("Run the tests of the datetime functions."),
        agent("", shell("ls", "docs\nsrc\ntests")),
        agent(
            "",
            shell(
                "cd tests && python runtests.py db_functions",
                "python: can't open file '/w/tests/runtests.py': No such file or directory",
                code=2,
            ),
        ),
        turn=2,
    ),
    planted(
        "A04 twin a person named the file",
        human("Why does textutil_test.go fail?"),
        agent(
            "",
            call("Read", {"file_path": "/w/textutil_test.go"}, "File does not exist.", ok=False),
        ),
    ),
    planted(
        "A04 twin a listing named the record",
        human("Take the upgrade, and pay with my card."),
        agent("", call("get_user", {"name": "Ann"}, '{"cards": ["credit_card_7334"]}')),
        agent(
            "",
            call(
                "update_reservation",
                {"payment_id": "credit_card_7334"},
                "Error: payment method not found",
                ok=False,
            ),
        ),
    ),
    planted(
        "A04 twin the system prompt named the person",
        human("What is new in my inbox?"),
        agent("", call("read_inbox", {"user": "Emma Johnson"}, "Error: user not found", ok=False)),
        system_prompt="You work for Emma Johnson.",
    ),
    planted(
        "A04 twin a search finds nothing",
        human("Where is the text module?"),
        agent("", call("search_files", {"query": "textutil_test.go"}, "No files found")),
        agent(
            "",
            bash("find . -name textutil_test.go", "find: 'x': No such file or directory", ok=False),
        ),
    ),
    planted(
        "A04 twin a file that projects usually have",
        human("What is this project about?"),
        agent("", bash("cat README.md", "cat: README.md: No such file or directory", ok=False)),
    ),
)
