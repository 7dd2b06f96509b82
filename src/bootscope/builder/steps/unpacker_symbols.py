# SPDX-License-Identifier: Apache-2.0
"""Symbols for the code that unpacks a distribution's kernel, which comes without.

It is compiled again: from that kernel's sources, with its configuration and generated headers (from its
packages of headers), its compiler, and the packed kernel itself from the image. Where every byte of
code then equals that of the image, the symbols are the image's; where one differs, there are none.

Source of what is linked: arch/x86/boot/compressed/Makefile of Linux 6.12; of the image's header:
Documentation/arch/x86/boot.rst.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import kernel, packaged_compiler, prebuilt
from bootscope.builder.steps.packaged_compiler import COMPILER
from bootscope.core.errors import UserError
from bootscope.devices.model import SECTOR_BYTES
from bootscope.image.elf_functions import code, opened
from bootscope.system.model import Prebuilt, System
from bootscope.system.named_sources import unpacker_sources

NAME = "unpacker"
_PARTS = ("Makefile", "arch/{}", "include", "lib", "scripts", "drivers/firmware/efi", "tools/include",
          "tools/arch/{}")  # fmt: skip
_FOLDER, _STUB = "arch/{}/boot/compressed", "drivers/firmware/efi/libstub"
_GENERATED = "usr/src/*/include/generated/autoconf.h"
_RULES = """\
part = $(MAKE) KBUILD_EXTMOD= extmod_prefix= VPATH=$(srctree) $(build)=
$(obj)/{goal}: FORCE
	$(part)arch/{arch}/lib arch/{arch}/lib/inat-tables.c
	$(part){stub} {stub}/lib.a
	$(part){folder} suffix-y=image {folder}/vmlinux
"""
"""Builds like a module outside of the kernel's tree, with that one's configuration. The last line uses
the file vmlinux.bin.image instead of packing a kernel."""
_GOAL = "unpacker.lst"
_VERSION = r"^(?:VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$"
_SECTORS_AT, _PAYLOAD_AT = 0x1F1, 0x248


def step(system: System, wanted: Prebuilt, found: Mapping[str, Resolved], arch: Architecture) -> Step:
    """The step `unpacker`: the symbols of that code, an empty file where they cannot be determined.

    Raises UserError for an architecture whose kernels do not unpack themselves this way.
    """
    if not arch.unpacker_moves:
        raise UserError(f"prebuilt.unpacker_symbols: it is for kernels of PCs, the board is {arch.title}")
    sources, compiler = (found[name] for name in unpacker_sources(system))
    headers = [found[name] for name in wanted.headers]

    def work(context: Context) -> None:
        built = context.results["kernel"]
        image = (built / system.kernel.image).read_bytes()
        out = _generated(context, [prebuilt.unpacked(context, one) for one in headers])
        tree = _tree(context, sources, arch)
        tools = packaged_compiler.install(context, compiler, arch)
        symbols, why = "", unlike(context, tree, out, tools)
        if not why:
            shutil.copy(built / kernel.PROGRAM, out / "vmlinux")
            program = _compiled(context, arch, _Parts(tree, out, tools), image)
            why = differs(program, image)
            symbols = "" if why else context.run([tools["NM"], "-n", program]).output
        if symbols:
            symbols += kernel.moved(symbols, image, arch) + "\n"
        else:
            hint = f"remove {context.cache.sources}/linux* to fetch kernel, headers and sources again"
            context.progress.note(f"the code that unpacks the kernel has no names: {why}; {hint}")
        (context.out / kernel.DECOMPRESSOR_SYMBOLS).write_text(symbols)

    inputs = {
        "sources": [one.sha256 for one in (sources, compiler, *headers)],
        "parts": _PARTS,
        "rules": _RULES,
        "image": system.kernel.image,
    }
    title = "compiling the code that unpacks the kernel, for its names"
    return Step(
        NAME, title, 1, work, inputs, ("kernel",), (prebuilt.DPKG, "tar", "make", "cc"),
        program="the code that unpacks the kernel", figures=NAME,
    )  # fmt: skip


@dataclass(frozen=True)
class _Parts:
    """The input of the compilation: sources, a folder with generated files, programs by name for make."""

    tree: Path
    out: Path
    tools: Mapping[str, Path]


def _generated(context: Context, trees: list[Path]) -> Path:
    """A folder for compiling, with the kernel's configuration and generated headers."""
    there = [path.parents[2] for tree in trees for path in tree.glob(_GENERATED)]
    if len(there) != 1:
        raise UserError("the kernel's headers lack include/generated/autoconf.h", hint="see prebuilt.headers")
    out = context.scratch / "build"
    for name in ("include", "arch"):
        shutil.copytree(there[0] / name, out / name)
    shutil.copy(there[0] / ".config", out)
    return out


