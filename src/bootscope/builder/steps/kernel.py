# SPDX-License-Identifier: Apache-2.0
"""The kernel image and its symbols."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Mapping
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder import linkmap, trees
from bootscope.builder.configuring import configure
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import function_order, initramfs, kernel_layout, kernel_tree, rootfs, self_tests
from bootscope.builder.steps.configure import wanted
from bootscope.builder.steps.unpack import tree_of
from bootscope.core.errors import ToolError
from bootscope.kbuild import kconfig
from bootscope.system.model import UNPACKING_IMAGES, Kernel, System

SYMBOLS = "System.map"
LINK_MAP = "vmlinux.map"
PROGRAM, DECOMPRESSOR_SYMBOLS = "vmlinux", "decompressor.map"
_UNPACKER = "CFLAGS_decompress.o"
"""The make variable with extra options for the decompressor, which Kbuild compiles as decompress.o."""
_COMPRESSORS = {
    "KERNEL_LZ4": "lz4",
    "KERNEL_LZO": "lzop",
    "KERNEL_XZ": "xz",
    "KERNEL_LZMA": "xz",
    "KERNEL_ZSTD": "zstd",
}


def step(system: System, arch: Architecture) -> Step:
    """The step `kernel`: image, vmlinux, System.map, layout, configuration, unchanged device tree
    if the board's is the kernel's, and what the kernel was linked from.

    The image contains the initramfs where the system says so.
    """
    kernel, archive = system.kernel, system.initramfs
    symbols = wanted(system, "kernel")
    built_in = archive is not None and archive.place == initramfs.BUILT_IN
    source = kernel_tree.source_of(system)
    sources, told_apart_by = f"unpack-{source}", f"{kernel.defconfig} {kernel.device_tree}"
    order = function_order.names(kernel)
    compiler, linker = arch.tools.tool("gcc"), arch.tools.tool("ld")

    def work(context: Context) -> None:
        tree, build = tree_of(context, source), context.scratch / "build"
        key = trees.key_of(context.results[sources].name, told_apart_by, compiler)
        everything = {**kernel.wishes, **symbols}
        trees.begin(context, key, everything, build)
        config = configure(context, arch, tree, "kernel", kernel.defconfig, everything)
        kconfig.check(config, symbols, "kernel.config")
        if built_in:
            shutil.copy(context.results["initramfs"] / initramfs.ARCHIVE, build)
        trees_of_it = [f"{kernel.device_tree}.dtb"] if kernel.device_tree else []
        targets = (kernel.image, *trees_of_it, *(("modules",) if kernel.modules else ()))
        if order:
            function_order.prepare(build, order)
        options = [f"LD={_mapping_linker(build, linker)}", *_words(kernel)]
        context.make(arch, tree, build, arch.tools.make, *options, *targets)
        if kernel.modules:
            _install_modules(context, arch, tree, build)
        shutil.copy(config, context.out / "config")
        _take(context, arch, build, kernel)
        trees.keep(context, key, everything, build)

    inputs = _inputs(kernel, symbols, moves=bool(arch.unpacker_moves))
    compressors = [tool for symbol, tool in _COMPRESSORS.items() if symbols.get(symbol) in (True, "y")]
    tools = (compiler, linker, "make", "cc", "bison", "flex", "bc", *compressors)
    needs = (sources, *(("initramfs",) if built_in else ()))
    return Step(
        "kernel", "building the kernel", 4, work, inputs, needs, tools,
        program="the kernel", figures="kernel", tree=(sources, told_apart_by, compiler),
    )  # fmt: skip


def _words(kernel: Kernel) -> list[str]:
    """Words for make that the system asks for."""
    unpacker = _unpacker_options(kernel)
    words = [f"{_UNPACKER}={' '.join(unpacker)}"] if unpacker else []
    words += [function_order.OPTION] if function_order.names(kernel) else []
    return [*words, *(self_tests.OPTIONS if kernel.library_self_tests is False else ())]


def _unpacker_options(kernel: Kernel) -> tuple[str, ...]:
    return kernel.unpacker_options if isinstance(kernel.unpacker_options, tuple) else ()


def _inputs(kernel: Kernel, symbols: Mapping[str, object], *, moves: bool) -> dict[str, object]:
    """What the kernel depends on. Unused features are left out, so that ids stay as they were."""
    inputs: dict[str, object] = {
        "defconfig": kernel.defconfig,
        "config": symbols,
        "device_tree": kernel.device_tree,
        "image": kernel.image,
    }
    if kernel.modules:
        inputs["modules"] = True
    if kernel.wishes:
        inputs["wishes"] = kernel.wishes
    if unpacker := _unpacker_options(kernel):
        inputs["unpacker_options"] = unpacker
    if moves:
        inputs["unpacker"] = "moved"
    if order := function_order.names(kernel):
        inputs["function_order"] = (function_order.OPTION, order)
    if kernel.library_self_tests is False:
        inputs["self_tests"] = self_tests.OPTIONS
    return inputs


def _take(context: Context, arch: Architecture, build: Path, kernel: Kernel) -> None:
    """Puts the results, and what they were linked from, into the step's folder."""
    boot = build / "arch" / arch.tools.kernel / "boot"
    shutil.copy(boot / kernel.image, context.out)
    shutil.copy(build / SYMBOLS, context.out)
    if kernel.device_tree:
        shutil.copy(boot / "dts" / f"{kernel.device_tree}.dtb", context.out / "unchanged.dtb")
    kernel_layout.write(context, kernel_layout.find(context, build))
    map_text = (build / LINK_MAP).read_text() if (build / LINK_MAP).exists() else ""
    linkmap.write(linkmap.pieces(map_text), context.out / linkmap.OBJECTS)
    # With symbols but without debug information, which would contain folders of this computer.
    context.run([arch.tools.tool("strip"), "--strip-debug", "-o", context.out / PROGRAM, build / "vmlinux"])
    names = ""
    if kernel.image in UNPACKING_IMAGES:
        names = context.run([arch.tools.tool("nm"), "-n", boot / "compressed" / "vmlinux"]).output
    if arch.unpacker_moves:
        names += moved(names, (boot / kernel.image).read_bytes(), arch)
    (context.out / DECOMPRESSOR_SYMBOLS).write_text(names + "\n")


