# SPDX-License-Identifier: Apache-2.0
"""A first program in C, made from what it mounts and what it becomes."""

from __future__ import annotations

import string
from collections.abc import Iterable
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.ids import file_sha256
from bootscope.builder.step import Context, Step
from bootscope.builder.steps.unpack import tree_of
from bootscope.core.errors import UserError
from bootscope.system.model import System, builds_kernel
from bootscope.system.small_init import NOLIBC, SmallInit, command, environment, mounts

NAME, PROGRAM = "small-init", "program"
SOURCE = Path(__file__).with_name("first") / "small_init.c"
_PLAIN = frozenset(string.ascii_letters.encode() + string.digits.encode() + b" /._=,:+-")
_VARIABLES = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "TERM=linux")
"""What the first program's program finds, beside what the system gives it: as init would have it."""


def steps(system: System, arch: Architecture) -> list[Step]:
    """The step `small-init`, where the system has one. Raises UserError for what cannot be made."""
    init = system.small_init
    if not isinstance(init, SmallInit):
        return []
    small, compiler = init.libc == NOLIBC, arch.tools.tool("gcc")
    if small and not builds_kernel(system):
        raise UserError(
            f"{system.name}: small_init.libc: nolibc lies in the kernel's tree, and the kernel is prebuilt",
            hint='libc = "glibc"',
        )
    plan = text_of(init)

    def work(context: Context) -> None:
        (context.scratch / "plan.h").write_text(plan)
        options = ["-Os", "-Wall", "-Werror", "-static", "-s", f"-I{context.scratch}"]
        options += [f"-ffile-prefix-map={path}=." for path in (SOURCE.parent, context.scratch)]
        last: list[str] = []
        if small:
            headers = tree_of(context, system.kernel.source) / "tools" / "include" / "nolibc"
            options += ["-nostdlib", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"]
            options += [f"-ffile-prefix-map={headers}=.", "-include", str(headers / "nolibc.h")]
            last = ["-lgcc"]
        context.run([compiler, *options, "-o", context.out / PROGRAM, SOURCE.name, *last], cwd=SOURCE.parent)

    inputs: dict[str, object] = {"plan": plan, "source": file_sha256(SOURCE), "libc": init.libc}
    needs = (f"unpack-{system.kernel.source}",) if small else ()
    return [Step(NAME, "first program", 1, work, inputs, needs, (compiler,))]


def text_of(init: SmallInit) -> str:
    """What the program does, as the header that it is compiled with."""
    lines = ["static const struct file_system file_systems[] = {"]
    for m in mounts(init):
        texts = ", ".join(_quoted(text) for text in (m.source, m.target, m.kind))
        lines.append(f"\t{{{texts}, {m.flags}, {_quoted(m.data) if m.data else '0'}}},")
    lines += ["\t{0, 0, 0, 0, 0},", "};"]
    given = environment(init)
    names = {line.partition("=")[0] for line in given}
    own = [line for line in _VARIABLES if line.partition("=")[0] not in names]
    lines += _words("command", command(init)) + _words("environment", [*own, *given])
    return "\n".join(lines) + "\n"


def _words(name: str, words: Iterable[str]) -> list[str]:
    return [f"static char *const {name}[] = {{", *(f"\t{_quoted(word)}," for word in words), "\t0,", "};"]


def _quoted(text: str) -> str:
    """A C string; every byte that is no plain character as three octal digits, which nothing can lengthen."""
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in text.encode()) + '"'
