# SPDX-License-Identifier: Apache-2.0
"""What if? A prediction of the boot with changes, made from a recording alone.

Device costs are computed again by the same rules as before: for another card, another line rate, fewer bytes.
What is left out of the program is subtracted from the virtual clock, as far as it lay on the path to the
milestone; what only gets faster is predicted from the samples. Everything else is assumed to stay the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bootscope.analysis import (
    console_cost,
    whatif_calls,
    whatif_flash,
    whatif_image,
    whatif_kernel,
    whatif_loader,
    whatif_programs,
    whatif_root,
)
from bootscope.analysis.critical import Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.whatif_plan import Ground, Plan, saved_ns
from bootscope.boards.changed import waits_for_devices, with_card
from bootscope.core.errors import UserError, printable, unknown
from bootscope.cores.changes import KNOWN as OF_CORES

KNOWN = {
    "quiet": "the kernel prints no messages on the console",
    "no-console": "nothing is written to the console at all",
    "console=BAUD": "the console runs at another baud rate",
    "kernel-console=BAUD": "the kernel's console, and what runs after it, has another rate",
    "bootdelay=0": "the boot loader does not wait for a key",
    "loader-silent": "the boot loaders write nothing to the console",
    "first-stage-silent": "what runs before the boot loader proper writes nothing to the console",
    "flat-boot": "the boot loader runs the commands of its script at once, without looking for it",
    "script-by-name": "the boot loader reads and runs its script at once, without looking for it",
    "exact-read": "the boot loader reads no unused area of the card",
    "bootz": "the kernel has no uImage header, which the boot loader would check",
    "uimage": "the kernel has a uImage header, and the boot loader checks it",
    "appended-tree:COMMAND": "the device tree is behind the kernel, the loader's COMMAND does not read it",
    "started-in-flash": "the kernel is unpacked from flash that is read as memory, and not copied",
    "falcon": "the first stage starts the kernel itself, without the boot loader proper",
    "card=CLASS": "another card class of the board profile",
    "card=Nx": "a card N times faster in bandwidth and latency",
    "compression=NAME": "the kernel has another compression: gzip, lz4, ..., or none",
    "kernel-bytes=N": "the unpacked kernel is N bytes larger (or smaller: -N)",
    "root-bytes=N": "N bytes more are read of programs and other large files (or fewer: -N)",
    "rootfs=KIND": "the root file system has another type: ext4, squashfs-lz4hc, erofs-none, ...",
    "memory=SIZE": "the kernel uses this much memory (mem=SIZE)",
    "function:NAME=SHARE": "this function and all it calls take this share of the time (0, 0.5)",
    "without:NAME": "without this initcall (and its drivers), probe, step or command of the boot loader",
    "later:PROGRAM": "this program and its children start after the milestone; a pattern names several",
    "together:PATTERN": "these programs start together; the boot ends with the last of them",
    "programs=N": "a script starts N more programs (or fewer: -N)",
    "first:PROGRAM": "this program, or its script, starts before its siblings",
    "init=PROGRAM": "this program runs instead of init",
    "builtins:SCRIPT": "this script does its work without starting programs",
    "applets": "shells run BusyBox applets without fork and exec",
    whatif_calls.LIBRARY_CACHE: "programs find their libraries by the loader's cache (record --syscalls)",
    "one-shell": "one shell runs all scripts, instead of a shell for each",
}


@dataclass(frozen=True)
class Prediction:
    """The milestone's time now and as predicted, in ns, and the assumptions made."""

    milestone: str
    now_ns: int
    predicted_ns: int
    assumptions: tuple[str, ...]

    @property
    def saving_ns(self) -> int:
        """What the changes would save."""
        return self.now_ns - self.predicted_ns


Extra = Callable[[Plan, Evidence, list[Step]], None]
"""A change that is not text: it adds its effects to the plan."""


def predict(
    evidence: Evidence,
    stacks: Stacks,
    changes: Iterable[str],
    extra: Iterable[Extra] = (),
    ground: Ground | None = None,
) -> Prediction:
    """The end of the recording with `changes` made; `ground` saves time if there are several predictions.

    Raises UserError for an unknown change, and for two that exclude each other.
    """
    plan = planned(ground or Ground(evidence, stacks), changes, extra)
    now = evidence.timeline.total_ns
    saved = min(now, saved_ns(evidence, plan))
    assumptions = [*plan.assumptions, "everything else takes as long as before"]
    if waits_for_devices(evidence.run.board):
        assumptions.append("no other wait was hidden behind what is saved")
    return Prediction(evidence.run.until, now, now - saved, tuple(dict.fromkeys(assumptions)))


def planned(ground: Ground, changes: Iterable[str], extra: Iterable[Extra] = ()) -> Plan:
    """What changes do to a recording. Raises UserError as :func:`predict` does."""
    changes, evidence = list(dict.fromkeys(changes)), ground.evidence
    _check_contradictions(changes)
    plan = Plan(evidence.run.board, ground)
    for change in changes:
        _apply(change, plan, evidence, ground.steps)
    for add in extra:
        add(plan, evidence, ground.steps)
    for finish in plan.last:
        finish()
    return plan


