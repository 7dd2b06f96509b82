# SPDX-License-Identifier: Apache-2.0
"""What if? A prediction of the boot with something changed, made from a recording alone.

Devices are counted anew by the same rules with which they were counted first: another card, another
line rate, fewer bytes. What is left out of the program is taken from the virtual clock, as far as it lay
on the path to the milestone. Everything else is assumed to stay as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from bootscope.analysis import bill, gaps, shortcuts
from bootscope.analysis.critical import READY, Step, path
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.initcalls import name_of
from bootscope.analysis.scene import Call, Task
from bootscope.analysis.waits import countdown
from bootscope.boards.profile import Board, CardClass, Uart
from bootscope.errors import UserError, printable, unknown
from bootscope.settings import Sourced
from bootscope.timeline.costs import costs
from bootscope.timeline.devices import ConsoleByte, DeviceEvent, byte_ns

KNOWN = {
    "quiet": "the kernel keeps its messages off the console",
    "no-console": "nothing is written to the console at all",
    "console=BAUD": "the console runs at another rate",
    "bootdelay=0": "U-Boot does not wait for a key",
    "card=CLASS": "another card class of the board profile",
    "card=Nx": "a card N times as fast, in bandwidth and latency",
    "without:NAME": "without this initcall (and its drivers), probe, U-Boot step or command",
    "later:PROGRAM": "this program and what it starts run after the milestone",
    "first:PROGRAM": "this program, or its script, is started before all that is started beside it",
    "init=PROGRAM": "this program runs instead of init",
}


@dataclass
class Plan:
    """What a set of changes does to a recording: a board, bytes left out, stretches taken out."""

    board: Board
    byte_ns: int | None = None
    dropped: set[int] = field(default_factory=set)
    gone: list[tuple[int, int]] = field(default_factory=list)
    """Stretches of board time that do not happen."""
    kept: set[int] = field(default_factory=set)
    """Storage commands in them that do happen."""
    assumptions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Prediction:
    """The milestone's time now and as predicted, in ns, and on what assumptions."""

    milestone: str
    now_ns: int
    predicted_ns: int
    assumptions: tuple[str, ...]

    @property
    def saving_ns(self) -> int:
        """What the changes would save."""
        return self.now_ns - self.predicted_ns


def predict(evidence: Evidence, stacks: Stacks, changes: Iterable[str]) -> Prediction:
    """The end of the recording with `changes` made.

    Raises UserError for a change that is not known, and for two that cannot both be made.
    """
    changes = list(dict.fromkeys(changes))
    _check_contradictions(changes)
    plan = Plan(evidence.run.board)
    steps = path(evidence, stacks, evidence.timeline.total_ns)
    for change in changes:
        _apply(change, plan, evidence, steps)
    now = evidence.timeline.total_ns
    saved = _devices_saved(evidence, plan) + _virtual_saved(evidence, plan)
    assumptions = [*plan.assumptions, "whatever is not mentioned takes the time that it took"]
    return Prediction(evidence.run.until, now, now - saved, tuple(dict.fromkeys(assumptions)))


def _check_contradictions(changes: list[str]) -> None:
    for name in ("console=", "card="):
        found = [change for change in changes if change.startswith(name)]
        if len(found) > 1:
            listed = " and ".join(f"'{printable(change)}'" for change in found)
            raise UserError(f"{listed} cannot both be", hint=f"one {name}")


