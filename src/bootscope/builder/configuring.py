# SPDX-License-Identifier: Apache-2.0
"""A tree's configuration, made by its own tools from a default one and the requested symbols."""

from __future__ import annotations

from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.step import Context
from bootscope.kbuild import kconfig
from bootscope.system.model import Symbols


def configure(
    context: Context, arch: Architecture, source: Path, tree: str, defconfig: str, symbols: Symbols
) -> Path:
    """Makes the configuration of a tree with its own tools, in the step's folder `build`; returns its path.

    Requested symbols may not be in effect: see :func:`bootscope.kbuild.kconfig.check`.
    """
    build = context.scratch / "build"
    config = build / ".config"
    build.mkdir(exist_ok=True)
    architecture = [] if tree == "uboot" else [arch.tools.make]
    context.make(arch, source, build, *architecture, defconfig)
    kconfig.apply(config, symbols)
    if tree == "busybox":
        # BusyBox has no olddefconfig: empty lines accept the default of every new question.
        context.run(["sh", "-c", f"yes '' | make -C '{source}' O='{build}' {arch.tools.make} oldconfig"])
    else:
        context.make(arch, source, build, *architecture, "olddefconfig")
    return config
