# SPDX-License-Identifier: Apache-2.0
"""What if the kernel made fewer terminals? It makes hundreds by default, and mdev looks at every one."""

from __future__ import annotations

from collections.abc import Container, Mapping

from bootscope.analysis.critical import Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.initcalls import name_of
from bootscope.analysis.shortcuts import runs
from bootscope.analysis.whatif_kernel import path_of
from bootscope.analysis.whatif_plan import Plan, on_path

CONSOLES = 64
"""Devices of CONFIG_VT: tty0 to tty63."""
OTHERS = 100
"""About as many devices has a small board besides its terminals."""
_BY_DEFAULT = 256
_MAKES = "pty_init"


def terminals(config: Mapping[str, str], gone: Container[str]) -> tuple[int, int]:
    """(old-style pseudo terminals, other terminals) of a kernel that its configuration would not have
    without the symbols that are `gone`."""
    old = config.get("LEGACY_PTYS") == "y" and "LEGACY_PTYS" in gone
    count = config.get("LEGACY_PTY_COUNT", "")
    pairs = int(count) if count.isdecimal() else _BY_DEFAULT
    consoles = config.get("VT") == "y" and "VT" in gone
    return 2 * pairs if old else 0, CONSOLES if consoles else 0


def fewer_terminals(
    plan: Plan, evidence: Evidence, steps: list[Step], config: Mapping[str, str], gone: Container[str]
) -> None:
    """Without the terminals that go with symbols: the kernel makes them not, and mdev has less to look at."""
    old, consoles = terminals(config, gone)
    if not old + consoles:
        return
    every = 2 * _BY_DEFAULT if config.get("LEGACY_PTYS") == "y" else 0
    every = max(every, old) + (CONSOLES if config.get("VT") == "y" else 0) + OTHERS
    if old:
        calls = [c for c in evidence.scene.of("initcall") if name_of(c, evidence) == _MAKES]
        plan.gone += [part for call in calls for part in path_of(call, steps, evidence)]
    tasks = {task for task in evidence.scene.tasks if runs(task, "mdev")}
    looking_ns = sum(end - start for start, end in on_path(steps, tasks, 0, evidence.timeline.total_ns))
    plan.counted_ns += looking_ns * (old + consoles) // every
    plan.assume(
        f"{old + consoles} terminals less are made"
        + (f", and mdev looks at so many less of about {every} devices" if looking_ns else "")
    )