def _apply(change: str, plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
    name, _, value = change.partition("=")
    simple: dict[str, Callable[[Plan, Evidence], None]] = {"quiet": _quiet, "no-console": _no_console}
    if change in simple:
        simple[change](plan, evidence)
    elif change == "bootdelay=0":
        _bootdelay(plan, evidence)
    elif name == "console":
        _console(plan, value)
    elif name == "card":
        _card(plan, value)
    elif change.startswith("without:"):
        _without(plan, evidence, steps, change.removeprefix("without:"))
    elif change.startswith("later:"):
        _later(plan, evidence, steps, change.removeprefix("later:"))
    elif change.startswith("first:"):
        _shortcut(plan, shortcuts.before_others(evidence, change.removeprefix("first:")))
    elif name == "init":
        _shortcut(plan, shortcuts.instead_of_init(evidence, value))
    else:
        listed = f"there are: {', '.join(KNOWN)}; bootscope what-if --help says what they do"
        raise UserError(f"'{printable(change)}' is no change that can be predicted", hint=listed)


# ---- the console ----


def _quiet(plan: Plan, evidence: Evidence) -> None:
    hidden = bill.hidden_by_quiet(bill.lines(evidence))
    _drop(plan, evidence, hidden)
    plan.assumptions.append(
        f"{len(hidden)} kernel lines of level {bill.QUIET_LEVEL} and above are not printed"
    )
    unsure = sum(line.level < 0 for line in hidden)
    if unsure:
        plan.assumptions.append(f"{unsure} of them, whose level is not known, are of such a level")


def _no_console(plan: Plan, evidence: Evidence) -> None:
    _drop(plan, evidence, bill.lines(evidence))
    plan.assumptions.append("programs do not notice that the console is gone")


def _drop(plan: Plan, evidence: Evidence, hidden: list[bill.Line]) -> None:
    for line in hidden:
        for first, last in line.runs:
            plan.dropped.update(range(first, last + 1))
        plan.gone += [(evidence.clock.before(a), evidence.clock.after(b)) for a, b in line.runs]


_READABLE = 40
"""A receiver takes a rate that is off by a fortieth of it, hardly more."""


def _console(plan: Plan, value: str) -> None:
    if not re.fullmatch(r"[0-9]{1,8}", value) or not 300 <= int(value) <= 10_000_000:
        raise UserError(f"'{printable(value)}' is no line rate", hint="for example console=921600")
    uart = plan.board.devices[plan.board.console]
    assert isinstance(uart, Uart)
    # As drivers do it: the divisor that comes closest.
    clock_hz, sixteen = uart.clock_hz.value, 16 * int(value)
    divisor = max(1, (clock_hz + sixteen // 2) // sixteen)
    plan.byte_ns = byte_ns(uart, divisor)
    plan.assumptions.append(f"boot loader and kernel both run the console at {value} baud")
    real = clock_hz // (16 * divisor)
    if abs(real - int(value)) * _READABLE > int(value):
        plan.assumptions.append(
            f"the port's clock makes {real} baud of that, and whoever listens can take it"
        )


# ---- the card ----

_FASTER = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,3}))?x")


def _card(plan: Plan, value: str) -> None:
    classes = plan.board.card_classes
    match = _FASTER.fullmatch(value)
    if match:
        thousandths = int(match[1]) * 1000 + int((match[2] or "").ljust(3, "0"))
        if not thousandths:
            raise UserError("a card cannot be 0 times as fast", hint="for example card=2x")
        card, name = _scaled(plan.board.card, thousandths), "as said"
        plan.board = _with_card(plan.board, {**classes, name: card}, name)
        plan.assumptions.append(f"the card is {value} as fast, in bandwidth and in latency")
    elif value in classes:
        plan.board = _with_card(plan.board, classes, value)
        plan.assumptions.append(f"the card is the profile's '{value}'")
    else:
        raise unknown("card class", value, [*classes, "2x"])


def _scaled(card: CardClass, thousandths: int) -> CardClass:
    said = "a change asked for"
    bandwidth = card.bandwidth_bytes_per_s.value * thousandths // 1000
    latency = card.command_latency_ns.value * 1000 // thousandths
    return CardClass(
        title=card.title,
        bandwidth_bytes_per_s=Sourced(value=max(1, bandwidth), source=said),
        command_latency_ns=Sourced(value=latency, source=said),
    )


def _with_card(board: Board, classes: dict[str, CardClass], name: str) -> Board:
    return msgspec.structs.replace(board, card_classes=classes, card_class=name)


# ---- what is left out ----


def _bootdelay(plan: Plan, evidence: Evidence) -> None:
    gaps.need(evidence, "delays in U-Boot", "uboot.delay")
    waits = countdown(evidence)
    if not waits:
        plan.assumptions.append("U-Boot did not wait for a key in this boot")
        return
    plan.gone.append((waits[0].start_ns, waits[-1].end_ns))
    plan.assumptions.append("U-Boot still looks once whether a key was pressed")


