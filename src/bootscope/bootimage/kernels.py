# SPDX-License-Identifier: Apache-2.0
"""Describes a kernel of an image."""

from __future__ import annotations

import re

from bootscope.bootimage import symbols
from bootscope.bootimage.records import DeviceTree, Kernel, Place
from bootscope.bootimage.symbols import Beside
from bootscope.image import kernel_says
from bootscope.image.kernel_file import KernelFile
from bootscope.kbuild.kconfig import parse as parse_config
from bootscope.readers.fdt import BadTree, Node, parse

_MOST_CONFIG_BYTES = 4 << 20
_MOST_MEMORY = 16
_CONFIG_OF, _HEAD = re.compile(r"^# Linux/\S+ (\S+) Kernel Configuration$", re.MULTILINE), 400


def describe(kernel: KernelFile, place: Place, beside: Beside) -> Kernel:
    """The record of a kernel; its symbols are counted, not kept."""
    build_id = kernel_says.build_id(kernel)
    where, config = configuration(kernel, beside)
    values = parse_config(config) if config else {}
    told, _ = symbols.of_kernel(kernel, build_id, beside)
    return Kernel(
        place=place,
        forms=kernel.forms,
        compressions=kernel.compressions,
        architecture=kernel.architecture,
        version=kernel.version,
        banner=kernel.banner,
        size_bytes=kernel.size_bytes,
        unpacked_bytes=len(kernel.program),
        build_id=build_id,
        config=where,
        command_line=values.get("CMDLINE", "").strip('"'),
        kaslr=values.get("RANDOMIZE_BASE") == "y" if values else None,
        symbols=told,
        debug_files=symbols.debug_files(build_id, kernel.version, beside.files),
        notes=kernel.notes,
    )


def configuration(kernel: KernelFile, beside: Beside) -> tuple[str, str]:
    """(where it is in words, the text) of the kernel's configuration; empty texts where it is not found."""
    inside = kernel_says.configuration(kernel)
    if inside:
        return "in the kernel (CONFIG_IKCONFIG)", inside
    for file in beside.configs if kernel.version else ():
        found = file.read_bytes()[:_MOST_CONFIG_BYTES].decode("utf-8", "replace") if file.is_file() else ""
        told = _CONFIG_OF.search(found[:_HEAD])
        # CONFIG_LOCALVERSION and others append to the version that the file contains.
        if told and re.match(rf"{re.escape(told[1])}(?![\d.])", kernel.version):
            return str(file), found
    for one in beside.files if kernel.version else ():
        for path in (f"/boot/config-{kernel.version}", f"/config-{kernel.version}"):
            text = one.text(path, _MOST_CONFIG_BYTES)
            if text:
                return path, text
    return "", ""


def device_tree(data: bytes, place: Place) -> DeviceTree | None:
    """A device tree; None for data that is not one, or is damaged."""
    try:
        root = parse(data)
    except (BadTree, ValueError):
        return None
    compatible = root.properties.get("compatible", b"").split(b"\0")
    chosen = root.child("chosen")
    return DeviceTree(
        place,
        int.from_bytes(data[4:8], "big"),
        root.text("model") or "",
        tuple(text.decode("ascii", "backslashreplace") for text in compatible if text)[:16],
        (chosen.text("bootargs") if chosen else None) or "",
        tuple(_memory(root)),
    )


def _memory(root: Node) -> list[tuple[int, int]]:
    """The (from, bytes) pairs of its memory nodes."""
    cells = [min(root.number(f"#{name}-cells") or 1, 2) for name in ("address", "size")]
    step = 4 * sum(cells)
    found: list[tuple[int, int]] = []
    for node in root.children:
        if node.name.partition("@")[0] == "memory":
            raw = node.properties.get("reg", b"")
            for at in range(0, len(raw) - step + 1, step):
                middle = at + 4 * cells[0]
                pair = int.from_bytes(raw[at:middle], "big"), int.from_bytes(raw[middle : at + step], "big")
                found.append(pair)
    return found[:_MOST_MEMORY]
