# SPDX-License-Identifier: Apache-2.0
"""Boards with firmware before their boot loader, recorded from the first instruction to a picture, exactly as
`cubieboard` is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bootscope.capture.stream import Cpu, Hook, read
from tests.command import ROOT, Bootscope, recorded_once

pytestmark = [pytest.mark.boot, pytest.mark.long]
Recorded = tuple[Bootscope, dict[str, Any]]
PARTS = ("cpu_ns", "storage_ns", "console_ns", "idle_ns", "fixed_ns")
NAMELESS = ("without a symbol", "before its MMU", "program ", "user programs")
LOADER, LINUX = ["bootloader", "load"], ["kernel", "init", "application"]


@dataclass(frozen=True)
class Chain:
    """A board: its system, the phases before its boot loader, and whose functions are named there.

    `whole`: programs that come without symbols and are named as a whole. `unpacks`: whether the kernel's
    image unpacks itself. `steps`: kinds of steps of the boot loader that are seen. `archive`: whether an
    initramfs loads modules. `cpus`: how many the machine can have that the kernel is told of. `loaded`:
    whether a boot loader reads kernel and initramfs from the card; else the emulator hands them over.
    `read`: what the application is read from.
    """

    board: str
    system: str
    firmware: list[str]
    programs: tuple[str, ...]
    whole: tuple[str, ...] = ()
    unpacks: bool = False
    steps: frozenset[str] = frozenset({"uboot command", "uboot initcall"})
    archive: bool = True
    cpus: int = 4
    loaded: bool = True
    read: str = "/usr/bin/testcard"

    @property
    def phases(self) -> list[str]:
        loader = LOADER if self.loaded else []
        return ["rom", *self.firmware, *loader, *(["decompress"] if self.unpacks else []), *LINUX]


CHAINS = [
    Chain("virt-arm64", "debian-arm64", ["bl1", "bl2", "bl31"], ("BL1", "BL2", "U-Boot")),
    Chain("virt-riscv64", "debian-riscv64", ["spl", "opensbi"], ("SPL", "OpenSBI", "U-Boot")),
    Chain(
        *("q35", "debian-amd64", ["firmware"], ("GRUB", "decompressor")),
        whole=("SeaBIOS",),
        unpacks=True,
        steps=frozenset(),
    ),
    Chain("zynq", "stock-zynq", ["spl"], ("SPL", "U-Boot"), unpacks=True, archive=False, cpus=1),
    Chain("imx8mp-evk", "debian-imx8mp", [], (), steps=frozenset(), cpus=1, loaded=False),
    Chain(
        *("vexpress-a9", "stock-vexpress", [], ("decompressor",)),
        whole=("decompressor",),  # it lies in the way of the kernel, and moves itself before it unpacks that
        unpacks=True,
        steps=frozenset(),
        archive=False,
        cpus=1,
        loaded=False,
    ),
    Chain(
        *("vexpress-a9-uboot", "stock-nor", [], ("U-Boot", "decompressor")),
        unpacks=True,
        archive=False,
        cpus=1,
        read="squashfs small files",
    ),
]


EACH_TIME = ("virt-arm64", "virt-riscv64", "q35")
"""Boards that each change is tried on, one for each architecture beside the reference system's; the others
are for `make campaigns`."""


def _parameters(chains: list[Chain], each_time: tuple[str, ...]) -> list[Any]:
    return [
        pytest.param(one, id=one.system, marks=() if one.board in each_time else pytest.mark.campaign)
        for one in chains
    ]


@pytest.fixture(scope="session", params=_parameters(CHAINS, EACH_TIME))
def chain(request: pytest.FixtureRequest) -> Chain:
    found: Chain = request.param
    return found


@pytest.fixture(scope="session")
def boots(chain: Chain, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A boot up to first-frame, in a store for looking only."""
    return recorded_once(chain.system, tmp_path_factory.getbasetemp(), chain.system)


def rows(command: Bootscope, view: str) -> list[dict[str, Any]]:
    tables = command.json("show", "--view", view, "--top", "100000")["tables"]
    return [row for table in tables for row in table["rows"]]


def test_the_boot_reaches_its_milestone(boots: Recorded) -> None:
    _, recorded = boots
    assert recorded["complete"]
    assert [boot["ended"] for boot in recorded["boots"]] == ["milestone"]


@pytest.mark.parametrize("chain", _parameters(CHAINS, EACH_TIME[:1]), indirect=True)
def test_two_boots_are_equal_to_the_nanosecond(chain: Chain, boots: Recorded, tmp_path: Path) -> None:
    command, recorded = boots
    other = Bootscope(tmp_path / "store")
    assert other.stream(other.json("record", chain.system)) == command.stream(recorded)


def test_every_stage_is_a_phase_and_all_of_it_adds_up(chain: Chain, boots: Recorded) -> None:
    shown = boots[0].json("show")
    assert [phase["name"] for phase in shown["phases"]] == chain.phases
    at_ns = 0
    for phase in shown["phases"]:
        assert phase["start_ns"] == at_ns
        assert sum(phase[part] for part in PARTS) == phase["end_ns"] - phase["start_ns"]
        at_ns = phase["end_ns"]
    assert at_ns == shown["total_ns"] == shown["milestones"]["first-frame"]
    # What was said while it ran is what is shown of it.
    told = json.loads(Path(boots[1]["boots"][0]["path"], "boot.json").read_text())["message"]
    assert told == f"first-frame at {shown['total_ns'] / 1e9:.3f} s"
    assert [name for name in shown["milestones"] if name in chain.firmware] == chain.firmware
    assert (Path(boots[1]["boots"][0]["path"]) / "screen.png").read_bytes().startswith(b"\x89PNG")


