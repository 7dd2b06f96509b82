# SPDX-License-Identifier: Apache-2.0
"""Hooks: program addresses that the plugin reports, and what it reads from registers and memory there."""

from __future__ import annotations

from dataclasses import dataclass, field

from bootscope.arch.model import ALWAYS, Architecture
from bootscope.capture.record import RETURNED
from bootscope.image.code import Code, Function

NOTHING = "none"
"""The item for a missing value."""


@dataclass
class Hooks:
    """The hooks of a watch file: number -> name, and their lines.

    Several addresses may share a name; each has a number of its own.
    """

    lines: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    def add(self, name: str, address: int | None, how: str) -> int:
        """Adds a hook and returns its number; an address of None (no such symbol) adds nothing and returns
        0."""
        if address is None:
            return 0
        number = len(self.names) + 1
        self.names[number] = name
        self.lines.append(f"hook {number} {address:#x} {how}")
        return number

    def entry(self, name: str, function: Function | None, items: str, extra: str = "") -> bool:
        """Adds a hook that reports every start of a function; False when there is no such function."""
        if function:
            self.add(name, function.address, f"every {items} {extra}".rstrip())
        return function is not None

    def span(self, name: str, code: Code, function: Function | None, items: str, extra: str = "") -> None:
        """Adds hook `NAME` at the start of a function and `NAME.end` (with the result) at each of its
        exits."""
        if not self.entry(name, function, items, extra) or not function:
            return
        for end in code.exits(function):
            self.add(
                f"{name}.end", end.address, f"every {when(end.condition)}{_result(code)} {extra}".rstrip()
            )

    def call(self, name: str, code: Code, function: Function, items: str, extra: str = "") -> None:
        """Adds a hook at the start of a function, and one for its return (`NAME.return`: stack pointer,
        result). The latter has no fixed address: it is wherever the function returns to."""
        returned = len(self.names) + 2
        self.add(
            name,
            function.address,
            f"every {items} returns {returned} {code.arch.registers.result} {extra}".rstrip(),
        )
        self.names[returned] = f"{name}{RETURNED}"

    def calls(self, name: str, code: Code, function: Function | None, extra: str = "") -> None:
        """Adds hooks `NAME` (with the address called) and `NAME.end` around a function's indirect calls."""
        for call in code.indirect_calls(function) if function else ():
            self.add(name, call.address, f"every {when(call.condition)}reg {call.register} {extra}".rstrip())
            self.add(f"{name}.end", call.back, f"every {_result(code)} {extra}".rstrip())


def argument(arch: Architecture, *numbers: int) -> str:
    """The items for arguments of a function at its start; they count from 0."""
    registers = arch.registers.arguments
    above = arch.kernel.argument_on_stack - len(registers) * arch.word_bytes
    return " ".join(
        f"reg {registers[n]}"
        if n < len(registers)
        else f"word {arch.registers.stack}+{above + n * arch.word_bytes}"
        for n in numbers
    )


def stack_pointer(arch: Architecture) -> str:
    """The item for the stack pointer."""
    return f"reg {arch.registers.stack}"


def caller(arch: Architecture) -> str:
    """The item for the return address of a function at its start."""
    return f"reg {arch.registers.link}" if arch.registers.link else f"word {arch.registers.stack}+0"


def _result(code: Code) -> str:
    """The item for a function's result."""
    return f"reg {code.arch.registers.result}"


def when(condition: int) -> str:
    """The item that makes a hook count only when the instruction's condition is true."""
    return "" if condition == ALWAYS else f"when {condition} "
