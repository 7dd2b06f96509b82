# SPDX-License-Identifier: Apache-2.0
"""An image, ready to boot: by its kernel, which the emulator starts, or through the board's firmware."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.boards.profile import Board, Direct
from bootscope.bootimage.understand import Image, open_image
from bootscope.builder.step import Runner
from bootscope.core.errors import UserError, unknown
from bootscope.devices.model import Media
from bootscope.emulator.subject import Subject
from bootscope.imageboot import described, firmware, given, layout, overlay, watching
from bootscope.imageboot.firmware import Built
from bootscope.imageboot.given import Given
from bootscope.imageboot.watching import Goal
from bootscope.loaders.registry import LOADERS

KERNEL, FIRMWARE = "kernel", "firmware"
THROUGH = (KERNEL, FIRMWARE)


@dataclass(frozen=True)
class Wish:
    """The user's request: words for the kernel's command line, where the recording ends (a milestone or a
    text), the machine where a build has several, and how it boots (KERNEL or FIRMWARE). `command_line`
    replaces the image's."""

    append: str = ""
    until: str = ""
    text: str = ""
    machine: str = ""
    through: str = KERNEL
    command_line: str | None = None


@dataclass(frozen=True)
class Ready:
    """An image that can be booted: on which board, what is recorded, until what; `told` and `notes` are for
    people, `steps` its entries in the cache. `image` and `given`: what it was made of, open as long as this
    is."""

    image: Image
    given: Given
    subject: Subject
    board: Board
    goal: Goal
    told: tuple[str, ...]
    notes: tuple[str, ...]
    steps: tuple[str, ...] = ()


@contextmanager
def opened(paths: Sequence[str], board: Board, wish: Wish, runner: Runner, name: str = "") -> Iterator[Ready]:
    """Files and folders of an image, ready to boot; unpacked data are removed at the end. `runner` builds the
    board's firmware where the boot goes through it.

    Raises UserError where the image is not understood or cannot boot on this board.
    """
    if wish.through not in THROUGH:
        raise unknown("way to boot", wish.through, list(THROUGH))
    with open_image(paths, wish.machine) as image, tempfile.TemporaryDirectory(prefix="bootscope-") as place:
        folder, name = Path(place), name or name_of(paths[0])
        if wish.through == FIRMWARE:
            yield _by_firmware(image, board, wish, folder, name, runner)
        else:
            yield _by_kernel(image, board, wish, folder, name, runner)


def _by_kernel(image: Image, board: Board, wish: Wish, folder: Path, name: str, runner: Runner) -> Ready:
    """Boots with kernel and initramfs loaded into memory by the emulator."""
    direct = board.direct
    if not isinstance(direct, Direct):
        raise UserError(
            f"the board {board.name} does not boot images yet",
            hint="bootscope record FILE... --board virt-arm64",
        )
    unpacks = direct.image if isinstance(direct.image, int) else None
    got = given.of_image(image, board, wish.append, folder, wish.command_line, as_file=unpacks is not None)
    below = firmware.below(board, runner)
    board = _begun(got.store.board, direct, got)
    goal = watching.goal(image, board, wish.until, wish.text, symbols=bool(got.symbols), image_at=unpacks)
    media = _media(got, folder, below, as_file=unpacks is not None)
    members, why = layout.of_kernel(got, board, runner)
    subject = described.subject(image, got, board, goal.watched, media, name, members, below)
    told = (f"started: by {board.boot_loader.title}", *got.taken)
    return _ready(image, subject, board, goal, told, got, why, below.steps if below else ())


def _begun(board: Board, direct: Direct, got: Given) -> Board:
    """The board without its boot loader: what it starts with, and where."""
    programs = LOADERS[direct.begins].programs
    places = {p.name: direct.addresses.get(p.name, board.addresses.get(p.name, 0)) for p in programs}
    start = board.arch.kernel.handed_over
    kernel = start(got.program, direct.memory) if start else board.addresses["kernel"]
    return msgspec.structs.replace(board, loader=direct.begins, addresses={**places, "kernel": kernel})


def _media(got: Given, folder: Path, below: Built | None, *, as_file: bool) -> Media:
    kernel, early, tree = folder / "kernel", folder / "initramfs", folder / "board.dtb"
    kernel.write_bytes(got.file if as_file else got.program)
    if got.initramfs:
        early.write_bytes(got.initramfs)
    if got.device_tree:
        tree.write_bytes(got.device_tree)
    card, form = overlay.over(got.card, folder) if got.card else (folder / "none", "raw")
    return Media(
        card,
        loader=below.flash if below else None,
        kernel=kernel,
        initramfs=early if got.initramfs else None,
        command_line=got.command_line,
        card_format=form,
        has_card=got.card is not None,
        device_tree=tree if got.device_tree else None,
    )


def _by_firmware(image: Image, board: Board, wish: Wish, folder: Path, name: str, runner: Runner) -> Ready:
    """Boots the unchanged card through the board's firmware, which finds on it what to boot."""
    if wish.append:
        raise UserError(
            "--append needs --through kernel: the boot loader takes the command line from the card",
            hint="leave one of the two out",
        )
    got = given.of_disk(image, board)
    assert got.card
    below = firmware.built(board, runner)
    at, known = _unpacked_at(board), bool(got.symbols)
    goal = watching.goal(
        image, board, wish.until, wish.text, symbols=known, late_entry=at is None, image_at=at
    )
    card, form = overlay.over(got.card, folder)
    media = Media(card, loader=below.flash, card_format=form)
    members, why = layout.of_kernel(got, board, runner)
    subject = described.subject(image, got, board, goal.watched, media, name, members, below)
    told = (f"started: through the board's firmware, {board.boot_loader.title}", *got.taken)
    return _ready(image, subject, board, goal, told, got, why, below.steps)


def _unpacked_at(board: Board) -> int | None:
    """Where a boot loader loads a self-extracting kernel: the address that it unpacks itself to."""
    itself = isinstance(board.direct, Direct) and isinstance(board.direct.image, int)
    return board.addresses["kernel"] if itself else None


def _ready(
    image: Image,
    subject: Subject,
    board: Board,
    goal: Goal,
    told: Sequence[str],
    got: Given,
    why_no_layout: str,
    steps: tuple[str, ...] = (),
) -> Ready:
    words = (*told, f"until: {goal.until}: {goal.words}")
    notes = (*got.notes, *described.unseen(subject, got, why_no_layout))
    return Ready(image, got, subject, board, goal, words, notes, steps)


def name_of(path: str) -> str:
    """A name for runs, from the first file's name."""
    stem = Path(path).absolute().name.lower()
    return re.sub(r"[^a-z0-9_.-]+", "-", stem).strip("-.")[:40] or "image"
