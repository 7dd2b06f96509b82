# SPDX-License-Identifier: Apache-2.0
"""What if the boot loaders did less? Waiting, looking for a script, U-Boot as a whole."""

from __future__ import annotations

from collections.abc import Container, Iterator

from bootscope.analysis import hook_coverage
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Call
from bootscope.analysis.waits import countdown
from bootscope.analysis.whatif_plan import Plan
from bootscope.core.errors import UserError
from bootscope.devices.model import SECTOR_BYTES, StorageCommand
from bootscope.timeline.model import Phase
from bootscope.timeline.phases import KERNEL_IMAGE, touches

UBOOT_IMAGE, DEVICE_TREE = "U-Boot", "device tree"
"""Extents of the card."""
_LONGEST_NS, _LONGEST_NS_A_BYTE = 1_000_000, 20
"""Of virtual time after a command: what comes later is not the fetching of what it brought."""
_SCRIPT = ("source",)
_BOOT = ("bootz", "bootm", "booti", "boot", "bootelf", "bootefi")


def bootdelay(plan: Plan, evidence: Evidence) -> None:
    """U-Boot does not wait for a key."""
    hook_coverage.need(evidence, "delays in U-Boot", "uboot.delay")
    waits = countdown(evidence)
    if not waits:
        plan.assume("U-Boot did not wait for a key in this boot")
        return
    plan.gone.append((waits[0].start_ns, waits[-1].end_ns))
    plan.assume("U-Boot still looks once whether a key was pressed")


def flat_boot(plan: Plan, evidence: Evidence) -> None:
    """U-Boot's boot command is what its script says: looking for it and reading it are gone."""
    hook_coverage.need(evidence, "U-Boot's commands", "uboot.command")
    commands = evidence.scene.of("uboot.command")
    boots = [c for c in commands if _word(c) in _BOOT and evidence.phase_at(c.start_ns) == "load"]
    around = [c for c in commands if boots and _holds(c, boots[-1])]
    if not around:
        raise UserError("U-Boot ran no script in this boot", hint="its commands come from bootcmd already")
    first = next(c for c in commands if c.depth == around[-1].depth + 1 and _holds(around[-1], c))
    plan.gone.append((around[0].start_ns, first.start_ns))
    told = "the script" if _word(around[-1]) in _SCRIPT else around[-1].text
    plan.assume(f"U-Boot's boot command is what {told} does, and no card has to be looked for")


def _word(call: Call) -> str:
    return call.text.partition(" ")[0]


def _holds(outer: Call, inner: Call) -> bool:
    return outer is not inner and outer.first <= inner.first and inner.last <= outer.last


def falcon(plan: Plan, evidence: Evidence) -> None:
    """The SPL reads kernel and device tree and starts the kernel: there is no U-Boot."""
    phases = {phase.name: phase for phase in evidence.timeline.phases}
    if "bootloader" not in phases or "load" not in phases:
        raise UserError("this boot has no U-Boot that loads the kernel")
    uboot, load = phases["bootloader"], phases["load"]
    kept = reading(evidence, load, (KERNEL_IMAGE, DEVICE_TREE))
    if not kept:
        raise UserError("this boot does not show how the kernel was read from the card")
    plan.gone.append((uboot.start_ns, uboot.end_ns))
    plan.gone += _between(load.start_ns, load.end_ns, kept)
    plan.gone += reading(evidence, phases["spl"], (UBOOT_IMAGE,)) if "spl" in phases else []
    plan.assume(
        "the SPL reads kernel and device tree as fast as U-Boot did, and needs no file system to find them",
        "nothing but the kernel's start needs what U-Boot sets up",
    )


def exact_read(plan: Plan, evidence: Evidence) -> None:
    """What the boot loader reads from places of the card where nothing lies is not read."""
    load = next((p for p in evidence.timeline.phases if p.name == "load"), None)
    if not load:
        raise UserError("this boot does not show how the kernel was read from the card")
    useless = 0
    for event, start, end in _reads(evidence, load):
        first, sectors = event.sector or 0, max(1, event.size_bytes // SECTOR_BYTES)
        useful = sum(
            max(0, min(first + sectors, extent.sector + extent.sectors) - max(first, extent.sector))
            for extent in evidence.run.system.extents
        )
        if not useful:
            plan.gone.append((start, end))
        elif useful < sectors:
            latency_ns = evidence.run.board.card.command_latency_ns.value
            plan.counted_ns += (end - start - latency_ns) * (sectors - useful) // sectors
        useless += max(0, sectors - useful) * SECTOR_BYTES
    plan.assume(f"{useless} bytes were read from where nothing was ever put")


def reading(evidence: Evidence, phase: Phase, names: Container[str]) -> list[tuple[int, int]]:
    """Stretches of a phase in which extents of the card are read: from a command to the next one, since
    the CPU fetches what it brings, or to the end of the phase."""
    wanted = [extent for extent in evidence.run.system.extents if extent.name in names]
    reads = _reads(evidence, phase)
    return [(start, end) for event, start, end in reads if any(touches(event, extent) for extent in wanted)]


def _reads(evidence: Evidence, phase: Phase) -> Iterator[tuple[StorageCommand, int, int]]:
    """(command, from when, until when) of a phase's reads of the card's content."""
    events = [
        e
        for e in evidence.events
        if isinstance(e, StorageCommand) and phase.start_ns <= evidence.clock.before(e.index) < phase.end_ns
    ]
    ends = [evidence.clock.before(e.index) for e in events[1:]]
    ends += [phase.end_ns] if events else []
    for event, end in zip(events, ends, strict=True):
        if not event.write and event.sector is not None:
            start, done = evidence.clock.before(event.index), evidence.clock.after(event.index)
            yield event, start, min(end, done + _LONGEST_NS + _LONGEST_NS_A_BYTE * event.size_bytes)


def _between(start: int, end: int, kept: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A stretch without others in it, which are in order."""
    found, at = [], start
    for begin, stop in kept:
        if begin > at:
            found.append((at, begin))
        at = max(at, stop)
    return [*found, (at, end)] if at < end else found
