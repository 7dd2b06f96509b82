# SPDX-License-Identifier: Apache-2.0
"""What the board gets of an image: kernel, initramfs, command line, card; and what to report about that."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from bootscope.boards.profile import Board, Direct, board_names, load_board
from bootscope.bootimage.records import Kernel, Understood
from bootscope.bootimage.understand import IMAGE, TAR, Image, RootSource
from bootscope.core.errors import UserError, printable
from bootscope.core.text import listed
from bootscope.devices import sd_card
from bootscope.image.kallsyms import Symbol
from bootscope.image.kernel_file import KernelFile
from bootscope.imageboot import root_image, storage
from bootscope.imageboot.storage import Store

_ROOT = re.compile(r"(?:^|\s)root=(\S+)")
_CONSOLE = re.compile(r"(?:^|\s)console=([^\s,]+)")
_RATE = re.compile(r"(?:^|\s)console=tty[A-Z][A-Za-z]*\d+,\d")
_ALWAYS = ("tty0", "tty1", "null")
_MOST_WORDS_BYTES = 2000


@dataclass(frozen=True)
class Given:
    """Parts of an image: `file` is the kernel as stored, `program` the uncompressed one, `initramfs` empty
    for none, `card` the raw image of one or None. `notes`: differences of this boot from one on a product."""

    kernel: Kernel
    file: bytes = field(repr=False)
    program: bytes = field(repr=False)
    symbols: list[Symbol] = field(repr=False)
    config: str = field(repr=False)
    initramfs: bytes = field(repr=False)
    device_tree: bytes = field(repr=False)
    card: Path | None
    store: Store
    command_line: str
    taken: tuple[str, ...]
    notes: tuple[str, ...]


def of_image(
    image: Image,
    board: Board,
    append: str,
    folder: Path,
    instead: str | None = None,
    *,
    as_file: bool = False,
) -> Given:
    """The parts for a board that starts the kernel itself; `append` are words for the kernel's command line,
    `instead` replaces the image's; `as_file`: it gets the kernel's file, which unpacks itself.

    Raises UserError where the image cannot boot there, with the evidence.
    """
    known = image.understood
    file, kernel, opened, symbols = _kernel(image, board)
    early = image.initramfs()
    store = storage.of_image(image, board, symbols)
    card, root_words, taken = _card(image, folder, store.disk)
    tree = _device_tree(image, board)
    more = f"{_fixed(kernel, board, append)} {append}".strip()
    words, added = _command_line(known, root_words, more) if instead is None else (_taken(instead), "")
    doubts = _doubts(known, board, words, store if card else None, by_kernel=True)
    return Given(
        kernel=kernel,
        file=file,
        program=opened.program,
        symbols=symbols,
        config=image.configuration(),
        initramfs=early,
        device_tree=tree,
        card=card,
        store=store,
        command_line=words,
        taken=(
            f"kernel: {_place(kernel)}, {kernel.version or 'of an unknown version'}"
            f"{'' if as_file else _unpacked(opened)}",
            _early_words(image, early),
            *taken,
            *_words_from(known, words, added),
        ),
        notes=(
            *(store.notes if card else ()),
            *doubts,
            *(() if tree else _tree_words(image)),
            *known.problems,
        ),
    )


def of_disk(image: Image, board: Board) -> Given:
    """The parts of a disk image, for a board that boots a card. Raises UserError as :func:`of_image` does,
    and for an image that is not of a disk."""
    known = image.understood
    if image.disk is None:
        raise UserError(
            f"{printable(known.name)} has no partition table: firmware finds nothing to boot there",
            hint="--through kernel, which starts the kernel itself; or the disk image that the build made",
        )
    file, kernel, opened, symbols = _kernel(image, board)
    words, store = _cut(known.command_line), Store(board, sd_card.DISK)
    return Given(
        kernel=kernel,
        file=file,
        program=opened.program,
        symbols=symbols,
        config=image.configuration(),
        initramfs=image.initramfs(),
        device_tree=b"",
        card=image.disk,
        store=store,
        command_line=words,
        taken=(
            f"card: the disk image, as {sd_card.DISK}",
            f"kernel, according to the image: {_place(kernel)}, {kernel.version or 'of an unknown version'}",
            *_words_from(known, words, ""),
        ),
        notes=(*_doubts(known, board, words, store, by_kernel=False), *known.problems),
    )


def _kernel(image: Image, board: Board) -> tuple[bytes, Kernel, KernelFile, list[Symbol]]:
    """(file, record, unpacked file, symbols) of the kernel that boots."""
    check_architecture(image.understood, board)
    found, opened = image.kernel(), image.opened_kernel()
    if found is None or opened is None:
        raise _no_kernel(image.understood)
    file, kernel, symbols = found
    if not opened.program:
        raise UserError(
            f"the kernel {_place(kernel)} cannot be unpacked: {'; '.join(opened.notes)}",
            hint="name the kernel as the build made it, too",
        )
    return file, kernel, opened, symbols


def _tree_words(image: Image) -> list[str]:
    place = image.chosen().device_tree
    tree = next((t for t in image.understood.device_trees if t.place == place), None)
    if tree is None:
        return []
    return [
        f"the device tree for {tree.model or 'another board'} is not used: the emulator makes the board's own"
    ]


def check_architecture(known: Understood, board: Board) -> None:
    """Raises UserError for an image for another architecture than the board's."""
    if known.architecture and known.architecture != board.architecture:
        fitting = [name for name in board_names() if load_board(name).architecture == known.architecture]
        raise UserError(
            f"the image is for {known.architecture}, the board {board.name} for {board.architecture}",
            hint=f"--board {fitting[0]}" if fitting else f"bootscope has no board for {known.architecture}",
        )


