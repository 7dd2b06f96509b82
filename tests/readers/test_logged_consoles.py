# SPDX-License-Identifier: Apache-2.0
"""Consoles with the stamps of Tera Term, OpenWrt's logread and Python's logging.

The stamps are as these write them: Tera Term's log with a time stamp, ubox's logread, `logging.Formatter`.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
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
UNDATED = OPENWRT.format(*[""] * 4)


@pytest.mark.parametrize(("stamp", "resolution_ns"), [("", 1_000_000_000), (" [1767323045.250]", 1_000_000)])
def test_the_log_of_openwrt(stamp: str, resolution_ns: int) -> None:
    (file,) = understand([Raw("x", OPENWRT.format(*[stamp] * 4).encode())], Answers(), strict=True).files
    assert file.reader.name == "logread"
    (boot,) = file.reading.boots
    assert boot.clock.resolution_ns == resolution_ns
    assert boot.facts["kernel"] == "6.6.52"
    assert boot.log.text(3) == "procd: /etc/rc.d/S96led: setting up led LAN"
    assert list(boot.log.kernel_ns) == [0, 1_500_000_000, 4_250_000_000, -1]


LOGCAT = """\
--------- beginning of kernel
02-19 13:54:36.583     0     0 I         : Linux version 6.7.5 (builder) (gcc)
02-19 13:54:37.560     0     0 I Freeing unused kernel memory: 4288K
02-19 13:54:37.575     0     0 I         : Run /init as init process
01-01 00:00:00.940   455   455 I auditd  : type=2000 audit(0.0:1): state=initialized
02-19 13:54:39.000     0     0 I init    : starting service 'logd'
--------- beginning of main
02-19 13:54:38.000   460   460 I SELinux : SELinux: Loaded service_contexts from:
"""


@pytest.mark.parametrize(
    ("how", "of"),
    [
        (r"\1 \2 \3 \4 \5: ", r"-v threadtime"),
        (r"\1 \4/\5(    \2): ", r"-v time"),
        (r"2026-\1 \2 \3 \4 \5: ", r"-v year -v threadtime"),
    ],
)
def test_the_log_of_android(how: str, of: str) -> None:
    text = re.sub(r"^(\d\d-\d\d \S+) +(\d+) +(\d+) (I) (.{8,40}?): ", how, LOGCAT, flags=re.MULTILINE)
    found = understand([Raw("x", text.encode())], Answers(), strict=True)
    boot = found.files[0].reading.boots[0]
    assert (found.files[0].reader.name, boot.facts["tool"]) == ("logcat", f"logcat {of}")
    assert found.trace(1).milestones() == {
        "kernel-entry": 0,
        "kernel-done": 977_000_000,
        "init": 992_000_000,
    }
    words = [boot.log.text(i).split(": ")[-1] for i in range(len(boot.log))]
    assert words.index("Loaded service_contexts from:") < words.index("starting service 'logd'")
    assert found.trace(1).total_ns == 2_417_000_000, "the clock that was not set is no time of the boot"


@pytest.mark.parametrize("name", ["teraterm", "python-logging", "logread", "logcat"])
@settings(deadline=None)
@given(data=st.data())
def test_damage_breaks_nothing(name: str, data: st.DataObject) -> None:
    whole = UNDATED.encode() + b"".join(CASES.values()) + LOGCAT.encode()
    survives(reader(name), data.draw(damaged(whole)))
