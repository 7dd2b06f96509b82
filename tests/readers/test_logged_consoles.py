# SPDX-License-Identifier: Apache-2.0
"""Consoles with the stamps of Tera Term, OpenWrt's logread and Python's logging.

The stamps are as these write them: Tera Term's log with a time stamp, ubox's logread, `logging.Formatter`.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture.imported import Answers, Raw
from bootscope.importing.files import understand
from bootscope.readers.registry import reader

from .fuzzing import damaged, survives

CONSOLE = (
    "U-Boot 2023.10 (Aug 03 2023 - 00:09:41 +0200)",
    "Starting kernel ...",
    "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd034]",
    "[    1.000000] Run /sbin/init as init process",
    "board login:",
)
DATED = [f"2026-01-02 03:04:0{n}.250" for n in range(5)]


def log(head: str, stamps: list[str], tail: str = "") -> bytes:
    return "".join(f"{head}{at}{tail}{line}\n" for at, line in zip(stamps, CONSOLE, strict=True)).encode()


COMMA = [at.replace(".", ",") for at in DATED]
CASES = {
    "teraterm elapsed": log("[", [f"0 00:00:0{n}.250" for n in range(5)], "] "),
    "python-logging asctime": log("", COMMA, " INFO: "),
    "python-logging name": log("", COMMA, " - labgrid.console - INFO - "),
    "python-logging behind": log("", COMMA, " DEBUG serial.imx8: "),
    "python-logging time": log("", [at[11:] for at in COMMA], " [INFO] "),
}


@pytest.mark.parametrize("case", CASES)
def test_a_console_with_stamps(case: str) -> None:
    found = understand([Raw("console.log", CASES[case])], Answers(), strict=True)
    (file,) = found.files
    assert file.reader.name == case.partition(" ")[0]
    (boot,) = file.reading.boots
    assert [text for _, text in boot.log] == [*CONSOLE]
    assert (boot.clock.resolution_ns, file.reading.missed) == (1_000_000, [])
    assert found.trace(1).milestones()["login"] - found.trace(1).milestones()["bootloader"] == 4_000_000_000


OPENWRT = (
    "Fri Jan  2 03:04:05 2026{} kern.notice kernel: [    0.000000] Linux version 6.6.52 (builder) (gcc)\n"
    "Fri Jan  2 03:04:05 2026{} kern.info kernel: [    1.500000] Run /sbin/init as init process\n"
    "Fri Jan  2 03:04:08 2026{} user.info kernel: [    4.250000] init: - preinit -\n"
    "Fri Jan  2 03:04:12 2026{} daemon.notice procd: /etc/rc.d/S96led: setting up led LAN\n"
)


@pytest.mark.parametrize(("stamp", "resolution_ns"), [("", 1_000_000_000), (" [1767323045.250]", 1_000_000)])
def test_the_log_of_openwrt(stamp: str, resolution_ns: int) -> None:
    (file,) = understand([Raw("x", OPENWRT.format(*[stamp] * 4).encode())], Answers(), strict=True).files
    assert file.reader.name == "logread"
    (boot,) = file.reading.boots
    assert boot.clock.resolution_ns == resolution_ns
    assert boot.facts["kernel"] == "6.6.52"
    assert boot.log.text(3) == "procd: /etc/rc.d/S96led: setting up led LAN"
    assert list(boot.log.kernel_ns) == [0, 1_500_000_000, 4_250_000_000, -1]


@pytest.mark.parametrize("name", ["teraterm", "python-logging", "logread"])
@given(data=st.data())
def test_damage_breaks_nothing(name: str, data: st.DataObject) -> None:
    whole = OPENWRT.format(*[""] * 4).encode() + b"".join(CASES.values())
    survives(reader(name), data.draw(damaged(whole)))
