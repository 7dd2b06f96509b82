# SPDX-License-Identifier: Apache-2.0
"""Configures the kernel, U-Boot and BusyBox: a default configuration, changed, completed by the tree."""

from __future__ import annotations

import shutil
from operator import attrgetter

from bootscope.arch.model import Architecture
from bootscope.builder.configuring import configure
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import falcon, initramfs, nand_driver, nand_loader
from bootscope.builder.steps.unpack import tree_of
from bootscope.system.model import Symbols, System
from bootscope.system.nand import Nand, nand_of

CONFIG = "config"


def wanted(system: System, tree: str) -> Symbols:
    """The symbols that a system needs in `kernel`, `uboot` or `busybox`."""
    if tree == "kernel":
        ours = initramfs.symbols(system.initramfs) if system.initramfs else {}
        chip = {nand_driver.SYMBOL: True} if nand_of(system.nand) else {}
        return {**system.kernel.config, **ours, **chip}
    if tree == "busybox":
        return system.busybox.config
    uboot = system.uboot
    nand = nand_loader.wanted(system)
    driver: Symbols = nand_loader.symbols(nand) if nand else {}
    return {**uboot.config, **driver, **(_falcon(system, nand) if falcon.by_spl(system) else {})}


def _falcon(system: System, nand: Nand | None) -> Symbols:
    """The symbols for an SPL that loads Linux, from the chip if the kernel is in one."""
    if nand and nand_loader.holds_kernel(system):
        return nand_loader.falcon_symbols(nand, system.kernel)
    return falcon.symbols(system.card, system.kernel)


def step(system: System, tree: str, arch: Architecture) -> Step:
    """The step `TREE-config`: the resulting configuration of a tree, without building it."""
    source, defconfig = attrgetter("source", "defconfig")(getattr(system, tree))
    symbols = wanted(system, tree)
    if tree == "kernel":
        symbols = {**system.kernel.wishes, **symbols}

    def work(context: Context) -> None:
        config = configure(context, arch, tree_of(context, source), tree, defconfig, symbols)
        shutil.copy(config, context.out / CONFIG)

    inputs = {"defconfig": defconfig, "config": symbols}
    parsers = () if tree == "busybox" else ("bison", "flex")
    tools = (arch.tools.tool("gcc"), arch.tools.tool("ld"), "make", "cc", *parsers)
    return Step(f"{tree}-config", f"configuring {tree}", 1, work, inputs, (f"unpack-{source}",), tools)
