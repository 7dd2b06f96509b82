# SPDX-License-Identifier: Apache-2.0
"""Predictions of parts left out or made smaller: boot loader, kernel, programs; on boots made by hand."""

from __future__ import annotations

import pytest

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.whatif import Prediction, predict
from bootscope.analysis.whatif_kernel import compressors
from bootscope.capture import objects
from bootscope.capture.record import Extent, RunInfo
from bootscope.capture.stream import StackSample
from bootscope.core.errors import UserError
from bootscope.image.symbols import Symbols
from bootscope.techniques.errors import error_percent, median_error_percent
from bootscope.techniques.model import Measured

from .scenes import Story, evidence_of, run_of

MS = 1_000_000
UBOOT, KERNEL, TREE, SCRIPT = 64, 4096, 9000, 9500
CALIBRATE, OTHER = 0xC0100000, 0xC0200000
TABLES = {
    "kernel": Symbols(
        [(CALIBRATE, "calibrate_delay"), (OTHER, "other.isra.0"), (0xC0300000, "memmap_init"),
         (0xC0400000, "free_highpages"), (0xC0500000, "end")]
    )
}  # fmt: skip
MAP = b"c0000000 T _text\nc0100000 T calibrate_delay\nc00f4240 D _edata\n"
"""A kernel of 1,000,000 bytes."""
GZIP = b"CONFIG_KERNEL_GZIP=y\n"


def extents() -> tuple[Extent, ...]:
    return (
        Extent(name="U-Boot", sector=UBOOT, sectors=1000),
        Extent(name="kernel", sector=KERNEL, sectors=4000),
        Extent(name="device tree", sector=TREE, sectors=40),
        Extent(name="boot script", sector=SCRIPT, sectors=1),
    )


def run() -> RunInfo:
    return run_of(extents=extents())


def seen(story: Story, config: bytes = GZIP, scripts: dict[str, str] | None = None) -> Evidence:
    kept = {objects.KERNEL_SYMBOLS: MAP, objects.KERNEL_CONFIG: config}
    return evidence_of(story.records, run(), TABLES, kept=kept, scripts=scripts)


def predicted(evidence: Evidence, *changes: str) -> Prediction:
    return predict(evidence, Stacks(evidence), changes)


def total_ns(story: Story) -> int:
    return seen(story).timeline.total_ns


# ---- boot loaders ----


def loaders(*, uboot: bool = True, script: bool = True, kernel_bytes: int = 1_000_000) -> Story:
    """A boot up to the kernel; U-Boot, or its looking for a script, can be left out."""
    story = Story().hook("spl.start").typed(b"SPL\r\n", 100).work(3 * MS)
    if uboot:
        story.read(UBOOT, 500_000).work(2 * MS).hook("uboot.start").typed(b"U-Boot\r\n", 100).work(40 * MS)
    if uboot and script:
        story.enter("uboot.command", text=b"run distro_bootcmd").work(5 * MS)
        story.read(SCRIPT, 512).work(1 * MS).enter("uboot.command", text=b"source 0x100").work(1 * MS)
    if uboot:
        story.enter("uboot.command", text=b"load mmc 0:1 0x200 zImage")
    story.read(KERNEL, kernel_bytes).work(4 * MS).read(TREE, 20_000).work(1 * MS)
    if uboot:
        # What comes long after a read is not the fetching of what it brought.
        story.leave("uboot.command").enter("uboot.command", text=b"bootz 0x200")
        story.work(29 * MS).leave("uboot.command")
    if uboot and script:
        story.leave("uboot.command").leave("uboot.command")
    return story.hook("kernel.image").work(20 * MS).hook("kernel.start").work(50 * MS).sample()


def test_in_falcon_mode_u_boot_is_neither_read_nor_run() -> None:
    """What U-Boot did after reading is gone, but for the 1.4 ms in which 20,000 bytes are fetched."""
    found = predicted(seen(loaders()), "falcon")
    assert found.predicted_ns == total_ns(loaders(uboot=False)) + 400_000
    assert any("SPL" in said for said in found.assumptions)


def test_without_u_boot_there_is_no_falcon_mode_to_go_to() -> None:
    with pytest.raises(UserError, match="no U-Boot"):
        predicted(seen(Story().hook("kernel.start").work(MS).sample()), "falcon")


def test_a_flat_boot_command_saves_what_comes_before_the_script() -> None:
    found = predicted(seen(loaders()), "flat-boot")
    assert found.predicted_ns == total_ns(loaders(script=False))


