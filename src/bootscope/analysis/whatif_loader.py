# SPDX-License-Identifier: Apache-2.0
"""What if the boot loaders did less? Waiting, searching for a script, the boot loader as a whole."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import replace
from fractions import Fraction

from bootscope.analysis import hook_coverage
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Call
from bootscope.analysis.waits import countdown
from bootscope.analysis.whatif_plan import Gone, Plan
from bootscope.boards.profile import Board
from bootscope.core.errors import UserError
from bootscope.devices.model import SECTOR_BYTES, StorageCommand
from bootscope.loaders.model import LOAD, Hooked, Loader
from bootscope.loaders.registry import BUILT
from bootscope.timeline.costs import costs_ns
from bootscope.timeline.model import Phase
from bootscope.timeline.phases import KERNEL_IMAGE, touches

DEVICE_TREE = "device tree"
"""An extent of the card."""
KERNEL_UNSEEN = "this boot does not show how the kernel was read from the card"
_NUMBER = re.compile(r"(0x)?[0-9a-fA-F]{1,16}")
_LONGEST_NS, _LONGEST_NS_A_BYTE = 1_000_000, 20
"""Limits of virtual time after a command: later work does not fetch its data."""


def silent(plan: Plan, evidence: Evidence) -> None:
    """The boot loaders print nothing."""
    phases = evidence.run.board.boot_loader.phases_of()
    plan.hide(n for n in plan.ground.lines if evidence.phase_at(n.start_ns) in phases)
    plan.assume("the boot loaders print nothing at all")


def first_stage_silent(plan: Plan, evidence: Evidence) -> None:
    """What runs before the boot loader proper prints nothing. Raises UserError for a board without it."""
    phases = _first_stage(evidence)
    plan.hide(n for n in plan.ground.lines if evidence.phase_at(n.start_ns) in phases)
    plan.assume("before the boot loader proper nothing is printed")


def _first_stage(evidence: Evidence) -> tuple[str, ...]:
    loader = _loader(evidence)
    if not loader.needed:
        raise UserError(f"nothing runs before {loader.main.phrase} on this board: it has no first stage")
    return loader.phases_of(*loader.needed)


def no_countdown(plan: Plan, evidence: Evidence) -> None:
    """The boot loader does not wait for a key."""
    loader = _loader(evidence)
    if loader.menu_wait_s:
        script = evidence.run.system.settings.get(f"{BUILT.tree}.script", "")
        wait_s = loader.menu_wait_s(script)
        plan.counted_ns += wait_s * 1_000_000_000
        plan.assume(f"{loader.title}'s menu waits {wait_s} s, as its script says")
        return
    hook_coverage.need(evidence, f"delays in {loader.title}", loader.main.hook(Hooked.DELAY))
    waits = countdown(evidence)
    if not waits:
        plan.assume(f"{loader.title} did not wait for a key in this boot")
        return
    plan.gone.append((waits[0].start_ns, waits[-1].end_ns))
    plan.assume(f"{loader.title} still checks once for a key")


def flat_boot(plan: Plan, evidence: Evidence) -> None:
    """The boot loader's boot command is the content of its script, neither searched for nor read."""
    around, inner = _script(evidence)
    plan.gone.append((around[0].start_ns, inner[0].start_ns))
    loader = _loader(evidence)
    told = "the script" if _word(around[-1]) in loader.script_commands else around[-1].text
    plan.assume(f"{loader.title}'s boot command does what {told} does, without searching for a card")


def script_by_name(plan: Plan, evidence: Evidence) -> None:
    """The boot loader's boot command reads and runs its script: only the search for it goes.

    Raises UserError if no command right before the script read it.
    """
    loader = _loader(evidence)
    around, _ = _script(evidence)
    *outer, script = around
    commands = evidence.scene.of(loader.main.hook(Hooked.COMMAND))
    siblings = [c for c in commands if outer and c.depth == script.depth and _holds(outer[-1], c)]
    before = [c for c in siblings if c.end_ns <= script.start_ns]
    if not before or _word(script) not in loader.script_commands:
        raise UserError(f"{loader.title} read no script from a file in this boot")
    read = before[-1]
    plan.gone += [(around[0].start_ns, read.start_ns), (read.end_ns, script.start_ns)]
    plan.assume(f"{loader.title} reads and runs the script at once, without searching for it")


def _script(evidence: Evidence) -> tuple[list[Call], list[Call]]:
    """(commands that enclose the booting one, the outermost first; those that the last of them runs).

    Raises UserError if the boot loader ran no script.
    """
    loader = _loader(evidence)
    hook_coverage.need(evidence, f"{loader.title}'s commands", loader.main.hook(Hooked.COMMAND))
    commands = evidence.scene.of(loader.main.hook(Hooked.COMMAND))
    booting = [c for c in commands if _word(c) in loader.boot_commands]
    boots = [c for c in booting if evidence.phase_at(c.start_ns) == LOAD]
    around = [c for c in commands if boots and _holds(c, boots[-1])]
    if not around:
        hint = f"its commands come from {loader.settings.commands_variable} already"
        raise UserError(f"{loader.title} ran no script in this boot", hint=hint)
    inner = [c for c in commands if c.depth == around[-1].depth + 1 and _holds(around[-1], c)]
    return around, inner


