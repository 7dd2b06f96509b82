# SPDX-License-Identifier: Apache-2.0
"""Parameters of the drivers that took longest, as the kernel has them and as its command line takes them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from bootscope.capture import objects
from bootscope.capture.store import Store
from bootscope.changes.applies import filled, why_not
from bootscope.core.errors import UserError
from bootscope.inventory.driver_parameters import Effect, driver_parameters, effects, shown
from bootscope.inventory.recorded import Recorded
from bootscope.system.changes import Change
from bootscope.techniques.model import technique

from .known_builders import inventory_of
from .lab_scenes import MS, known
from .scenes import Story

PTY, UART, GPU = 0xC0100000, 0xC0200000, 0xC0300000
CODE = f"{PTY:x} t pty_init\n{UART:x} t serial8250_init\n{GPU:x} t gpu_init\n{GPU + 64:x} t end\n"
PARAMETERS = """c0900000 d __param_legacy_count
c0900014 d __param_nr_uarts
c0900028 d __param_ops_max_loop
c0900100 d __param_job_limit
c0a00000 r __param_str_rd_nr
"""
LINKED = f"""{GPU:x} 40 .init.text drivers/gpu/gpu.o
c0900000 14 __param drivers/tty/pty.o
c0900100 14 __param drivers/gpu/gpu.o
"""


def booted(
    store: Store,
    *calls: tuple[int, int],
    parameters: str = PARAMETERS,
    ports: int = 1,
    kept: dict[str, bytes] | None = None,
) -> Recorded:
    """A boot with initcalls (address, ms of CPU) that finds serial ports."""
    story = Story().hook("kernel.start").switch(1)
    for address, took_ms in calls:
        story.enter("initcall", address).work(took_ms * MS).leave("initcall")
    for port in range(ports):
        story.typed(f"[    1.000000] ttyS{port} at MMIO 0x1c28000 is a 16550A\r\n".encode(), 100)
    story.hook("kernel.init", text=b"/init").work(MS).hook("application.start").work(MS).sample()
    tables = {
        objects.KERNEL_SYMBOLS: (CODE + parameters).encode(),
        objects.KERNEL_OBJECTS: LINKED.encode(),
    }
    return known(store, story.records, objects=tables | (kept or {}))


def test_the_dearest_drivers_get_values_and_others_are_named(store: Store) -> None:
    facts = booted(store, (UART, 2), (PTY, 26), (GPU, 8), ports=3)
    assert driver_parameters(facts) == "pty.legacy_count=0 8250.nr_uarts=3"
    assert shown(facts) == (
        "pty_init 26.0 ms: pty.legacy_count=0; serial8250_init 2.0 ms: 8250.nr_uarts=3; "
        "gpu_init 8.0 ms, drivers/gpu/gpu.o has job_limit"
    )


def test_what_is_quick_or_has_no_such_parameter_is_left_alone(store: Store) -> None:
    assert driver_parameters(booted(store, (PTY, 0), (UART, 0))) == ""
    assert driver_parameters(booted(store, (PTY, 26), parameters="c0900014 d __param_nr_uarts\n")) == ""
    # A table of functions alone does not tell.
    assert driver_parameters(booted(store, (PTY, 26), parameters="")) == "pty.legacy_count=0"
    assert shown(booted(store, (GPU, 8))) == ""


def test_a_quiet_boot_does_not_tell_how_many_ports_there_are(store: Store) -> None:
    assert driver_parameters(booted(store, (UART, 2), ports=0)) == ""


def test_the_recipe_puts_each_word_on_the_command_line(store: Store) -> None:
    facts = booted(store, (PTY, 26), (UART, 2))
    recipe = technique("kernel-driver-params").recipes["measured"]
    assert why_not(recipe, facts) == ""
    assert filled(recipe.change, facts) == Change(command_line=("pty.legacy_count=0", "8250.nr_uarts=1"))
    assert why_not(recipe, booted(store, (GPU, 8))) != ""


def test_ports_that_are_not_looked_for_take_no_time(store: Store) -> None:
    kept = {objects.KERNEL_CONFIG: b"CONFIG_SERIAL_8250_RUNTIME_UARTS=8\n"}
    facts = booted(store, (PTY, 26), (UART, 2), (GPU, 8), ports=2, kept=kept)
    assert effects(facts) == [
        Effect("pty_init", Fraction(0), "LEGACY_PTYS"),
        Effect("serial8250_init", Fraction(1, 4), ""),
    ]


def test_without_a_recording_nobody_knows() -> None:
    with pytest.raises(UserError, match="without a recording"):
        driver_parameters(inventory_of())