def _tree(context: Context, source: Resolved, arch: Architecture) -> Path:
    """The necessary parts of the kernel's sources; a folder of the user's is used in place."""
    if source.is_tree:
        return Path(source.path)
    tree = context.scratch / "tree"
    tree.mkdir()
    parts = [f"*/{part.format(arch.tools.kernel)}" for part in _PARTS]
    options = ["--strip-components=1", "--no-same-owner", "--wildcards", "--no-wildcards-match-slash"]
    context.run(["tar", "-xf", source.path, "-C", tree, *options, *parts])
    return tree


def unlike(context: Context, tree: Path, out: Path, tools: Mapping[str, Path]) -> str:
    """Why sources or compiler cannot be the kernel's; empty where they may be."""
    version = ".".join(re.findall(_VERSION, (tree / "Makefile").read_text(), re.M))
    release = (out / "include/generated/utsrelease.h").read_text().split('"')[1]
    if not re.match(rf"{re.escape(version)}\b", release):
        return f"the kernel is {release}, its sources are {version}"
    told = re.search(r'^CONFIG_CC_VERSION_TEXT="(.*)"$', (out / ".config").read_text(), re.M)
    has = context.run([tools[COMPILER], "--version"]).output.partition("\n")[0]
    wants = told[1] if told else "a compiler that is not known"
    return "" if wants == has else f"it was compiled with {wants}, this is {has}"


def _compiled(context: Context, arch: Architecture, parts: _Parts, image: bytes) -> Path:
    """The code, linked with the packed kernel of the image."""
    name, tree, out = arch.tools.kernel, parts.tree, parts.out
    folder = _FOLDER.format(name)
    (out / folder).mkdir(parents=True)
    at, length = struct.unpack_from("<II", image, _PAYLOAD_AT)
    begin = _code_at(image) + at
    (out / folder / "vmlinux.bin.image").write_bytes(image[begin : begin + length])
    helper = out / "scripts/basic/fixdep"
    helper.parent.mkdir(parents=True)
    context.run(["cc", "-O2", f"-I{tree}/scripts/include", "-o", helper, tree / "scripts/basic/fixdep.c"])
    rules = context.scratch / "rules"
    rules.mkdir()
    (rules / "Kbuild").write_text(_RULES.format(goal=_GOAL, arch=name, stub=_STUB, folder=folder))
    options = [f"O={out}", f"M={rules}", arch.tools.make, f"-j{context.jobs}"]
    options += [f"{tool}={path}" for tool, path in parts.tools.items()]
    context.run(["make", "-C", tree, *options, _GOAL])
    return out / folder / "vmlinux"


def differs(program: Path, image: bytes) -> str:
    """Where the image's code differs; empty where it is the same."""
    begin = _code_at(image)
    for section in code(opened(program)):
        at, data = begin + section["sh_addr"], section.data()
        if image[at : at + len(data)] != data:
            return f"compiled again, its section {section.name} is not that of the image"
    return ""


def _code_at(image: bytes) -> int:
    """Where the image's code begins, after the real-mode code for a PC."""
    return ((image[_SECTORS_AT] or 4) + 1) * SECTOR_BYTES
