# SPDX-License-Identifier: Apache-2.0
"""A search on a user's own tree and board: what is proven stays, the rest says why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Bootscope, Make
from .desk import SAVED_NS, Desk, desk

PRODUCT = ("--product", "images/card.img")


@pytest.fixture
def mine(bootscope: Bootscope, fake: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A user's desk."""
    monkeypatch.setenv("BOOTSCOPE_CACHE", str(tmp_path / "cache"))
    return desk(bootscope, fake, tmp_path)


def test_only_what_is_proven_stays(mine: Desk, tmp_path: Path) -> None:
    mine.imported(*PRODUCT)
    only = "uboot-bootdelay,kernel-no-modules,kernel-no-smp"
    folder = tmp_path / "shorter"
    words = ("optimize", "mine", "--only", only, "-n", "4", "-o", str(folder), "--json")
    found = json.loads(mine.bootscope(*words)[0])
    assert found["kind"] == "optimize"
    assert found["accepted"] == ["uboot-bootdelay"]
    assert found["ended"] == "nothing is left to try"
    # Two of one group are told in the order of what they saved elsewhere, which measured.json decides.
    told = {frozenset(e["techniques"]): e for e in found["experiments"]}
    both = told[frozenset({"kernel-no-modules", "kernel-no-smp"})]
    assert both["halved"]
    assert "'smp_init' undeclared" in both["refusal"]
    assert Path(both["log"]).exists()
    assert "did not boot, twice: panic" in told[frozenset({"kernel-no-modules"})]["refusal"]
    assert "'smp_init' undeclared" in told[frozenset({"kernel-no-smp"})]["refusal"]
    kept = told[frozenset({"uboot-bootdelay"})]
    assert kept["accepted"]
    assert kept["high_ns"] < 0 < kept["saving_ns"]
    assert found["whole"]["saving_ns"] == kept["saving_ns"] == pytest.approx(SAVED_NS, rel=0.3)
    assert found["final_ns"] < found["base_ns"]
    # What was accepted is written as apply writes it, and nothing of it is left in the tree or on the board.
    assert (folder / "uboot.config").read_text() == "CONFIG_BOOTDELAY=0\n"
    assert not (folder / "kernel.config").exists()
    assert mine.at_base
    page = (folder / "report.html").read_text()
    assert page.count('class="forest"') == 1  # only one of them could be booted
    assert page.count('<i style="left:') == 8
    assert "&#39;smp_init&#39; undeclared" in page
    assert "did not boot, twice: panic" in page
    assert "<script" not in page


def test_the_search_in_words_and_its_end(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    only = "kernel-thumb2,uboot-bootdelay,uboot-trim"
    out, err = mine.bootscope("optimize", "mine", "--only", only, "-n", "4", "--goal", "9999")
    assert "kernel-thumb2: it costs" in err
    assert "ended: the goal is reached" in out
    assert "accepted: uboot-bootdelay" in out
    assert "uboot-bootdelay saves" in out
    assert "uboot-trim" not in out
    for words, said in (
        (("optimize", "mine", "--pareto"), "--pareto is for systems of the emulated board"),
        (("optimize", "stock", "-n", "3"), "-n is for imported systems"),
        (("optimize", "mine", "--only", "nonsense"), "unknown technique 'nonsense'"),
    ):
        assert said in mine.bootscope(*words, status=2)[1]
