# SPDX-License-Identifier: Apache-2.0
"""What if the kernel were started in place, from flash that the CPU reads as memory?"""

from __future__ import annotations

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.whatif_loader import KERNEL_UNSEEN, loading, reading
from bootscope.analysis.whatif_plan import Plan
from bootscope.core.errors import UserError
from bootscope.core.text import size
from bootscope.devices.model import SECTOR_BYTES, MemoryStorage, StorageCommand
from bootscope.timeline.phases import KERNEL_IMAGE, reads_kernel

_MIB = 1 << 20


def started_in_flash(plan: Plan, evidence: Evidence) -> None:
    """The boot loader does not copy the kernel to memory: the kernel unpacks itself from flash.

    The decompressor has only a part of the flash cached, and reads the rest byte by byte, with one access
    each. Raises UserError if nothing is copied from such flash, or no such part is known.
    """
    flash, cached = evidence.run.board.storage_device, evidence.arch.kernel.unpacker_caches
    if not isinstance(flash, MemoryStorage) or not cached:
        raise UserError(
            "no kernel can be started from flash on this board: the CPU does not read it as memory"
        )
    if not evidence.timeline.phase("decompress"):
        raise UserError("the kernel does not unpack itself in this boot")
    load = loading(evidence)
    reads = [e for e in evidence.events if isinstance(e, StorageCommand) and reads_kernel(e, evidence.run)]
    reads = [e for e in reads if load.start_ns <= evidence.clock.before(e.index) < load.end_ns]
    extent = next((x for x in evidence.run.system.extents if x.name == KERNEL_IMAGE), None)
    if extent is None or not reads:
        raise UserError(KERNEL_UNSEEN)
    begins = flash.base + extent.sector * SECTOR_BYTES
    in_caches = begins // _MIB * _MIB + cached - begins
    copied = sum(e.size_bytes for e in reads)
    plan.gone += reading(evidence, load, (KERNEL_IMAGE,))

    def unpack_there() -> None:
        """After all other changes: they may change the kernel's compression or the flash's speed."""
        whole, card = int(copied * plan.kernel_share), plan.board.card
        alone = max(0, whole - in_caches)
        moved = whole - alone + alone * flash.bus_bytes
        plan.counted_ns -= moved * 1_000_000_000 // card.bandwidth_bytes_per_s.value
        plan.assume(
            f"{size(whole - alone)} of the kernel are read from flash through caches while it is unpacked, "
            f"and {size(alone)} byte by byte",
            "what unpacks it runs as fast from flash as from memory",
        )

    plan.last.append(unpack_there)
