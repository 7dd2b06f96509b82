# SPDX-License-Identifier: Apache-2.0
"""`pitfalls`, as a user meets it."""

from __future__ import annotations

import pytest

from bootscope.audit.pitfalls.model import How, pitfalls
from bootscope.cli import pitfalls as pitfalls_verb

from .conftest import Command
from .test_cli_verbs import json_of
from .test_lab_cli import printed, refused


def test_all_pitfalls_are_listed(main_here: Command) -> None:
    done = main_here("pitfalls")
    assert done.returncode == 0
    for name, p in pitfalls().items():
        assert f" {name} " in done.stdout
        assert p.title in done.stdout
    count = len(pitfalls())
    checked = sum(p.how == How.CHECKED for p in pitfalls().values())
    assert done.stdout.splitlines()[-1] == f"{count} pitfalls: {checked} checked, {count - checked} advice"


def test_pitfalls_of_one_kind(main_here: Command) -> None:
    listed = json_of(main_here("pitfalls", "--kind", "falcon", "--json"), "pitfalls")["pitfalls"]
    assert [p["id"] for p in listed] == [name for name, p in pitfalls().items() if p.kind == "falcon"]
    refused(main_here("pitfalls", "--kind", "feathers"), "unknown kind 'feathers'", "falcon")


@pytest.mark.parametrize("name", list(pitfalls()))
def test_every_pitfall_is_explained_on_a_narrow_terminal(name: str) -> None:
    p = pitfalls()[name]
    text = " ".join(printed(lambda out: pitfalls_verb.explain(out, name, p)).split())
    for said in (p.title, p.what, p.do, p.by, *p.covered_by):
        assert " ".join(said.split()) in text


def test_one_pitfall_as_json(main_here: Command) -> None:
    found = json_of(main_here("pitfalls", "savings-overlap", "--json"), "pitfall")
    assert found["id"] == "savings-overlap"
    assert found["how"] == "checked"
    refused(main_here("pitfalls", "nonsense"), "unknown pitfall 'nonsense'", f"there are {len(pitfalls())}")
