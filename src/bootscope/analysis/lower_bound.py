# SPDX-License-Identifier: Apache-2.0
"""The lower bound (floor) of this board with this application, and how far today's boot is from it.

    floor = fixed + bytes that must be read / bandwidth + one latency each + instructions that must run

What must be read: the boot loader's first program, the kernel image, the device tree, and the files that
the application's own process read. What must run: that program, the decompressor, the kernel and the
application, without their delays, idle time, waiting and printing. A boot loader that jumps straight into
the kernel and an init that is the application are possible, so neither the rest of the boot loader nor init
scripts count.
"""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.analysis.storage import Access, accesses
from bootscope.analysis.waits import spinning_in
from bootscope.loaders.model import LOAD

COLUMNS = (
    Column("what", "what", "text"),
    Column("floor_ns", "at least ms", "ns"),
    Column("today_ns", "today ms", "ns"),
    Column("why", "why", "text"),
)
_MUST_RUN = ("decompress", "kernel", "application")
_NEEDED = ("kernel", "device tree")


def view(evidence: Evidence) -> Rows:
    """The parts of the floor, and what each takes today."""
    needed = evidence.run.board.boot_loader.needed
    last = needed[-1].phrase if needed else "the emulator"
    fixed_ns = sum(p.fixed_ns for p in evidence.timeline.phases)
    rows = [_row("power-up and ROM", "rom", fixed_ns, fixed_ns, "fixed")]
    rows += [*_reading(evidence, accesses(evidence)), *_running(evidence)]
    floor = sum(int(r["floor_ns"] or 0) for r in rows)
    today = evidence.timeline.total_ns
    covered = sum(int(r["today_ns"] or 0) for r in rows)
    why = "boot loader, init scripts, console, delays, sleep, unneeded reads"
    rows.append(_row("everything else", "", 0, max(0, today - covered), why))
    return Rows(
        "floor",
        "Lower bound (floor) on this board",
        COLUMNS,
        tuple(rows),
        "in order of the boot",
        (
            "Assumes the present images: a smaller kernel or another compression moves the bound.",
            f"Assumes that {last} starts the kernel and that the application is init.",
        ),
        {
            "floor_ns": floor,
            "today_ns": today,
            "ratio_ppm": today * 1_000_000 // floor if floor else 0,
        },
    )


def _row(what: str, phase: str, floor_ns: int, today_ns: int, why: str) -> dict[str, Cell]:
    return {"what": what, "phase": phase, "floor_ns": floor_ns, "today_ns": today_ns, "why": why}


def _reading(evidence: Evidence, found: list[Access]) -> Iterator[dict[str, Cell]]:
    """Each needed thing once, in one command; if it shares a command today, no more than it takes now."""
    programs = [program.title for program in evidence.run.board.boot_loader.needed]
    needed = {name: "the boot needs it" for name in (*programs, *_NEEDED)}
    for access in found:
        if not access.write and access.what.startswith("/") and _by_application(access, evidence):
            needed[access.what] = "the application's process reads it"
    board = evidence.run.board
    for what, why in needed.items():
        parts = [a for a in found if a.what == what and not a.write]
        size = sum(a.size_bytes - a.again_bytes for a in parts)
        if size:
            phase = evidence.phase_at(parts[0].start_ns)
            # The CPU's work during a load is not among what runs at least, so that both may overlap.
            today_ns = sum(a.took_ns if phase == LOAD else a.cost_ns for a in parts)
            floor_ns = min(today_ns, board.storage_device.cost_ns(size, board.card))
            yield _row(f"reading {what}", phase, floor_ns, today_ns, f"{size:,} bytes: {why}")


def _by_application(access: Access, evidence: Evidence) -> bool:
    name = evidence.run.system.application
    # A process that becomes the application by exec also reads the application's file.
    return bool(name) and (access.who.startswith(f"{name}[") or access.what.rpartition("/")[2] == name)


def _running(evidence: Evidence) -> Iterator[dict[str, Cell]]:
    loader = evidence.run.board.boot_loader
    needed = (*loader.phases_of(*loader.needed), *_MUST_RUN)
    for phase in evidence.timeline.phases:
        if phase.name in needed:
            floor_ns = max(0, phase.cpu_ns - spinning_in(evidence, phase.start_ns, phase.end_ns))
            what, why = f"running the {phase.name} phase", "instructions without delay loops"
            yield _row(what, phase.name, floor_ns, phase.cpu_ns, why)
