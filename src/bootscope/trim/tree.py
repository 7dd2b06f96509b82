# SPDX-License-Identifier: Apache-2.0
"""One configured tree (kernel, boot loader or BusyBox) during trimming: what is known of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bootscope.analysis.removable import Build, Candidate, Kind, candidates, safe_together
from bootscope.analysis.used_code import Ran, used_code
from bootscope.analysis.views import View
from bootscope.arch.model import Architecture
from bootscope.builder.linkmap import Objects, read
from bootscope.capture import objects, usage
from bootscope.capture.record import USAGE
from bootscope.devices import sunxi_boot_rom
from bootscope.kbuild import symbols as kconfig
from bootscope.kbuild.graph import Configuration
from bootscope.kbuild.kconfig import written
from bootscope.kbuild.makefiles import Makefiles
from bootscope.kbuild.symbols import TOP
from bootscope.loaders.registry import BUILT
from bootscope.readers.fdt import BadTree
from bootscope.system.model import Symbols
from bootscope.trim.build_errors import defined_in
from bootscope.trim.devices import devices, drivers

IMAGE = {
    "kernel": "kernel/zImage",
    BUILT.tree: f"{BUILT.tree}/{sunxi_boot_rom.IMAGE}",
    "busybox": "busybox/busybox",
}
"""What gets smaller, by the names of a run's parts."""
PHASES = {"kernel": ("kernel",), BUILT.tree: BUILT.phases_of(BUILT.main)[:1], "busybox": ("init",)}
"""The phases of the boot in which the tree's code runs."""
_OWN_PERCENT = 90
_LEAVES_OUT = re.compile(r"(^|_)DISABLED?(_|$)")
_TABLES = {"kernel": objects.KERNEL_SYMBOLS, BUILT.tree: BUILT.main.symbols}


@dataclass(frozen=True, slots=True)
class Stay:
    """Why a symbol stays on, and the bytes and kind of what would go with it."""

    reason: str
    image_bytes: int = 0
    kind: Kind = Kind.BLANK


@dataclass
class TrimTree:
    """`config` is the configuration so far, `off` the symbols switched off for it; `wished` are those that
    the system file asks for; `kept` those that must stay, with the reason; `spared` those that are not tried,
    but may go together with the menu or option that they belong to."""

    name: str
    source: Path
    arch: Architecture
    config: Mapping[str, str]
    wished: Symbols
    kept: Mapping[str, str] = field(default_factory=dict)
    spared: Mapping[str, str] = field(default_factory=dict)
    off: Symbols = field(default_factory=dict)
    stays: dict[str, Stay] = field(default_factory=dict)

    @cached_property
    def symbols(self) -> kconfig.Symbols:
        """All symbols of the tree."""
        return kconfig.read(self.source, self.arch, TOP[self.name])

    @cached_property
    def makefiles(self) -> Makefiles:
        """The tree's Makefiles."""
        return Makefiles(self.source, self.arch)

    @property
    def unknown(self) -> list[str]:
        """Symbols that the system asks for and that do not exist in this version of the sources."""
        return sorted(name for name in self.wished if name not in self.symbols)

    @property
    def fixed(self) -> set[str]:
        """Symbols that must not be switched off: those that the system or the user wants on."""
        return self.kept.keys() | {name for name, value in self.wished.items() if written(value) != "n"}

    def unmet(self, config: Mapping[str, str]) -> list[str]:
        """Symbols that a configuration does not have as requested, or that should stay and have changed."""
        wrong = [n for n, v in self.wished.items() if config.get(n, "n") != written(v)]
        return wrong + [n for n in self.kept if config.get(n, "n") != self.config.get(n, "n")]

    def missing(self, build: Build, config: Mapping[str, str], in_use: Mapping[str, str]) -> str:
        """Required symbols or drivers that a configuration lacks; empty when it has everything."""
        unmet = self.unmet(config)
        if unmet:
            return f"{unmet[0]} would go ({self.kept.get(unmet[0], 'the system asks for it')})"
        lost = build.lost(switched_on(self.config) - switched_on(config))
        driver = next((name for name in lost if name in in_use), "")
        return f"{driver} would go, and drives {in_use[driver]}" if driver else ""

    def build(self, of: View) -> Build:
        """The tree as built for a recording, with the code that ran then."""
        code = used_code(of.evidence, usage.read(of.boot.path / USAGE), self.name)
        return Build.of(Configuration(self.symbols, self.config), code, self.makefiles.ways)

    def definitions(self, of: View) -> Mapping[str, str]:
        """Global name -> object file, for the build of a recording."""
        linked = Objects(read(of.evidence.load(objects.OBJECTS_OF[self.name]).decode("utf-8", "replace")))
        table = _TABLES.get(self.name)
        return (
            defined_in(of.evidence.load(table).decode("utf-8", "replace"), linked, self.arch) if table else {}
        )


