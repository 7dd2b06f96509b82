# SPDX-License-Identifier: Apache-2.0
"""U-Boot with its SPL."""

from __future__ import annotations

import shutil

from bootscope.arch.model import Architecture
from bootscope.builder import linkmap, trees
from bootscope.builder.configuring import configure
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import falcon, programs
from bootscope.builder.steps.configure import wanted
from bootscope.builder.steps.unpack import tree_of
from bootscope.devices.sunxi_boot_rom import FIRST_STAGE_IMAGE, IMAGE
from bootscope.kbuild import kconfig
from bootscope.system.model import System


def step(system: System, arch: Architecture) -> Step:
    """The step `uboot`: the image that goes to the card, programs with symbols, the configuration, and what
    U-Boot was linked from."""
    uboot = system.uboot
    symbols = wanted(system, "uboot")
    source = falcon.source_of(uboot)
    sources, compiler = f"unpack-{source}", arch.tools.tool("gcc")

    def work(context: Context) -> None:
        tree, build = tree_of(context, source), context.scratch / "build"
        key = trees.key_of(context.results[sources].name, uboot.defconfig, compiler)
        trees.begin(context, key, symbols, build)
        config = configure(context, arch, tree, "uboot", uboot.defconfig, symbols)
        kconfig.check(config, symbols, "uboot.config")
        context.make(arch, tree, build)
        for path, name in (
            (build / IMAGE, IMAGE),
            (build / "spl" / FIRST_STAGE_IMAGE, FIRST_STAGE_IMAGE),
            (config, "config"),
        ):
            shutil.copy(path, context.out / name)
        if uboot.falcon and not system.card.raw_sector:
            shutil.copy(build / falcon.WAY_BACK, context.out)
        for path in (build / "u-boot", build / "spl" / "u-boot-spl"):
            programs.keep_symbols(context, arch, path, f"{path.name}.elf", f"{path.name}.map")
        linkmap.write(linkmap.pieces((build / "u-boot.map").read_text()), context.out / linkmap.OBJECTS)
        trees.keep(context, key, symbols, build)

    inputs: dict[str, object] = {"defconfig": uboot.defconfig, "config": symbols}
    tools = (compiler, arch.tools.tool("ld"), "make", "cc", "bison", "flex", "swig")
    return Step(
        "uboot", "building U-Boot", 3, work, inputs, (sources,), tools,
        program="U-Boot", figures="uboot", tree=(sources, uboot.defconfig, compiler),
    )  # fmt: skip
