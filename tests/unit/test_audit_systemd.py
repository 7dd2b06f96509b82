# SPDX-License-Identifier: Apache-2.0
"""Audits of boots that wait in systemd, in firmware or in a generic initramfs: which technique is named for
what, by lines of a console or journal and by what systemd-analyze says."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from bootscope.audit.culprits.model import Culprit
from bootscope.audit.culprits.units import of_log, of_trace
from bootscope.audit.result import look_at
from bootscope.readers.systemd_units import BLAME_TITLE
from bootscope.timeline.trace import Span, Table, Trace, Track

from .builders import ROOT
from .conftest import Command
from .known_builders import inventory_of, log_of, timed
from .test_cli_verbs import json_of

FIXTURES = ROOT / "tests/fixtures/readers/systemd"
S = 1_000_000_000
HEAD = [
    "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd034]",
    "[    0.000000] Linux version 6.6.30 (a@b) (aarch64-poky-linux-gcc 13) #1 SMP PREEMPT",
    "[    0.100000] smp: Brought up 1 node, 4 CPUs",
    "[    0.200000] Run /sbin/init as init process",
    "[    0.300000] systemd[1]: systemd 254 running in system mode",
]


def chat(begin_s: float, end_s: float) -> list[str]:
    """Lines of others, ten in that time."""
    step = (end_s - begin_s) / 11
    return [f"[{begin_s + n * step:12.6f}] foo: step {n} of another driver" for n in range(1, 11)]


def unit(name: str, begin_s: float, end_s: float, others: Sequence[str] = ()) -> list[str]:
    return [
        f"[{begin_s:12.6f}] systemd[1]: Starting {name}...",
        *others,
        f"[{end_s:12.6f}] systemd[1]: Finished {name}.",
    ]


def first(lines: Sequence[str], **given: str) -> Culprit:
    """What takes most, of a log with these lines in it."""
    facts = inventory_of(log=log_of([*HEAD, *lines]), **given)
    return look_at(facts).culprits[0]


UNITS = [
    ("Wait for Network to be Configured", "systemd-wait-online"),
    ("Network Manager Wait Online", "systemd-wait-online"),
    ("Wait for udev To Complete Device Initialization", "systemd-udev-settle"),
    ("Load/Save OS Random Seed", "early-random-seed"),
    ("File System Check on /dev/mmcblk0p3", "systemd-mount-later"),
    ("Rebuild Hardware Database", "systemd-first-boot"),
    ("Rebuild Dynamic Linker Cache", "systemd-first-boot"),
    ("Flush Journal to Persistent Storage", "systemd-journal-volatile"),
    ("Hold until boot process finishes up", "systemd-no-plymouth"),
    ("Load AppArmor profiles", "security-policy-prepared"),
    ("Generate OpenSSH host keys", "systemd-first-boot"),
]


@pytest.mark.parametrize("busy", [False, True], ids=["alone", "while others speak"])
@pytest.mark.parametrize(("name", "technique"), UNITS)
def test_a_unit_that_takes_long_is_named_with_its_technique(name: str, technique: str, busy: bool) -> None:
    found = first(unit(name, 1, 21, chat(1, 21) if busy else ()))
    assert found.cure.techniques[0] == technique
    assert 19.9 * S <= found.cost_ns <= 21 * S
    assert found.at_most
    assert not busy or found.what.startswith(f"unit {name[:20]}")


OTHERS = [
    (
        ["[    1.000000] systemd[1]: Expecting device dev-sda1.device - /dev/sda1...", *chat(1, 91),
         "[   91.000000] systemd[1]: Timed out waiting for device dev-sda1.device - /dev/sda1."],
        "systemd-device-timeout", 90,
    ),
    (
        ["[*     ] A start job is running for /dev/sda1 (5s / 1min 30s)", "[    1.000000] x: y",
         "[   91.000000] systemd[1]: Timed out waiting for device /dev/sda1."],
        "systemd-device-timeout", 90,
    ),
    (
        ["[    1.000000] systemd[1]: Hostname set to <board>.", "[    5.000000] systemd[1]: Queued it."],
        "systemd-generators", 4,
    ),
    (
        ["[    1.000000] Unpacking initramfs...", "[    6.000000] Freeing initrd memory: 91240K"],
        "initramfs-host-only", 5,
    ),
    (
        ["[    1.000000] Waiting for root device /dev/mmcblk0p2...",
         "[   11.000000] platform fe31.mmc: deferred probe pending: wait for supplier"],
        "kernel-deferred-timeout", 10,
    ),
    (
        ["[    1.000000] ata3: SATA max UDMA/133 abar m2048", "[    6.000000] ata3: link is slow to respond"],
        "kernel-ata-ports", 5,
    ),
    (
        ["[    1.000000] raid6: neonx8 gen() 1500 MB/s", "[    2.000000] raid6: neonx4 gen() 1400 MB/s"],
        "kernel-raid6-benchmark", 1,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "technique", "least_s"), OTHERS, ids=[t for _, t, _ in OTHERS])
def test_lines_of_a_wait_name_its_technique(lines: list[str], technique: str, least_s: float) -> None:
    found = first(lines, command_line="root=/dev/mmcblk0p2 rootwait")
    assert found.cure.techniques[0] == technique
    assert least_s * S <= found.cost_ns <= (least_s + 1) * S


LOADERS = [
    ("The highlighted entry will be executed automatically in 5s.", "grub-timeout"),
    ("BOOTP broadcast 1", "uboot-no-usb-network"),
    ("starting USB...", "uboot-no-usb-network"),
    ("Scanning for bootflows in all bootdevs", "uboot-boot-order"),
    ("SATA link 0 timeout.", "uboot-boot-order"),
    ("NOTICE:  BL31: v2.10(release):v2.10", "tfa-kernel-as-bl33"),
]


@pytest.mark.parametrize(("line", "technique"), LOADERS)
def test_a_boot_loader_that_waits_is_named_with_its_technique(line: str, technique: str) -> None:
    rows = [(0, line), (5000, "Starting kernel ..."), *((5100, text[15:]) for text in HEAD[:2])]
    found = look_at(inventory_of(log=timed(rows))).culprits[0]
    assert found.cure.techniques[0] == technique
    assert found.cost_ns == 5 * S


def test_units_that_are_ready_at_once_when_random_numbers_are_have_waited_for_them() -> None:
    lines = [
        *unit(
            "OpenSSH Server Key Check", 1, 12.02, unit("Load/Save OS Random Seed", 1.1, 12.01, chat(2, 11.9))
        ),
    ]
    lines.insert(-2, "[   12.000000] random: crng init done")
    found = first(lines)
    assert found.what == "units wait for random numbers: Load/Save OS Random Seed, OpenSSH Server Key Check"
    assert found.cost_ns == 11 * S
    assert found.cure.techniques == ("early-random-seed",)
    late = [line.replace("12.020000", "14.020000").replace("12.010000", "14.010000") for line in lines]
    assert not first(late).what.startswith("units wait")


def test_a_device_that_was_found_is_no_wait() -> None:
    lines = ["[    1.0] systemd[1]: Expecting device /dev/ttyS0...", *chat(1, 9),
             "[    9.0] systemd[1]: Found device /dev/ttyS0."]  # fmt: skip
    assert of_log(log_of([*HEAD, *lines])) == {}


def test_a_unit_in_one_long_gap_is_told_by_the_gap_alone() -> None:
    name = "Wait for Network to be Configured"
    assert of_log(log_of(unit(name, 1, 9))) == {}
    assert list(of_log(log_of(unit(name, 1, 9, chat(1, 9))))) == ["wait-online"]


def test_no_more_units_than_a_few_are_looked_at() -> None:
    lines = [line for n in range(200) for line in unit(f"Wait for Network {n}", n, n + 0.9, chat(n, n + 0.9))]
    assert len(of_log(log_of(lines))["wait-online"]) == 50


# ---- what systemd-analyze says ----


def test_blame_alone_gives_rows() -> None:
    rows = (("NetworkManager-wait-online.service", 8 * S), ("foo.service", S), ("dev-sda.device", 9 * S))
    trace = Trace("t", "c", 0, tables=(Table(BLAME_TITLE, ("unit", "ns"), rows),))
    found = {c.what: c for c in of_trace(trace)}
    assert list(found) == ["unit NetworkManager-wait-online.service", "unit foo.service"]
    assert found["unit NetworkManager-wait-online.service"].cure.techniques[0] == "systemd-wait-online"
    assert found["unit foo.service"].cure.techniques == ("systemd-long-units",)


def test_phases_and_generators_have_rows_of_their_own() -> None:
    tracks = (
        Track("systemd", "phase", "Phases", (Span(-8 * S, -3 * S, "firmware"), Span(-3 * S, 0, "loader"))),
        Track("systemd:manager", "service", "systemd itself", (Span(2 * S, 3 * S, "generators"),)),
        Track("other", "phase", "Phases", (Span(0, S, "firmware"),)),
    )
    found = {c.what: (c.cost_ns, c.cure.techniques[0]) for c in of_trace(Trace("t", "c", S, tracks))}
    assert found == {
        "phase firmware": (5 * S, "firmware-fast-boot"),
        "phase loader": (3 * S, "grub-timeout"),
        "unit systemd itself: generators": (S, "systemd-generators"),
    }


@pytest.mark.parametrize(
    ("name", "technique"),
    [
        ("blame.txt", "udev-less-coldplug"),
        ("critical-chain.txt", "systemd-long-units"),
        ("time.txt", "initramfs-host-only"),
        ("plot-table.txt", "udev-less-coldplug"),
        ("plot-short.json", "udev-less-coldplug"),
        ("units.txt.gz", "udev-less-coldplug"),
        ("manager.txt", "systemd-generators"),
    ],
)
def test_what_systemd_analyze_wrote_is_audited_alone(main_here: Command, name: str, technique: str) -> None:
    found = json_of(main_here("audit", FIXTURES / name, "--json"), "audit")
    assert technique in {t for row in found["rows"] for t in row["techniques"]}
    assert all(row["at_most"] for row in found["rows"])
    assert "parallel-init" not in json.dumps(found["rows"])
    assert found["not_applicable"]["postpone-rc-scripts"] == "the init is systemd"


def test_the_text_names_the_command_that_explains_a_technique(main_here: Command) -> None:
    done = main_here("audit", FIXTURES / "time.txt")
    assert "up to 40.252 s" in done.stdout
    assert "techniques initramfs-host-only" in " ".join(done.stdout.split())


def test_a_log_and_systemd_analyze_are_read_together(main_here: Command) -> None:
    journal = ROOT / "tests/fixtures/readers/journalctl/short-monotonic.txt"
    found = json_of(main_here("audit", journal, FIXTURES / "blame.txt", "--json"), "audit")
    assert {"spans", "silences"} <= {row["kind"] for row in found["rows"]}
    assert [f["told"] for f in found["files"]][1] == "systemd-analyze time, blame, critical-chain"
