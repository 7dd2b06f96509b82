# SPDX-License-Identifier: Apache-2.0
"""Boots of a made-up system with processes, written down as a story: who runs, waits, wakes and calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
from hypothesis import strategies as st

from bootscope.analysis.blocks import BlockMap
from bootscope.analysis.cpu_accounting import Ledger, cpus_of
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.kernel_activity import Scene
from bootscope.analysis.names import Names, UserPrograms
from bootscope.analysis.replay import Replay
from bootscope.capture.record import Extent, RunInfo
from bootscope.capture.stream import Cpu, Cpus, Idle, Record, Sample, Slept
from bootscope.image.symbols import Symbols
from bootscope.timeline.build import timeline_of

from .builders import EVERY_HOOK, board, card_read, hook, run_info, stack, typed

SLEEPS, KTHREAD = 1, 0x00200000
KERNEL_CODE = 0xC0100000


def address(pid: int) -> int:
    """Where the kernel keeps a task."""
    return 0xC1000000 + pid * 0x1000


@dataclass
class Story:
    """Records in the making. `now_ns` is virtual time; whatever happens does so at that time.

    Task 0 is the one that the kernel begins with; tasks are known by their pid.
    """

    now_ns: int = 0
    running: int = 0
    turn: int = 0
    on_cpu: dict[int, int] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    def hook(self, name: str, *values: int, text: bytes = b"") -> Story:
        self.records.append(hook(self.now_ns, name, *values, text=text))
        return self

    def work(self, ns: int) -> Story:
        """The CPU is busy for so long."""
        self.now_ns += ns
        return self

    def idle(self, ns: int) -> Story:
        """The CPU sleeps for so long."""
        self.now_ns += ns
        self.records.append(Idle(self.now_ns, ns))
        return self

    def sample(self, pc: int = KERNEL_CODE) -> Story:
        self.records.append(Sample(self.now_ns, pc))
        return self

    def stack(self, pc: int, lr: int = 0, words: Mapping[int, int] | None = None) -> Story:
        self.records.append(stack(self.now_ns, pc, lr, dict(words or {})))
        return self

    def read(self, sector: int, size_bytes: int) -> Story:
        """The card is read."""
        self.records += card_read(self.now_ns, sector, size_bytes)
        return self

    def typed(self, text: bytes, step_ns: int = 0) -> Story:
        """Text goes to the console."""
        self.records += typed(text, self.now_ns, step_ns)
        self.now_ns += max(0, len(text) - 1) * step_ns
        return self

    def cpu(self, number: int) -> Story:
        """Another CPU has its turn, with what it ran before."""
        self.on_cpu[self.turn] = self.running
        self.turn, self.running = number, self.on_cpu.get(number, 100 + number)
        self.records.append(Cpu(self.now_ns, number))
        return self

    def several(self, number: int) -> Story:
        """So many CPUs work at once; records come in the order of their times."""
        self.records.append(Cpus(self.now_ns, number, 1_000))
        return self

    def slept(self, ns: int) -> Story:
        """The CPU that the records are of has just slept."""
        self.records.append(Slept(self.now_ns, ns))
        return self

    # ---- tasks ----

    def switch(self, pid: int, state: int = 0, name: bytes = b"", kernel: bool = False) -> Story:
        """The CPU goes from the running task, which is left in `state`, to task `pid`."""
        text = name or f"task{pid}".encode()
        memory = 0 if kernel else 0x1234
        self.hook("switch", address(self.running), address(pid), pid, pid, state, memory, text=text)
        self.running = pid
        return self

    def sleep(self, to: int, name: bytes = b"") -> Story:
        """The running task goes to sleep, and task `to` gets the CPU."""
        return self.switch(to, SLEEPS, name)

    def fork(self, pid: int, name: bytes = b"", kernel: bool = False) -> Story:
        text = name or f"task{pid}".encode()
        return self.hook("fork", address(pid), pid, pid, KTHREAD if kernel else 0, text=text)

    def wake(self, pid: int) -> Story:
        return self.hook("wake", address(pid), SLEEPS, 0)

    def exec(self, *arguments: bytes) -> Story:
        """The running task executes a program."""
        self.hook("execve", 0, text=b"\0".join(arguments)).hook("execve.file", 0, text=arguments[0])
        return self.hook("exec", 1, address(self.running), text=arguments[0].rpartition(b"/")[2])

    def exit(self) -> Story:
        return self.hook("exit", address(self.running))

    # ---- calls ----

    def enter(self, kind: str, *values: int, text: bytes = b"") -> Story:
        return self.hook(kind, *values, text=text)

    def leave(self, kind: str, result: int = 0) -> Story:
        return self.hook(f"{kind}.end", result)

    def interrupt(self, number: int = 7, name: bytes = b"") -> Story:
        return self.hook("irq", number, text=name)


def run_of(symbols: Mapping[str, str] | None = None, extents: Iterable[Extent] = ()) -> RunInfo:
    """A run of the made-up system on a card of a byte a nanosecond and half a millisecond latency."""
    run = run_info(on=board(1_000_000_000, 500_000))
    facts = run.system
    facts = msgspec.structs.replace(
        facts, symbols=dict(symbols or {}), extents=tuple(extents) or facts.extents
    )
    fields = {name: getattr(run, name) for name in run.__struct_fields__}
    return RunInfo(**{**fields, "system": facts})


def evidence_of(
    records: list[Record],
    run: RunInfo | None = None,
    tables: Mapping[str, Symbols] | None = None,
    blocks: str = "",
    kept: Mapping[str, bytes] | None = None,
    scripts: Mapping[str, str] | None = None,
    levels: Mapping[int, str] | None = None,
) -> Evidence:
    """What :func:`bootscope.analysis.evidence.evidence_of` makes of a stored boot, without a store."""
    run = run or run_of()
    made = timeline_of("x/001", records, run)
    scene = Replay(made.records, made.run, made.clock, made.timeline.total_ns).scene
    objects = dict(kept or {})
    loader = run.board.boot_loader
    return Evidence(
        run=made.run,
        records=made.records,
        recorded=records,
        timeline=made.timeline,
        events=made.events,
        costs=made.costs,
        clock=made.clock,
        scene=scene,
        ledger=Ledger(scene.slices, made.costs, cpus_of(made.records, scene.cpus)),
        names=Names(
            run.board.arch, dict(tables or {}), loader, made.timeline.loader_offset, UserPrograms({}), 0
        ),
        blocks=BlockMap.make(run.system.extents, blocks),
        levels=dict(levels or {}),
        scripts=dict(scripts or {}),
        load=lambda name: objects.get(name, b""),
    )


def scene_of(records: list[Record]) -> Scene:
    """What the hooks of some records tell."""
    return evidence_of(records).scene


def stacks_of(evidence: Evidence) -> Stacks:
    return Stacks(evidence)


def assert_tiled(evidence: Evidence) -> None:
    """Every moment of the boot belongs to exactly one task, and waits lie between its slices."""
    at_ns = 0
    for part in evidence.scene.slices:
        assert part.start_ns == at_ns
        assert part.end_ns >= part.start_ns
        assert part.first <= part.last
        at_ns = part.end_ns
    assert at_ns == evidence.timeline.total_ns
    for task in evidence.scene.tasks:
        parts = evidence.ledger.slices(task)
        for wait in (w for w in evidence.scene.waits if w.task is task):
            assert 0 <= wait.start_ns <= wait.woken_ns <= wait.end_ns <= evidence.timeline.total_ns
            assert not any(p.start_ns < wait.end_ns and wait.start_ns < p.end_ns for p in parts)
    for call in evidence.scene.calls:
        assert 0 <= call.start_ns <= call.end_ns <= evidence.timeline.total_ns
        assert 0 <= call.first <= call.last <= len(evidence.records)


# ---- any boot ----

_PIDS = st.integers(0, 4)
_VALUES = st.integers(0, (1 << 32) - 1)
_STEPS = st.one_of(
    st.builds(lambda pid, state: lambda s: s.switch(pid, state), _PIDS, st.sampled_from([0, 1, 2, 0x80])),
    st.builds(lambda pid: lambda s: s.wake(pid), _PIDS),
    st.builds(lambda pid: lambda s: s.fork(pid), st.integers(1, 4)),
    st.builds(
        lambda name: lambda s: s.hook(name, 1, 2, 3, 4, 5, 6, text=b"x\xff"), st.sampled_from(EVERY_HOOK)
    ),
    st.builds(lambda name: lambda s: s.hook(name), st.sampled_from(EVERY_HOOK)),
    st.builds(lambda ns: lambda s: s.idle(ns), st.integers(1, 3_000_000)),
    st.builds(lambda size: lambda s: s.read(4096, size), st.integers(1, 100_000)),
    st.builds(lambda text: lambda s: s.typed(text), st.binary(min_size=1, max_size=30)),
    st.builds(lambda pc: lambda s: s.sample(pc).stack(pc, pc, {1: pc}), _VALUES),
    st.just(lambda s: s.exit()),
    st.just(lambda s: s.exec(b"/bin/x", b"-y")),
    st.just(lambda s: s.interrupt().wake(1).leave("irq")),
)


@st.composite
def boots(draw: st.DrawFn, most: int = 40) -> list[Record]:
    """Boots in which anything may happen, also what no kernel does."""
    story = Story()
    for work_ns, step in draw(st.lists(st.tuples(st.integers(0, 2_000_000), _STEPS), max_size=most)):
        step(story.work(work_ns))
    return story.records
