# SPDX-License-Identifier: Apache-2.0
"""U-Boot with its SPL."""

from __future__ import annotations

import shutil

from bootscope.arch.model import Architecture
from bootscope.builder import linkmap, trees
from bootscope.builder.configuring import configure
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import falcon, loader_tree, nand_loader, programs
from bootscope.builder.steps.configure import wanted
from bootscope.builder.steps.unpack import tree_of
from bootscope.devices.sunxi_boot_rom import FIRST_STAGE_IMAGE, IMAGE
from bootscope.kbuild import kconfig
from bootscope.loaders.model import FIRMWARE, Loader
from bootscope.system.model import System


def step(system: System, arch: Architecture, loader: Loader) -> Step:
    """The step `uboot`: the image for the card, or for firmware to start, programs with symbols, the
    configuration, and what U-Boot was linked from."""
    uboot = system.uboot
    symbols = wanted(system, "uboot")
    source = loader_tree.source_of(system)
    sources, compiler = f"unpack-{source}", arch.tools.tool("gcc")
    known = loader.firmware
    held = [(known.told_by, known.image)] if known and known.told_by else []

    def work(context: Context) -> None:
        tree, build = tree_of(context, source), context.scratch / "build"
        key = trees.key_of(context.results[sources].name, uboot.defconfig, compiler)
        trees.begin(context, key, symbols, build)
        config = configure(context, arch, tree, "uboot", uboot.defconfig, symbols)
        kconfig.check(config, symbols, "uboot.config")
        context.make(
            arch, tree, build, *(f"{told}={context.results[FIRMWARE] / image}" for told, image in held)
        )
        for image in loader.boot_images or (IMAGE, f"spl/{FIRST_STAGE_IMAGE}"):
            shutil.copy(build / image, context.out)
        shutil.copy(config, context.out / "config")
        if nand_loader.wanted(system) or (falcon.by_spl(system) and not system.card.raw_sector):
            shutil.copy(build / falcon.WAY_BACK, context.out)
        for program in loader.programs:
            if loader.tree_of(program) == loader.tree:
                linked = build / program.linked
                programs.keep_symbols(context, arch, linked, program.code_file, program.symbols_file)
        linkmap.write(linkmap.pieces((build / "u-boot.map").read_text()), context.out / linkmap.OBJECTS)
        trees.keep(context, key, symbols, build)

    inputs: dict[str, object] = {"defconfig": uboot.defconfig, "config": symbols}
    tools = (compiler, arch.tools.tool("ld"), "make", "cc", "bison", "flex", "swig")
    return Step(
        "uboot", "building U-Boot", 3, work, inputs, (sources, *(FIRMWARE for _ in held)), tools,
        program="U-Boot", figures="uboot", tree=(sources, uboot.defconfig, compiler),
    )  # fmt: skip
