# SPDX-License-Identifier: Apache-2.0
"""The splash of a system: its picture as a file, or a program that draws it."""

from __future__ import annotations

import os
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.ids import file_sha256
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import splash_picture
from bootscope.builder.steps.nolibc import compile_small
from bootscope.core.errors import UserError
from bootscope.system.model import System, builds_kernel
from bootscope.system.splash import DRAWN, LZO, PPM, Splash

NAME, RESULT = "splash", "splash"
SOURCE = Path(__file__).with_name("shapes") / "shapes.c"


def steps(system: System, arch: Architecture) -> list[Step]:
    """The step `splash`, if the system has one. Raises UserError for one without a frame buffer."""
    splash = system.splash
    if not isinstance(splash, Splash):
        return []
    if system.framebuffer is None:
        raise UserError(f"{system.name} has a splash and no frame buffer", hint="add [framebuffer] to it")
    return [_drawn(system, arch) if splash.form == DRAWN else _picture(system, splash)]


def _picture(system: System, splash: Splash) -> Step:
    fb = system.framebuffer
    assert fb is not None

    def work(context: Context) -> None:
        data = splash_picture.ppm(fb) if splash.form == PPM else splash_picture.raw(fb)
        path = context.out / RESULT
        path.write_bytes(data)
        if splash.form == LZO:
            # lzop stores the time of the file.
            os.utime(path, (0, 0))
            context.run(["lzop", "-9", "-n", "-U", "-o", context.scratch / "packed", path])
            (context.scratch / "packed").rename(path)

    inputs: dict[str, object] = {"form": splash.form, "framebuffer": fb}
    tools = ("lzop",) if splash.form == LZO else ()
    return Step(NAME, "splash picture", 1, work, inputs, (), tools)


def _drawn(system: System, arch: Architecture) -> Step:
    """The program, with the small C library of the kernel's tree where that exists."""
    small, compiler = builds_kernel(system), arch.tools.tool("gcc")

    def work(context: Context) -> None:
        compile_small(context, arch, SOURCE, context.out / RESULT, system.kernel.source if small else "")

    inputs: dict[str, object] = {"form": DRAWN, "source": file_sha256(SOURCE), "small": small}
    needs = (f"unpack-{system.kernel.source}",) if small else ()
    return Step(NAME, "program that draws the splash", 1, work, inputs, needs, (compiler,))