def _no_kernel(known: Understood) -> UserError:
    several = [_place(kernel) for kernel in known.kernels]
    if several:
        return UserError(
            f"the image does not say which kernel boots: {printable(listed(several))}",
            hint="name the kernel's file first: bootscope image IMAGE -o FOLDER writes what is known",
        )
    why = next((problem for problem in known.problems if "kernel" in problem), "")
    if "no kernel was found" in why or not why:
        why = "there is no kernel in it" + why.removeprefix("no kernel was found").partition(":")[0]
    return UserError(
        f"{printable(known.name)} cannot boot: {why}",
        hint="name the kernel's file, too: bootscope record IMAGE KERNEL",
    )


def _place(kernel: Kernel) -> str:
    return f"{kernel.place.volume} {kernel.place.path}".strip()


def _unpacked(opened: KernelFile) -> str:
    packed = ", ".join(opened.compressions)
    return f" ({packed}: unpacked before the boot, which costs nothing here)" if packed else ""


def _early_words(image: Image, early: bytes) -> str:
    chosen = image.chosen().initramfs
    if not chosen:
        return "initramfs: none"
    return f"initramfs: {f'{chosen.volume} {chosen.path}'.strip()}, {len(early):,} bytes"


def _card(image: Image, folder: Path, disk: str) -> tuple[Path | None, str, list[str]]:
    """(the raw image of a card, words for the command line that name the root on it, what to report); `disk`:
    Linux's name for the card."""
    if image.disk:
        return image.disk, "", [f"card: the disk image, as {disk}"]
    source = _root_source(image)
    if source is None:
        return None, "", ["card: none"]
    whole = f"root={disk} rootwait"
    if source.form == IMAGE:
        return source.path, whole, [f"card: {source.volume}, as {disk}"]
    if source.form == TAR:
        path, lost = root_image.of_tar(source.path, folder)
    else:
        path, lost = root_image.of_folder(source.path, folder)
    told = [f"card: an ext4 with the files of the {source.form} {source.volume}, as {disk}", *lost]
    return path, f"{whole} rw", told


