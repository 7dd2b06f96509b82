# SPDX-License-Identifier: Apache-2.0
"""A kernel that is unpacked from flash that the CPU reads as memory, against one that is copied first."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.whatif import Prediction, predict
from bootscope.analysis.whatif_kernel import compressors
from bootscope.boards.profile import load_board
from bootscope.capture import objects
from bootscope.capture.record import Extent, RunInfo, WatchNames
from bootscope.capture.records import Read
from bootscope.core.errors import UserError

from .builders import HOOKS, run_info
from .scenes import Story, evidence_of

MS, MIB = 1_000_000, 1 << 20
FLASH = {7: "flash0"}
KERNEL_AT, KERNEL_BYTES = MIB, 3 * MIB
UNPACKED_BYTES = 8_000_000
KEPT = {
    objects.KERNEL_SYMBOLS: f"00000000 T _text\n{UNPACKED_BYTES:08x} D _edata\n".encode(),
    objects.KERNEL_CONFIG: b"CONFIG_KERNEL_GZIP=y\n",
}
LONGER = 2 * MS
"""What the CPU takes to copy."""


def run(kernel_at: int = KERNEL_AT) -> RunInfo:
    """A board with a kernel of 3 MiB in its flash, which is read at 4 bytes in 100 ns."""
    plain = run_info(on=load_board("vexpress-a9-uboot"))
    kernel = Extent(name="kernel", sector=kernel_at // 512, sectors=KERNEL_BYTES // 512)
    system = msgspec.structs.replace(plain.system, extents=(kernel,))
    fields = {name: getattr(plain, name) for name in plain.__struct_fields__}
    watch = WatchNames(devices=FLASH, hooks=HOOKS, texts={})
    return RunInfo(**{**fields, "system": system, "watch": watch})


def boot(*, copies: bool, by_words: int = 0, by_bytes: int = 0) -> Story:
    """U-Boot copies the kernel, or what unpacks it reads so much of it by words and so much by bytes."""
    story = Story().hook("uboot.start").work(20 * MS)
    if copies:
        story.records.append(Read(story.now_ns, 7, KERNEL_AT, KERNEL_BYTES, KERNEL_BYTES // 4))
        # Its CPU time is a part of the copy up to the next read, or a millisecond and 20 ns for a byte.
        story.work(LONGER)
        story.records.append(Read(story.now_ns, 7, 0, 4, 1))
    else:
        story.records.append(Read(story.now_ns, 7, 0, 4, 1))
    story.work(5 * MS).hook("kernel.image")
    if by_words:
        story.records.append(Read(story.now_ns, 7, KERNEL_AT, by_words, by_words // 4))
    if by_bytes:
        story.records.append(Read(story.now_ns, 7, KERNEL_AT + by_words, by_bytes, by_bytes))
    return story.work(30 * MS).hook("kernel.start").work(50 * MS).sample()


def seen(story: Story, kernel_at: int = KERNEL_AT) -> Evidence:
    return evidence_of(story.records, run(kernel_at), kept=KEPT)


def predicted(evidence: Evidence, *changes: str) -> Prediction:
    return predict(evidence, Stacks(evidence), changes)


def test_what_lies_behind_the_cached_part_is_read_byte_by_byte() -> None:
    """Two MiB are cached, from the one on in which the kernel begins: the third takes four times as long."""
    found = predicted(seen(boot(copies=True)), "started-in-flash")
    there = boot(copies=False, by_words=2 * MIB, by_bytes=MIB)
    assert found.predicted_ns == seen(there).timeline.total_ns
    assert found.saving_ns == LONGER - 3 * MIB // 4 * 100
    assert any("byte by byte" in said for said in found.assumptions)


def test_a_faster_flash_is_read_faster_either_way() -> None:
    slow, fast = (
        predicted(seen(boot(copies=True)), "started-in-flash", *more).saving_ns for more in ((), ("card=2x",))
    )
    alone = predicted(seen(boot(copies=True)), "card=2x").saving_ns
    # What is copied takes half as long, and so do the bytes more that are read without a copy.
    assert fast == pytest.approx(alone + LONGER - (LONGER - slow) / 2, abs=10)


UNPACKING = 30 * MS


def test_a_smaller_kernel_that_is_not_copied_saves_nothing_of_the_copying() -> None:
    """Half of it is in the part that is cached: neither a read byte by byte nor any of the copy is left."""
    evidence, smaller = seen(boot(copies=True)), f"kernel-bytes=-{UNPACKED_BYTES // 2}"
    there = seen(boot(copies=False, by_words=KERNEL_BYTES // 2)).timeline.total_ns
    for changes in (("started-in-flash", smaller), (smaller, "started-in-flash")):
        assert predicted(evidence, *changes).predicted_ns == there - UNPACKING // 2
    assert predicted(evidence, smaller).saving_ns == (LONGER + UNPACKING + KERNEL_BYTES // 4 * 100) // 2


def test_a_kernel_that_is_not_copied_takes_no_longer_to_copy_if_it_is_not_packed() -> None:
    packed = compressors()["gzip"].packed_ppm.value
    more = KERNEL_BYTES * 1_000_000 // packed
    there = seen(boot(copies=False, by_words=2 * MIB, by_bytes=more - 2 * MIB)).timeline.total_ns
    found = predicted(seen(boot(copies=True)), "started-in-flash", "compression=none")
    assert found.predicted_ns == pytest.approx(there - UNPACKING, abs=500)


def test_where_nothing_is_copied_from_flash_it_is_refused() -> None:
    with pytest.raises(UserError, match="how the kernel was read"):
        predicted(seen(boot(copies=False)), "started-in-flash")
    card = Story().hook("uboot.start").work(MS).hook("kernel.start").work(MS).sample()
    with pytest.raises(UserError, match="the CPU does not read it as memory"):
        predicted(evidence_of(card.records), "started-in-flash")


def test_a_kernel_that_does_not_unpack_itself_gains_nothing() -> None:
    story = Story().hook("uboot.start").work(MS)
    story.records.append(Read(story.now_ns, 7, KERNEL_AT, KERNEL_BYTES, KERNEL_BYTES // 4))
    story.work(MS).hook("kernel.start").work(MS).sample()
    with pytest.raises(UserError, match="does not unpack itself"):
        predicted(seen(story), "started-in-flash")