def switched_on(config: Mapping[str, str]) -> frozenset[str]:
    """The symbols of a configuration that are on, or modules."""
    return frozenset(name for name, value in config.items() if value in ("y", "m"))


def size_bytes(of: View, tree: str) -> int:
    """The size of a tree's image in a recording; 0 where it does not exist."""
    return next((p.size_bytes for p in of.run.info.parts if p.name == IMAGE[tree]), 0)


def phase_ns(of: View, tree: str) -> int:
    """How long a tree's code takes to boot."""
    return sum(p.duration_ns for p in of.timeline.phases if p.name in PHASES[tree])


def drivers_in_use(tree: TrimTree, of: View, names: Iterable[str], blob: bytes) -> dict[str, str]:
    """The kernel's object files with drivers of devices for booting and output -> the device's node."""
    board = of.run.info.board
    addresses = {board.devices[name].base for name in (board.console, board.storage)}
    try:
        return drivers(tree.source, names, devices(blob, addresses))
    except BadTree:
        return {}


def group(tree: TrimTree, build: Build, kinds: Iterable[Kind], in_use: Mapping[str, str]) -> list[Candidate]:
    """The candidates of some kinds, ordered so that related ones stay together; records why the others
    stay."""
    wanted = set(kinds)
    found: list[Candidate] = []
    for candidate in candidates(build, tree.stays):
        if candidate.kind not in wanted:
            continue
        spared = tree.kept.get(candidate.symbol) or tree.spared.get(candidate.symbol)
        reason = spared or _must_stay(tree, build, candidate, in_use)
        if reason:
            tree.stays[candidate.symbol] = Stay(reason, candidate.image_bytes, candidate.kind)
        else:
            found.append(candidate)
    worst = max((k for k in wanted if k != Kind.BLANK), default=Kind.SETUP)
    together = safe_together(build, found, worst, in_use)
    return sorted(together, key=lambda c: (c.kind, c.folder, -c.weight, c.symbol))


def _must_stay(tree: TrimTree, build: Build, candidate: Candidate, in_use: Mapping[str, str]) -> str:
    if _LEAVES_OUT.search(candidate.symbol):
        return "it removes code when it is on"
    needing = sorted(candidate.goes & tree.fixed)
    if needing:
        return f"{needing[0]} needs it ({tree.kept.get(needing[0], 'the system asks for that')})"
    lost = build.lost(candidate.goes)
    driver = next((name for name in lost if name in in_use), "")
    if driver:
        return f"{driver} drives {in_use[driver]}"
    own = next((name for name in lost if _is_the_applications(build.code[name].ran)), "")
    return f"{own} ran almost only for the application" if own else ""


def _is_the_applications(ran: Ran) -> bool:
    """Whether code ran only for the application. Code that merely ran at the same time, such as interrupts,
    does not count: it runs just as well at other times."""
    return ran.application > 0 and ran.application * 100 >= ran.programs * _OWN_PERCENT