def _root_source(image: Image) -> RootSource | None:
    roots = {root.place.volume for root in image.understood.roots}
    return next((s for s in image.roots if s.volume in roots), next(iter(image.roots), None))


def _device_tree(image: Image, board: Board) -> bytes:
    """The device tree, for a board whose device tree the emulator does not make. Raises UserError where the
    image has none."""
    if not isinstance(board.direct, Direct) or not board.direct.device_tree:
        return b""
    place = image.chosen().device_tree
    if place is None:
        raise UserError(
            f"no device tree for {board.title} is in {printable(image.understood.name)}",
            hint="name it, too: bootscope record KERNEL BOARD.dtb ROOT",
        )
    return image.read(place)


def _fixed(kernel: Kernel, board: Board, append: str) -> str:
    """The word that keeps a kernel at the addresses of its symbols; empty where it does not move."""
    moves = board.arch.kernel.moves_unseeded and kernel.kaslr is not False
    return "nokaslr" if moves and "nokaslr" not in f"{kernel.command_line} {append}".split() else ""


def _command_line(known: Understood, root_words: str, append: str) -> tuple[str, str]:
    """(all words, the added ones). Raises UserError for more than a kernel takes."""
    added = " ".join(
        part
        for part in ("" if _ROOT.search(f"{known.command_line} {append}") else root_words, append)
        if part
    )
    words = _without_repeated_consoles(_cut(known.command_line), added)
    return _taken(" ".join(part for part in (words, added) if part)), added


def _without_repeated_consoles(words: str, added: str) -> str:
    """The image's words without the consoles that are added with other options: of two with the same name,
    Linux takes the first one's options. Source: Linux kernel/printk/printk.c, __add_preferred_console."""
    names = set(_CONSOLE.findall(added))
    if not names or '"' in words:
        return words
    return " ".join(w for w in words.split() if not ((m := _CONSOLE.match(w)) and m[1] in names))


def _taken(words: str) -> str:
    """The command line. Raises UserError for more than a kernel takes."""
    if len(words.encode()) > _MOST_WORDS_BYTES or not words.isprintable():
        raise UserError(
            f"the command line ({len(words.encode()):,} bytes) is too long, or has unprintable characters",
            hint=f"at most {_MOST_WORDS_BYTES:,} bytes",
        )
    return words


def _cut(words: str) -> str:
    """A menu's command line, without the words that only the boot loader reads."""
    return (
        " ".join(word for word in words.split() if not word.startswith("initrd="))
        if '"' not in words
        else words
    )


def _words_from(known: Understood, words: str, added: str) -> list[str]:
    source = known.command_line_from or "nothing in the image: it has none"
    told = [f"command line: {words or 'empty'}", f"  from {source}"]
    return [*told, f"  added: {added}"] if added else told


def _doubts(known: Understood, board: Board, words: str, store: Store | None, by_kernel: bool) -> list[str]:
    port = board.console_called(board.console).linux_name
    consoles = _CONSOLE.findall(words)
    told = []
    if by_kernel and not _RATE.search(words) and (not consoles or consoles[-1] == port):
        told.append(
            "no boot loader set the rate of the serial port, and the command line names none: Linux uses a "
            f"slow one: --append console={port},115200"
        )
    if consoles and consoles[-1] != port and consoles[-1] not in _ALWAYS:
        told.append(
            f"console={consoles[-1]}: the board's serial port is {port}, so the console may stay "
            f"silent: --append console={port},115200"
        )
    root = next(iter(_ROOT.findall(words)[::-1]), "")
    disk = store.disk if store else sd_card.DISK
    if root.startswith("/dev/") and not root.startswith((disk, "/dev/ram", "/dev/mapper", "/dev/nfs")):
        name = store.partition if store else f"{disk}p"
        told.append(f"root={root}: the card of the board is {disk}: --append root={name}N")
    if not store and root and not known.initramfs:
        told.append(f"root={root}: no root file system was given: name it, too")
    return told
