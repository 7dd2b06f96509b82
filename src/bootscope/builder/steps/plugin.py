# SPDX-License-Identifier: Apache-2.0
"""The QEMU plugin, compiled for this host."""

from __future__ import annotations

from bootscope.builder.ids import sources_id
from bootscope.builder.step import Context, Step
from bootscope.core.paths import plugin_source_dir

PLUGIN = "bootscope-plugin.so"


def step() -> Step:
    """The step `plugin`. Raises ToolError when the sources are not there."""
    folder = plugin_source_dir()

    def work(context: Context) -> None:
        context.run(
            ["make", "-C", folder, f"OUT={context.out}", f"CFLAGS=-O2 -g -ffile-prefix-map={folder}=."]
        )

    inputs = {"sources": sources_id(folder, "plugin.c", "plugin")}
    return Step("plugin", "compiling the QEMU plugin", 1, work, inputs, (), ("cc", "make"))
