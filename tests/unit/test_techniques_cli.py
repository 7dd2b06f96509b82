# SPDX-License-Identifier: Apache-2.0
"""`techniques`: the list, as a user meets it."""

from __future__ import annotations

import pytest

from bootscope.cli import techniques as techniques_verb
from bootscope.techniques.model import Status, techniques

from .conftest import Command
from .test_cli_verbs import json_of
from .test_lab_cli import printed, refused


def test_all_techniques_are_listed(main_here: Command) -> None:
    done = main_here("techniques")
    assert done.returncode == 0
    for t in techniques().values():
        assert t.id in done.stdout
        assert t.title in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"{len(techniques())} techniques: ")


def test_the_list_as_json(main_here: Command) -> None:
    listed = json_of(main_here("techniques", "--json"), "techniques")["techniques"]
    assert [t["id"] for t in listed] == list(techniques())
    for t in listed:
        assert list(t) == ["id", "phase", "status", "title", "saving"]
    assert any(t["saving"] for t in listed)


@pytest.mark.parametrize("status", [str(s) for s in Status])
def test_the_list_can_be_of_one_phase_and_one_status(main_here: Command, status: str) -> None:
    arguments = ("techniques", "--json", "--phase", "kernel", "--status", status)
    listed = json_of(main_here(*arguments), "techniques")["techniques"]
    expected = [t.id for t in techniques().values() if (t.phase, t.status) == ("kernel", status)]
    assert [t["id"] for t in listed] == expected


def test_the_list_keeps_its_names_whole_on_a_narrow_terminal() -> None:
    listed = list(techniques().values())
    text = printed(lambda out: techniques_verb.show_list(out, listed))
    for t in listed:
        assert f" {t.id} " in text
        assert str(t.status) in text


def test_an_explanation_reaches_the_user(main_here: Command) -> None:
    done = main_here("techniques", "app-static-link")
    assert done.returncode == 0
    assert "Licence" in done.stdout
    assert "(app-static-link; " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["nonsense"], "unknown technique 'nonsense'", f"there are {len(techniques())}, such as: "),
        (["\x1b[31m"], r"unknown technique '\x1b[31m'", ""),
        (["--phase", "colonel"], "unknown phase 'colonel'", "bootloader"),
        (["--status", "maybe"], "unknown value of --status 'maybe'", "runs-here"),
        (["nonsense", "--json"], "unknown technique", ""),
    ],
)
def test_what_is_no_technique_is_refused(
    main_here: Command, arguments: list[str], message: str, hint: str
) -> None:
    refused(main_here("techniques", *arguments), message, hint)
