# SPDX-License-Identifier: Apache-2.0
"""The device tree with what the system adds to the board: a frame buffer, a NAND chip, other properties."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bootscope.builder.step import Context, Step
from bootscope.builder.steps.payload import DEVICE_TREE
from bootscope.system.framebuffer import FrameBuffer
from bootscope.system.nand import Nand

TRUE = "true"
"""In the place of a property's words: it has no value, and is there."""
_CELLS, _SIZE_CELLS = "#address-cells", "#size-cells"
_OF_THE_CHIP = (
    "address", "identity", "blocks", "page_bytes", "spare_bytes", "erase_bytes",
    "read_ns", "program_ns", "erase_ns", "cycle_ns", "partitions",
)  # fmt: skip
"""What the device tree says of a NAND chip."""


def device_tree_step(
    framebuffer: FrameBuffer | None,
    disabled: tuple[str, ...] = (),
    cells: Mapping[str, str] = {},
    nand: Nand | None = None,
) -> Step:
    """The step `device-tree`: the kernel's blob plus a simple-framebuffer in reserved memory and a NAND chip.

    The nodes of `disabled` are marked so. `cells`: node and property, parted by a blank -> words, or TRUE.
    """

    def work(context: Context) -> None:
        blob = context.out / DEVICE_TREE
        shutil.copy(context.results["kernel"] / "unchanged.dtb", blob)
        if framebuffer:
            _add_framebuffer(context, blob, framebuffer)
        if nand:
            _add_nand(context, blob, nand)
        for node in disabled:
            # fdtput would make a node that is not there.
            context.run(["fdtget", "-p", blob, node])
            context.run(["fdtput", "-t", "s", blob, node, "status", "disabled"])
        for place, words in cells.items():
            node, _, name = place.rpartition(" ")
            context.run(["fdtget", "-p", blob, node])
            context.run(["fdtput", "-t", "x", blob, node, name, *(words.split() if words != TRUE else ())])

    inputs: dict[str, object] = {"framebuffer": framebuffer}
    if disabled:
        inputs["disabled"] = disabled
    if cells:
        inputs["cells"] = cells
    if nand:
        inputs["nand"] = {key: getattr(nand, key) for key in _OF_THE_CHIP}
    return Step("device-tree", "device tree", 1, work, inputs, ("kernel",), ("fdtput",))


def _add_framebuffer(context: Context, blob: Path, fb: FrameBuffer) -> None:
    chosen, reserved = f"/chosen/framebuffer@{fb.address:x}", f"/reserved-memory/framebuffer@{fb.address:x}"
    put = partial(_put, context, blob)
    # Both before their properties: the order decides what bytes the blob has.
    for node in (chosen, reserved):
        _make_node(context, blob, node)
    put("s", chosen, "compatible", "simple-framebuffer")
    put("x", chosen, "reg", *_region(context, blob, chosen, fb.address, fb.stride_bytes * fb.height))
    for name, value in (("width", fb.width), ("height", fb.height), ("stride", fb.stride_bytes)):
        put("i", chosen, name, str(value))
    put("s", chosen, "format", fb.format)
    put("s", chosen, "status", "okay")
    _reserve(context, blob, reserved, fb.address, fb.reserved_bytes)


def _add_nand(context: Context, blob: Path, nand: Nand) -> None:
    """A controller with a chip and its partitions, in memory that is left alone."""
    controller, chip, put = nand.controller_node, nand.chip_node, partial(_put, context, blob)
    partitions = f"{chip}/partitions"
    reserved = f"/reserved-memory/nand@{nand.address:x}"
    _make_node(context, blob, reserved)
    _reserve(context, blob, reserved, nand.address, nand.array_bytes)
    for node in (controller, chip, partitions):
        context.run(["fdtput", "-cp", blob, node])
        put("i", node, _CELLS, "1")
        put("i", node, _SIZE_CELLS, "1" if node == partitions else "0")
    put("s", controller, "compatible", "bootscope,ram-nand")
    put("x", controller, "reg", *_region(context, blob, controller, nand.address, nand.array_bytes))
    put("bx", controller, "bootscope,identity", *re.findall("..", nand.identity))
    times = {f"{key}-ns": getattr(nand, f"{key}_ns").value for key in ("read", "program", "erase", "cycle")}
    sizes = {"page-bytes": nand.raw_page_bytes, "block-pages": nand.pages, "blocks": nand.blocks}
    for name, value in {**sizes, **times}.items():
        put("i", controller, f"bootscope,{name}", str(value))
    put("i", chip, "reg", "0")
    put("s", chip, "nand-ecc-mode", "soft")
    put("s", chip, "nand-ecc-algo", "hamming")
    put("s", partitions, "compatible", "fixed-partitions")
    # fdtput puts a node before its siblings.
    for name, (first, count) in sorted(nand.partitions.items(), key=lambda item: item[1], reverse=True):
        node = f"{partitions}/partition@{first * nand.erase_bytes:x}"
        context.run(["fdtput", "-cp", blob, node])
        put("s", node, "label", name)
        put("x", node, "reg", f"{first * nand.erase_bytes:x}", f"{count * nand.erase_bytes:x}")


def _reserve(context: Context, blob: Path, reserved: str, address: int, size: int) -> None:
    """Says of a node where the memory is that Linux leaves alone."""
    _put(context, blob, "x", reserved, "reg", *_region(context, blob, reserved, address, size))
    _put(context, blob, "x", reserved, "no-map")


def _put(context: Context, blob: Path, kind: str, node: str, name: str, *values: str) -> None:
    context.run(["fdtput", "-t", kind, blob, node, name, *values])


def _make_node(context: Context, blob: Path, node: str) -> None:
    """Makes a node whose addresses are those of the root."""
    context.run(["fdtput", "-cp", blob, node])
    parent = node.rpartition("/")[0]
    if _CELLS not in context.run(["fdtget", "-p", blob, parent]).output.split():
        # The board has no such node, or one without children: addresses in it are those of the root.
        for name in (_CELLS, _SIZE_CELLS):
            _put(context, blob, "i", parent, name, str(_number(context, blob, "/", name)))
        _put(context, blob, "x", parent, "ranges")


def _number(context: Context, blob: Path, node: str, name: str) -> int:
    """A property of a device tree that is a number."""
    return int(context.run(["fdtget", "-t", "i", blob, node, name]).output)


def _region(context: Context, blob: Path, node: str, address: int, size: int) -> list[str]:
    """Address and size in as many words of 32 bits as the node's parent has for them, hexadecimal."""
    parent, found = node.rpartition("/")[0] or "/", list[str]()
    for name, value in ((_CELLS, address), (_SIZE_CELLS, size)):
        words = range(_number(context, blob, parent, name) - 1, -1, -1)
        found += [f"{value >> 32 * word & 0xFFFFFFFF:x}" for word in words]
    return found
