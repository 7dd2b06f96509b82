# SPDX-License-Identifier: Apache-2.0
"""What a boot shows: indicators that techniques apply, each with its evidence.

A recording shows most. Without one, a log or a configuration may also show it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from bootscope.analysis.storage import accesses
from bootscope.analysis.waits import countdown
from bootscope.core.text import size, span
from bootscope.cores.counts import Count
from bootscope.devices.sd_card import BOOT_TABLES
from bootscope.inventory import (
    application_profile,
    code_order,
    driver_parameters,
    entropy,
    kernel_place,
    loader_waits,
    probe_order,
    raw_flash,
    script_rewrites,
    searches,
    toolkits,
)
from bootscope.inventory import log_indicators as logged
from bootscope.inventory.application_start import needs_more
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.recorded import Recorded
from bootscope.loaders.registry import BUILT, LOADER_PHASES


@dataclass(frozen=True)
class Indicator:
    """An indicator: what it is, and a function for the evidence in a recorded boot (empty: none).

    `otherwise` does the same without a recording; both return None where that is unknown.
    """

    what: str
    evidence: Callable[[Recorded], str | None]
    otherwise: Callable[[Inventory], str | None]


def _console(*phases: str) -> Callable[[Recorded], str]:
    """Console time in some phases."""

    def evidence(facts: Recorded) -> str:
        found = [p for p in facts.view.timeline.phases if p.name in phases and p.console_ns]
        if not found:
            return ""
        first, last = found[0].start_ns, found[-1].end_ns
        lines = [line.data for line in facts.view.timeline.lines if first <= line.start_ns < last]
        told = size(sum(len(data) + 1 for data in lines))
        return f"{len(lines)} lines, {told} of console: {span(sum(p.console_ns for p in found))}"

    return evidence


_LOADERS_CONSOLE = _console(*LOADER_PHASES)
_LINUX_CONSOLE = _console("decompress", "kernel", "init")


def _silenced(facts: Recorded) -> str:
    """What a silent boot loader would not print, and what Linux would not print then."""
    loaders, linux = _LOADERS_CONSOLE(facts), _LINUX_CONSOLE(facts)
    return f"{loaders}; it silences Linux too: {linux}" if loaders and linux else loaders


def _first_stage_console(facts: Recorded) -> str:
    """What is printed before the boot loader proper."""
    loader = facts.view.run.info.board.boot_loader
    return _console(*loader.phases_of(*loader.needed))(facts) if loader.needed else ""


def _countdown(facts: Recorded) -> str:
    waits = countdown(facts.view.evidence)
    title = facts.view.run.info.board.boot_loader.title
    return f"{title} waits {span(waits[-1].end_ns - waits[0].start_ns)} for a key" if waits else ""


def _calibration(facts: Recorded) -> str:
    for line, after in itertools.pairwise(facts.view.timeline.lines):
        if b"Calibrating delay loop... " in line.data:
            return f"delay loop calibration: {span(after.start_ns - line.start_ns)} to the next line"
    return ""


def _phase(name: str) -> Callable[[Recorded], str]:
    """A phase, with its length."""

    def evidence(facts: Recorded) -> str:
        found = [p for p in facts.view.timeline.phases if p.name == name]
        return f"{name} takes {span(sum(p.duration_ns for p in found))}" if found else ""

    return evidence


def _loader_or_files(facts: Recorded) -> str:
    """The boot loader proper; without one, the folders and file tables that the first stage reads."""
    if found := _phase("bootloader")(facts):
        return found
    evidence = facts.view.evidence
    first = [a for a in accesses(evidence) if evidence.phase_at(a.start_ns) in LOADER_PHASES]
    ns = sum(access.cost_ns for access in first if access.what == BOOT_TABLES)
    return f"tables and folders of the boot partition are read for {span(ns)}" if ns else ""


def _init(facts: Recorded) -> str:
    """The phase of init; empty where the application itself is the first process."""
    early = facts.word("rdinit")
    # With an initramfs the kernel runs a program in it, and init= applies later.
    first = early if early is not None or facts.settings.get("initramfs.place") else facts.word("init")
    alone = first and first == facts.settings.get("application.path")
    return "" if alone else _phase("init")(facts)


def _init_by_path(facts: Recorded) -> str:
    return "" if needs_more(facts) else _init(facts)


def _init_by_script(facts: Recorded) -> str:
    return _init(facts) if needs_more(facts) else ""


def _logged_init_by_script(known: Inventory) -> str | None:
    if not known.knows(Part.SCRIPTS):
        return None
    return logged.init(known) if needs_more(known) else ""


def _logged_init_by_path(known: Inventory) -> str | None:
    return "" if needs_more(known) else logged.init(known)


_UNCACHED = (Count.UNCACHED_LOAD, Count.UNCACHED_STORE, Count.UNCACHED_FETCH)


def _caches_off(facts: Recorded) -> str:
    """What boot loaders wait for with their caches off, on the core that the boot is viewed with."""
    timing = facts.view.evidence.timing if facts.view.core else None
    if timing is None:
        return ""
    found = []
    for phase, blocks in zip(timing.counted.info.phases, timing.counted.parts, strict=True):
        times = (block.counts[kind] * timing.price.event_ps[kind] for block in blocks for kind in _UNCACHED)
        ns = sum(times) // 1000
        if phase in LOADER_PHASES and ns:
            found.append(f"{phase} {span(ns)}")
    return f"accesses past caches that are off: {', '.join(found)}" if found else ""


INDICATORS = {
    "caches-off": Indicator("caches that are off, by counts for a core", _caches_off, lambda known: None),
    "loader-console": Indicator("boot loaders that write to the console", _silenced, logged.loader_console),
    "first-stage-console": Indicator(
        "a first stage that writes to the console", _first_stage_console, lambda known: None
    ),
    "kernel-console": Indicator("a kernel that writes to the console", _LINUX_CONSOLE, logged.kernel_console),
    "loader-i2c-wait": Indicator(
        "a boot loader that waits after resetting an I2C controller", loader_waits.i2c, lambda known: None
    ),
    "loader-card-wait": Indicator(
        "a boot loader that waits for the card longer than need be", loader_waits.card, lambda known: None
    ),
    "countdown": Indicator(f"a countdown in {BUILT.title}", _countdown, logged.countdown),
    "calibration": Indicator("a calibration of the delay loop", _calibration, logged.calibration),
    "deferred-timeout": Indicator(
        "the time-out of deferred probes",
        lambda facts: logged.deferred_timeout(facts) or "",
        logged.deferred_timeout,
    ),
    "driver-parameters": Indicator(
        "drivers that take long and have parameters", driver_parameters.shown, lambda known: None
    ),
    "late-drivers": Indicator(
        "drivers that probe long and that nothing uses", probe_order.shown, lambda known: None
    ),
    "kernel-code-misses": Indicator(
        "code of the kernel that misses caches, by counts for a core", code_order.misses, lambda known: None
    ),
    "application-computes": Indicator(
        "an application that computes before its milestone", application_profile.computes, lambda known: None
    ),
    **{
        f"script-{name}": Indicator(what, script_rewrites.shown(kind), script_rewrites.shown(kind))
        for name, kind, what in (
            ("pipes", "piped", "a start script that passes a file on by cat"),
            ("tests", "tested", "a start script that searches a file by expr and cat"),
            ("programs", "forking", "a start script with programs that the shell has built in"),
        )
    },
    "kernel-in-the-way": Indicator(
        "a compressed kernel that is loaded where it unpacks to", kernel_place.in_the_way, lambda known: None
    ),
    "entropy": Indicator("a wait for random numbers", entropy.shown, entropy.logged),
    "library-search": Indicator(
        "programs that search for their libraries", searches.by_calls, searches.by_files
    ),
    "fonts-read": Indicator(
        "fonts that are read because fontconfig has no cache", toolkits.fonts_read, toolkits.fonts_by_files
    ),
    "qt-libinput": Indicator(
        "a Qt that reads input devices by libinput", toolkits.qt_libinput, lambda known: None
    ),
    "bad-block-scan": Indicator(
        "a search for the marks of bad NAND blocks",
        lambda facts: raw_flash.bad_block_scan(facts) or "",
        raw_flash.bad_block_scan,
    ),
    "ubi-scan": Indicator(
        "a scan of all of UBI's erase blocks",
        lambda facts: raw_flash.ubi_scan(facts) or "",
        raw_flash.ubi_scan,
    ),
    "usb-disk": Indicator("a disk at USB", lambda facts: logged.usb_disk(facts) or "", logged.usb_disk),
    "decompress": Indicator("a compressed kernel", _phase("decompress"), logged.compressed),
    "init": Indicator("an init", _init, logged.init),
    "init-by-path": Indicator(
        "an init, and an application that needs nothing but its path", _init_by_path, _logged_init_by_path
    ),
    "init-by-script": Indicator(
        "an application that needs an environment or arguments", _init_by_script, _logged_init_by_script
    ),
    "bootloader": Indicator("a boot loader", _phase("bootloader"), logged.loader),
    "bootloader-or-files": Indicator(
        "a boot loader, or a first stage that finds the kernel in files", _loader_or_files, logged.loader
    ),
}
"""Indicators by the name that a technique's `shows` uses."""


def indicator_evidence(name: str, facts: Inventory) -> str | None:
    """The evidence for an indicator, in words; empty when there is none, None when that is unknown."""
    sign = INDICATORS[name]
    return sign.evidence(facts) if isinstance(facts, Recorded) else sign.otherwise(facts)
