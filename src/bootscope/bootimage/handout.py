# SPDX-License-Identifier: Apache-2.0
"""The bootable parts of an image as files: for an emulator that is given a kernel directly, or for
inspection.

Their names are fixed, whatever they are called in the image.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bootscope.arch.in_files import bits_of
from bootscope.bootimage.understand import Image
from bootscope.core.errors import UserError, printable

KERNEL, INITRAMFS, DEVICE_TREE, SYMBOLS, CONFIG, WORDS = (
    "kernel", "initramfs", "board.dtb", "System.map", "config", "command-line.txt"
)  # fmt: skip


@dataclass(frozen=True)
class BootFiles:
    """The files that were written; None for what the image lacks, or where it is unknown which of several
    boots. `kernel` is as in the image, with its compression."""

    kernel: Path | None
    initramfs: Path | None
    device_tree: Path | None
    symbols: Path | None
    config: Path | None
    command_line: Path | None

    @property
    def written(self) -> list[Path]:
        """All files that were written."""
        every = (self.kernel, self.initramfs, self.device_tree, self.symbols, self.config, self.command_line)
        return [path for path in every if path]


def write(image: Image, folder: Path) -> BootFiles:
    """Writes them to a folder, which is created if necessary.

    Raises UserError where one of the files exists already, or cannot be written.
    """
    known = image.understood
    kernel, chosen = image.kernel(), image.chosen()
    symbols = ""
    if kernel:
        digits = bits_of(kernel[1].architecture) // 4 or 16
        symbols = "".join(f"{s.address:0{digits}x} {s.kind} {s.name}\n" for s in kernel[2])
    contents = {
        KERNEL: kernel[0] if kernel else b"",
        INITRAMFS: image.read(chosen.initramfs) if chosen.initramfs else b"",
        DEVICE_TREE: image.read(chosen.device_tree) if chosen.device_tree else b"",
        SYMBOLS: symbols.encode(),
        CONFIG: image.configuration().encode(),
        WORDS: f"{known.command_line}\n".encode() if known.command_line else b"",
    }
    paths = [_written(folder / name, data) if data else None for name, data in contents.items()]
    return BootFiles(*paths)


def _written(path: Path, data: bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as opened:
            opened.write(data)
    except FileExistsError as error:
        raise UserError(f"{printable(str(path))} is there already", hint="name another folder") from error
    except OSError as error:
        raise UserError(f"cannot write {printable(str(path))}: {error.strerror}") from error
    return path
