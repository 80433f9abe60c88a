"""The pages on the command and on collectors: their tables are those of the code."""

from __future__ import annotations

import re
import tomllib
from typing import get_args

from tests.docs.pages import ROOT, code_names, page, section, table
from tracedance_sdk.cli.program import VERBS
from tracedance_sdk.grading import Verdict, exit_code
from tracedance_sdk.trace import KINDS, Fitness


def test_every_verb_is_in_the_table_with_what_it_does() -> None:
    rows = table(page("command.md"))
    assert {code_names(row[0])[0]: row[1] for row in rows} == {
        name: does for name, (_, does) in sorted(VERBS.items())
    }


def test_every_installed_collector_is_in_the_table() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    offered = project["entry-points"]["tracedance.collectors"]
    assert [code_names(row[0])[0] for row in table(page("collectors.md"))] == sorted(offered)


def test_the_kinds_of_fidelity_notes_are_those_of_the_code() -> None:
    notes, fitness = section(page("collectors.md"), "Fidelity").split("| fit for | when |")
    assert {code_names(row[0])[0]: row[1] for row in table(notes)} == KINDS
    rows = table(f"| fit for | when |{fitness}")
    assert [code_names(row[0])[0] for row in rows] == list(get_args(Fitness))


def test_the_exit_codes_of_verdicts_are_those_of_the_code() -> None:
    text = section(page("grading.md"), "Severity, verdicts, exit codes").split("The verdict on")[1]
    assert {code_names(row[0])[0]: int(row[2]) for row in table(text)} == {
        str(verdict): exit_code([verdict]) for verdict in Verdict
    }


def test_every_page_is_linked_from_another() -> None:
    pages = sorted((ROOT / "docs").glob("*.md"))
    for found in pages:
        others = [other for other in (ROOT / "README.md", *pages) if other != found]
        links = re.compile(rf"\]\((?:docs/)?{re.escape(found.name)}[)#]")
        assert any(links.search(other.read_text("utf-8")) for other in others), found.name


def test_every_page_is_in_the_table_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    listed = {link for row in table(section(readme, "What it does")) for link in _links(row[1])}
    assert listed == {f"docs/{found.name}" for found in (ROOT / "docs").glob("*.md")}


def _links(cell: str) -> list[str]:
    return re.findall(r"\]\(([^)#]+)[)#]", cell)


def test_every_extra_is_in_the_table_of_the_readme() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    rows = table(section((ROOT / "README.md").read_text("utf-8"), "Extras"))
    listed = [name for row in rows for name in code_names(row[0])]
    assert sorted(listed) == sorted(project["optional-dependencies"])


def test_pages_install_from_the_clone_what_there_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for found in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = found.read_text("utf-8")
        if found.name != "integrations.md":
            assert "pip install 'tracedance-sdk" not in text, found.name
        for names in re.findall(r"pip install '(?:\.|tracedance-sdk)\[([^\]]*)\]'", text):
            unknown = set(names.split(",")) - set(project["optional-dependencies"])
            assert not unknown, f"{found.name}: {unknown}"