def _check_contradictions(changes: list[str]) -> None:
    for names in (("console=", "kernel-console="), "card=", "compression=", "rootfs=", "memory="):
        found = [change for change in changes if change.startswith(names)]
        if len(found) > 1:
            listed = " and ".join(f"'{printable(change)}'" for change in found)
            raise UserError(f"{listed} exclude each other", hint=f"one {found[0].partition('=')[0]}=")
    if {"bootz", "uimage"} <= set(changes):
        raise UserError(
            "'bootz' and 'uimage' exclude each other", hint="a kernel either has a header or has none"
        )


_SIMPLE: dict[str, Callable[[Plan, Evidence], None]] = {
    "quiet": lambda plan, evidence: _quiet(plan, evidence),
    "no-console": lambda plan, evidence: _no_console(plan, evidence),
    "loader-silent": whatif_loader.silent,
    "first-stage-silent": whatif_loader.first_stage_silent,
    "bootdelay=0": whatif_loader.no_countdown,
    "flat-boot": whatif_loader.flat_boot,
    "script-by-name": whatif_loader.script_by_name,
    "falcon": whatif_loader.first_stage_boots,
    "exact-read": whatif_loader.exact_read,
    "started-in-flash": whatif_flash.started_in_flash,
    "bootz": whatif_image.bootz,
    "uimage": whatif_image.uimage,
    "one-shell": whatif_programs.one_shell,
    whatif_calls.LIBRARY_CACHE: lambda plan, evidence: whatif_calls.library_cache(
        plan, evidence, plan.ground.steps
    ),
    "applets": whatif_programs.applets,
}
_NAMED: dict[str, Callable[[Plan, Evidence, list[Step], str], None]] = {
    "without:": whatif_kernel.without,
    "later:": whatif_programs.later,
    "builtins:": whatif_programs.builtins,
    "appended-tree:": whatif_image.appended_tree,
    "programs=": whatif_programs.more,
    "together:": whatif_programs.together,
    "rootfs=": lambda plan, evidence, steps, value: whatif_root.rootfs(plan, evidence, value),
    "root-bytes=": lambda plan, evidence, steps, value: whatif_root.root_bytes(plan, evidence, value),
    "compression=": lambda plan, evidence, steps, value: whatif_kernel.compression(plan, evidence, value),
    "memory=": lambda plan, evidence, steps, value: whatif_kernel.memory(plan, evidence, value),
    "function:": lambda plan, evidence, steps, value: whatif_kernel.function(plan, value),
    "kernel-bytes=": lambda plan, evidence, steps, value: whatif_kernel.kernel_bytes(plan, evidence, value),
    "kernel-console=": lambda plan, evidence, steps, value: _kernel_console(plan, evidence, value),
    "console=": lambda plan, evidence, steps, value: _console(plan, value),
    "card=": lambda plan, evidence, steps, value: _card(plan, value),
    "first:": whatif_programs.before_others,
    "init=": whatif_programs.instead_of_init,
}


def _apply(change: str, plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
    match = re.match(r"[a-z-]+[:=]", change)
    name = match[0] if match else ""
    if change in _SIMPLE:
        _SIMPLE[change](plan, evidence)
    elif name in _NAMED:
        _NAMED[name](plan, evidence, steps, change.removeprefix(name))
    else:
        known = unknown("change", change, [*KNOWN, *OF_CORES])
        raise UserError(known.message, hint=f"{known.hint}; bootscope what-if --help explains them")


# ---- the console ----


def _quiet(plan: Plan, evidence: Evidence) -> None:
    hidden = console_cost.hidden_by_quiet(plan.ground.lines)
    plan.hide(hidden)
    plan.assume(f"{len(hidden)} kernel lines of level {console_cost.QUIET_LEVEL} and above are not printed")
    unsure = sum(line.level < 0 for line in hidden)
    if unsure:
        plan.assume(f"{unsure} of them have no known level and are counted as such")


def _no_console(plan: Plan, evidence: Evidence) -> None:
    plan.hide(plan.ground.lines)
    plan.assume("programs behave the same without the console")


def _kernel_console(plan: Plan, evidence: Evidence, value: str) -> None:
    kernel = next((p for p in evidence.timeline.phases if p.name == "kernel"), None)
    if not kernel:
        raise UserError("the boot does not come to the kernel, whose console it is about")
    plan.rate_from = evidence.index_at(kernel.start_ns)
    _console(plan, value, "the kernel and what it starts use")


_READABLE = 40
"""A receiver tolerates a rate that is off by a fortieth, hardly more."""


def _console(plan: Plan, value: str, whose: str = "boot loader and kernel both use") -> None:
    if not re.fullmatch(r"[0-9]{1,8}", value) or not 300 <= int(value) <= 10_000_000:
        raise UserError(f"'{printable(value)}' is not a baud rate", hint="for example console=921600")
    plan.byte_ns, real = plan.board.console_called(plan.board.console).at_rate(int(value))
    plan.assume(f"{whose} {value} baud")
    if abs(real - int(value)) * _READABLE > int(value):
        plan.assume(f"the UART's clock gives {real} baud, and the receiver accepts that")


# ---- the card ----


def _card(plan: Plan, value: str) -> None:
    if waits_for_devices(plan.board):
        raise UserError(
            "this boot was recorded with the card's time in the guest's clock: "
            "another card cannot be predicted",
            hint=f"record it with that card: --board {plan.board.name}:card={printable(value)}",
        )
    named = value in plan.board.card_classes
    plan.board = with_card(plan.board, value)
    told = f"the profile's '{value}'" if named else f"{value} as fast in bandwidth and latency"
    plan.assume(f"the card is {told}")