def moved(names: str, image: bytes, arch: Architecture) -> str:
    """Symbols of the code that unpacks a kernel, at the addresses to which it moves itself: at the end of the
    memory that the image says it needs. `names`: as linked. Raises ToolError where these lack `_end`."""
    (needs,) = struct.unpack_from("<I", image, arch.unpacker_moves)
    found = [line.split(" ", 1) for line in names.splitlines()]
    end = next((int(at, 16) for at, rest in found if rest.endswith(" _end")), 0)
    if not end:
        raise ToolError("the program that unpacks the kernel has no symbol _end")
    return "\n" + "\n".join(f"{int(at, 16) + needs - end:016x} {rest}" for at, rest in found)


def _install_modules(context: Context, arch: Architecture, tree: Path, build: Path) -> None:
    """Without the list of dependencies: BusyBox's depmod makes that on the target, in its own format."""
    to = context.out / rootfs.MODULES
    options = (arch.tools.make, f"INSTALL_MOD_PATH={to}", "INSTALL_MOD_STRIP=1", "DEPMOD=true")
    context.make(arch, tree, build, *options, "modules_install")
    for link in to.glob("lib/modules/*/[bs]*"):
        if link.is_symlink():
            link.unlink()  # to the build's folders


def _mapping_linker(build: Path, linker: str) -> str:
    """A linker that writes a map of the kernel beside it: an option for that would be part of the
    configuration, and so of the kernel. Its name is relative to the build, as make remembers commands."""
    path = build / "mapping-ld"
    path.write_text(
        "#!/bin/sh\n"
        'case " $* " in\n'
        f'*" -o vmlinux "* | *" -o vmlinux.unstripped "*) exec {linker} -Map={LINK_MAP} "$@" ;;\n'
        "esac\n"
        f'exec {linker} "$@"\n'
    )
    path.chmod(0o755)
    return f"./{path.name}"
