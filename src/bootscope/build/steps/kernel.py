# SPDX-License-Identifier: Apache-2.0
"""The kernel image, its symbols, and the device tree with the system's frame buffer in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from bootscope.build import kconfig, linkmap
from bootscope.build.step import Context, Step
from bootscope.build.steps import kernel_layout
from bootscope.build.steps.configure import configure
from bootscope.build.steps.unpack import tree_of
from bootscope.system.model import FrameBuffer, Kernel

IMAGE, SYMBOLS, DEVICE_TREE = "zImage", "System.map", "board.dtb"
LINK_MAP = "vmlinux.map"
PROGRAM, DECOMPRESSOR_SYMBOLS = "vmlinux", "decompressor.map"
_CROSS = "arm-linux-gnueabihf-"
_COMPRESSORS = {"KERNEL_LZ4": "lz4", "KERNEL_LZO": "lzop", "KERNEL_XZ": "xz", "KERNEL_LZMA": "xz"}
_TOOLS = (f"{_CROSS}gcc", f"{_CROSS}ld", "make", "cc", "bison", "flex", "bc")


def step(kernel: Kernel) -> Step:
    """The step `kernel`: zImage, vmlinux, System.map, layout, configuration, unchanged device tree, and
    what the kernel was linked from."""

    def work(context: Context) -> None:
        tree, build = tree_of(context, kernel.source), context.scratch / "build"
        blob = f"{kernel.device_tree}.dtb"
        config = configure(context, tree, build, "kernel", kernel.defconfig, kernel.config)
        kconfig.check(config, kernel.config, "kernel.config")
        linker = _mapping_linker(context)
        context.make(tree, build, "ARCH=arm", f"LD={linker}", IMAGE, blob)
        boot = build / "arch" / "arm" / "boot"
        for path, name in (
            (boot / IMAGE, IMAGE),
            (build / SYMBOLS, SYMBOLS),
            (config, "config"),
            (boot / "dts" / blob, "unchanged.dtb"),
        ):
            shutil.copy(path, context.out / name)
        kernel_layout.write(context, tree, build)
        map_text = (build / LINK_MAP).read_text() if (build / LINK_MAP).exists() else ""
        linkmap.write(linkmap.pieces(map_text), context.out / linkmap.OBJECTS)
        # With its symbols but without debug information, which would name folders of this machine.
        context.run([f"{_CROSS}strip", "--strip-debug", "-o", context.out / PROGRAM, build / "vmlinux"])
        names = context.run([f"{_CROSS}nm", "-n", boot / "compressed" / "vmlinux"]).output
        (context.out / DECOMPRESSOR_SYMBOLS).write_text(names + "\n")

    inputs = {
        "defconfig": kernel.defconfig,
        "config": kernel.config,
        "device_tree": kernel.device_tree,
        "image": IMAGE,
    }
    compressors = [tool for symbol, tool in _COMPRESSORS.items() if kernel.config.get(symbol) in (True, "y")]
    tools = (*_TOOLS, *compressors)
    return Step("kernel", "building the kernel", 4, work, inputs, (f"unpack-{kernel.source}",), tools)


def _mapping_linker(context: Context) -> Path:
    """A linker that writes a map of the kernel beside it: the option for that would be part of the
    configuration, and so of the kernel."""
    path = context.scratch / "ld"
    path.write_text(
        "#!/bin/sh\n"
        'case " $* " in\n'
        f'*" -o vmlinux "* | *" -o vmlinux.unstripped "*) exec {_CROSS}ld -Map={LINK_MAP} "$@" ;;\n'
        "esac\n"
        f'exec {_CROSS}ld "$@"\n'
    )
    path.chmod(0o755)
    return path


def device_tree_step(framebuffer: FrameBuffer | None) -> Step:
    """The step `device-tree`: the kernel's blob plus a simple-framebuffer in reserved memory."""

    def work(context: Context) -> None:
        blob = context.out / DEVICE_TREE
        shutil.copy(context.results["kernel"] / "unchanged.dtb", blob)
        if framebuffer:
            _add_framebuffer(context, blob, framebuffer)

    inputs = {"framebuffer": framebuffer}
    return Step("device-tree", "device tree", 1, work, inputs, ("kernel",), ("fdtput",))


def _add_framebuffer(context: Context, blob: Path, fb: FrameBuffer) -> None:
    size = fb.stride_bytes * fb.height
    chosen = f"/chosen/framebuffer@{fb.address:x}"
    reserved = f"/reserved-memory/framebuffer@{fb.address:x}"

    def put(kind: str, node: str, name: str, *values: str) -> None:
        context.run(["fdtput", "-t", kind, blob, node, name, *values])

    for node in (chosen, reserved):
        context.run(["fdtput", "-c", blob, node])
    put("s", chosen, "compatible", "simple-framebuffer")
    put("x", chosen, "reg", f"{fb.address:x}", f"{size:x}")
    for name, value in (("width", fb.width), ("height", fb.height), ("stride", fb.stride_bytes)):
        put("i", chosen, name, str(value))
    put("s", chosen, "format", fb.format)
    put("s", chosen, "status", "okay")
    put("x", reserved, "reg", f"{fb.address:x}", f"{fb.reserved_bytes:x}")
    put("x", reserved, "no-map")