def _loader(evidence: Evidence) -> Loader:
    """The board's boot loader. Raises UserError if the emulator started the kernel."""
    board = evidence.run.board
    if not board.boot_loader.programs:
        raise UserError(
            "the emulator started the kernel: no boot loader is in this boot",
            hint="record the image with --through firmware" if board.direct else None,
        )
    return board.boot_loader


def _word(call: Call) -> str:
    return call.text.partition(" ")[0]


def _holds(outer: Call, inner: Call) -> bool:
    return outer is not inner and outer.first <= inner.first and inner.last <= outer.last


def first_stage_boots(plan: Plan, evidence: Evidence) -> None:
    """What runs before the boot loader proper reads kernel and device tree and starts the kernel itself."""
    loader = _loader(evidence)
    before = _first_stage(evidence)
    last, main = loader.needed[-1], loader.main
    phases = {phase.name: phase for phase in evidence.timeline.phases}
    ran = [phases[name] for name in loader.phases_of(main) if name in phases]
    seen = LOAD in phases
    kept = reading(evidence, phases[LOAD], (KERNEL_IMAGE, DEVICE_TREE)) if seen else _fetching(evidence)
    if not kept:
        raise UserError(KERNEL_UNSEEN if seen else f"in this boot no {loader.title} loads the kernel")
    for phase in ran:
        plan.gone += _between(phase.start_ns, phase.end_ns, kept)
    for name in before:
        plan.gone += reading(evidence, phases[name], (main.title,)) if name in phases else []
    plan.assume(
        f"{last.phrase} reads kernel and device tree as fast as {main.phrase} did, and needs no file system "
        "to find them",
        f"nothing but the kernel's start needs what {main.phrase} sets up",
    )
    if not seen:
        plan.assume(f"{last.phrase} reads {main.phrase} all the same")


def _fetching(evidence: Evidence) -> list[tuple[int, int]]:
    """Stretches of boot loader commands that load what the booting command names, for sources without device
    events, such as raw NAND or a network."""
    loader = _loader(evidence)
    commands = evidence.scene.of(loader.main.hook(Hooked.COMMAND))
    boot = next((c for c in reversed(commands) if _word(c) in loader.boot_commands), None)
    if boot is None:
        return []
    before = (c for c in commands if c.end_ns <= boot.start_ns)
    return [(c.start_ns, c.end_ns) for c in before if _addresses(c) & _addresses(boot)]


def _addresses(call: Call) -> set[int]:
    """The numbers among the words of a command, in the base that boot loaders use."""
    _, *words = call.text.split() or [""]
    return {int(word, 16) for word in words if _NUMBER.fullmatch(word)}


def exact_read(plan: Plan, evidence: Evidence) -> None:
    """The boot loader does not read unused areas of the card."""
    useless = 0
    parts: list[_Part] = []
    for event, start, end in reads_in(evidence, loading(evidence)):
        first, sectors = event.sector or 0, max(1, event.size_bytes // SECTOR_BYTES)
        useful = sum(
            max(0, min(first + sectors, extent.sector + extent.sectors) - max(first, extent.sector))
            for extent in evidence.run.system.extents
        )
        if not useful:
            plan.gone.append((start, end))
        elif useful < sectors:
            parts.append((event, start, end, Fraction(sectors - useful, sectors)))
        useless += max(0, sectors - useful) * SECTOR_BYTES
    plan.last.append(lambda: _read_less(plan, evidence, parts))
    plan.assume(f"{useless} bytes were read from unused areas")


_Part = tuple[StorageCommand, int, int, Fraction]
"""A read, its start and end, and the share of it that is of no use."""


def _read_less(plan: Plan, evidence: Evidence, parts: list[_Part]) -> None:
    """After all other changes: they may change the card, or the read may be gone."""
    gone, storage, card = Gone(plan.gone), plan.board.storage_device, plan.board.card
    for event, start, end, share in parts:
        if start in gone:
            continue
        then, now = (_cost_ns(evidence, event, board) for board in (plan.board, evidence.run.board))
        latency_ns = storage.event_ns(replace(event, size_bytes=0), card)
        length_ns = end - start - now + then - latency_ns
        stays = plan.kernel_share if event.index in plan.kernel_reads else 1
        plan.counted_ns += length_ns * share * stays // 1


def _cost_ns(evidence: Evidence, event: StorageCommand, board: Board) -> int:
    return sum(ns for _, ns in costs_ns(evidence.records, [event], board))


def loading(evidence: Evidence) -> Phase:
    """The phase in which the kernel is loaded. Raises UserError for a boot without it."""
    load = evidence.timeline.phase(LOAD)
    if not load:
        raise UserError(KERNEL_UNSEEN)
    return load


def reading(evidence: Evidence, phase: Phase, names: Container[str]) -> list[tuple[int, int]]:
    """Stretches of a phase in which extents of the card are read: from a command to the next one, since the
    CPU fetches its data, or to the end of the phase."""
    wanted = [extent for extent in evidence.run.system.extents if extent.name in names]
    reads = reads_in(evidence, phase)
    return [(start, end) for event, start, end in reads if any(touches(event, extent) for extent in wanted)]


def reads_in(evidence: Evidence, phase: Phase) -> Iterator[tuple[StorageCommand, int, int]]:
    """(command, start, end) of a phase's reads of the card's content."""
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
    """The parts of a stretch outside of others, which are in order."""
    found, at = [], start
    for begin, stop in kept:
        if begin > at:
            found.append((at, begin))
        at = max(at, stop)
    return [*found, (at, end)] if at < end else found