def test_a_boot_command_without_a_script_is_flat_already() -> None:
    with pytest.raises(UserError, match="no script"):
        predicted(seen(loaders(script=False)), "flat-boot")


def test_silent_loaders_leave_the_kernels_lines_alone() -> None:
    def story(*, text: bool) -> Story:
        made = Story().hook("spl.start")
        if text:
            made.typed(b"SPL says a lot, more than the port can hold of it\r\n", 100)
        made.work(3 * MS).hook("uboot.start").work(10 * MS).read(KERNEL, 1000).work(MS)
        made.hook("kernel.image").work(MS).hook("kernel.start").work(MS)
        return made.typed(b"[    0.000000] the kernel says a lot, line by line\r\n", 100).work(MS).sample()

    found = predicted(seen(story(text=True)), "loader-silent")
    assert found.saving_ns > 0
    assert found.predicted_ns == total_ns(story(text=False))


def test_what_lies_nowhere_on_the_card_need_not_be_read() -> None:
    def story(*, more: bool) -> Story:
        made = Story().hook("uboot.start").work(MS).read(KERNEL, 2_000_000).work(3 * MS)
        if more:
            made.read(20_000, 1_000_000).work(2 * MS)
        return made.read(TREE, 20_000).work(MS).hook("kernel.start").work(MS).sample()

    assert predicted(seen(story(more=True)), "exact-read").predicted_ns == total_ns(story(more=False))
    assert predicted(seen(story(more=False)), "exact-read").saving_ns == 0


def test_a_read_that_goes_too_far_takes_as_much_less() -> None:
    """The device tree has 40 sectors; of 160 three quarters are in vain, of the 1 ms to fetch them too."""
    story = Story().hook("uboot.start").work(MS).read(KERNEL, 512).work(MS).read(TREE, 160 * 512).work(MS)
    found = predicted(seen(story.hook("kernel.start").work(MS).sample()), "exact-read")
    assert found.saving_ns == (160 * 512 + MS) * 3 // 4
    assert "61440 bytes were read from unused areas" in found.assumptions


# ---- the kernel's image ----


def test_a_smaller_kernel_is_read_and_unpacked_in_less_time() -> None:
    """A tenth of the bytes: of 1 ms for the card, 4 ms after the read, 20 ms of unpacking."""
    assert predicted(seen(loaders()), "kernel-bytes=-100000").saving_ns == 100_000 + 400_000 + 2 * MS + 50_000
    larger = predicted(seen(loaders()), "kernel-bytes=+100k").saving_ns
    assert larger == -predicted(seen(loaders()), "kernel-bytes=-100k").saving_ns


def test_another_compressor_is_counted_by_its_size_and_its_time() -> None:
    table = compressors()
    gzip, lz4 = table["gzip"], table["lz4"]
    assert gzip.unpack_ps
    assert lz4.unpack_ps
    found = predicted(seen(loaders()), "compression=lz4")
    packed = lz4.packed_ppm.value / gzip.packed_ppm.value
    reading_ns = 500_000 + 1_000_000 + 4 * MS
    expected = reading_ns * (1 - packed) + 20 * MS * (1 - lz4.unpack_ps.value / gzip.unpack_ps.value)
    assert found.saving_ns == pytest.approx(expected, rel=1e-6)
    assert predicted(seen(loaders()), "compression=gzip").saving_ns == 0


def test_an_unpacked_kernel_is_not_unpacked() -> None:
    found = predicted(seen(loaders()), "compression=none")
    larger = 1_000_000 / compressors()["gzip"].packed_ppm.value
    assert found.saving_ns == pytest.approx(20 * MS - (larger - 1) * 5_500_000, rel=1e-6)


@pytest.mark.parametrize("config", [b"", b"CONFIG_KERNEL_ZSTD=y\n"])
def test_a_kernel_whose_packing_is_not_known_cannot_be_packed_otherwise(config: bytes) -> None:
    with pytest.raises(UserError, match="does not show the compression of its kernel"):
        predicted(seen(loaders(), config), "compression=lz4")


def test_half_the_kernel_on_half_the_card_is_a_quarter_of_the_time_on_the_card() -> None:
    slower = predicted(seen(loaders()), "card=0.5x", "kernel-bytes=-500k")
    other = predicted(seen(loaders(kernel_bytes=1_000_000)), "card=0.5x")
    cpu_ns = 2 * MS + 10 * MS
    assert other.predicted_ns - slower.predicted_ns == cpu_ns + (2 * 500_000 + 2 * 1_000_000) // 2