def _without(plan: Plan, evidence: Evidence, steps: list[Step], name: str) -> None:
    gaps.need(evidence, "initcalls, probes and commands", "initcall", "switch")
    kinds = ("initcall", "probe", "uboot.initcall", "uboot.probe", "uboot.command")
    found = [c for c in evidence.scene.of(*kinds) if _called(c, name, evidence)]
    if not found:
        raise UserError(
            f"nothing called '{printable(name)}' ran in this boot",
            hint="bootscope show --view initcalls lists what did",
        )
    removed = {driver for driver, call in evidence.scene.drivers.items() if call in found}
    probes = [c for c in evidence.scene.of("probe") if c.detail in removed]
    if probes:
        plan.assumptions.append(f"its drivers probe no device: {', '.join(sorted(removed))}")
    for call in found + probes:
        plan.gone += _on_path(steps, {call.task}, call.start_ns, call.end_ns)
        for index in range(call.first, min(call.last, len(evidence.records))):
            if evidence.slice_at(evidence.clock.before(index)).task is call.task:
                plan.dropped.add(index)
    plan.assumptions.append(f"nothing needs what {name} sets up, and nothing else does its work instead")


def _called(call: Call, name: str, evidence: Evidence) -> bool:
    return name_of(call, evidence) == name or name_of(call, evidence).partition(" ")[0] == name


def _later(plan: Plan, evidence: Evidence, steps: list[Step], name: str) -> None:
    gaps.need(evidence, "processes", "switch", "fork")
    tasks = {t for t in evidence.scene.tasks if shortcuts.runs(t, name)}
    if not tasks:
        raise UserError(
            f"no program called '{printable(name)}' ran in this boot",
            hint="bootscope show --view processes lists those that did",
        )
    for task in evidence.scene.tasks:
        if task.parent in tasks:
            tasks.add(task)
    if steps and steps[-1].task in tasks:
        raise UserError(
            f"the boot ends in '{printable(name)}' or in what it starts: that cannot run later",
            hint="name a program that runs before it",
        )
    plan.gone += _on_path(steps, tasks, 0, evidence.timeline.total_ns)
    plan.assumptions.append(f"nothing before the milestone needs {name}")


def _shortcut(plan: Plan, found: shortcuts.Shortcut) -> None:
    plan.gone += found.gone
    plan.kept |= found.kept
    plan.assumptions += found.assumptions


def _on_path(steps: list[Step], tasks: set[Task], start: int, end: int) -> list[tuple[int, int]]:
    """The stretches of the path between two moments that belong to some tasks."""
    return [
        (max(start, s.start_ns), min(end, s.end_ns))
        for s in steps
        if s.task in tasks and s.how != READY and s.start_ns < end and s.end_ns > start
    ]


# ---- adding up ----


def _devices_saved(evidence: Evidence, plan: Plan) -> int:
    """What the devices take less: the same events, counted by the changed board."""
    gone = _joined(plan.gone)
    events = [e for e in evidence.events if not _left_out(e, evidence, plan, gone)]
    if plan.byte_ns is not None:
        events = [_at_rate(e, plan.byte_ns) for e in events]
    before = sum(cost.ns for cost in evidence.costs)
    return before - sum(cost.ns for cost in costs(evidence.records, events, plan.board))


def _left_out(event: DeviceEvent, evidence: Evidence, plan: Plan, gone: list[tuple[int, int]]) -> bool:
    if event.index in plan.dropped:
        return True
    if event.index in plan.kept:
        return False
    now = evidence.clock.before(event.index)
    return any(start <= now < end for start, end in gone)


def _at_rate(event: DeviceEvent, byte_ns: int) -> DeviceEvent:
    if isinstance(event, ConsoleByte):
        return ConsoleByte(event.index, event.device, event.value, byte_ns)
    return event


def _virtual_saved(evidence: Evidence, plan: Plan) -> int:
    """What the CPU does not do any more: the stretches' own virtual time, without device costs."""
    saved = 0
    for start, end in _joined(plan.gone):
        first, last = evidence.index_at(start), evidence.index_at(end)
        storage, console = evidence.ledger.devices(first, last)
        saved += max(0, end - start - storage - console)
    return saved


def _joined(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > start:
            found.append((start, end))
    return found
