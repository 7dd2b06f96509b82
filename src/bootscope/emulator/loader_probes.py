# SPDX-License-Identifier: Apache-2.0
"""What is watched in U-Boot and its SPL: start-up steps, commands, device probes, delays.

U-Boot moves itself to the end of memory; its hooks move with it.
"""

from __future__ import annotations

from bootscope.emulator.probes import Hooks
from bootscope.image.code import Code


def add(hooks: Hooks, uboot: Code, spl: Code) -> None:
    """Adds the hooks of both programs. U-Boot's own start must already be hooked by the caller."""
    for name, code, extra in (("spl", spl, ""), ("uboot", uboot, "moves")):
        registers = code.arch.registers
        first = registers.arguments[0]
        hooks.span(f"{name}.delay", code, code.function("udelay"), f"reg {first} reg {registers.link}", extra)
        hooks.calls(f"{name}.initcall", code, code.function("initcall_run_list"), extra)
        # struct udevice of U-Boot's driver model begins with the pointers to its driver and its name.
        probe = f"str {first}+{code.arch.word_bytes}>0"
        hooks.span(f"{name}.probe", code, code.function("device_probe"), probe, extra)
    # A command: flag, number of words, the words.
    _, number, words, *_ = uboot.arch.registers.arguments
    hooks.span("uboot.command", uboot, uboot.function("cmd_process"), f"reg {number} args {words}+0", "moves")
