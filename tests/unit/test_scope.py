# SPDX-License-Identifier: Apache-2.0
"""Which systems a technique is for: over the whole catalogue, and what is known of a machine."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bootscope.arch.registry import ARCHITECTURES as EMULATED
from bootscope.arch.told import ARCHITECTURES
from bootscope.audit.culprits.model import Culprit
from bootscope.audit.result import AuditResult, look_at
from bootscope.changes.impossible import out_of_scope
from bootscope.inventory.bootlog import BootLog
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.machine import INITS, ROOTS, architecture, init_system, processors, root_kind
from bootscope.techniques.model import Scope, Status, Technique, technique, techniques

from .known_builders import inventory_of, log_of

ALL = list(techniques().values())
every = pytest.mark.parametrize("t", ALL, ids=[t.id for t in ALL])

ARM64 = """\
[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd034]
[    0.000000] Linux version 6.6.30 (a@b) (aarch64-poky-linux-gcc 13.2) #1 SMP PREEMPT
[    0.200000] smp: Brought up 1 node, 8 CPUs
[    2.000000] Run /sbin/init as init process
[    2.500000] systemd[1]: systemd 254 running in system mode
"""
X86 = """\
[    0.000000] Linux version 6.6.30 (a@b) (gcc 13.2) #1 SMP PREEMPT_DYNAMIC
[    0.000000] BIOS-provided physical RAM map:
[    0.300000] smp: Brought up 1 node, 16 CPUs
[    2.000000] Run /init as init process
[    2.500000] systemd[1]: Running in initrd.
"""
RISCV = """\
OpenSBI v1.4
[    0.000000] Linux version 6.6.30 (a@b) (riscv64-linux-gnu-gcc 13) #1 SMP
[    0.200000] smp: Brought up 1 node, 4 CPUs
[    2.500000] procd: - early -
"""
ARM = """\
[    0.000000] Booting Linux on physical CPU 0x0
[    0.000000] Linux version 6.6.30 (a@b) (arm-linux-gcc 13) #1
[    0.200000] SMP: Total of 1 processors activated (48.00 BogoMIPS).
[    2.000000] Run /sbin/init as init process
init started: BusyBox v1.36.1
"""
MACHINES = {
    "arm64": ({"log": ARM64, "command_line": "root=/dev/mmcblk0p2"}, ("arm64", 8, "systemd", "block")),
    "x86": ({"log": X86, "command_line": "root=UUID=1"}, ("x86", 16, "systemd", "block")),
    "riscv": ({"log": RISCV, "command_line": "root=ubi0:rootfs"}, ("riscv", 4, "openwrt", "flash")),
    "arm": ({"log": ARM, "command_line": "root=/dev/nfs ip=dhcp"}, ("arm", 1, "busybox", "network")),
    "nothing": ({}, ("", 0, "", "")),
}  # fmt: skip
machines = pytest.mark.parametrize(("given", "seen"), MACHINES.values(), ids=list(MACHINES))

# ---- what is known of a machine ----


@machines
def test_a_log_tells_what_machine_it_is_of(given: dict[str, Any], seen: tuple[str, int, str, str]) -> None:
    facts = inventory_of(**given)
    assert (architecture(facts), processors(facts), init_system(facts), root_kind(facts)) == seen


@pytest.mark.parametrize(
    ("given", "init"),
    [
        ({"files": {"/usr/lib/systemd/systemd": "program"}}, "systemd"),
        ({"files": {"/sbin/init": "-> ../bin/busybox"}}, "busybox"),
        ({"files": {"/sbin/init": "program"}}, ""),
        ({"init": "systemd"}, "systemd"),
        ({"log": ["INIT: version 3.06 booting"]}, "sysvinit"),
        ({"log": ["[  OK  ] Reached target Basic System."]}, "systemd"),
        ({"log": ["init: init first stage started!"]}, "android"),
        ({"log": ["OpenRC 0.54 is starting up Linux 6.6"]}, "openrc"),
    ],
)
def test_the_init_is_known_by_what_is_of_it_alone(given: dict[str, Any], init: str) -> None:
    assert init_system(inventory_of(**given)) == init


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (["CPU: ARMv7 Processor [410fc075] revision 5 (ARMv7), cr=10c5387d"], "arm"),
        (["systemd[1]: Detected architecture x86-64."], "x86"),
        (["systemd[1]: Detected architecture arm64."], "arm64"),
        (["CPU0 revision is: 00019556 (MIPS 34Kc)"], "mips"),
        (["Using pSeries machine description"], "powerpc"),
        (["SBI specification v1.0 detected"], "riscv"),
        (["Booting Linux on physical CPU 0x0", "Boot CPU: AArch64 Processor [410fd034]"], "arm64"),
        (["Booting Linux on physical CPU 0x0"], ""),
        (["nothing of it"], ""),
    ],
)
def test_the_architecture_is_known_by_lines_of_its_kernel(lines: list[str], name: str) -> None:
    assert architecture(inventory_of(log=lines)) == name


def test_the_architecture_of_a_board_is_the_one_that_techniques_name() -> None:
    named = {architecture(inventory_of(architecture=name)) for name in EMULATED}
    assert named == {"arm", "arm64", "riscv", "x86"} <= set(ARCHITECTURES)


def test_a_root_in_memory_is_one_that_nothing_replaces() -> None:
    run = "[    1.000000] Run /init as init process"
    assert root_kind(inventory_of(log=[run], command_line="quiet")) == "memory"
    mounted = [run, "[    2.000000] EXT4-fs (mmcblk0p2): mounted filesystem with ordered data mode"]
    assert root_kind(inventory_of(log=mounted, command_line="quiet")) == ""


# ---- the catalogue ----


@every
def test_its_systems_are_such_as_there_are(t: Technique) -> None:
    scope = t.applies_to
    assert set(scope.architectures) <= set(ARCHITECTURES) != set(scope.architectures)
    assert set(scope.inits) <= set(INITS) != set(scope.inits)
    assert set(scope.roots) <= set(ROOTS) != set(scope.roots)
    for names in (scope.architectures, scope.inits, scope.roots):
        assert list(names) == sorted(set(names))
    assert not scope.most_cpus or scope.least_cpus <= scope.most_cpus
    assert {found.tools.kernel for found in EMULATED.values()} <= set(ARCHITECTURES)


@every
def test_it_has_a_source(t: Technique) -> None:
    assert t.refs or t.sources
    for source in t.sources:
        assert source.title and source.by
        assert source.year == 0 or 2000 <= source.year <= 2026
        assert source.url == "" or re.match(r"https?://[\w.-]+/", source.url)


ONLY = {
    r"\bzImage\b(?! on)|Thumb-2|\bbootz\b|ZBOOT_ROM|CONFIG_ARM_": "arm",
    r"OpenSBI starts": "riscv",
    r"Trusted Firmware-A|\bbooti\b": "arm64",
    r"time stamp counter": "x86",
}


@every
def test_what_only_one_processor_has_is_not_for_all(t: Technique) -> None:
    title = f"{t.title}. {t.what}"
    for words, architecture_of in ONLY.items():
        if re.search(words, title) and t.status is not Status.OBSOLETE and t.id not in GENERAL:
            assert architecture_of in t.applies_to.architectures, words


GENERAL = ("uboot-exact-size", "uboot-verify-no")
"""Say the word as an example of what is for others, too."""


@every
def test_what_systemd_does_is_for_systemd(t: Technique) -> None:
    if t.id.startswith("systemd-"):
        assert t.applies_to.inits == ("systemd",)
    if "rc-script" in t.id:
        assert "systemd" not in t.applies_to.inits != ()


def rows(result: AuditResult) -> list[Culprit]:
    return list(result.culprits)


def test_no_row_and_no_finding_is_for_another_system() -> None:
    """Of each machine, with the lines of every kind of gap in its log."""
    for given, _ in MACHINES.values():
        text = str(given.get("log", ""))
        lines = [*text.splitlines(), *SPOKEN]
        facts = inventory_of(**{**given, "log": log_of(lines)})
        result = look_at(facts)
        named = {name for culprit in rows(result) for name in culprit.cure.techniques}
        named |= {f.technique.id for f in result.audit.findings}
        assert {name: out_of_scope(technique(name).applies_to, facts) for name in named} == dict.fromkeys(
            named, ""
        )
        assert len(named) > 10 or not given


SPOKEN = [
    f"[{10 + 3 * n:5}.000000] {text}"
    for n, text in enumerate(
        (
            "systemd[1]: Starting Wait for Network to be Configured...",
            "udevd[1]: starting",
            "Waiting for /dev/to be fully populated",
            "raid6: neonx4 gen() 1400 MB/s",
            "ata1: SATA max UDMA/133 mmio",
            "ata1: SATA link down (SStatus 0)",
            "smp: Bringing up secondary CPUs ...",
            "CPU1: Booted",
            "Unpacking initramfs...",
            "Freeing initrd memory: 9000K",
            "INIT: Entering runlevel: 5",
            "Starting foo: OK",
            "hub 1-0:1.0: USB hub found",
            "usb 1-1: new high-speed USB device number 2",
        )
    )
]


@pytest.mark.parametrize(
    ("scope", "why"),
    [
        (Scope(), ""),
        (Scope(architectures=("arm",)), "the processor is arm64"),
        (Scope(inits=("busybox",)), "the init is systemd"),
        (Scope(roots=("flash",)), "the root is on a block device"),
        (Scope(most_cpus=1), "8 processors were brought up"),
        (Scope(least_cpus=16), "only 8 processors were brought up"),
        (Scope(("arm64",), ("systemd",), ("block",), 2, 8), ""),
    ],
)
def test_what_speaks_against_a_technique_is_told(scope: Scope, why: str) -> None:
    assert out_of_scope(scope, inventory_of(**MACHINES["arm64"][0])) == why
    assert out_of_scope(scope, Inventory()) == ""


class Counting(BootLog):
    """A log that counts how often its whole text is gone through."""

    asked = 0

    @property
    def text(self) -> str:
        Counting.asked += 1
        return super().text


def test_a_long_log_is_gone_through_once_for_a_question() -> None:
    """An audit asks what the machine is for every technique; of 200,000 lines that took minutes."""
    plain = log_of(X86)
    facts = inventory_of(log=Counting(plain.lines, plain.clock))
    assert {architecture(facts) for _ in range(50)} == {"x86"}
    assert Counting.asked <= len(ARCHITECTURES)
