# SPDX-License-Identifier: Apache-2.0
"""How checks are declared: a function, and the parts of a system that it must know.

A function returns what it found, in words, the empty string for nothing, or None if too little is known. For
a pitfall that only a person can judge it returns what the pitfall concerns in the system.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bootscope.audit.findings import Finding
from bootscope.core.text import listed
from bootscope.inventory.inventory import TREE_PARTS, Inventory, Part
from bootscope.loaders.registry import BUILT

Look = Callable[[Inventory], str | None]
LookAtFindings = Callable[[Inventory, Sequence[Finding]], str | None]


@dataclass(frozen=True)
class Check:
    """`needs`: parts that must all be known; `one_of`: parts of which at least one must be known."""

    look: LookAtFindings
    needs: tuple[Part, ...] = ()
    one_of: tuple[Part, ...] = ()

    def missing(self, known: Inventory) -> str:
        """The unknown parts that the check needs, in words; empty when the check can run."""
        lacking = [str(part) for part in self.needs if not known.knows(part)]
        if self.one_of and not any(map(known.knows, self.one_of)):
            lacking.append(" or ".join(self.one_of))
        return ", ".join(lacking)

    def partly(self, known: Inventory) -> str:
        """The configurations that the check reads and of which only a part is known."""
        asked = {*self.needs, *self.one_of}
        return ", ".join(part for tree, part in TREE_PARTS.items() if part in asked and tree in known.partial)


CHECKS: dict[str, Check] = {}
"""By the id of the pitfall; filled by the modules beside this one."""


def check_findings(
    ident: str, *needs: Part, one_of: tuple[Part, ...] = ()
) -> Callable[[LookAtFindings], None]:
    """Declares a function as the check of a pitfall; it also receives the findings of the audit."""

    def declare(look: LookAtFindings) -> None:
        if ident in CHECKS:
            raise ValueError(f"two checks are called {ident}")
        CHECKS[ident] = Check(look, needs, one_of)

    return declare


def check(
    ident: str, *needs: Part, one_of: tuple[Part, ...] = (), when: Callable[[Inventory], bool] | None = None
) -> Callable[[Look], None]:
    """The same for a function of the inventory alone, which finds nothing if `when` is false."""

    def declare(look: Look) -> None:
        declared = check_findings(ident, *needs, one_of=one_of)
        declared(lambda known, _: "" if when and not when(known) else look(known))

    return declare


_START = re.compile(
    r"^/(?:etc/(?:init\.d/(?!rcK$|K\d)|rc\.d/(?!K\d)|rc[S\d]?\.d/(?!K\d)|rc\.local$|rc$|rcS$|inittab$"
    r"|network/if-)|init$|linuxrc$|sbin/init$|(?:usr/)?lib/systemd/system/|etc/systemd/system/)"
)
_LONGEST_LINE = 2000


def start_lines(known: Inventory, pattern: str) -> Iterator[str]:
    """Lines of the scripts run at boot that match a pattern, as `path: line`; without comments."""
    if application_as_init(known):
        return
    compiled = re.compile(pattern)
    for path, text in sorted(known.scripts.items()):
        if not _START.match(path):
            continue
        for line in text.splitlines():
            shown = line.strip()[:_LONGEST_LINE]
            if not shown.startswith("#") and compiled.search(shown):
                yield f"{path}: {shown}"


def started(pattern: str) -> Callable[[Inventory], str]:
    """A check for what a script starts at boot: finds the first line that matches the pattern."""
    return lambda known: listed(list(start_lines(known, pattern)), 1)


def kernel_has(symbol: str) -> Look:
    """A check that a symbol of the kernel is set."""
    return lambda known: f"CONFIG_{symbol}=y" if known.on("kernel", symbol) else ""


INITS = (
    "init", "systemd", "sh", "ash", "bash", "dash", "busybox", "linuxrc", "preinit", "bootchartd", "upstart",
    "runit", "runit-init", "openrc-init", "s6-linux-init", "dinit", "rcS", "procd", "tini", "finit",
)  # fmt: skip


def application_as_init(known: Inventory) -> str:
    """The word of the command line that makes a program other than an init process 1; empty for none."""
    for name in ("init", "rdinit"):
        path = known.word(name) or ""
        base = path.rpartition("/")[2]
        target = known.files.get(path, "").partition("-> ")[2].rpartition("/")[2]
        script = path in known.scripts or base.endswith(".sh")
        if base and base not in INITS and target not in INITS and not script:
            return f"{name}={path}"
    return ""


def loader_delay(known: Inventory) -> str:
    """How many seconds the boot loader waits for a key; empty if unknown."""
    settings = BUILT.settings
    return known.environment.get(settings.delay_variable) or known.symbol(BUILT.tree, settings.delay) or ""


def first_stage_boots(known: Inventory) -> bool:
    """Whether the boot loader's first program is known to start Linux itself."""
    return known.on(BUILT.tree, BUILT.settings.first_boots) or known.settings.get("uboot.falcon") == "True"
