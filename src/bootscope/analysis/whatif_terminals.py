# SPDX-License-Identifier: Apache-2.0
"""What if the kernel made fewer terminals? It makes hundreds by default, and mdev handles every one."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from bootscope.analysis.critical import Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.initcalls import name_of
from bootscope.analysis.whatif_kernel import path_of
from bootscope.analysis.whatif_plan import Gone, Plan, on_path
from bootscope.analysis.whatif_programs import runs

CONSOLES = 64
"""Devices of CONFIG_VT: tty0 to tty63."""
OTHERS = 100
"""The approximate number of devices of a small board besides its terminals."""
_BY_DEFAULT = 256
"""Pairs of old-style pseudo terminals; also the maximum."""
_MAKES = "pty_init"


def terminals(config: Mapping[str, str], gone: Container[str]) -> tuple[int, int]:
    """(old-style pseudo terminals, other terminals) that a kernel of this configuration loses without the
    symbols that are `gone`."""
    old, consoles = _made(config)
    return old if "LEGACY_PTYS" in gone else 0, consoles if "VT" in gone else 0


def _made(config: Mapping[str, str]) -> tuple[int, int]:
    """(old-style pseudo terminals, other terminals) that a kernel makes."""
    count = config.get("LEGACY_PTY_COUNT", "")
    pairs = min(_BY_DEFAULT, int(count)) if re.fullmatch(r"[0-9]{1,4}", count, re.ASCII) else _BY_DEFAULT
    old = 2 * pairs if config.get("LEGACY_PTYS") == "y" else 0
    return old, CONSOLES if config.get("VT") == "y" else 0


def fewer_terminals(
    plan: Plan, evidence: Evidence, steps: list[Step], config: Mapping[str, str], gone: Container[str]
) -> None:
    """Without the terminals that go with symbols: the kernel makes fewer, and mdev handles fewer."""
    new = {name for name in ("LEGACY_PTYS", "VT") if name in gone} - plan.terminals
    plan.terminals |= new
    old, consoles = terminals(config, new)
    if not old + consoles:
        return
    if old:
        calls = [c for c in evidence.scene.of("initcall") if name_of(c, evidence) == _MAKES]
        plan.gone += [part for call in calls for part in path_of(call, steps, evidence)]
    plan.last.append(lambda: _look_less(plan, evidence, steps, old + consoles, sum(_made(config)) + OTHERS))


def _look_less(plan: Plan, evidence: Evidence, steps: list[Step], fewer: int, every: int) -> None:
    tasks = {task for task in evidence.scene.tasks if runs(task, "mdev")}
    gone = Gone(plan.gone)
    looking = on_path(steps, tasks, 0, evidence.timeline.total_ns)
    looking_ns = sum(end - start - gone.inside(start, end) for start, end in looking)
    plan.counted_ns += looking_ns * fewer // every
    plan.assume(
        f"{fewer} fewer terminals are created"
        + (f", so mdev handles that many fewer of about {every} devices" if looking_ns else "")
    )
