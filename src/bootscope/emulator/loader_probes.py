# SPDX-License-Identifier: Apache-2.0
"""What is watched in U-Boot and its SPL: start-up steps, commands, device probes, delays.

U-Boot moves itself to the end of memory; its hooks move with it.
"""

from __future__ import annotations

from bootscope.emulator.probes import Hooks
from bootscope.image.code import Code

# struct udevice of U-Boot's driver model begins with the pointers to its driver and its name.
_UDEVICE_NAME = 4


def add(hooks: Hooks, uboot: Code, spl: Code) -> None:
    """Adds the hooks of both programs. U-Boot's own start must already be hooked by the caller."""
    for name, code, extra in (("spl", spl, ""), ("uboot", uboot, "moves")):
        hooks.span(f"{name}.delay", code, code.function("udelay"), "reg 0 reg 14", extra)
        hooks.calls(f"{name}.initcall", code, code.function("initcall_run_list"), extra)
        probe = f"str 0+{_UDEVICE_NAME}>0"
        hooks.span(f"{name}.probe", code, code.function("device_probe"), probe, extra)
    # A command: flag, number of words, the words.
    hooks.span("uboot.command", uboot, uboot.function("cmd_process"), "reg 1 args 2+0", "moves")
