# SPDX-License-Identifier: Apache-2.0
"""Techniques tried on a user's own tree and board: their commands build and deploy, their board boots."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest

from .conftest import HELLO, Bootscope, Make
from .desk import BUILD, FAST, SAVED_NS, Desk, desk

PRODUCT = ("--product", "images/card.img")
CONFIG = "u-boot/.config"
TAKES = (
    BUILD.replace("set -e\n", f"set -e\nsed -i s/BOOTDELAY=0/BOOTDELAY=2/ {CONFIG}\n")
    + f"if [ -s $BOOTSCOPE_CHANGES/uboot.config ]; then sed -i s/BOOTDELAY=2/BOOTDELAY=0/ {CONFIG}; fi\n"
)
"""A build whose configuration shows that it took the changes."""


@pytest.fixture
def mine(bootscope: Bootscope, fake: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A user's desk."""
    monkeypatch.setenv("BOOTSCOPE_CACHE", str(tmp_path / "cache"))
    return desk(bootscope, fake, tmp_path)


def test_a_technique_that_saves_time(mine: Desk) -> None:
    (mine.tree / "build.sh").write_text(TAKES)
    mine.imported(*PRODUCT)
    found = mine.tried("uboot-bootdelay", "-n", "5")
    assert found["works"], found
    assert found["proven"], found
    goal = found["comparison"]["goal"]
    assert (goal["name"], goal["verdict"]) == ("login", "faster")
    assert goal["high_ns"] < 0 < goal["smallest_ns"]
    assert found["saving_ns"] == -goal["change_ns"] == pytest.approx(SAVED_NS, rel=0.3)
    assert {p["name"] for p in found["phases"]} >= {"spl", "kernel", "init"}
    plain = (mine.tree / "u-boot/.config").stat().st_size
    assert found["sizes"] == {"images/card.img": {"a_bytes": plain, "b_bytes": plain + len(FAST) + 1}}
    # In turns, boot by boot, since a deploy takes no time; and each built once, with the base to end with.
    assert found["rounds"] == 5
    assert len(mine.builds) == 3
    assert mine.builds[0] == mine.builds[2] == "base"
    assert mine.at_base
    runs = mine.bootscope.json("list")["runs"]
    assert [(run["system"], run["boots"], run["complete"]) for run in runs] == [
        ("mine", 5, 5),
        ("mine.try", 5, 5),
    ]
    # What was tried is written into a tree by its run's name, and the run of the base has nothing to write.
    writes = ("apply", found["variant"], "--to", "files", str(mine.tree / "kept"))
    mine.bootscope(*writes)
    assert (mine.tree / "kept/uboot.config").read_text() == FAST + "\n"
    said = mine.bootscope("apply", found["base"], *writes[2:], status=2)[1]
    assert "the techniques that it tried are unknown" in said

    # Asked again, the variant need not be built; in one round that is told, and the text says the same.
    out, err = mine.bootscope("try", "uboot-bootdelay", "--system", "mine", "-n", "3", "--rounds", "1")
    assert "uboot-bootdelay: already built" in err
    assert len(mine.builds) == 4
    assert "uboot-bootdelay saves" in out
    assert "= login" in out
    assert "images/card.img" in out
    assert "all boots of one variant ran before those of the other" in out
    assert "With 3 + 3 boots you would notice" in out
    assert mine.at_base


def test_without_products_every_change_is_a_build(mine: Desk) -> None:
    mine.imported()
    found = mine.tried("uboot-bootdelay", "-n", "4", "--rounds", "2")
    assert found["proven"]
    assert found["sizes"] == {}
    assert [name == "base" for name in mine.builds] == [True, False, True]
    assert mine.at_base