def test_nearly_all_of_the_cpus_time_has_a_function(chain: Chain, boots: Recorded) -> None:
    found = rows(boots[0], "functions")
    total = sum(row["self_ns"] for row in found)
    lacking = [row for row in found if any(word in row["what"] for word in NAMELESS)]
    lacking += [row for row in found if row["what"] in ("decompressor", *chain.whole)]
    nameless = [row for row in lacking if row["what"].partition(" ")[0] not in chain.whole]
    assert sum(row["self_ns"] for row in nameless) < total // 20
    assert set(chain.whole) <= {row["what"].partition(" ")[0] for row in found}
    for program in (*chain.programs, "kernel", "busybox", "testcard"):
        assert any(row["what"].startswith(f"{program} ") for row in found), program


def test_the_kernel_is_looked_into(chain: Chain, boots: Recorded) -> None:
    command = boots[0]
    programs = {row["name"].partition("[")[0] for row in rows(command, "processes") if "pid" in row}
    assert {"init", "testcard", *(["insmod"] if chain.archive else [])} <= programs
    kinds = {row.get("kind") for row in rows(command, "initcalls")}
    assert {"initcall", "probe", *chain.steps} <= kinds
    read_by = {row["what"] for row in rows(command, "storage")}
    handed = {"kernel", *(["initramfs"] if chain.archive else [])}
    assert read_by >= {chain.read, *(handed if chain.loaded else ())}
    assert chain.loaded or not read_by & handed


def test_advice_for_a_boot_loader_is_for_boots_with_one(chain: Chain, boots: Recorded) -> None:
    command = boots[0]
    done = command.run("what-if", chain.system, "bootdelay=0")
    said = "the emulator started the kernel: no boot loader is in this boot"
    assert (said in done.stderr) != chain.loaded
    audited = command.json("audit", chain.system)
    assert audited["findings"]
    assert ("it has no boot loader: the emulator starts the kernel" in str(audited)) != chain.loaded


@pytest.mark.campaign
@pytest.mark.parametrize("chain", _parameters([one for one in CHAINS if one.cpus >= 4], ()), indirect=True)
def test_four_cpus_are_equal_to_the_nanosecond_too(chain: Chain, tmp_path: Path) -> None:
    """Each record says which CPU it is of, and all of them come to run what the kernel has."""
    board = tmp_path / "four.toml"
    profile = (ROOT / f"src/bootscope/boards.d/{chain.board}.toml").read_text()
    board.write_text(profile.replace("[qemu]", "[qemu]\ncpus = 4"))
    command = Bootscope(tmp_path / "store")
    recorded = command.json("record", chain.system, "--board", board, "--until", "init", "-n", "2")
    assert command.stream(recorded, 1) == command.stream(recorded, 2)
    cpu, hooked = 0, set()
    for record in read(Path(recorded["boots"][0]["path"]) / "stream.bin"):
        if isinstance(record, Cpu):
            cpu = record.cpu
        elif isinstance(record, Hook):
            hooked.add(cpu)
    assert hooked == {0, 1, 2, 3}
    names = [row["name"] for row in rows(command, "processes") if "pid" in row]
    assert any(name.startswith("cryptomgr_test") for name in names)


@pytest.mark.parametrize(
    ("system", "board"),
    [
        ("debian-arm64", "virt-arm64:core=cortex-a53:guest-clock=core"),
        ("debian-amd64", "q35:core=atom-n270:guest-clock=core"),
        pytest.param(
            *("debian-riscv64", "virt-riscv64:core=sifive-u54:guest-clock=core"), marks=pytest.mark.campaign
        ),
    ],
)
def test_the_guest_may_have_the_clock_of_a_core(bootscope: Bootscope, system: str, board: str) -> None:
    # Linux moves devices on its PCI bus on the way, and the plugin must not ask where such a store went.
    recorded = bootscope.json("record", system, "--board", board, "--until", "init")
    assert recorded["boots"][0]["ended"] == "milestone"
    shown = bootscope.json("show")
    assert shown["clock"]["worst_ns"] < 2_000
    assert sum(phase["cpu_ns"] for phase in shown["phases"]) > 500_000_000


def test_a_pc_is_counted_the_same_each_time(bootscope: Bootscope) -> None:
    record = ("record", "debian-amd64", "--board", "q35:core=atom-n270", "--until", "bootloader")
    digests = [bootscope.json(*record)["boots"][0]["counts_sha256"] for _ in range(2)]
    assert digests[0] == digests[1] and len(digests[0]) == 1
    found = bootscope.json("show", "--view", "memory")
    (phases,) = (table["rows"] for table in found["tables"] if table["name"] == "memory-phases")
    (firmware,) = (row for row in phases if row["phase"] == "firmware")
    # SeaBIOS copies itself from its flash, and asks PCI devices by ports.
    assert firmware["uncached_ns"] > 10_000_000 and firmware["device_ns"] > 10_000_000
