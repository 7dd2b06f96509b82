# SPDX-License-Identifier: Apache-2.0
"""From paths to the inventory of a system: each file is recognised by its content, and all are combined."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bootscope.artefacts import archives, configs, folder, images, kernels, loader, logs, words
from bootscope.artefacts.file_facts import Piece
from bootscope.capture.imported import Raw
from bootscope.core.errors import UserError, printable
from bootscope.inventory.inventory import Inventory, Part
from bootscope.readers.base import Source
from bootscope.readers.detect import appearance
from bootscope.readers.encoding import as_utf8, encoding
from bootscope.readers.unpack import MAX_BYTES, Budget, compression, decompressed

KINDS = (
    ".config of kernel, U-Boot or BusyBox; kernel command line; U-Boot environment (printenv, or as stored) "
    "or script; kernel image; device tree; root file system (folder, ext, SquashFS, cpio, tar); console or "
    "kernel log; output of systemd-analyze or systemctl show; QEMU command line"
)
_HEAD = 65536
_LAYERS = 3


def gather(names: Sequence[str]) -> tuple[Inventory, tuple[Piece, ...]]:
    """What files and folders say about one system, and what each of them is.

    Raises UserError for one that does not exist, is not understood, or says the same as another.
    """
    pieces = read_pieces(names)
    return together(pieces), tuple(pieces)


def read_pieces(names: Sequence[str]) -> list[Piece]:
    """What each of these files and folders is.

    Raises UserError for one that does not exist or is not understood.
    """
    budget = Budget()
    pieces: list[Piece] = []
    found_logs: list[Raw] = []
    for name in dict.fromkeys(names):
        piece = _one(name, budget)
        if isinstance(piece, Raw):
            found_logs.append(piece)
        else:
            pieces.append(piece)
    if found_logs:
        pieces += logs.read(found_logs)
    return pieces


def _one(name: str, budget: Budget) -> Piece | Raw:
    """One path as a piece; a log as raw data, since logs are read together."""
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"cannot read {printable(name)}: {why}") from error
    if stat.S_ISDIR(mode):
        return folder.read(path)
    if not stat.S_ISREG(mode):
        raise UserError(f"{printable(name)} is neither a file nor a folder", hint=f"audit reads: {KINDS}")
    try:
        with path.open("rb") as opened:
            head = opened.read(_HEAD)
            if images.is_ext(head):
                return images.read_ext(path, head)
            if images.is_squashfs(head):
                return images.read_squashfs(path)
            data = head + opened.read(MAX_BYTES + 1 - len(head))
    except OSError as error:
        raise UserError(f"cannot read {printable(name)}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise UserError(
            f"{printable(name)} is larger than {MAX_BYTES >> 20} MB, and its type cannot be read in parts"
        )
    if not data:
        raise UserError(f"{printable(name)} is empty")
    budget.spend(len(data), name)
    return _of_data(name, data, budget)


def _of_data(name: str, data: bytes, budget: Budget) -> Piece | Raw:
    packed, notes = data, list[str]()
    for _ in range(_LAYERS):
        if not compression(packed):
            break
        packed, repairs = decompressed(name, packed, budget)
        notes += [repair.what for repair in repairs]
    piece = _binary(name, packed, packed is not data) or _text(name, packed)
    if piece:
        return replace(piece, notes=(*piece.notes, *notes))
    if logs.is_log(name, data):
        return Raw(name, data)
    looks = appearance(Source(name, packed))
    raise archives.refused(name, packed) or UserError(
        f"{printable(name)} is not a file that audit can read: {looks}", hint=f"it reads: {KINDS}"
    )


def _binary(name: str, data: bytes, unpacked: bool) -> Piece | None:
    if archives.is_cpio(data):
        return archives.read_cpio(name, data)
    if archives.is_root_tar(data):
        return archives.read_tar(name, data)
    if kernels.is_uimage(data):
        script = loader.script_of_image(data)
        if script is not None:
            return loader.read_script(name, script)
        if kernels.other_uimage(data) != "kernel":
            told = kernels.other_uimage(data)
            raise UserError(
                f"{printable(name)} has an mkimage header and is a {told}", hint=f"audit reads: {KINDS}"
            )
    image = kernels.image(data, unpacked)
    if image:
        return kernels.read(name, image)
    return loader.read_stored(name, data) if loader.stored_environment(data) else None


def _text(name: str, data: bytes) -> Piece | None:
    if encoding(data[:_HEAD]) == "binary":
        return None
    text = as_utf8(data)[0].decode("utf-8", "replace").replace("\r\n", "\n")
    # The last line of a head may be incomplete.
    head = text if len(text) <= _HEAD else text[: text.rfind("\n", 0, _HEAD) + 1] or text[:_HEAD]
    if configs.is_config(head):
        return configs.read(name, text)
    if loader.is_printenv(head):
        return loader.read_printenv(name, text)
    if words.is_emulator(text):
        return words.read_emulator(name, text)
    if words.is_command_line(text):
        return words.read_command_line(name, text)
    return loader.read_script(name, text) if loader.is_script(head) else None


# ---- together ----


def together(pieces: Sequence[Piece]) -> Inventory:
    """All pieces as one system. Raises UserError when two of them cover the same part."""
    _check_twice(pieces)
    fields: dict[str, Any] = {}
    for piece in sorted(pieces, key=lambda piece: _SURENESS.get(piece.kind, len(_SURENESS))):
        for key, value in piece.fields.items():
            fields[key] = _merged(key, fields.get(key), value)
    parts = frozenset(part for piece in pieces for part in piece.parts)
    whole = {p for piece in pieces if "partial" not in piece.fields for p in piece.fields.get("configs", {})}
    fields["partial"] = fields.get("partial", frozenset()) - whole
    known = Inventory(parts=parts, **fields)
    if not known.knows(Part.COMMAND_LINE) and (told := known.loader.bootargs) and "$" not in told:
        known = Inventory(parts=parts | {Part.COMMAND_LINE}, **{**fields, "command_line": told})
    return known


_SURENESS = {
    "log": 0,
    "kernel configuration": 1,
    "U-Boot configuration": 2,
    "BusyBox configuration": 3,
    "U-Boot environment": 4,
}
"""Less reliable sources come first: a file with the command line is more reliable than the log of some boot,
and a stored variable overrides the symbol that sets its default."""


def _merged(key: str, before: Any, value: Any) -> Any:
    if key == "configs":
        trees = {*(before or {}), *value}
        return {tree: {**(before or {}).get(tree, {}), **value.get(tree, {})} for tree in trees}
    if key == "partial":
        return (before or frozenset()) | value
    if isinstance(value, Mapping):
        return {**(before or {}), **value}
    return value


def _check_twice(pieces: Sequence[Piece]) -> None:
    seen: dict[str, str] = {}
    for piece in pieces:
        # Several logs and images are allowed.
        if piece.kind in ("log", "kernel image", "device tree"):
            continue
        if piece.kind in seen:
            a, b = printable(seen[piece.kind]), printable(os.fspath(piece.name))
            raise UserError(f"{a} and {b} are both a {piece.kind}", hint="audit reads one system at a time")
        seen[piece.kind] = piece.name
