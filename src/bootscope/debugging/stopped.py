# SPDX-License-Identifier: Apache-2.0
"""The state of a stopped machine's CPUs, with names from the recording."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.moment import Moment
from bootscope.core.errors import ToolError
from bootscope.emulator.gdb_remote import Remote
from bootscope.emulator.standstill import Standing


@dataclass(frozen=True)
class Cpu:
    """`where`: the function of its next instruction; `who`: what it runs; `registers`: (name, value, number
    of hexadecimal digits)."""

    number: int
    where: str
    who: str
    registers: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Stopped:
    """A moment of a boot, and its CPUs. `at_ns`: the virtual time at which the machine is stopped; `events`:
    the number of events up to here that were compared with those of the recorded boot."""

    moment: Moment
    phase: str
    at_ns: int
    events: int
    cpus: tuple[Cpu, ...]


def stopped(evidence: Evidence, moment: Moment, machine: Standing) -> Stopped:
    """Reads the CPUs. Raises ToolError if QEMU does not answer."""
    phase = evidence.phase_at(moment.board_ns)
    with Remote(machine.socket) as remote:
        registers, found = remote.registers(), []
        for number, cpu in enumerate(remote.cpus()):
            remote.choose(cpu)
            held = tuple((r.name, remote.value(r), r.bits // 4) for r in registers)
            found.append(_cpu(evidence, moment, phase, number, held))
    return Stopped(moment, phase, machine.at_ns, machine.events, tuple(found))


def _cpu(
    evidence: Evidence, moment: Moment, phase: str, number: int, held: tuple[tuple[str, int, int], ...]
) -> Cpu:
    counter = evidence.arch.registers.counter
    pc = next((value for name, value, _ in held if name == counter), None)
    if pc is None:
        raise ToolError(f"QEMU's gdbstub tells no program counter ({counter})")
    task = evidence.slice_at(moment.board_ns, number).task
    where = evidence.names.name(phase, pc, task, moment.board_ns)
    return Cpu(number, where, evidence.who(task, moment.board_ns), held)
