# SPDX-License-Identifier: Apache-2.0
"""An image as recording takes it: its kernel with symbols, the layout of its structures, what is kept of it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope import __version__
from bootscope.boards.profile import Board, Direct
from bootscope.bootimage.understand import Image, open_image
from bootscope.builder.ids import id_of
from bootscope.builder.steps.kernel_layout import STRUCTS
from bootscope.capture import objects
from bootscope.capture.record import Extent, Part, SystemFacts
from bootscope.core.errors import UserError
from bootscope.devices.model import SECTOR_BYTES, Media
from bootscope.emulator.subject import Programs, Subject
from bootscope.image import btf, vmlinux
from bootscope.image.code import Code
from bootscope.imageboot import content, given, overlay, watching
from bootscope.imageboot.given import Given
from bootscope.imageboot.watching import Goal
from bootscope.loaders.direct import DIRECT

_SETTINGS = "image"


@dataclass(frozen=True)
class Wish:
    """What the user says: words for the kernel's command line, where the recording ends (a milestone or a
    text), the machine where a build has several."""

    append: str = ""
    until: str = ""
    text: str = ""
    machine: str = ""


@dataclass(frozen=True)
class Ready:
    """An image that can be booted: on which board, what is recorded of it, until what; `told` and `notes` are
    for people."""

    subject: Subject
    board: Board
    goal: Goal
    told: tuple[str, ...]
    notes: tuple[str, ...]


@contextmanager
def opened(paths: Sequence[str], board: Board, wish: Wish, name: str = "") -> Iterator[Ready]:
    """Files and folders of an image, ready to boot; what was unpacked goes in the end.

    Raises UserError where the image is not understood or cannot boot on this board.
    """
    with open_image(paths, wish.machine) as image, tempfile.TemporaryDirectory(prefix="bootscope-") as place:
        yield _direct(image, board, wish, Path(place), name or _name(paths[0]))


def _direct(image: Image, board: Board, wish: Wish, folder: Path, name: str) -> Ready:
    """Kernel and initramfs put into memory by the emulator."""
    start, direct = board.arch.kernel.handed_over, board.direct
    if start is None or not isinstance(direct, Direct):
        raise UserError(
            f"the board {board.name} cannot start a kernel without its boot loader",
            hint="bootscope record FILE... --board virt-arm64",
        )
    got = given.of_image(image, board, wish.append, folder)
    address = start(got.program, direct.memory)
    board = msgspec.structs.replace(board, loader=DIRECT.name, addresses={"kernel": address})
    port = board.console_called(board.console).linux_name
    goal = watching.goal(image, DIRECT, port, wish.until, wish.text)
    subject = _subject(image, got, board, goal, _media(got, folder), name)
    told = (*got.taken, f"until: {goal.until}: {goal.words}")
    return Ready(subject, board, goal, told, (*got.notes, *_unseen(subject, got)))


def _media(got: Given, folder: Path) -> Media:
    kernel, early = folder / "kernel", folder / "initramfs"
    kernel.write_bytes(got.program)
    if got.initramfs:
        early.write_bytes(got.initramfs)
    card, form = overlay.over(got.card, folder) if got.card else (folder / "none", "raw")
    return Media(
        card,
        kernel=kernel,
        initramfs=early if got.initramfs else None,
        command_line=got.command_line,
        card_format=form,
        has_card=got.card is not None,
    )


def _subject(image: Image, got: Given, board: Board, goal: Goal, media: Media, name: str) -> Subject:
    code, table = _code(got, board)
    parts = _parts(got, image)
    kept: dict[str, bytes] = {objects.KERNEL_SYMBOLS: table}
    if code:
        kept[objects.KERNEL] = code
    if got.config:
        kept[objects.KERNEL_CONFIG] = got.config.encode()
    return Subject(
        build_id=id_of([[part.name, part.sha256] for part in parts] + [got.command_line, board.loader]),
        facts=_facts(image, got, goal, name, media),
        watched=goal.watched,
        programs=Programs({}, Code(code) if code else Code.empty(board.arch), _layout(got)),
        media=media,
        kept=kept,
        parts=parts,
    )


def _code(got: Given, board: Board) -> tuple[bytes, bytes]:
    """(the kernel as an ELF program with symbols, its table of symbols); empty where it has none."""
    if not got.symbols:
        return b"", b""
    table = vmlinux.symbol_map(got.symbols, board.arch).encode()
    try:
        base = vmlinux.base_address(got.program, got.symbols, board.arch)
    except UserError:
        return b"", table
    return vmlinux.elf(got.program, base, got.symbols, board.arch), table


def _layout(got: Given) -> dict[str, int]:
    """Where the kernel's structures have the members that views need; empty where it does not say so."""
    types = btf.read(got.program)
    wanted = {**STRUCTS, **watching.STRUCTS}
    return types.offsets(f"{struct}.{m}" for struct, names in wanted.items() for m in names) if types else {}


def _unseen(subject: Subject, got: Given) -> list[str]:
    """What views cannot know, and why."""
    told = []
    if not subject.programs.kernel.functions:
        told.append(
            f"no symbols of the kernel: {got.kernel.symbols.note or 'it holds none'}: phases, processes, initcalls "
            "and functions of the kernel are not seen; name its System.map or vmlinux, too"
        )
    elif not subject.programs.layout:
        told.append(
            "the kernel does not say where its structures have their members (CONFIG_DEBUG_INFO_BTF): names of "
            "processes, drivers and files are not seen"
        )
    return told


def _parts(got: Given, image: Image) -> tuple[Part, ...]:
    """What boots, by content."""
    parts = [
        Part(
            name="image/kernel", step_id="", sha256=content.of_bytes(got.program), size_bytes=len(got.program)
        )
    ]
    if got.initramfs:
        sha256, count = content.of_bytes(got.initramfs), len(got.initramfs)
        parts.append(Part(name="image/initramfs", step_id="", sha256=sha256, size_bytes=count))
    if got.card:
        count = got.card.stat().st_size
        parts.append(Part(name="image/card", step_id="", sha256=content.of_file(got.card), size_bytes=count))
    return tuple(parts)


def _facts(image: Image, got: Given, goal: Goal, name: str, media: Media) -> SystemFacts:
    known = image.understood
    size = got.card.stat().st_size if got.card else 0
    return SystemFacts(
        name=name,
        title=f"image: {known.name}",
        application=goal.watched.process or None,
        screen=None,
        card_bytes=overlay.card_bytes(size) if size else 0,
        extents=_extents(image),
        symbols={},
        command_line=got.command_line,
        settings={
            f"{_SETTINGS}.kernel": got.kernel.version,
            f"{_SETTINGS}.bootscope": __version__,
            "kernel.command_line": got.command_line,
        },
    )


def _extents(image: Image) -> tuple[Extent, ...]:
    """What lies where on the card, by the table of partitions."""
    found = []
    for area in image.understood.areas:
        part = area.partition
        if part and part.type != "extended":
            first, count = part.start_bytes // SECTOR_BYTES, part.size_bytes // SECTOR_BYTES
            label = f"{area.volume}{f': {area.filesystem.kind}' if area.filesystem else ''}"
            found.append(Extent(name=label, sector=first, sectors=count))
    return tuple(found)


def _name(path: str) -> str:
    """A name for runs, from the first file's."""
    stem = Path(path).absolute().name.lower()
    return re.sub(r"[^a-z0-9_.-]+", "-", stem).strip("-.")[:40] or "image"
