# SPDX-License-Identifier: Apache-2.0
"""BusyBox and the application."""

from __future__ import annotations

import shutil
from pathlib import Path

from bootscope.build import kconfig, linkmap
from bootscope.build.ids import tree_id
from bootscope.build.step import Context, Step
from bootscope.build.steps.configure import configure
from bootscope.build.steps.unpack import tree_of
from bootscope.system.model import Application, BusyBox

BUSYBOX_WHOLE, APPLICATION_WHOLE = "busybox-whole", "program-whole"
"""The programs with their symbols, for naming their code."""

_TOOLS = ("arm-linux-gnueabihf-gcc", "arm-linux-gnueabihf-ld", "arm-linux-gnueabihf-strip", "make", "cc")


def busybox_step(busybox: BusyBox) -> Step:
    """The step `busybox`: the program, the list of its applets' paths, the configuration, and what it was
    linked from."""

    def work(context: Context) -> None:
        tree, build = tree_of(context, busybox.source), context.scratch / "build"
        config = configure(context, tree, build, "busybox", "defconfig", busybox.config)
        kconfig.check(config, busybox.config, "busybox.config")
        context.make(tree, build, "ARCH=arm", "busybox", "busybox.links")
        shutil.copy(build / "busybox", context.out / "busybox")
        whole = context.out / BUSYBOX_WHOLE
        context.run(["arm-linux-gnueabihf-strip", "--strip-debug", "-o", whole, build / "busybox_unstripped"])
        shutil.copy(build / "busybox.links", context.out / "busybox.links")
        shutil.copy(config, context.out / "config")
        text = (build / "busybox_unstripped.map").read_text()
        linkmap.write(linkmap.pieces(text), context.out / linkmap.OBJECTS)

    inputs = {"config": busybox.config}
    return Step("busybox", "building BusyBox", 3, work, inputs, (f"unpack-{busybox.source}",), _TOOLS)


def application_step(application: Application, folder: Path) -> Step:
    """The step `application`: all C files of `folder` compiled into one stripped program."""

    def work(context: Context) -> None:
        program = context.out / "program"
        sources = sorted(path.name for path in folder.glob("*.c"))
        options = [*application.compiler_options, f"-ffile-prefix-map={folder}=."]
        context.run(["arm-linux-gnueabihf-gcc", *options, "-o", program, *sources], cwd=folder)
        whole = context.out / APPLICATION_WHOLE
        context.run(["arm-linux-gnueabihf-strip", "--strip-debug", "-o", whole, program])
        symbols = context.run(["arm-linux-gnueabihf-nm", "-n", program]).output
        (context.out / "program.map").write_text(symbols + "\n")
        context.run(["arm-linux-gnueabihf-strip", program])

    inputs = {"sources": tree_id(folder), "options": application.compiler_options}
    return Step("application", "building the application", 2, work, inputs, (), _TOOLS[:3])
