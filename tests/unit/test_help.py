# SPDX-License-Identifier: Apache-2.0
"""bootscope help: documents and verbs; and that every hint that names a topic names one that there is."""

from __future__ import annotations

import json
import re

import pytest

from bootscope.cli import documents
from bootscope.cli.systems import ACTIONS

from .builders import ROOT, SOURCE
from .conftest import Command
from .on_a_terminal import on_a_terminal


def test_the_name_alone_shows_what_there_is(main_here: Command) -> None:
    done = main_here()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == main_here("--help").stdout


def test_without_a_topic_every_document_is_listed_with_its_title(main_here: Command) -> None:
    lines = main_here("help").stdout.splitlines()
    listed = {line.split()[0] for line in lines[:-2]}
    assert listed == {path.stem for path in (ROOT / "docs").glob("*.md")} - {"style"} | {"news"}
    assert any(line.split() == ["ci", "In", "CI"] for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", ["real-boards", "real-boards.md", "docs/real-boards.md"])
def test_a_document_is_shown_as_it_is_where_there_is_no_terminal(main_here: Command, name: str) -> None:
    assert main_here("help", name).stdout == (ROOT / "docs/real-boards.md").read_text()


def test_a_verb_without_a_document_has_its_options_shown(main_here: Command) -> None:
    assert main_here("help", "rm").stdout == main_here("rm", "--help").stdout != ""


def test_a_misspelt_topic_is_told_what_was_meant(main_here: Command) -> None:
    done = main_here("help", "real-baords")
    assert done.returncode == 2
    assert "did you mean real-boards?" in done.stderr
    assert "did you mean record?" in main_here("help", "recrd").stderr


def test_json_has_topics_and_texts(main_here: Command) -> None:
    listed = json.loads(main_here("help", "--json").stdout)
    assert {"topic": "ci", "title": "In CI"} in listed["topics"]
    assert json.loads(main_here("help", "--folder", "--json").stdout)["folder"] == str(ROOT)
    assert json.loads(main_here("help", "ci", "--json").stdout)["text"].startswith("# In CI\n")
    assert json.loads(main_here("help", "rm", "--json").stdout)["text"].startswith("usage: bootscope rm")


def test_a_terminal_gets_it_set_and_through_a_pager() -> None:
    text = on_a_terminal("help", "ci")
    assert "In CI" in text
    assert "\x1b[" in text
    assert "# In CI" not in text


def test_every_topic_that_the_code_names_is_there() -> None:
    named = {
        topic
        for path in SOURCE.rglob("*.py")
        for topic in re.findall(r"bootscope help ([a-z][a-z-]+)", path.read_text())
    }
    assert len(named) >= 6
    assert named <= documents.topics().keys()


def test_what_the_code_says_names_no_file_that_a_wheel_has_elsewhere() -> None:
    """Strings (not comments and docstrings) that would send a user to docs/ or to bin/bootscope."""
    text = re.compile(r"""["'][^"'#]*(docs/[a-z-]+\.md|bin/bootscope|make setup)""")
    found = [
        f"{path.name}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text().splitlines()
        if text.search(line) and '"""' not in line and path.name != "documents.py"
    ]
    allowed = ("hints.py: ", 'doctor.py: out.print("or install everything with')
    assert [line for line in found if not line.startswith(allowed)] == []


def test_each_action_of_system_shows_its_own_options(main_here: Command) -> None:
    shown = {what: main_here("system", what, "--help").stdout for what in ACTIONS}
    for what, text in shown.items():
        assert text.startswith(f"usage: bootscope system {what} ")
        assert ("--deploy" in text) == (what == "import")
        assert not any(f"bootscope system {other} " in text for other in ACTIONS if other != what)
    assert ("NAME" in shown["rm"], "NAME" in shown["list"]) == (True, False)