def test_a_technique_that_changes_nothing_to_be_seen(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    # Every other boot is slow, whatever is on the card; in turns, that meets both alike.
    mine.board.plan = lambda board: board.says(HELLO, 0.03 if board.switched_on % 2 else 0.01)
    out, _ = mine.bootscope("try", "uboot-bootdelay", "--system", "mine", "-n", "4")
    assert "uboot-bootdelay: no difference shown at login; the time changes by" in out
    # A terminal wraps the sentence; where boots vary a lot it takes more than can be told.
    assert re.search(r"for 2 % \(.*\) make (?:more than )?[\d,]+ of each", " ".join(out.split()))


def test_a_variant_that_does_not_boot(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    found = mine.tried("kernel-no-modules", "-n", "3", status=3)
    assert not found["works"]
    assert "it did not boot, twice: panic: the kernel panicked" in found["faults"][0]
    assert found["comparison"] is None
    assert found["saving_ns"] is None
    # What it said is kept, and the board has the base again.
    boots = mine.bootscope.store / "runs" / found["variant"] / "boots"
    assert b"Kernel panic" in (boots / "002/console.bin").read_bytes()
    assert mine.at_base


def test_a_build_that_fails(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    _, err = mine.bootscope("try", "kernel-no-smp", "--system", "mine", "-n", "3", status=3)
    assert "mine does not build with kernel-no-smp: build.sh failed (status 2)" in err
    assert "init/main.c:7: error: 'smp_init' undeclared" in err
    log = Path(err.rpartition("full log, with the changes at its top: ")[2].strip())
    assert "# CONFIG_SMP is not set" in log.read_text()
    assert "cc -c init/main.c" in log.read_text()
    assert mine.builds[-1] == "base"
    assert not list((mine.bootscope.store / "trees/mine.files/changes").glob("*.config"))


def test_a_deploy_that_fails(mine: Desk) -> None:
    mine.imported(*PRODUCT, "--deploy", "cp images/card.img /nowhere/card")
    _, err = mine.bootscope("try", "uboot-bootdelay", "--system", "mine", "-n", "3", status=3)
    assert "no changes cannot be deployed: cp failed" in err
    assert "/nowhere/card" in err
    assert mine.builds[-1] == "base"


def test_the_users_own_check(mine: Desk) -> None:
    mine.imported(
        *PRODUCT, "--check", f"sh -c '! grep -q {FAST} {mine.card} || {{ echo too soon; exit 7; }}'"
    )
    found = mine.tried("uboot-bootdelay", "-n", "3", status=3)
    assert found["faults"] == [found["faults"][0]]
    assert "ended with status 7: too soon" in found["faults"][0]
    assert mine.at_base
    _, err = mine.bootscope(
        "try", "uboot-bootdelay", "--system", "mine", "-n", "3", "--check", "false", status=2
    )
    assert "mine itself does not work: the check false ended with status 1" in err


def test_interrupted(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    child = mine.bootscope.start("try", "uboot-bootdelay", "--system", "mine", "-n", "40")
    assert child.stderr
    for line in child.stderr:
        if ".try/002" in line:
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, (out, err)
    assert "the changes are removed from the tree again" in err
    assert "bootscope build mine" in err
    assert not list((mine.bootscope.store / "trees/mine.files/changes").glob("*.config"))
    kept = {run["system"]: run["boots"] for run in mine.bootscope.json("list")["runs"]}
    assert kept["mine"] >= 1
    assert kept["mine.try"] >= 2
    # The next one begins as if nothing had been.
    assert mine.tried("uboot-bootdelay", "-n", "3")["works"]


def test_a_build_that_cannot_go_back_is_told(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    sticky = """#!/bin/sh
    mkdir -p images
    cp "$BOOTSCOPE_CHANGES"/uboot.config what-came 2>/dev/null
    cat u-boot/.config what-came > images/card.img 2>/dev/null
    true
    """
    (mine.tree / "build.sh").write_text(sticky)
    _, err = mine.bootscope("try", "uboot-bootdelay", "--system", "mine", "-n", "3")
    assert "warning: a build without the changes gives the same images as with them" in err
    # The next base has the change already, which is found before anything is booted.
    _, err = mine.bootscope("try", "uboot-bootdelay", "--system", "mine", "-n", "3", status=2)
    assert "the images are the same, byte by byte" in err


def test_images_that_are_never_the_same_are_told(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    (mine.tree / "build.sh").write_text(f"{BUILD}date +%s%N >> images/card.img\n")
    _, err = mine.bootscope("try", "uboot-bootdelay", "--system", "mine", "-n", "3")
    assert "two builds without changes differ byte by byte" in err
    _, err = mine.bootscope("try", "uboot-bootdelay", "--system", "mine", "-n", "3")
    assert "already built" not in err


def test_a_build_without_the_changes_is_told(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    # Its configuration is not the one that the build makes.
    told = "built with the changes, u-boot/.config has CONFIG_BOOTDELAY=2 instead of 0"
    assert any(told in note for note in mine.tried("uboot-bootdelay", "-n", "3")["notes"])
    # It is built again, since the build may have been repaired.
    assert any(told in note for note in mine.tried("uboot-bootdelay", "-n", "3")["notes"])
    assert len(mine.builds) == 6


def test_a_build_with_the_changes_is_not(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    (mine.tree / "build.sh").write_text(TAKES)
    assert not any("instead of" in note for note in mine.tried("uboot-bootdelay", "-n", "3")["notes"])


def test_only_one_at_a_time(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    child = mine.bootscope.start("try", "uboot-bootdelay", "--system", "mine", "-n", "40")
    lock = mine.bootscope.store / "trees/mine.files/lock"
    until = time.monotonic() + 30
    while not (mine.tree / "builds").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert lock.exists()
    _, err = mine.bootscope("try", "uboot-bootdelay", "--system", "mine", status=2)
    assert "changes are being tried in mine already" in err
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, (out, err)


def test_what_cannot_be_tried_is_refused_before_anything_is_built(mine: Desk) -> None:
    mine.imported()
    for words, status, said in (
        (["nonsense"], 2, "unknown technique 'nonsense'"),
        (["hw-power-up-sequence"], 2, "it needs hardware"),
        (["hw-master-clock"], 2, "hw-master-clock is a hardware change, which no build can make"),
        (["uboot-bootdelay", "--rounds", "20"], 2, "--rounds must be 1 to 10"),
        (["uboot-bootdelay", "--board", f"serial:{mine.board.port}"], 2, "no power control is configured"),
    ):
        _, err = mine.bootscope("try", *words, "--system", "mine", status=status)
        assert said in err, err
    assert not (mine.tree / "builds").exists()
    _, err = mine.bootscope("try", "uboot-bootdelay", "-n", "3", status=2)
    assert "-n is for imported systems on a real board; stock boots on an emulated one" in err


def test_images_that_stay_the_same_are_told(mine: Desk) -> None:
    mine.imported(*PRODUCT)
    (mine.tree / "build.sh").write_text("#!/bin/sh\nmkdir -p images; cat u-boot/.config > images/card.img\n")
    _, err = mine.bootscope("try", "uboot-bootdelay", "--system", "mine", "-n", "3", status=2)
    assert "uboot-bootdelay: the images are the same, byte by byte, as with no changes" in err
    assert "BOOTSCOPE_CHANGES" in err