# ---- functions and memory ----


def kernel_at_work() -> Story:
    """Ten ms of kernel, a sample each: four in one function, two in another."""
    story = Story().hook("kernel.start")
    for number in range(10):
        pc = CALIBRATE if number < 4 else OTHER if number < 6 else 0xC0300000 if number < 8 else 0xC0400000
        story.work(MS).sample(pc + 16)
    return story


@pytest.mark.parametrize(("change", "saved_ms"), [
    ("function:calibrate_delay=0", 4), ("function:calibrate_delay=0.5", 2), ("function:other=0", 2),
    ("function:calibrate_delay=1", 0),
])  # fmt: skip
def test_a_function_takes_a_share_of_its_samples(change: str, saved_ms: int) -> None:
    assert predicted(seen(kernel_at_work()), change).saving_ns == saved_ms * MS


def test_functions_are_counted_once_however_often_they_are_named() -> None:
    both = predicted(seen(kernel_at_work()), "function:calibrate_delay=0.5", "function:calibrate_delay=0")
    assert both.saving_ns == 4 * MS


MEMORY = (
    b"[    0.062506] Memory: 924388K/1048576K available (8192K kernel code, 955K rwdata, 262144K highmem)\r\n"
)


def test_less_memory_is_set_up_in_less_time() -> None:
    """Half of all pages in one function, none of the high ones in the other."""
    story = kernel_at_work().typed(MEMORY, 0).work(1).sample(0xC04FFFF0)
    phase_ns = seen(story).timeline.phases[-1].cpu_ns
    one = phase_ns // 11
    found = predicted(seen(story), "memory=512M").saving_ns
    assert found == 2 * (one // 2) + 3 * one
    assert predicted(seen(story), "memory=1G").saving_ns == 0


def test_memory_that_no_line_tells_of_cannot_be_less() -> None:
    with pytest.raises(UserError, match="how much memory"):
        predicted(seen(kernel_at_work()), "memory=512M")


# ---- programs ----

RCS, FIRST, SECOND = b"/etc/init.d/rcS", b"/etc/init.d/S01a", b"/etc/init.d/S02b"
SCRIPTS = {path.decode(): "#!/bin/sh\n" for path in (RCS, FIRST, SECOND)}


def scripts(*, tools: bool = True) -> Story:
    """rcS starts two scripts; the first starts two programs."""
    story = Story().hook("kernel.start").work(MS).hook("kernel.init", text=b"/init").switch(1)
    story.exec(RCS).work(2 * MS).fork(2).sleep(2).exec(FIRST, b"start").work(3 * MS)
    for pid in (4, 5) if tools else ():
        story.fork(pid).sleep(pid).work(MS).exec(b"/bin/tool").work(5 * MS).wake(2).exit()
        story.switch(2, 0x80)
    story.work(MS).wake(1).exit().switch(1, 0x80)
    story.fork(3).sleep(3).exec(SECOND, b"start").work(4 * MS).wake(1).exit().switch(1, 0x80)
    return story.work(7 * MS).sample()


def test_a_script_that_does_all_itself_starts_nothing() -> None:
    found = predicted(seen(scripts(), scripts=SCRIPTS), "builtins:/etc/init.d/S01a")
    assert found.predicted_ns == total_ns(scripts(tools=False))


def test_what_a_shell_spends_on_starting_programs_goes_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four samples after the script's start two are of its fork, and of two ms of a stranger none goes."""
    story = Story().hook("kernel.start").work(MS).hook("kernel.init", text=b"/init").switch(1)
    story.exec(RCS).work(MS).fork(2).sleep(2).exec(FIRST, b"start")
    for pc in (CALIBRATE, CALIBRATE, OTHER, OTHER):
        story.work(MS).sample(pc).stack(pc)
    story.fork(4).sleep(4).exec(b"/bin/tool").work(5 * MS).wake(2).exit().switch(2, 0x80)
    story.wake(1).exit().switch(1, 0x80).work(MS).sample(CALIBRATE).stack(CALIBRATE).work(MS).sample(OTHER)
    evidence = seen(story, scripts=SCRIPTS)

    def functions(self: Stacks, record: StackSample, phase: str) -> tuple[list[str], int]:
        return ["copy_process" if record.pc == CALIBRATE else "other"], 0

    monkeypatch.setattr(Stacks, "functions", functions)
    monkeypatch.setattr(type(evidence.names), "spans", lambda self, name: [(CALIBRATE, OTHER)])
    saved = predicted(evidence, "builtins:/etc/init.d/S01a").saving_ns
    phase = evidence.timeline.phases[-1]
    assert saved == 5 * MS + 2 * (phase.cpu_ns // 5)


def test_more_programs_take_as_long_as_the_briefest() -> None:
    found = predicted(seen(scripts(), scripts=SCRIPTS), "programs=3")
    assert found.saving_ns == -3 * 6 * MS
    with pytest.raises(UserError, match="no script started"):
        predicted(seen(scripts()), "programs=3")


def test_one_shell_for_all_scripts_saves_the_others() -> None:
    """Three ms before the first program, one after the last, and a script that starts none."""
    found = predicted(seen(scripts(), scripts=SCRIPTS), "one-shell")
    assert found.saving_ns == (3 + 1 + 4) * MS
    assert "2 scripts need no separate shell" in found.assumptions


def test_several_programs_can_be_named_by_a_pattern() -> None:
    every = predicted(seen(scripts(), scripts=SCRIPTS), "later:/etc/init.d/S*").saving_ns
    each = [predicted(seen(scripts(), scripts=SCRIPTS), f"later:{p.decode()}") for p in (FIRST, SECOND)]
    assert every == sum(one.saving_ns for one in each) == (3 + 12 + 1 + 4) * MS


def one_after_the_other() -> Story:
    """rcS starts two scripts; the boot ends in the second one."""
    story = Story().hook("kernel.start").work(MS).hook("kernel.init", text=b"/init").switch(1)
    story.exec(RCS).work(2 * MS).fork(2).sleep(2).exec(FIRST, b"start").work(16 * MS).wake(1).exit()
    return story.switch(1, 0x80).work(MS).fork(3).sleep(3).exec(SECOND, b"start").work(4 * MS).sample()


def test_programs_that_start_together_share_the_cpu() -> None:
    """The second script needs 4 ms: the first one, of 16, has had 4 by then."""
    found = predicted(seen(one_after_the_other(), scripts=SCRIPTS), "together:/etc/init.d/S*")
    assert found.saving_ns == 12 * MS
    assert "2 programs share the CPU evenly and do not wait for each other" in found.assumptions


def test_what_is_to_start_together_ends_with_what_matters() -> None:
    with pytest.raises(UserError, match="does not end in the last"):
        predicted(seen(scripts(), scripts=SCRIPTS), "together:/etc/init.d/S*")


@pytest.mark.parametrize("change", ["one-shell", "applets"])
def test_where_no_script_runs_nothing_is_saved_on_scripts(change: str) -> None:
    with pytest.raises(UserError, match="no script"):
        predicted(seen(scripts()), change)


@pytest.mark.parametrize("change", [
    "compression=", "compression=brotli", "kernel-bytes=", "kernel-bytes=many", "kernel-bytes=\u0663",
    "memory=", "memory=0", "memory=512X", "function:", "function:x", "function:nowhere=0",
    "function:calibrate_delay=2", "function:calibrate_delay=-1", "builtins:", "builtins:nothing", "falcon=1",
    "programs=", "programs=-1", "programs=\u0663",
])  # fmt: skip
def test_what_makes_no_sense_is_refused_with_a_hint(change: str) -> None:
    with pytest.raises(UserError) as caught:
        predicted(seen(kernel_at_work()), change)
    assert caught.value.message.isprintable()


# ---- how far off ----


def row(predicted_ns: int | None, saving_ns: int | None) -> Measured:
    return Measured(technique="x", date="2026-11-21", predicted_ns=predicted_ns, saving_ns=saving_ns)


def test_errors_are_shares_of_what_was_saved() -> None:
    assert error_percent(row(110, 100)) == 10
    assert error_percent(row(-110, -100)) == -10
    assert error_percent(row(None, 100)) is None
    assert error_percent(row(5, 0)) is None
    found = median_error_percent([row(110, 100), row(50, 100), row(None, 7), row(-99, -100)])
    assert found == (10, 3)
    assert median_error_percent([row(None, 7)]) is None
    rows = [row(110, 100), row(None, 7), row(105, 100), row(5, 0)]
    assert median_error_percent(rows, strict=True) == (10.0, 3)
    assert median_error_percent([row(None, 0)], strict=True) is None
