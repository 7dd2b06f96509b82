# SPDX-License-Identifier: Apache-2.0
"""Pitfalls: the records, and for each check a system that is in it and one that is not."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from bootscope.audit.findings import audit
from bootscope.audit.pitfalls.checks.base import CHECKS
from bootscope.audit.pitfalls.find import FoundPitfalls, find_pitfalls
from bootscope.audit.pitfalls.model import KINDS, How, pitfall, pitfalls
from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory
from bootscope.techniques.model import DOCUMENTS, technique_ids

from .builders import ROOT
from .known_builders import inventory_of, seen
from .pitfall_cases import CASES
from .pitfall_variants import ALSO_IN, NOT_IN
from .test_pitfalls_recorded import RECORDED


def looked(given: dict[str, Any]) -> FoundPitfalls:
    known = inventory_of(**given)
    return find_pitfalls(known, audit(known).findings)


# ---- records ----


def test_each_pitfall_has_its_function() -> None:
    assert set(CHECKS) == set(pitfalls())


@pytest.mark.parametrize("name", list(pitfalls()))
def test_a_record_says_all_there_is_to_say(name: str) -> None:
    found = pitfall(name)
    assert found.kind in KINDS
    assert 5 < len(found.title) <= 70
    assert not found.title.endswith(".")
    for text in (found.what, found.do):
        assert len(text.split()) >= 3
        assert text.rstrip().endswith((".", ".)"))
    assert found.by
    assert set(found.covered_by) <= set(technique_ids())
    assert {ref.partition(":")[0] for ref in found.refs} <= set(DOCUMENTS)
    assert all(ref.partition(":")[2] for ref in found.refs)


def test_what_is_no_pitfall_is_refused() -> None:
    with pytest.raises(UserError, match="unknown pitfall 'boot\\\\x1bdelay'"):
        pitfall("boot\x1bdelay")


def test_the_page_is_that_of_the_records() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import pitfalls_page; print(pitfalls_page.page(), end='')"],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (ROOT / "docs" / "pitfalls.md").read_text()


# ---- checks ----


def test_every_pitfall_has_its_cases() -> None:
    assert set(CASES) | RECORDED == set(pitfalls())


@pytest.mark.parametrize("name", list(CASES))
def test_a_system_that_is_in_it_is_warned(name: str) -> None:
    given, _, word = CASES[name]
    found = seen(looked(given))
    assert name in found
    assert word in found[name].evidence


@pytest.mark.parametrize("name", list(CASES))
def test_a_system_that_is_not_in_it_is_not_warned(name: str) -> None:
    _, given, _ = CASES[name]
    found = looked(given)
    assert name not in seen(found)
    # That was seen, not taken for granted.
    assert name not in found.undecided


@pytest.mark.parametrize(("name", "given", "word"), ALSO_IN, ids=lambda x: x if isinstance(x, str) else "")
def test_other_ways_to_be_in_it(name: str, given: dict[str, Any], word: str) -> None:
    found = seen(looked(given))
    assert name in found
    assert word in found[name].evidence


@pytest.mark.parametrize(("name", "given"), NOT_IN, ids=lambda x: x if isinstance(x, str) else "")
def test_what_only_looks_like_it(name: str, given: dict[str, Any]) -> None:
    assert name not in seen(looked(given))


def test_of_a_system_of_which_nothing_is_known_nothing_is_said() -> None:
    found = find_pitfalls(Inventory())
    assert (found.warnings, found.advice) == ((), ())
    assert set(found.undecided) == set(pitfalls())
    assert all(found.undecided.values())


@pytest.mark.parametrize("part", ["kernel", "uboot", "busybox"])
def test_a_fragment_does_not_say_what_is_not_set(part: str) -> None:
    whole, fragment = inventory_of(**{part: ""}), inventory_of(**{part: "", "partial": frozenset({part})})
    decided = set(pitfalls()) - set(find_pitfalls(whole).undecided)
    still = set(pitfalls()) - set(find_pitfalls(fragment).undecided)
    assert not {name for name in still if pitfalls()[name].how == How.CHECKED}
    assert still <= decided


def test_what_a_fragment_sets_is_seen() -> None:
    known = inventory_of(kernel="CC_OPTIMIZE_FOR_SIZE", partial=frozenset({"kernel"}))
    assert "os-slower" in seen(find_pitfalls(known))


def test_a_warning_names_the_finding_that_says_the_same() -> None:
    given = {"environment": {"bootdelay": "2"}, "uboot": "BOOTDELAY=2"}
    assert seen(looked(given))["bootdelay"].technique == "uboot-bootdelay"
    assert seen(find_pitfalls(inventory_of(**given)))["bootdelay"].technique == ""
