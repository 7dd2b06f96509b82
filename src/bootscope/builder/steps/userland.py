# SPDX-License-Identifier: Apache-2.0
"""BusyBox and the application."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder import linkmap
from bootscope.builder.configuring import configure
from bootscope.builder.ids import tree_id
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import code_profile, programs, toolchain
from bootscope.builder.steps.unpack import tree_of
from bootscope.kbuild import kconfig
from bootscope.system.application import Application
from bootscope.system.model import BusyBox

MUSL, DEFCONFIG = "musl", "defconfig"
BUSYBOX_WHOLE, APPLICATION_WHOLE = "busybox-whole", "program-whole"
"""The programs with their symbols, for naming their code."""


def _compiling(arch: Architecture) -> tuple[str, ...]:
    return tuple(arch.tools.tool(name) for name in ("gcc", "ld", "strip"))


def busybox_step(busybox: BusyBox, arch: Architecture, compiler: str = "") -> Step:
    """The step `busybox`: the program, the list of its applets' paths, the configuration, and what it was
    linked from. `compiler`: the step with the compiler to use; empty for the computer's."""

    musl = busybox.libc == MUSL

    def work(context: Context) -> None:
        toolchain.take(context, compiler)
        if musl:
            context.programs = (musl_compiler(context, arch), *context.programs)
        tree, build = tree_of(context, busybox.source), context.scratch / "build"
        config = configure(context, arch, tree, "busybox", busybox.defconfig, busybox.config)
        kconfig.check(config, busybox.config, "busybox.config")
        context.make(arch, tree, build, arch.tools.make, "busybox", "busybox.links")
        shutil.copy(build / "busybox", context.out / "busybox")
        whole = context.out / BUSYBOX_WHOLE
        context.run([arch.tools.tool("strip"), "--strip-debug", "-o", whole, build / "busybox_unstripped"])
        shutil.copy(build / "busybox.links", context.out / "busybox.links")
        shutil.copy(config, context.out / "config")
        text = (build / "busybox_unstripped.map").read_text()
        linkmap.write(linkmap.pieces(text), context.out / linkmap.OBJECTS)

    inputs: dict[str, object] = {"config": busybox.config}
    if busybox.defconfig != DEFCONFIG:
        inputs["defconfig"] = busybox.defconfig
    if musl:
        inputs["libc"] = MUSL, _MUSL_CALL
    tools, beside = (*_compiling(arch), "make", "cc"), (*_steps(compiler), *_steps("libc" if musl else ""))
    needs = (f"unpack-{busybox.source}", *beside)
    return Step(
        "busybox", "building BusyBox", 3, work, inputs, needs, tools,
        program="BusyBox", figures="busybox",
    )  # fmt: skip


def libc_step(source: str, arch: Architecture) -> Step:
    """The step `libc`: musl, with a compiler driver that uses it instead of the compiler's own library."""

    def work(context: Context) -> None:
        tree, build = tree_of(context, source), context.scratch / "build"
        build.mkdir()
        prefix, cross = context.out / "musl", arch.tools.prefix
        options = [f"--target={arch.tools.triplet}", f"CROSS_COMPILE={cross}", "--disable-shared"]
        flags = f"CFLAGS=-Os -ffile-prefix-map={tree}=."
        context.run([tree / "configure", *options, "--prefix=/", flags], cwd=build)
        context.run(["make", f"-j{context.jobs}", f"DESTDIR={prefix}", "install-libs"], cwd=build)
        context.run(["make", f"DESTDIR={prefix}", "install-headers"], cwd=build)

    tools = (arch.tools.tool("gcc"), arch.tools.tool("ld"), "make")
    return Step(
        "libc", "building musl", 1, work, {}, (f"unpack-{source}",), tools, program="musl", figures="libc"
    )


def with_musl(context: Context, arch: Architecture) -> tuple[list[str], list[str]]:
    """Options before and after the sources that make it use musl instead of the compiler's library."""
    libc = context.results["libc"] / "musl"
    # The kernel's headers are among those of the compiler's own library, which must stay hidden.
    kernel = context.scratch / "headers"
    kernel.mkdir()
    for name in ("asm", "asm-generic", "linux", "mtd"):
        (kernel / name).symlink_to(Path(f"/usr/{arch.tools.triplet}/include", name))
    before = ["-static", "-nostdinc", "-isystem", f"{libc}/include", "-isystem", str(kernel), "-nostdlib"]
    start, end = (f"{libc}/lib/{name}.o" for name in ("crti", "crtn"))
    # The library and the compiler's own functions need each other.
    group = ["-Wl,--start-group", f"{libc}/lib/libc.a", "-lgcc", "-Wl,--end-group"]
    return [*before, f"{libc}/lib/crt1.o", start], [*group, end]


_MUSL_CALL = """\
#!/bin/sh
for word in "$@"; do
	case $word in -c|-S|-E|-r) exec {compiling} "$@" ;; esac # -r: BusyBox joins its objects first
done
exec {compiling} {first} "$@" {last}
"""


def musl_compiler(context: Context, arch: Architecture) -> Path:
    """A folder with a compiler that uses musl instead of its own library, whatever calls it."""
    name, folder = arch.tools.tool("gcc"), context.scratch / "compiler"
    folder.mkdir()
    before, after = with_musl(context, arch)
    libraries = context.results["libc"] / "musl/lib"
    at = before.index("-nostdlib")
    call = _MUSL_CALL.format(
        compiling=shlex.join([shutil.which(name, path=context.search_path) or name, *before[1:at]]),
        first=shlex.join(["-static", f"-L{libraries}", *before[at:]]),
        last=shlex.join(after),
    )
    (folder / name).write_text(call)
    (folder / name).chmod(0o755)
    return folder


def _steps(compiler: str) -> tuple[str, ...]:
    return (compiler,) if compiler else ()


def application_step(application: Application, folder: Path, arch: Architecture, compiler: str = "") -> Step:
    """The step `application`: all C files of `folder` compiled into one program; `compiler` as for
    :func:`busybox_step`."""
    musl, profile = application.libc == MUSL, code_profile.files_of(application)
    counted = bool(profile) or code_profile.COUNTING in application.compiler_options

    def work(context: Context) -> None:
        toolchain.take(context, compiler)
        program, where = context.out / "program", folder
        sources = sorted(path.name for path in folder.glob("*.c"))
        options = [*application.compiler_options, f"-ffile-prefix-map={folder}=."]
        if counted:
            where = code_profile.apart(context.scratch, folder)
            sources = [f"{code_profile.SOURCES}/{name}" for name in sources]
            options += code_profile.put(where, profile)
        before, after = with_musl(context, arch) if musl else ([], [])
        gcc = [arch.tools.tool("gcc"), *options, *before]
        context.run([*gcc, "-o", "program" if counted else program, *sources, *after], cwd=where)
        if counted:
            shutil.move(where / "program", program)
        programs.keep_symbols(context, arch, program, APPLICATION_WHOLE, "program.map")
        if application.strip:
            context.run([arch.tools.tool("strip"), program])

    inputs: dict[str, object] = {"sources": tree_id(folder), "options": application.compiler_options}
    if musl:
        inputs["libc"] = application.libc
    if not application.strip:
        inputs["strip"] = False
    if counted:
        inputs["profile"] = code_profile.SOURCES, *code_profile.inputs(profile)
    needs = (*(("libc",) if musl else ()), *_steps(compiler))
    return Step("application", "building the application", 2, work, inputs, needs, _compiling(arch))
