# SPDX-License-Identifier: Apache-2.0
"""An application whose source tree has its own configure script and makefile."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import code_profile, programs, toolchain
from bootscope.builder.steps.unpack import tree_of
from bootscope.builder.steps.userland import APPLICATION_WHOLE
from bootscope.core.errors import UserError, printable
from bootscope.system.application import Application, Configured

_LINKING = ("-s", "-static", "-static-pie", "-pie", "-no-pie", "-shared", "-rdynamic")
_LINKING_BEGINS = ("-Wl,", "-l", "-L")
"""Prefixes of compiler options that are for the linker."""


def step(application: Application, configured: Configured, arch: Architecture, compiler: str = "") -> Step:
    """The step `application`: the tree configured with the application's options and built. `compiler`: the
    step with the compiler to use; empty for the computer's.

    Running it raises ToolError when the tree's own tools fail, UserError where the tree has no configure
    script or make does not build the program.
    """

    def work(context: Context) -> None:
        toolchain.take(context, compiler)
        if context.use_ccache:
            context.programs = (_cached(context, arch.tools.tool("gcc")), *context.programs)
        program = context.out / "program"
        shutil.copy(_made(context, application, configured, arch), program)
        programs.keep_symbols(context, arch, program, APPLICATION_WHOLE, "program.map")
        if application.strip:
            context.run([arch.tools.tool("strip"), program])

    inputs: dict[str, object] = {
        "configure": configured.options,
        "makes": configured.makes,
        "options": application.compiler_options,
    }
    if not application.strip:
        inputs["strip"] = False
    if profile := code_profile.files_of(application):
        inputs["profile"] = code_profile.inputs(profile)
    needs = (f"unpack-{configured.source}", *((compiler,) if compiler else ()))
    tools = tuple(arch.tools.tool(name) for name in ("gcc", "ld", "strip"))
    return Step(
        "application", "building the application", 1, work, inputs, needs, (*tools, "make"),
        program=configured.source, figures=f"application-{configured.source}",
    )  # fmt: skip


def _made(context: Context, application: Application, configured: Configured, arch: Architecture) -> Path:
    """The program, built by the tree's own makefile."""
    tree, build = tree_of(context, configured.source), context.scratch / "build"
    if not (tree / "configure").is_file():
        raise UserError(
            f"application.configured.source: {printable(configured.source)} has no configure script",
            hint="a release has one; a checkout may need autoreconf or autogen.sh first",
        )
    # With relative paths to their sources, makefiles put no path of this computer into objects.
    (context.scratch / "tree").symlink_to(tree)
    build.mkdir()
    profiled = code_profile.put(build, code_profile.files_of(application))
    environment = _flags((*application.compiler_options, *profiled))
    options = [_filled(option, arch) for option in configured.options]
    context.run(["../tree/configure", *options], cwd=build, env=environment)
    context.run(["make", f"-j{context.jobs}", configured.makes], cwd=build, env=environment)
    made = build / configured.makes
    if made.is_symlink() or not made.is_file():
        raise UserError(
            f"application.configured.makes: make left no program {printable(configured.makes)}",
            hint="name the target of its makefile that is the program",
        )
    return made


def _filled(option: str, arch: Architecture) -> str:
    return option.replace("{prefix}", arch.tools.prefix).replace("{triplet}", arch.tools.triplet)


def _flags(given: tuple[str, ...]) -> dict[str, str]:
    """The compiler's options, as configure scripts take them. Options for code generation go to compiling and
    linking, those for the linker only to linking."""
    linking = [o for o in given if o in _LINKING or o.startswith(_LINKING_BEGINS)]
    compiling = " ".join(o for o in given if o not in linking)
    return {"CFLAGS": compiling, "CXXFLAGS": compiling, "LDFLAGS": " ".join([compiling, *linking])}


def _cached(context: Context, compiler: str) -> Path:
    """A folder with a program that runs the compiler through ccache, under each name that makefiles use."""
    real = shutil.which(compiler, path=context.search_path) or compiler
    folder = context.scratch / "cached"
    folder.mkdir()
    (folder / compiler).write_text(f'#!/bin/sh\nexec ccache {shlex.quote(real)} "$@"\n')
    (folder / compiler).chmod(0o755)
    return folder
