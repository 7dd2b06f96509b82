# SPDX-License-Identifier: Apache-2.0
"""Predictions of a boot loader's script, of a menu's wait and of silence, on boots made by hand."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.whatif import Prediction, predict
from bootscope.capture.record import Extent, RunInfo
from bootscope.core.errors import UserError

from .scenes import Story, evidence_of, run_of

MS = 1_000_000
KERNEL, SCRIPT = 4096, 9500


def run() -> RunInfo:
    """A card with a kernel and a script."""
    kernel = Extent(name="kernel", sector=KERNEL, sectors=4000)
    return run_of(extents=(kernel, Extent(name="boot script", sector=SCRIPT, sectors=1)))


def predicted(evidence: Evidence, *changes: str) -> Prediction:
    return predict(evidence, Stacks(evidence), changes)


def seen(story: Story) -> Evidence:
    return evidence_of(story.records, run())


def scripted(*, searches: bool, reads: bool = True) -> Story:
    """A boot in which U-Boot reads a script and runs it, after looking for it or at once."""
    story = Story().hook("uboot.start").work(40 * MS)
    if searches:
        story.enter("uboot.command", text=b"run distro_bootcmd").work(5 * MS)
    if reads:
        story.enter("uboot.command", text=b"load mmc 0:1 0x100 boot.scr")
        story.read(SCRIPT, 512).work(MS).leave("uboot.command")
    if searches:
        story.work(2 * MS)
    story.enter("uboot.command", text=b"source 0x100").work(MS)
    story.enter("uboot.command", text=b"load mmc 0:1 0x200 zImage")
    story.read(KERNEL, 1_000_000).work(4 * MS).leave("uboot.command")
    story.enter("uboot.command", text=b"bootz 0x200").work(9 * MS).leave("uboot.command").leave(
        "uboot.command"
    )
    if searches:
        story.leave("uboot.command")
    return story.hook("kernel.image").work(20 * MS).hook("kernel.start").work(50 * MS).sample()


def test_a_script_that_is_named_is_still_read() -> None:
    found = predicted(seen(scripted(searches=True)), "script-by-name")
    assert found.predicted_ns == seen(scripted(searches=False)).timeline.total_ns


def test_where_no_script_is_read_nothing_can_name_it() -> None:
    with pytest.raises(UserError, match="read no script"):
        predicted(seen(scripted(searches=True, reads=False)), "script-by-name")


def test_a_menu_waits_as_long_as_its_script_says() -> None:
    story = Story().work(6000 * MS).read(KERNEL, 1000).work(MS)
    story.hook("kernel.start").work(MS).sample()

    def saving_ns(script: str) -> int:
        plain = run()
        system = msgspec.structs.replace(plain.system, settings={"uboot.script": script})
        board = msgspec.structs.replace(plain.board, loader="grub")
        fields = {name: getattr(plain, name) for name in plain.__struct_fields__}
        evidence = evidence_of(story.records, RunInfo(**{**fields, "system": system, "board": board}))
        return predicted(evidence, "bootdelay=0").saving_ns

    assert saving_ns("set default=0\nset timeout=5\n") == 5000 * MS
    assert saving_ns("set timeout=0\n") == 0


def from_nand(*, uboot: bool = True) -> Story:
    """A boot from a chip of which no event is seen: the first stage reads U-Boot, U-Boot the kernel, by its
    commands; without U-Boot the first stage takes as long for the kernel."""
    story = Story().hook("spl.start").work(7 * MS)
    if uboot:
        story.hook("uboot.start").work(40 * MS)
        story.enter("uboot.command", text=b"setenv bootargs 42000000").work(MS).leave("uboot.command")
        story.enter("uboot.command", text=b"run fetch")
        story.enter("uboot.command", text=b"nand read 0x42000000 0x280000 0x2a0000")
    story.work(30 * MS)
    if uboot:
        story.leave("uboot.command").leave("uboot.command").work(3 * MS)
        story.enter("uboot.command", text=b"nand read 0x43000000 0x200000 0x8000")
    story.work(2 * MS)
    if uboot:
        story.leave("uboot.command").enter("uboot.command", text=b"nand read 0x45000000 0 0x10000")
        story.work(5 * MS).leave("uboot.command")
        story.enter("uboot.command", text=b"bootz 42000000 - 43000000").work(9 * MS).leave("uboot.command")
    return story.hook("kernel.image").work(20 * MS).hook("kernel.start").work(50 * MS).sample()


def test_in_falcon_mode_what_commands_fetched_is_fetched_still() -> None:
    """The kernel and its device tree, by the addresses that the boot names; what goes elsewhere is not."""
    found = predicted(seen(from_nand()), "falcon")
    assert found.predicted_ns == seen(from_nand(uboot=False)).timeline.total_ns + MS
    assert "the SPL reads U-Boot all the same" in found.assumptions


def test_without_a_command_that_boots_nothing_is_known_to_be_fetched() -> None:
    story = Story().hook("spl.start").hook("uboot.start").work(MS)
    story.enter("uboot.command", text=b"nand read 0x42000000 0 1000").work(MS).leave("uboot.command")
    story.hook("kernel.start").work(MS).sample()
    with pytest.raises(UserError, match="no U-Boot loads the kernel"):
        predicted(seen(story), "falcon")


def test_a_silent_first_stage_leaves_the_boot_loader_its_lines() -> None:
    def story(*, text: bool) -> Story:
        made = Story().hook("spl.start")
        if text:
            made.typed(b"SPL says a lot, more than the port can hold of it\r\n", 100)
        made.work(3 * MS).hook("uboot.start")
        made.typed(b"U-Boot says a lot, more than the port can hold of it\r\n", 100).work(10 * MS)
        return made.read(KERNEL, 1000).work(MS).hook("kernel.image").work(MS).hook("kernel.start").sample()

    found = predicted(seen(story(text=True)), "first-stage-silent")
    assert found.saving_ns > 0
    assert found.predicted_ns == seen(story(text=False)).timeline.total_ns
