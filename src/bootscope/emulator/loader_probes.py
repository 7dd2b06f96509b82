# SPDX-License-Identifier: Apache-2.0
"""Hooks in the programs of a boot loader: start-up steps, commands, device probes, delays.

The hooks of a program that relocates itself move with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from bootscope.capture.objects import Pieces
from bootscope.emulator.probes import Hooks, argument, caller
from bootscope.image.code import Code
from bootscope.loaders.model import Hooked, Loader


def add_starts(
    hooks: Hooks, loader: Loader, programs: Mapping[str, Code], addresses: Mapping[str, int]
) -> list[str]:
    """Adds the hooks at the starts of its programs; returns the lines that tell the plugin which programs
    relocate themselves."""
    lines: list[str] = []
    for program in loader.programs:
        hooks.add(program.hook(Hooked.START), addresses[program.name], "once")
    for program in loader.programs:
        code = programs[program.name]
        moving = code.address(program.functions[Hooked.RELOCATE]) if program.moves else None
        if moving is not None:
            target = argument(code.arch, loader.moves_to)
            moved = hooks.add(program.hook(Hooked.RELOCATE), moving, f"once {target}")
            lines.append(f"move {moved} {addresses[program.name]:#x}")
    return lines


def add(hooks: Hooks, loader: Loader, programs: Mapping[str, Code]) -> None:
    """Adds the hooks inside its programs. The caller must have hooked their starts already."""
    for program in loader.programs:
        code, extra = programs[program.name], "moves" if program.moves else ""
        registers, word = code.arch.registers, code.arch.word_bytes
        first, number, words, *_ = registers.arguments
        items = {
            Hooked.DELAY: f"reg {first} {caller(code.arch)}",
            Hooked.INITCALL: "",
            Hooked.PROBE: f"str {first}+{word}>0",
            Hooked.COMMAND: f"reg {number} args {words}+0",
        }
        for what, taken in items.items():
            name, function = program.hook(what), code.function(program.functions.get(what, ""))
            if what is Hooked.INITCALL:
                hooks.calls(name, code, function, extra)
            else:
                hooks.span(name, code, function, taken, extra)


def add_places(hooks: Hooks, loader: Loader, pieces: Mapping[str, Pieces]) -> None:
    """Adds the hooks where its programs learn the address of one of their pieces: address, size and name."""
    for program in loader.programs:
        told = pieces[program.name].told if program.name in pieces else None
        if told:
            only = f" is {told.only.encode().hex()}" if told.only else ""
            taken = f"int {told.place} int {told.size} str {told.name}{only}"
            hooks.add(program.hook(Hooked.PLACE), told.address, f"every {taken}")
