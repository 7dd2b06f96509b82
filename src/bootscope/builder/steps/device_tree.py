# SPDX-License-Identifier: Apache-2.0
"""The board's device tree with the system's additions: a frame buffer, a NAND chip, other properties."""

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
"""Given as a property's words: the property exists and has no value."""
_CELLS, _SIZE_CELLS = "#address-cells", "#size-cells"
_OF_THE_CHIP = (
    "address", "identity", "blocks", "page_bytes", "spare_bytes", "erase_bytes",
    "read_ns", "program_ns", "erase_ns", "cycle_ns", "partitions",
)  # fmt: skip
"""The device tree's properties for a NAND chip."""


def device_tree_step(
    framebuffer: FrameBuffer | None,
    disabled: tuple[str, ...] = (),
    cells: Mapping[str, str] = {},
    nand: Nand | None = None,
) -> Step:
    """The step `device-tree`: the kernel's blob plus a simple-framebuffer in reserved memory and a NAND chip.

    The nodes in `disabled` are marked so. `cells`: node and property, separated by a space -> words, or TRUE.
    """

    def work(context: Context) -> None:
        blob = context.out / DEVICE_TREE
        shutil.copy(context.results["kernel"] / "unchanged.dtb", blob)
        if framebuffer:
            _add_framebuffer(context, blob, framebuffer)
        if nand:
            _add_nand(context, blob, nand)
        for node in disabled:
            # fdtput would create a missing node.
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
    # Both before their properties: the order affects the bytes of the blob.
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
    """Adds a controller with a chip and its partitions, in reserved memory."""
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
    # fdtput inserts a node before its siblings.
    for name, (first, count) in sorted(nand.partitions.items(), key=lambda item: item[1], reverse=True):
        node = f"{partitions}/partition@{first * nand.erase_bytes:x}"
        context.run(["fdtput", "-cp", blob, node])
        put("s", node, "label", name)
        put("x", node, "reg", f"{first * nand.erase_bytes:x}", f"{count * nand.erase_bytes:x}")


def _reserve(context: Context, blob: Path, reserved: str, address: int, size: int) -> None:
    """Gives a node its range of memory, which Linux leaves alone."""
    _put(context, blob, "x", reserved, "reg", *_region(context, blob, reserved, address, size))
    _put(context, blob, "x", reserved, "no-map")


def _put(context: Context, blob: Path, kind: str, node: str, name: str, *values: str) -> None:
    context.run(["fdtput", "-t", kind, blob, node, name, *values])


def _make_node(context: Context, blob: Path, node: str) -> None:
    """Creates a node that uses the root's address cells."""
    context.run(["fdtput", "-cp", blob, node])
    parent = node.rpartition("/")[0]
    if _CELLS not in context.run(["fdtget", "-p", blob, parent]).output.split():
        # The board has no such node, or one without children: addresses in it use the root's cells.
        for name in (_CELLS, _SIZE_CELLS):
            _put(context, blob, "i", parent, name, str(_number(context, blob, "/", name)))
        _put(context, blob, "x", parent, "ranges")


def _number(context: Context, blob: Path, node: str, name: str) -> int:
    """A property of a device tree as a number."""
    return int(context.run(["fdtget", "-t", "i", blob, node, name]).output)


def _region(context: Context, blob: Path, node: str, address: int, size: int) -> list[str]:
    """Address and size in 32-bit words, as many as the node's parent uses for them, hexadecimal."""
    parent, found = node.rpartition("/")[0] or "/", list[str]()
    for name, value in ((_CELLS, address), (_SIZE_CELLS, size)):
        words = range(_number(context, blob, parent, name) - 1, -1, -1)
        found += [f"{value >> 32 * word & 0xFFFFFFFF:x}" for word in words]
    return found
