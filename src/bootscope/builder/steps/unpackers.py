# SPDX-License-Identifier: Apache-2.0
"""Images of a 32-bit kernel that unpack given bytes and jump to them, one for each of its decompressors.

Only the program that unpacks is compiled, in half a minute; it unpacks a piece of another kernel. Published
times are of decompressors that have changed since, so an older one can be used.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.step import Context, Step
from bootscope.builder.steps.kernel import PROGRAM
from bootscope.builder.steps.unpack import TREE, tree_of
from bootscope.core.errors import ToolError
from bootscope.kbuild import kconfig

COMPRESSORS = ("gzip", "lzma", "xz", "lzo", "lz4")
SOURCE, KERNEL, OLD = "unpack-linux", "kernel", "unpack-xen"
"""Steps whose results go in: the kernel's sources, a kernel to unpack, sources that have an old lz4."""
_FOLDER = Path("arch/arm/boot/compressed")
_LZ4 = Path("lib/lz4/lz4_decompress.c")
_OLD_FILES = ("decompress.c", "defs.h")
_OWN_READS = re.compile(r"static inline u\d+ INIT get_unaligned_le.*?\n}\n", re.DOTALL)
"""Xen's own functions for unaligned reads, which the kernel's replace."""
_FIRST, _LAST = "__bss_start", "__bss_stop"
_MAKE = f"decompressor: ; $(Q)$(MAKE) $(build)={_FOLDER} {_FOLDER}/vmlinux"
_AS_BEFORE_5_9 = "-D__builtin_memcpy=memcpy -D__builtin_memmove=memmove"
"""Until 5.9 lz4 called a function for each few bytes that it copied: the built-in that replaces it does not
work without a C library, unless requested by that name (lib/lz4/lz4defs.h, LZ4_memcpy)."""
_GLUE = """\
/* The decompressor that kernels had until 4.10, as Xen still has it, under the name of today's. */
#include <linux/string.h>
#include <linux/unaligned.h>
#define __XEN__
#define INIT
#include "decompress.c"

int LZ4_decompress_fast(const char *source, char *dest, int size)
{
	size_t used;

	if (lz4_decompress((const unsigned char *)source, &used, (unsigned char *)dest, size))
		return -1;
	return used;
}
"""
TODAY, CALLS, FIRST = "today's", "before 5.9", "before 4.11"
"""Versions of lz4."""


@dataclass(frozen=True)
class Unpackers:
    """Images: the default configuration of their kernel and symbols for it, the bytes of the kernel to unpack
    (first, how many), the version of lz4, a name for all that, and the decompressors."""

    name: str
    defconfig: str
    symbols: Mapping[str, bool]
    content: tuple[int, int]
    lz4: str = TODAY
    compressors: tuple[str, ...] = COMPRESSORS


def image(compressor: str) -> str:
    """The name of a decompressor's image in the step's result."""
    return f"zImage-{compressor}"


def step(wanted: Unpackers, arch: Architecture) -> Step:
    """The step `unpackers-NAME`. Raises ToolError when the kernel is too small, or an image does not fit."""

    def work(context: Context) -> None:
        build = context.scratch / "build"
        tree = tree_of(context, "linux")
        if wanted.lz4 == FIRST:
            tree = with_first_lz4(context.scratch, context.results[OLD] / TREE, tree)
        build.mkdir()
        context.make(arch, tree, build, arch.tools.make, wanted.defconfig)
        _kernel(context, arch, build, wanted)
        for compressor in wanted.compressors:
            kconfig.apply(build / ".config", {**_symbols(compressor), **wanted.symbols})
            context.make(arch, tree, build, arch.tools.make, "olddefconfig", "prepare")
            shutil.rmtree(build / _FOLDER, ignore_errors=True)
            (build / _FOLDER).mkdir(parents=True)
            flags = [f"KCFLAGS={_AS_BEFORE_5_9}"] if wanted.lz4 == CALLS else []
            context.make(arch, tree, build, arch.tools.make, *flags, f"--eval={_MAKE}", "decompressor")
            _take(context, arch, build, compressor)

    inputs: dict[str, object] = {
        "defconfig": wanted.defconfig,
        "symbols": wanted.symbols,
        "content": wanted.content,
        "lz4": wanted.lz4,
        "compressors": wanted.compressors,
    }
    tools = [arch.tools.tool(name) for name in ("gcc", "ld")]
    needs = (SOURCE, KERNEL, *((OLD,) if wanted.lz4 == FIRST else ()))
    return Step(
        f"unpackers-{wanted.name}", f"images that unpack themselves, {wanted.name}", 1, work, inputs, needs,
        (*tools, "make", "cc", "bison", "flex", "bc", "lz4", "lzop", "xz"),
    )  # fmt: skip


def _symbols(compressor: str) -> dict[str, bool]:
    return {f"KERNEL_{name.upper()}": name == compressor for name in COMPRESSORS}


def _kernel(context: Context, arch: Architecture, build: Path, wanted: Unpackers) -> None:
    """Puts the piece of a kernel where the build expects its own, and a program for its symbols."""
    whole, boot = context.scratch / "whole", build / _FOLDER.parent
    objcopy = arch.tools.tool("objcopy")
    context.run([objcopy, "-O", "binary", "-R", ".comment", "-S", context.results[KERNEL] / PROGRAM, whole])
    first, size = wanted.content
    data = whole.read_bytes()[first : first + size]
    if len(data) < size:
        raise ToolError(f"the kernel has no {size} bytes from {first} on")
    boot.mkdir(parents=True, exist_ok=True)
    (boot / "Image").write_bytes(data)
    (build / "empty.s").write_text(f".globl {_FIRST}, {_LAST}\n.bss\n{_FIRST}:\n{_LAST}:\n")
    context.run([arch.tools.tool("as"), "-o", build / "vmlinux", build / "empty.s"])


def _take(context: Context, arch: Architecture, build: Path, compressor: str) -> None:
    program = build / _FOLDER / "vmlinux"
    options = ("-O", "binary", "-R", ".comment", "-S")
    context.run([arch.tools.tool("objcopy"), *options, program, context.out / image(compressor)])


def with_first_lz4(scratch: Path, old_tree: Path, tree: Path) -> Path:
    """A kernel's tree below `scratch`, as links to `tree`, with the lz4 from Xen's tree."""
    made, old = scratch / "tree", old_tree / "xen" / "common" / "lz4"
    for folder in (_FOLDER, _LZ4.parent):
        _own(tree, made, folder)
    here = made / _LZ4.parent
    for name in _OLD_FILES:
        (here / name).write_text(_OWN_READS.sub("", (old / name).read_text()))
    (made / _LZ4).unlink()
    (made / _LZ4).write_text(_GLUE)
    return made


def _own(tree: Path, made: Path, folder: Path) -> None:
    """Replaces a folder that is a link, and its parents, by real folders of links: relative paths inside then
    lead to the linked tree."""
    for part in (*reversed(folder.parents), folder):
        here = made / part
        if here.is_symlink():
            here.unlink()
        if here.is_dir():
            continue
        here.mkdir(parents=True)
        for entry in (tree / part).iterdir():
            (here / entry.name).symlink_to(entry)
