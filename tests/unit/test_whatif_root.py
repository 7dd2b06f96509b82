# SPDX-License-Identifier: Apache-2.0
"""Predictions of another root file system, of the kernel's form for U-Boot, and of fewer terminals."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest

from bootscope.analysis.critical import Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.whatif import Prediction, predict
from bootscope.analysis.whatif_image import RATES, LoaderRates
from bootscope.analysis.whatif_plan import Ground, Plan
from bootscope.analysis.whatif_root import RootReads, kind_of, lines_of, root_kinds, root_reads
from bootscope.analysis.whatif_terminals import OTHERS, fewer_terminals, terminals
from bootscope.capture import objects
from bootscope.capture.record import Extent, RunInfo
from bootscope.core.errors import UserError
from bootscope.core.settings import load
from bootscope.image.symbols import Symbols

from .scenes import Story, evidence_of, run_of

MS = 1_000_000
ROOT, KERNEL, TREE = 10_000, 4096, 9000
PTY = 0xC0100000
TABLES = {"kernel": Symbols([(PTY, "pty_init"), (0xC0200000, "end")])}
BLOCKS = "8\t256\t/bin/busybox\n400\t2\t/etc/inittab\n"
OBJECTS = b"c0100000 1000000 .text every.o\n"
FIFO_NS = 16 * 86_805
"""What a port can hold goes out while the CPU works on."""
LATENCY_NS = 500_000
"""Of the card of these stories, which reads a byte a nanosecond."""


def run(**settings: str) -> RunInfo:
    extents = (
        Extent(name="kernel", sector=KERNEL, sectors=1000),
        Extent(name="device tree", sector=TREE, sectors=40),
        Extent(name="root file system", sector=ROOT, sectors=100_000),
    )
    made = run_of(extents=extents)
    fields = {name: getattr(made, name) for name in made.__struct_fields__}
    return RunInfo(**{**fields, "system": msgspec.structs.replace(made.system, settings=settings)})


def seen(story: Story, **settings: str) -> Evidence:
    kept = {objects.KERNEL_OBJECTS: OBJECTS}
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return evidence_of(story.records, run(**named), TABLES, BLOCKS, kept=kept)


def predicted(evidence: Evidence, *changes: str) -> Prediction:
    return predict(evidence, Stacks(evidence), changes)


# ---- the root file system ----


def from_root() -> Story:
    """128 kB of a program are read in two pieces, and a small file."""
    story = Story().hook("uboot.start").read(KERNEL, 500_000).work(MS).hook("kernel.start").work(MS)
    story.typed(b"[    0.702839] EXT4-fs (mmcblk0p2): mounted filesystem\r\n", 100)
    story.read(ROOT + 8, 65536).work(MS).read(ROOT + 8 + 128, 65536).work(MS)
    return story.hook("kernel.init", text=b"/init").read(ROOT + 400, 1024).work(MS).sample()


def test_large_files_are_told_from_all_else() -> None:
    found = root_reads(seen(from_root()))
    assert found == RootReads(files_bytes=131072, files_commands=2, own_bytes=1024, own_commands=1)


def test_another_root_file_system_is_counted_by_the_table() -> None:
    """From one that reads each small file by itself to one that gathers them."""
    ext4, other = root_kinds()["ext4"], root_kinds()["squashfs-lz4hc"]
    evidence = seen(from_root(), rootfs_filesystem="ext4")
    found = predicted(evidence, "rootfs=squashfs-lz4hc")
    share = Fraction(other.files_ppm, 1_000_000)
    bytes_ns = 131072 - int(131072 * share) + 1024 - other.own_bytes
    commands = 2 - int(Fraction(2 * other.commands_ppm, 1_000_000)) + 1 - other.own_commands
    code_ns = ext4.mount_ns - other.mount_ns + 131072 * (ext4.use_ps - other.use_ps) // 1000
    smaller = Fraction(ext4.code_bytes - other.code_bytes, 0x1000000)
    load_ns = (LATENCY_NS + 500_000 + MS) * smaller
    said_ns = found.saving_ns - (bytes_ns + commands * LATENCY_NS + code_ns + int(load_ns))
    # What is left is the console: one line of ext4 less, a shorter one of SquashFS instead.
    letter_ns = evidence.timeline.phases[-2].console_ns // 56
    assert abs(said_ns - (56 - other.letters) * letter_ns) < 0.2 * MS
    assert any("are read in" in text for text in found.assumptions)


def test_the_same_kind_changes_nothing_but_by_its_letters() -> None:
    found = predicted(seen(from_root(), rootfs_filesystem="ext4"), "rootfs=ext4")
    assert abs(found.saving_ns) < 20 * MS


def test_larger_programs_are_read_in_commands_as_long_as_todays() -> None:
    evidence = seen(from_root())
    reads = root_reads(evidence)
    more = 2 * reads.files_bytes
    found = predicted(evidence, f"root-bytes={more}")
    assert found.saving_ns == -(more + 2 * reads.files_commands * LATENCY_NS)
    smaller = predicted(evidence, f"root-bytes=-{reads.files_bytes}")
    assert smaller.saving_ns == reads.files_bytes + reads.files_commands * LATENCY_NS


@pytest.mark.parametrize("value", ["-900M", "much", "1e6"])
def test_no_more_than_all_can_be_left_unread(value: str) -> None:
    with pytest.raises(UserError, match=r"large files|number of bytes"):
        predicted(seen(from_root()), f"root-bytes={value}")


@pytest.mark.parametrize("changes", [
    ("rootfs=squashfs-lz4hc", "card=0.25x"), ("uimage", "kernel-bytes=-8388608"), ("uimage", "quiet"),
    ("rootfs=xfs", "no-console"), ("rootfs=xfs", "console=921600"), ("rootfs=erofs-none", "uimage"),
])  # fmt: skip
def test_the_order_of_changes_makes_no_difference(changes: tuple[str, str]) -> None:
    evidence = seen(from_root(), rootfs_filesystem="ext4")
    there, back = (predicted(evidence, *order).saving_ns for order in (changes, changes[::-1]))
    assert there == back


def test_what_is_not_printed_costs_nothing() -> None:
    """A kernel that is quiet is so with another file system too."""
    story = Story().hook("uboot.start").typed(b"U-Boot\r\n", 100).read(KERNEL, 500).work(MS)
    story.hook("kernel.start").read(ROOT + 8, 65536).work(MS).read(ROOT + 400, 1024).work(MS)
    evidence = seen(story.sample(), rootfs_filesystem="ext4")
    silent = predicted(evidence, "rootfs=btrfs", "no-console").saving_ns
    assert (
        silent - predicted(evidence, "no-console").saving_ns == predicted(evidence, "rootfs=btrfs").saving_ns
    )


def test_reads_that_do_not_happen_are_not_saved_once_more() -> None:
    story = from_root().switch(1).exec(b"/bin/late").read(ROOT + 16, 65536).work(MS).exit()
    evidence = seen(story.switch(0, 0x80).work(MS).sample(), rootfs_filesystem="ext4")
    assert "instead of 0.20 MB in 4" in " ".join(predicted(evidence, "rootfs=xfs").assumptions)
    both = predicted(evidence, "rootfs=xfs", "later:/bin/late")
    assert "instead of 0.13 MB in 3" in " ".join(both.assumptions)


def test_without_a_map_of_its_blocks_a_root_file_system_cannot_be_another_one() -> None:
    records = from_root().records
    evidence = evidence_of(
        records, run(**{"rootfs.filesystem": "ext4"}), kept={objects.KERNEL_OBJECTS: OBJECTS}
    )
    with pytest.raises(UserError, match="which files were read"):
        predicted(evidence, "rootfs=xfs")


def test_lines_of_a_file_system_are_told_from_those_of_others() -> None:
    story = Story().hook("kernel.start").work(MS)
    for text in (b"EXT4-fs (mmcblk0p2): mounted", b"extcon-usb-gpio: probed", b"external abort"):
        story.typed(b"[    0.702839] " + text + b"\r\n", 100)
    evidence = seen(story.work(MS).sample())
    said = lines_of(Ground(evidence, Stacks(evidence)).lines, "ext2")
    assert [line.text[15:23] for line in said] == ["EXT4-fs "]


@pytest.mark.parametrize(("filesystem", "change"), [
    ("ext4", "rootfs="), ("ext4", "rootfs=minix"), ("", "rootfs=ext4"), ("ubifs", "rootfs=ext4"),
])  # fmt: skip
def test_kinds_that_nobody_measured_are_refused(filesystem: str, change: str) -> None:
    with pytest.raises(UserError):
        predicted(seen(from_root(), rootfs_filesystem=filesystem), change)


def test_two_root_file_systems_contradict_each_other() -> None:
    with pytest.raises(UserError, match="exclude each other"):
        predicted(seen(from_root(), rootfs_filesystem="ext4"), "rootfs=ext4", "rootfs=xfs")


@pytest.mark.parametrize(("filesystem", "options", "kind"), [
    ("ext4", ["-N", "1024"], "ext4"),
    ("squashfs", ["-comp", "lz4", "-Xhc"], "squashfs-lz4hc"),
    ("squashfs", ["-comp", "xz"], "squashfs-xz"),
    ("squashfs", ["-comp"], "squashfs-gzip"),
    ("squashfs", [], "squashfs-gzip"),
    ("squashfs", ["-noI", "-noD"], "squashfs-none"),
    ("erofs", ["-zlz4hc,9"], "erofs-lz4hc"),
    ("erofs", [], "erofs-none"),
])  # fmt: skip
def test_kinds_are_called_by_file_system_and_compressor(
    filesystem: str, options: list[str], kind: str
) -> None:
    assert kind_of(filesystem, options) == kind


def test_the_table_has_ext4_beside_which_all_others_are_measured() -> None:
    ext4 = root_kinds()["ext4"]
    assert (ext4.files_ppm, ext4.commands_ppm) == (1_000_000, 1_000_000)
    assert {"squashfs-gzip", "erofs-lz4", "f2fs", "btrfs", "xfs", "ext2", "ext3"} <= set(root_kinds())
    assert all(kind.source and kind.code_bytes for kind in root_kinds().values())


# ---- the kernel as U-Boot gets it ----

HEAD = b"## Booting kernel from Legacy Image at 42000000 ...\r\n   Image Name:   Linux\r\n"
TREE_LINES = b"## Flattened Device Tree blob at 43000000\r\nWorking FDT set to 43000000\r\n"


def loading(*, headed: bool = False, tree: bool = True) -> Story:
    story = Story().hook("uboot.start").work(MS).enter("uboot.command", text=b"load mmc 0:1 0x42 zImage")
    story.read(KERNEL, 500_000).work(MS).leave("uboot.command")
    if tree:
        story.enter("uboot.command", text=b"load mmc 0:1 0x43 board.dtb").read(TREE, 20_000).work(MS)
        story.leave("uboot.command")
    story.typed(HEAD if headed else b"Kernel image @ 0x42000000 [ 0x000000 - 0x54a300 ]\r\n", 100)
    if tree:
        story.typed(TREE_LINES, 100).work(MS)
    return story.typed(b"Starting kernel ...\r\n", 100).hook("kernel.start").work(MS).sample()


def test_a_header_is_printed_and_checked() -> None:
    evidence = seen(loading())
    found = predicted(evidence, "uimage")
    checked_ns = 1000 * 512 * load(RATES, LoaderRates).checksum_ps.value // 1000
    lines = Ground(evidence, Stacks(evidence)).lines
    said_ns = 250 * sum(line.cost_ns for line in lines) // sum(line.bytes for line in lines)
    assert "U-Boot prints 250 more characters" in found.assumptions
    assert -found.saving_ns == checked_ns + said_ns


def test_without_a_header_its_lines_are_gone_and_one_comes() -> None:
    with_header = seen(loading(headed=True))
    found = predicted(with_header, "bootz")
    assert found.predicted_ns == pytest.approx(seen(loading()).timeline.total_ns, abs=MS)
    with pytest.raises(UserError, match="with a header"):
        predicted(seen(loading()), "bootz")


def test_a_header_that_is_there_is_checked_for_what_is_more() -> None:
    evidence = seen(loading(headed=True))
    assert predicted(evidence, "uimage").saving_ns == 0
    smaller = predicted(evidence, "uimage", "kernel-bytes=-8388608").saving_ns
    checked_ns = 256_000 * load(RATES, LoaderRates).checksum_ps.value // 1000
    assert smaller == predicted(evidence, "kernel-bytes=-8388608").saving_ns + checked_ns
    with pytest.raises(UserError, match="exclude each other"):
        predicted(evidence, "bootz", "uimage")
    with pytest.raises(UserError, match="how the kernel was read"):
        predicted(seen(Story().hook("kernel.start").work(MS).sample()), "uimage")


def test_only_pieces_that_are_read_are_checked() -> None:
    """The kernel lies in two pieces, and once more where nobody reads it."""
    pieces = [
        Extent(name="kernel", sector=at, sectors=n) for at, n in ((KERNEL, 600), (5000, 400), (7000, 1000))
    ]
    story = Story().hook("uboot.start").work(MS).read(KERNEL, 600 * 512).work(MS).read(5000, 400 * 512)
    records = story.work(MS).hook("kernel.start").work(MS).sample().records
    found = predicted(evidence_of(records, run_of(extents=pieces)), "uimage")
    assert found.assumptions[0].startswith("512000 bytes are checked")


def test_with_the_tree_appended_a_kernel_with_a_header_is_moved_all_the_same() -> None:
    def story(*, move_ms: int) -> Story:
        made = (
            Story().hook("uboot.start").work(MS).enter("uboot.command", text=b"load mmc 0:1 0x43 board.dtb")
        )
        made.read(KERNEL, 500_000).work(MS).read(TREE, 20_000).work(MS).leave("uboot.command")
        made.typed(HEAD + TREE_LINES, 100).typed(b"   Loading Kernel Image to 41000000\r\n", 100)
        made.work(move_ms * MS).typed(b"   Loading Device Tree to 49ff7000\r\n", 100)
        return made.typed(b"Starting kernel ...\r\n", 100).hook("kernel.start").work(MS).sample()

    saved = [
        predicted(seen(story(move_ms=ms)), "appended-tree:load mmc 0:1 0x43 board.dtb").saving_ns
        for ms in (5, 65)
    ]
    assert saved[0] == pytest.approx(saved[1], abs=FIFO_NS)


def test_an_appended_tree_is_not_read_or_prepared_but_comes_with_the_kernel() -> None:
    found = predicted(seen(loading()), "appended-tree:load mmc 0:1 0x43 board.dtb")
    without = seen(loading(tree=False)).timeline.total_ns
    read_ns = (LATENCY_NS + 500_000 + MS) * 40 // 1000  # the tree's 40 sectors, with the kernel's 1000
    assert found.predicted_ns == pytest.approx(without + read_ns, abs=FIFO_NS)
    with pytest.raises(UserError, match="prepared the device tree"):
        predicted(seen(loading(tree=False)), "appended-tree:load mmc 0:1 0x42 zImage")


def test_a_header_is_checked_also_where_nothing_is_printed() -> None:
    story = Story().hook("uboot.start").work(MS).read(KERNEL, 500).work(MS).hook("kernel.start").work(MS)
    found = predicted(seen(story.sample()), "uimage")
    assert found.saving_ns == -(512_000 * load(RATES, LoaderRates).checksum_ps.value // 1000)
    assert not any("characters" in text for text in found.assumptions)


@pytest.mark.parametrize("change", ["bootz", "appended-tree:x"])
def test_a_silent_loader_tells_nothing_of_the_kernels_form(change: str) -> None:
    story = Story().hook("uboot.start").work(MS).read(KERNEL, 500).work(MS).hook("kernel.start").work(MS)
    with pytest.raises(UserError, match="prints nothing"):
        predicted(seen(story.sample()), change)


# ---- terminals ----


def with_mdev() -> Story:
    """The kernel makes terminals for 5 ms, with kdevtmpfs at work in between; mdev looks for 76 ms."""
    story = Story().hook("kernel.start").work(MS).switch(1, name=b"swapper/0")
    story.fork(2, b"kdevtmpfs", kernel=True).switch(2, name=b"kdevtmpfs", kernel=True).sleep(1, b"swapper/0")
    story.enter("initcall", PTY).work(2 * MS).wake(2).sleep(2, b"kdevtmpfs").work(MS).wake(1)
    story.sleep(1, b"swapper/0").work(2 * MS).leave("initcall")
    story.hook("kernel.init", text=b"/init").exec(b"/sbin/init").work(MS).fork(3).sleep(3)
    story.exec(b"/sbin/mdev", b"-s").work(76 * MS).wake(1).exit().switch(1, 0x80)
    return story.work(MS).sample()


CONFIG = {"LEGACY_PTYS": "y", "LEGACY_PTY_COUNT": "256", "VT": "y"}


def test_what_mdev_does_not_do_is_not_saved_once_more() -> None:
    evidence = seen(with_mdev())
    ground = Ground(evidence, Stacks(evidence))

    def add(plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
        fewer_terminals(plan, evidence, steps, CONFIG, {"LEGACY_PTYS", "VT"})

    without = predict(evidence, ground.stacks, ["later:/sbin/mdev"], [add], ground).saving_ns
    assert without == (5 + 76) * MS


def test_terminals_are_told_by_the_configuration() -> None:
    assert terminals(CONFIG, {"LEGACY_PTYS", "VT"}) == (512, 64)
    assert terminals({**CONFIG, "LEGACY_PTY_COUNT": "16"}, {"LEGACY_PTYS"}) == (32, 0)
    for odd in ("", "9" * 5000, "many", "-3"):
        assert terminals({**CONFIG, "LEGACY_PTY_COUNT": odd}, {"LEGACY_PTYS"}) == (512, 0)
    assert terminals({"VT": "n"}, {"VT", "LEGACY_PTYS"}) == (0, 0)


def test_terminals_that_are_not_made_are_not_looked_at() -> None:
    evidence = seen(with_mdev())
    ground = Ground(evidence, Stacks(evidence))
    plan = Plan(evidence.run.board, ground)
    fewer_terminals(plan, evidence, ground.steps, CONFIG, {"LEGACY_PTYS", "VT"})
    fewer_terminals(plan, evidence, ground.steps, CONFIG, {"LEGACY_PTYS"})  # counts once
    for finish in plan.last:
        finish()
    made_ns = sum(end - start for start, end in plan.gone)
    assert made_ns == 5 * MS
    assert plan.counted_ns == 76 * MS * 576 // (576 + OTHERS)
    nothing = Plan(evidence.run.board, ground)
    fewer_terminals(nothing, evidence, ground.steps, CONFIG, {"USB"})
    assert not nothing.gone
    assert not nothing.last
    assert not nothing.assumptions
