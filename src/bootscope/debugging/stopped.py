# SPDX-License-Identifier: Apache-2.0
"""What a machine that stands still has in its CPUs, with the names that the recording gives to it."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.moment import Moment
from bootscope.core.errors import ToolError
from bootscope.emulator.gdb_remote import Register, Remote
from bootscope.emulator.standstill import Standing


@dataclass(frozen=True)
class Cpu:
    """`where`: the function that its next instruction is of; `who`: what it runs; `registers`: (name, value,
    digits that it takes in hexadecimal)."""

    number: int
    where: str
    who: str
    registers: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Stopped:
    """A moment of a boot, and its CPUs. `at_ns`: the virtual time at which the machine stands; `events`: how
    many events up to here were compared with those of the recorded boot."""

    moment: Moment
    phase: str
    at_ns: int
    events: int
    cpus: tuple[Cpu, ...]


def stopped(evidence: Evidence, moment: Moment, machine: Standing) -> Stopped:
    """Reads the CPUs. Raises ToolError where QEMU does not answer."""
    phase, counter = evidence.phase_at(moment.board_ns), evidence.arch.registers.counter
    with Remote(machine.socket) as remote:
        registers = remote.registers()
        found = []
        for number, cpu in enumerate(remote.cpus()):
            remote.choose(cpu)
            held = tuple((r.name, remote.value(r), r.bits // 4) for r in registers)
            found.append(_cpu(evidence, moment, phase, number, held, _counter(registers, counter)))
    return Stopped(moment, phase, machine.at_ns, machine.events, tuple(found))


def _counter(registers: list[Register], name: str) -> str:
    """The program counter, by the name that the target's description has for it."""
    names = [r.name for r in registers]
    found = next((n for n in (name, "pc", "rip", "eip") if n in names), None)
    if found is None:
        raise ToolError(f"QEMU's gdbstub tells no program counter among {', '.join(names)}")
    return found


def _cpu(
    evidence: Evidence,
    moment: Moment,
    phase: str,
    number: int,
    held: tuple[tuple[str, int, int], ...],
    counter: str,
) -> Cpu:
    pc = next(value for name, value, _ in held if name == counter)
    task = evidence.slice_at(moment.board_ns, number).task
    where = evidence.names.name(phase, pc, task, moment.board_ns)
    return Cpu(number, where, evidence.who(task, moment.board_ns), held)
