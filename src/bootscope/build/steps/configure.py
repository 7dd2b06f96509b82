# SPDX-License-Identifier: Apache-2.0
"""Configuring the kernel, U-Boot and BusyBox: a default configuration, changed, made whole by the tree."""

from __future__ import annotations

import shutil
from pathlib import Path

from bootscope.build import kconfig
from bootscope.build.step import Context, Step
from bootscope.build.steps import falcon, initramfs
from bootscope.build.steps.unpack import tree_of
from bootscope.system.model import Symbols, System

CONFIG = "config"
_TOOLS = ("arm-linux-gnueabihf-gcc", "arm-linux-gnueabihf-ld", "make", "cc")
_PARSERS = ("bison", "flex")


def wanted(system: System, tree: str) -> Symbols:
    """The symbols that a system asks for in `kernel`, `uboot` or `busybox`."""
    if tree == "kernel":
        ours = initramfs.symbols(system.initramfs) if system.initramfs else {}
        return {**system.kernel.config, **ours}
    if tree == "busybox":
        return system.busybox.config
    uboot = system.uboot
    falcons = falcon.symbols(system.card, system.kernel) if uboot.falcon else {}
    return {**uboot.config, **falcons}


def configure(
    context: Context, source: Path, build: Path, tree: str, defconfig: str, symbols: Symbols
) -> Path:
    """Makes the configuration of a tree in `build`, as the tree's own tools have it; its path.

    What was asked for need not have landed: see :func:`bootscope.build.kconfig.check`.
    """
    config = build / ".config"
    build.mkdir(exist_ok=True)
    architecture = [] if tree == "uboot" else ["ARCH=arm"]
    context.make(source, build, *architecture, defconfig)
    kconfig.apply(config, symbols)
    if tree == "busybox":
        # BusyBox has no olddefconfig: empty lines take the default of every new question.
        context.run(["sh", "-c", f"yes '' | make -C '{source}' O='{build}' ARCH=arm oldconfig"])
    else:
        context.make(source, build, *architecture, "olddefconfig")
    return config


def step(system: System, tree: str) -> Step:
    """The step `TREE-config`: what the configuration of a tree comes to, without building it."""
    source, defconfig = {
        "kernel": (system.kernel.source, system.kernel.defconfig),
        "uboot": (system.uboot.source, system.uboot.defconfig),
        "busybox": (system.busybox.source, system.busybox.defconfig),
    }[tree]
    symbols = wanted(system, tree)
    if tree == "kernel":
        symbols = {**system.kernel.wishes, **symbols}

    def work(context: Context) -> None:
        config = configure(
            context, tree_of(context, source), context.scratch / "build", tree, defconfig, symbols
        )
        shutil.copy(config, context.out / CONFIG)

    inputs = {"defconfig": defconfig, "config": symbols}
    tools = _TOOLS if tree == "busybox" else (*_TOOLS, *_PARSERS)
    return Step(f"{tree}-config", f"configuring {tree}", 1, work, inputs, (f"unpack-{source}",), tools)
