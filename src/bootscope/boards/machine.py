# SPDX-License-Identifier: Apache-2.0
"""QEMU's arguments for the machine that emulates a board."""

from __future__ import annotations

from pathlib import Path

from bootscope.boards.profile import Board
from bootscope.devices.model import FirmwareStore, Media, in_option


def machine_arguments(board: Board, media: Media) -> list[str]:
    """QEMU's arguments for the machine itself: everything that affects what the guest sees."""
    q = board.qemu
    stores = [device for device in board.devices.values() if isinstance(device, FirmwareStore)]
    return [
        *("-M", q.machine, *(("-cpu", q.cpu) if isinstance(q.cpu, str) else ()), "-m", q.memory),
        *(("-smp", str(q.cpus)) if isinstance(q.cpus, int) else ()),
        *("-display", "none", "-monitor", "none"),
        *board.console_called(board.console).qemu_arguments(),
        *("-nic", "none", "-no-reboot"),
        *(word for store in stores for word in store.firmware_arguments(media)),
        *(board.storage_device.qemu_arguments(media) if media.has_card else ()),
        *(_handed_over(media) if board.boot_loader.by_emulator else []),
        *(("-device", f"loader,file={in_option(media.nand)}") if media.nand else ()),
        *(_memory_in_file(media.memory) if media.memory else ()),
        *("-icount", f"shift={q.icount_shift.value},sleep=off"),
        *("-rtc", f"base={q.rtc},clock=vm", "-seed", str(q.seed)),
    ]


def _memory_in_file(memory: Path) -> tuple[str, ...]:
    """Uses a file as the board's memory: its content outlives the emulator."""
    backend = f"memory-backend-file,id=memory,size={memory.stat().st_size},share=on"
    return ("-object", f"{backend},mem-path={in_option(memory)}", "-machine", "memory-backend=memory")


def _handed_over(media: Media) -> list[str]:
    """Arguments for what the emulator loads into memory itself, without a boot loader."""
    given = (("-kernel", media.kernel), ("-initrd", media.initramfs), ("-dtb", media.device_tree))
    words = [word for option, path in given if path for word in (option, str(path))]
    return [*words, *(("-append", media.command_line) if media.command_line else ())]
