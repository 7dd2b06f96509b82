# SPDX-License-Identifier: Apache-2.0
"""An image in the form that recording takes: its kernel with symbols, the layout of structures, what is kept
of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bootscope.boards.profile import Board
from bootscope.bootimage.understand import Image
from bootscope.builder.ids import id_of
from bootscope.capture import objects
from bootscope.capture.record import Extent, Part, SystemFacts
from bootscope.core.errors import UserError
from bootscope.devices.model import SECTOR_BYTES, Media
from bootscope.emulator.subject import Kept, Programs, Subject, Watched
from bootscope.image import vmlinux
from bootscope.image.code import Code
from bootscope.imageboot import content, located, overlay
from bootscope.imageboot.firmware import Built
from bootscope.imageboot.given import Given
from bootscope.timeline.phases import KERNEL_IMAGE

_EXTENTS_OF = {"kernel": KERNEL_IMAGE, "initramfs": "initramfs"}


def subject(
    image: Image,
    got: Given,
    board: Board,
    watched: Watched,
    media: Media,
    name: str,
    layout: Mapping[str, int],
    below: Built | None = None,
) -> Subject:
    """The subject of a recording; `layout`: offsets of members in its kernel's structures; `below`: the
    firmware that boots it."""
    code, table = _code(got, board)
    handed = board.boot_loader.by_emulator
    parts = tuple(_parts(got, below, handed))
    kept: dict[str, Kept] = {**(below.kept if below else {}), objects.KERNEL_SYMBOLS: table}
    if code:
        kept[objects.KERNEL] = code
    if got.config:
        kept[objects.KERNEL_CONFIG] = got.config.encode()
    kernel = Code(code) if code else Code.empty(board.arch)
    return Subject(
        build_id=id_of({"parts": [[p.name, p.sha256] for p in parts], "words": got.command_line}),
        facts=_facts(image, got, watched, name, at_load=not handed),
        watched=watched,
        programs=Programs(below.code if below else {}, kernel, layout, units=_has_units(image)),
        media=media,
        kept=kept,
        parts=parts,
        sources=below.sources if below else {},
    )


def _code(got: Given, board: Board) -> tuple[bytes, bytes]:
    """(the kernel as an ELF program with symbols, its table of symbols); empty where it has none."""
    if not got.symbols:
        return b"", b""
    table = vmlinux.symbol_map(got.symbols, board.arch).encode()
    try:
        laid = vmlinux.laid_out(got.program, got.symbols, board.arch)
    except UserError:
        return b"", table
    return vmlinux.elf(laid.data, laid.base, got.symbols, board.arch, laid.entry), table


def _has_units(image: Image) -> bool:
    """Whether the root file system's init is systemd."""
    return any("systemd" in root.init for root in image.understood.roots)


def unseen(made: Subject, got: Given, why_no_layout: str) -> list[str]:
    """What views cannot show of a boot, and why."""
    if not made.programs.kernel.functions:
        why = got.kernel.symbols.note or "it contains none"
        return [
            f"no symbols of the kernel: {why}: processes, initcalls and functions are not shown; name its "
            "System.map or vmlinux, too"
        ]
    if not made.programs.layout:
        return [f"{why_no_layout}: names of processes, drivers and files are not shown"]
    return []


def _parts(got: Given, below: Built | None, handed: bool) -> Iterator[Part]:
    """What boots, by content; `handed`: the emulator loads the kernel into memory."""
    if below:
        size = below.flash.stat().st_size
        yield Part(name="firmware/flash", step_id=below.content, sha256=below.content, size_bytes=size)
    pieces = {
        "image/kernel": got.program,
        "image/initramfs": got.initramfs,
        "image/device-tree": got.device_tree,
    }
    for name, data in pieces.items() if handed else ():
        if data:
            yield Part(name=name, step_id="", sha256=content.of_bytes(data), size_bytes=len(data))
    if got.card:
        size = got.card.stat().st_size
        yield Part(name="image/card", step_id="", sha256=content.of_file(got.card), size_bytes=size)


def _facts(image: Image, got: Given, watched: Watched, name: str, at_load: bool) -> SystemFacts:
    size = got.card.stat().st_size if got.card else 0
    return SystemFacts(
        name=name,
        title=f"image: {image.understood.name}",
        application=watched.process or None,
        screen=None,
        card_bytes=overlay.card_bytes(size) if size else 0,
        extents=(*_partitions(image, size), *(_on_card(got) if at_load else ())),
        symbols={},
        command_line=got.command_line,
        settings={"image.kernel": got.kernel.version, "kernel.command_line": got.command_line},
    )


def _on_card(got: Given) -> Iterator[Extent]:
    """Where on the card the files are that a boot loader reads."""
    for name, data in (("kernel", got.file), ("initramfs", got.initramfs)):
        if got.card and data:
            yield from located.extents(_EXTENTS_OF[name], data, got.card)


def _partitions(image: Image, size: int) -> tuple[Extent, ...]:
    """The layout of a card of `size` bytes, by its partition table; without one it is the root."""
    found = []
    for area in image.understood.areas:
        part = area.partition
        if part and part.type != "extended":
            first, count = part.start_bytes // SECTOR_BYTES, part.size_bytes // SECTOR_BYTES
            label = f"{area.volume}{f': {area.filesystem.kind}' if area.filesystem else ''}"
            found.append(Extent(name=label, sector=first, sectors=count))
    if not found and size:
        found.append(Extent(name="root file system", sector=0, sectors=-(-size // SECTOR_BYTES)))
    return tuple(found)
