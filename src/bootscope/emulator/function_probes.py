# SPDX-License-Identifier: Apache-2.0
"""Functions that the user names (`record --probe`): each call and each return is recorded.

The target is not changed, nor is its timing: the functions of the boot loader's programs and of the kernel
are found in the results of the build.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from bootscope.arch.model import Architecture
from bootscope.capture.record import PROBED, RETURNED, WatchNames
from bootscope.core.errors import UserError, printable, similar, unknown
from bootscope.emulator.probes import Hooks, argument, caller, stack_pointer
from bootscope.emulator.subject import Programs
from bootscope.image.code import Code, Function

KERNEL = "kernel"
MOST = 32
"""Functions that can be probed in one boot."""
_ARGUMENTS = 4
_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")


def add(hooks: Hooks, programs: Programs, moving: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Adds the hooks for `wanted`: SYMBOL, or PROGRAM:SYMBOL such as `kernel:kfree`; returns lines for the
    plugin. `moving`: the programs that relocate themselves.

    Raises UserError for a name that no program has, or too many names.
    """
    first, moves = len(hooks.names) + 1, set(moving)
    # A function can be named twice: kfree and kernel:kfree.
    found = {(p, f.address): (p, code, f) for name in wanted for p, code, f in _found(programs, name)}
    if len(found) > MOST:
        raise UserError(f"--probe: {len(found)} functions; at most {MOST} can be recorded at once")
    for program, code, function in found.values():
        taken = f"{caller(code.arch)} {stack_pointer(code.arch)} {_arguments(code.arch)}"
        extra = "moves" if program in moves else ""
        hooks.call(f"{PROBED}{program}:{function.name}", code, function, taken, extra)
    last = len(hooks.names)
    # A guest that hangs may keep calling them.
    return [f"routine {first} {last}"] if last >= first else []


def probed(names: WatchNames) -> tuple[str, ...]:
    """The functions that a recording probed, in the form that :func:`add` takes."""
    found = (name.removeprefix(PROBED) for name in names.hooks.values() if name.startswith(PROBED))
    return tuple(dict.fromkeys(name for name in found if not name.endswith(RETURNED)))


def _found(programs: Programs, wanted: str) -> Iterator[tuple[str, Code, Function]]:
    """(program, its code, the function) for every program that has the function."""
    program, colon, symbol = wanted.rpartition(":")
    if not _NAME.fullmatch(symbol):
        raise UserError(f"--probe: not the name of a function: '{printable(wanted[:80])}'")
    codes = {**programs.loader, KERNEL: programs.kernel}
    if colon and program not in codes:
        raise unknown("program", program, list(codes))
    searched = {program: codes[program]} if colon else codes
    found = [(name, code, function) for name, code in searched.items() if (function := code.function(symbol))]
    if not found:
        raise _no_such(symbol, searched)
    yield from found


def _no_such(symbol: str, searched: Mapping[str, Code]) -> UserError:
    """No program has the symbol: perhaps it was inlined."""
    names = {function.name for code in searched.values() for function in code.functions}
    where = ", ".join(name for name, code in searched.items() if code.functions) or "no program with symbols"
    close = similar(symbol, names)
    said = f"did you mean {' or '.join(close)}? " if close else ""
    return UserError(
        f"--probe: no function {symbol} in {where}",
        hint=f"{said}functions that the compiler inlined cannot be probed",
    )


def _arguments(arch: Architecture) -> str:
    return argument(arch, *range(min(_ARGUMENTS, len(arch.registers.arguments))))
