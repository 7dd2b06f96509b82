# SPDX-License-Identifier: Apache-2.0
"""The clock of several CPUs: a program that is alone on the board, on one, two and four of them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from bootscope.arch.arm64 import ARM64
from bootscope.capture import stream

pytestmark = pytest.mark.boot
LOAD = Path(__file__).parent.parent / "fixtures/several-cpus/load.c"
PARTS, IN_TURN, LOCKED, INTERRUPTS, COUNTER = range(5)
INSTRUCTIONS, ROUNDS, LOCKED_NS = 4_000_000, 1_000, 4_000
TICK_NS, QUANTUM_NS = 2, 1_000
UART, TOLD, BEGINS, ENDS = 0x9000000, 0x40, 1, 2
MACHINE = (
    *("-M", "virt,gic-version=2", "-cpu", "cortex-a53", "-m", "64M", "-display", "none", "-monitor", "none"),
    *("-serial", "null", "-nic", "none", "-icount", "shift=1,sleep=off"),
)


@dataclass(frozen=True)
class Ran:
    """What a run left: the bytes of the recording, its records, what QEMU said."""

    body: bytes
    records: list[stream.Record]
    said: str

    def told(self, value: int) -> list[int]:
        """When the CPUs stored a value."""
        return [r.time_ns for r in self.records if isinstance(r, stream.Io) and r.offset and r.value == value]

    @property
    def length_ns(self) -> int:
        """From when the first one began to when the last one was done."""
        return max(self.told(ENDS)) - min(self.told(BEGINS))


def run(
    library: str, folder: Path, cpus: int, mode: int, *, wfe: bool = True, quantum_ns: int = QUANTUM_NS,
    environment: dict[str, str] | None = None,
) -> Ran:  # fmt: skip
    """Compiles the load for so many CPUs and runs it."""
    program, watch, recorded = folder / "load.elf", folder / "watch.txt", folder / "stream.bin"
    flags = ["-O1", "-mno-outline-atomics", "-mgeneral-regs-only", "-nostdlib", "-static", "-ffreestanding"]
    flags += ["-Wl,-Ttext=0x40080000", f"-DCPUS={cpus}", f"-DMODE={mode}", *(["-DWFE"] if wfe else [])]
    subprocess.run([f"{ARM64.tools.triplet}-gcc", *flags, LOAD, "-o", program], check=True)
    lines = ["tick 2", "word 8 0", "register pc pc", "register stack sp", f"io 1 {UART:#x} 0x1000"]
    lines += ["text 1 1 0 45", "stop text 1", "sample 100000", "limit 1000000000", f"quantum {quantum_ns}"]
    lines += [f"idle {o.size} {o.mask:#x} {o.value:#x}" for o in ARM64.idle]
    lines += [f"yield {o.size} {o.mask:#x} {o.value:#x}" for o in ARM64.yields]
    watch.write_text("\n".join(lines) + "\n")
    command = [ARM64.tools.qemu, *MACHINE, "-smp", str(cpus), "-kernel", str(program)]
    command += ["-plugin", f"{library},watch={watch},out={recorded}"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
        env=environment,
    )  # fmt: skip
    return Ran(stream.body(recorded.read_bytes()), stream.read(recorded), done.stderr)


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_work_that_cpus_share_takes_the_less_time_the_more_there_are(
    library: str, tmp_path: Path, cpus: int
) -> None:
    length_ns = run(library, tmp_path, cpus, PARTS).length_ns
    assert 0 <= length_ns - INSTRUCTIONS * TICK_NS // cpus < 2_000


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_work_that_cpus_do_in_turn_takes_as_long_as_on_one(library: str, tmp_path: Path, cpus: int) -> None:
    one_ns = INSTRUCTIONS * TICK_NS
    assert one_ns <= run(library, tmp_path, cpus, IN_TURN).length_ns < one_ns * 1.03
    # Who spins may be ahead of the one before, and see what it did too early: by a quantum each time.
    spun_ns = run(library, tmp_path, cpus, IN_TURN, wfe=False).length_ns
    assert abs(spun_ns - one_ns) <= 10 * cpus * (QUANTUM_NS + 200)


def test_work_under_a_lock_is_not_shared(library: str, tmp_path: Path) -> None:
    least_ns = ROUNDS * LOCKED_NS
    for cpus in (2, 4):
        assert least_ns <= run(library, tmp_path, cpus, LOCKED).length_ns < least_ns * 1.25


def test_interrupts_arrive_when_they_are_sent_whatever_the_quantum(library: str, tmp_path: Path) -> None:
    lengths = {run(library, tmp_path, 2, INTERRUPTS, quantum_ns=q).length_ns for q in (1_000, 100_000)}
    (length_ns,) = lengths
    assert length_ns < ROUNDS * 100  # a dozen instructions each


def test_the_counter_that_all_share_never_goes_back(library: str, tmp_path: Path) -> None:
    ran = run(library, tmp_path, 4, COUNTER, quantum_ns=20_000)
    told = [r.value for r in ran.records if isinstance(r, stream.Io) and r.offset == TOLD + 4 * 4]
    assert told == [0]
    assert ran.length_ns < INSTRUCTIONS * TICK_NS // 4 * 1.1


def test_records_are_in_the_order_of_their_times_and_two_runs_are_equal(library: str, tmp_path: Path) -> None:
    first, again = (run(library, tmp_path, 4, LOCKED, wfe=False) for _ in range(2))
    assert first.body == again.body
    times = [r.time_ns for r in first.records]
    assert times == sorted(times)
    assert first.records[0] == stream.Cpus(0, 4, QUANTUM_NS)
    assert {r.cpu for r in first.records if isinstance(r, stream.Cpu)} == {0, 1, 2, 3}


def test_each_cpu_sleeps_by_itself(library: str, tmp_path: Path) -> None:
    ran = run(library, tmp_path, 4, INTERRUPTS)
    cpu, slept_ns = 0, [0] * 4
    for record in ran.records:
        if isinstance(record, stream.Cpu):
            cpu = record.cpu
        elif isinstance(record, stream.Slept):
            slept_ns[cpu] += record.duration_ns
    # The first two wake each other, one after the other; the others have nothing to do.
    assert all(0.2 < ns / ran.length_ns < 0.6 for ns in slept_ns[:2])
    assert all(ns > 0.95 * ran.length_ns for ns in slept_ns[2:])
    assert not any(isinstance(r, stream.Idle) for r in ran.records)


def test_a_qemu_whose_clock_cannot_be_replaced_is_refused(library: str, tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    # By the number of the thread the plugin finds what QEMU keeps of a CPU.
    code = "int gettid(void) { return -7; }"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", other], input=code, text=True, check=True)
    ran = run(library, tmp_path, 2, PARTS, environment={"LD_PRELOAD": str(other), "PATH": "/usr/bin:/bin"})
    assert "the clock of several CPUs cannot be had with this QEMU" in ran.said
    assert "record with one CPU, or with QEMU 10.0" in ran.said
    assert not ran.told(ENDS)
