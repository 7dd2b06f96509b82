# SPDX-License-Identifier: Apache-2.0
"""Pitfalls of method: misleading figures, and orders of work that lose the means to measure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from bootscope.audit.findings import Finding, groups
from bootscope.audit.pitfalls.checks.base import (
    check,
    check_findings,
    first_stage_boots,
    loader_delay,
)
from bootscope.audit.pitfalls.checks.measuring import console_off
from bootscope.audit.trials import WORKS_ON
from bootscope.core.text import listed, size, span
from bootscope.inventory.bootlog import RECORDED
from bootscope.inventory.inventory import Inventory, Part, number
from bootscope.inventory.recorded import Recorded
from bootscope.loaders.registry import BUILT

_MS = 1_000_000
_WORTH_NS = 50 * _MS
_ENOUGH_BOOTS = 3
_READ = re.compile(r"^(\d{1,12}) bytes read in (\d{1,9}) ms(?: \(([\d.]{1,12}) ([KMG]?i?B)/s\))?")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_LARGE_BYTES = 1_000_000
_NO_CARD_BYTES_PER_S = 500_000_000


@check_findings("quiet-too-early", one_of=(Part.COMMAND_LINE, Part.KERNEL))
def _too_early(known: Inventory, findings: Sequence[Finding]) -> str:
    off = console_off(known)
    still = [
        f"{f.spec} ({span(f.saving_ns)})"
        for f in findings
        if f.saving_ns and f.saving_ns >= _WORTH_NS and "measuring" not in f.technique.loses
    ]
    return f"{listed(off)}, but the system still has {listed(still, 2)}" if off and still else ""


@check("three-runs", Part.LOG)
def _few_boots(known: Inventory) -> str:
    log = known.log
    if not log or log.clock == RECORDED or log.boots >= _ENOUGH_BOOTS:
        return ""
    count = f"{log.boots} boot{'s' if log.boots > 1 else ''}"
    return f"{count}, at least {_ENOUGH_BOOTS} are needed to estimate the spread"


@check("best-vs-average", Part.LOG)
def _choice_of_boots(known: Inventory) -> str:
    return f"the log holds {known.log.boots} boots" if known.log and known.log.boots > 1 else ""


@check("unfair-reference", one_of=(Part.LOADER, Part.SETTINGS), when=first_stage_boots)
def _reference(known: Inventory) -> str:
    return f"{BUILT.first.phrase} starts Linux by itself"


@check("kernel-size-affects-bootloader", Part.BOOT)
def _per_megabyte(known: Inventory) -> str:
    if not isinstance(known, Recorded):
        return ""
    timeline = known.view.timeline
    reads = [t for t in timeline.transfers if t.what == "kernel"]
    count = sum(t.size_bytes for t in reads)
    if not count:
        return ""
    unpack_ns = sum(p.duration_ns for p in timeline.phases if p.name == "decompress")
    read, unpack = (span(ns * 1_000_000 // count) for ns in (sum(t.cost_ns for t in reads), unpack_ns))
    return f"each MB of the kernel's file takes {read} to read and {unpack} to unpack"


@check_findings("savings-overlap", Part.BOOT)
def _overlap(known: Inventory, findings: Sequence[Finding]) -> str:
    if not isinstance(known, Recorded):
        return ""
    lengths = {phase.name: phase.duration_ns for phase in known.view.timeline.phases}
    best: dict[tuple[str, ...], list[Finding]] = defaultdict(list)
    # Only one of several alternatives can be used: the best one comes first.
    for f in (group[0] for group in groups(findings)):
        phases = tuple(p for p in _saves_of(f.technique.phase) if p in lengths)
        if f.saving_ns and f.saving_ns > 0 and phases:
            best[phases].append(f)
    told = []
    for phases, chosen in best.items():
        total_ns, length_ns = sum(f.saving_ns or 0 for f in chosen), sum(lengths[p] for p in phases)
        if len(chosen) > 1 and total_ns > length_ns:
            names, where = listed([f.spec for f in chosen]), " and ".join(phases)
            told.append(f"{names}: {span(total_ns)} together, of {where}, {span(length_ns)} in all")
    return "; ".join(told)


_MAIN = BUILT.phases_of(BUILT.main)[0]


def _saves_of(phase: str) -> tuple[str, ...]:
    """The phases of a boot that techniques of a phase shorten. A technique that leaves the boot loader out
    belongs to the first stage, and saves the boot loader's time."""
    name = _MAIN if phase in BUILT.phases_of(BUILT.first) else phase
    return WORKS_ON.get(name, (name,))


@check("hidden-per-byte-stage", Part.BOOT)
def _second_pass(known: Inventory) -> str:
    if not isinstance(known, Recorded):
        return ""
    for phase in known.view.timeline.phases:
        if phase.name == "load" and phase.cpu_ns > max(phase.storage_ns, _WORTH_NS):
            told = f"the processor works {span(phase.cpu_ns)} while the kernel is loaded"
            return f"{told}, the storage {span(phase.storage_ns)}"
    return ""


@check("unit-typo", Part.LOG)
def _impossible(known: Inventory) -> str:
    log = known.log
    for index, line in enumerate(log.lines if log else ()):
        found = _READ.match(line.text)
        if not log or not found or int(found[1]) < _LARGE_BYTES:
            continue
        count, said_ns = int(found[1]), int(found[2]) * _MS
        if log.clock == RECORDED and index:
            took_ns = line.at_ns - log.lines[index - 1].at_ns
            if took_ns > 2 * said_ns + _WORTH_NS:
                told = f"{BUILT.title} says that it read {size(count)} in {span(said_ns)}"
                return f"{told}; it took up to {span(took_ns)}"
        elif log.clock != RECORDED and (why := _why_impossible(count, said_ns, found)):
            return f"{found[0].strip()}: {why}"
    return ""


def _why_impossible(count: int, said_ns: int, found: re.Match[str]) -> str:
    if not said_ns:
        return "a read takes more than 0 ms"
    rate = count * 1_000_000_000 // said_ns
    if rate > _NO_CARD_BYTES_PER_S:
        return f"{size(rate)}/s is more than a card or a flash gives"
    printed = float(found[3]) * _UNITS.get(found[4], 0) if found[3] and found[3].count(".") < 2 else 0
    if printed and not rate / 2 < printed < rate * 2:
        return f"that is {size(rate)}/s"
    return ""


@check("failure-modes", one_of=(Part.COMMAND_LINE, Part.LOADER, Part.ENVIRONMENT))
def _made_faster(known: Inventory) -> str:
    found = [w for w in known.words if re.match(r"lpj=|init=|rdinit=|rootfstype=|fastboot$|nowatchdog$", w)]
    found += [BUILT.first_boots_title] if first_stage_boots(known) else []
    delay = loader_delay(known)
    found += [f"a boot delay of {delay}"] if (number(delay) or 1) < 0 else []
    return listed(found)


@check("runtime-not-only-boot", one_of=(Part.KERNEL, Part.COMMAND_LINE, Part.SETTINGS))
def _paid_later(known: Inventory) -> str:
    found = [
        name for name in ("CC_OPTIMIZE_FOR_SIZE", "THUMB2_KERNEL", "SLUB_TINY") if known.on("kernel", name)
    ]
    found += [known.filesystem] if known.filesystem in ("squashfs", "cramfs", "erofs", "jffs2") else []
    found += ["-Os"] if "-Os" in known.compiler_options else []
    return listed(found)
