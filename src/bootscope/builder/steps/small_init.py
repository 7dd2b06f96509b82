# SPDX-License-Identifier: Apache-2.0
"""A first program in C, made from a list of mounts and the command that it becomes."""

from __future__ import annotations

import string
from collections.abc import Iterable
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.ids import file_sha256
from bootscope.builder.step import Context, Step
from bootscope.builder.steps.nolibc import compile_small
from bootscope.core.errors import UserError
from bootscope.devices.model import SECTOR_BYTES
from bootscope.system.model import System, builds_kernel
from bootscope.system.small_init import (
    NOLIBC,
    SmallInit,
    command,
    environment,
    mounts_of,
    parts_of,
    seed_of,
)

NAME, PROGRAM = "small-init", "program"
SOURCE = Path(__file__).with_name("first") / "small_init.c"
SEED = SOURCE.with_name("seed.h")
_PLAIN = frozenset(string.ascii_letters.encode() + string.digits.encode() + b" /._=,:+-")
_PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a shell as the first program searches for programs; the kernel sets no such variable."""


def steps(system: System, arch: Architecture) -> list[Step]:
    """The step `small-init`, if the system has one. Raises UserError for one that cannot be made."""
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
        more = [f"-I{context.scratch}", f"-ffile-prefix-map={context.scratch}=."]
        compile_small(
            context, arch, SOURCE, context.out / PROGRAM, system.kernel.source if small else "", more
        )

    inputs: dict[str, object] = {"plan": plan, "source": file_sha256(SOURCE), "libc": init.libc}
    if init.seed:
        inputs["seed"] = file_sha256(SEED)
    needs = (f"unpack-{system.kernel.source}",) if small else ()
    return [Step(NAME, "first program", 1, work, inputs, needs, (compiler, arch.tools.tool("ld")))]


def text_of(init: SmallInit) -> str:
    """What the program does, as the header that it is compiled with."""
    lines = ["static const struct file_system file_systems[] = {"]
    for m in mounts_of(init.mounts):
        texts = ", ".join(_quoted(text) for text in (m.source, m.target, m.kind))
        lines.append(f"\t{{{texts}, {m.flags}, {_quoted(m.data) if m.data else '0'}}},")
    lines += ["\t{0, 0, 0, 0, 0},", "};"]
    given = environment(init)
    parts = list(parts_of(init.read_ahead))
    if parts:
        lines += ["#define READ_AHEAD", "static const struct part parts[] = {"]
        lines += [f"\t{{{_quoted(p.path)}, {p.offset}UL, {p.size_bytes}UL}}," for p in parts]
        lines += ["\t{0, 0, 0},", "};"]
    if seed := seed_of(init):
        lines += [f"#define SEED_DEVICE {_quoted(seed.device)}"]
        lines += [f"#define SEED_OFFSET {seed.sector * SECTOR_BYTES}L"]
    path = [] if any(line.startswith("PATH=") for line in given) else [_PATH]
    lines += _words("command", command(init)) + _words("given", [*path, *given])
    return "\n".join(lines) + "\n"


def _words(name: str, words: Iterable[str]) -> list[str]:
    return [f"static char *const {name}[] = {{", *(f"\t{_quoted(word)}," for word in words), "\t0,", "};"]


def _quoted(text: str) -> str:
    """A C string; special characters as three octal digits, which a following digit cannot extend."""
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in text.encode()) + '"'


def sources(init: SmallInit) -> dict[str, str]:
    """The files that it is compiled from, for use in another build: path -> text."""
    used = (SOURCE, SEED) if init.seed else (SOURCE,)
    return {f"{NAME}/{path.name}": path.read_text() for path in used} | {f"{NAME}/plan.h": text_of(init)}
