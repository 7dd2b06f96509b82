# SPDX-License-Identifier: Apache-2.0
"""From the hooks of a recording to its scene: one pass over the records, a handler for each hook."""

from __future__ import annotations

from collections.abc import Callable

from bootscope.analysis.kernel_activity import (
    KTHREAD_FLAG,
    RUNNING,
    Bio,
    Call,
    Exec,
    Mapping,
    Message,
    Scene,
    Slice,
    Task,
    Wait,
)
from bootscope.analysis.open_calls import OpenCalls
from bootscope.capture.record import RunInfo
from bootscope.capture.stream import Cpu, Cpus, Hook, Record, StackSample
from bootscope.loaders.model import Hooked
from bootscope.loaders.registry import hooks
from bootscope.timeline.costs import BoardClock
from bootscope.timeline.cpu_time import DELAYS

_PAGE_BYTES = 4096
_EXECUTABLE = 4
_COMM_BYTES = 15
_LEVEL_MARK, _DEFAULT_LEVEL, _LEVELS = "\x01", 4, "01234567"
# The number of values that a handler needs; others need none.
_VALUES = {"switch": 6, "fork": 4, "wake": 1, "exec": 1, "map": 5, "bio": 5, "page": 2, "printk": 2}
_OP_MASK, _OP_WRITE = 0xFF, 1
_CALLS = (
    "initcall",
    "probe",
    "irq",
    "softirq",
    "work",
    *DELAYS,
    *hooks(Hooked.INITCALL, Hooked.PROBE, Hooked.COMMAND),
)
# The index of the caller's return address in the values of a delay's entry.
_CALLER_AT = 1


def text(data: bytes) -> str:
    """Text from the target, untrusted."""
    return data.decode("utf-8", "replace")


class Replay:
    """Processes the records of one boot; :attr:`scene` is the result."""

    def __init__(self, records: list[Record], run: RunInfo, clock: BoardClock, end_ns: int) -> None:
        self.scene = Scene()
        self._records, self._clock, self._end_ns = records, clock, end_ns
        self._index = 0
        self._by_address: dict[int, Task] = {}
        # Before the kernel has processes, one task stands for the boot loaders.
        self._current = self._first = Task(0, 0, "swapper", True, 0, names=[(0, "swapper")])
        self.scene.tasks.append(self._first)
        # The task on each of the other CPUs, and since when it has run.
        self._cpu, self._others = 0, dict[int, tuple[Task, tuple[int, int]]]()
        self._slice_from = (0, 0)
        self._open = OpenCalls(self.scene)
        self._asleep: dict[Task, Wait] = {}
        self._programs: dict[Task, tuple[str, tuple[str, ...]]] = {}
        self._sees_wakes = "wake" in run.watch.hooks.values()
        handlers = self._handlers()
        self._of_hook = {
            number: (name, handlers[name], _needed(name))
            for number, name in run.watch.hooks.items()
            if name in handlers
        }
        self._run()

    def _handlers(self) -> dict[str, Callable[[str, Hook], None]]:
        found: dict[str, Callable[[str, Hook], None]] = {
            "switch": self._switch,
            "fork": self._fork,
            "exit": self._exit,
            "wake": self._wake,
            "execve": self._execve,
            "execve.file": self._execve_file,
            "exec": self._exec,
            "map": self._map,
            "bio": self._bio,
            "printk": self._printk,
            "module": self._module,
            "probe.driver": self._driver,
            "driver": self._register,
            "page": self._page,
            "kernel.image": self._next_program,
            "kernel.start": self._next_program,
            **dict.fromkeys(hooks(Hooked.START), self._next_program),
        }
        for kind in _CALLS:
            found[kind] = self._enter
            found[f"{kind}.end"] = self._leave
        return found

    def _run(self) -> None:
        records, of_hook = self._records, self._of_hook
        for index, record in enumerate(records):
            if isinstance(record, Hook) and (found := of_hook.get(record.hook)):
                name, handler, needed = found
                if len(record.registers) >= needed:
                    self._index = index
                    handler(name, record)
            elif record.__class__ is Cpu:
                self._index = index
                self._turn(record.cpu)
            elif record.__class__ is Cpus:
                self.scene.cpus = record.number
        self._close()

    def _turn(self, cpu: int) -> None:
        """The records from here on belong to another CPU."""
        if self.scene.cpus == 1:
            # An older recording, without a time for each CPU: they took turns, and their times were added up.
            self._end_slice(self._now())
        self._others[self._cpu] = self._current, self._slice_from
        self._cpu = cpu
        if cpu not in self._others:
            # It begins with its own idle task.
            name = f"{self._first.names[0][1]}/{cpu}"
            idle = Task(len(self.scene.tasks), 0, name, True, self._now(), self._first)
            idle.names.append((self._now(), name))
            self.scene.tasks.append(idle)
            self._others[cpu] = idle, (self._now(), self._index)
        self._current, since = self._others.pop(cpu)
        if self.scene.cpus > 1:
            self._slice_from = since

    def _now(self) -> int:
        return self._clock.before(self._index)

    # ---- tasks ----

    def _task(self, address: int, pid: int, comm: str, kernel: bool, parent: Task | None) -> Task:
        start_ns = self._now()
        task = Task(len(self.scene.tasks), pid, comm, kernel, start_ns, parent)
        task.names.append((start_ns, comm))
        self.scene.tasks.append(task)
        self._by_address[address] = task
        return task

    def _switch(self, _name: str, hook: Hook) -> None:
        before, after, pid, _tgid, state, memory = hook.registers[:6]
        comm = text(hook.text)
        if before not in self._by_address:
            # The very first task: the kernel began with it.
            self._by_address[before] = self._current
        # A task whose beginning was not recorded is made from what is known.
        task = self._by_address.get(after) or self._task(after, pid, comm, not memory, None)
        task.pid = pid
        now = self._now()
        if task.names[-1][1] != comm:
            task.names.append((now, comm))
        self._end_slice(now)
        if state != RUNNING and self._current is not self._first:
            self._sleep(self._current, now)
        self._current = task
        wait = self._asleep.pop(task, None)
        if wait and (wait.woken_ns >= 0 or not self._sees_wakes):
            self._end_wait(wait, now)
        # Else it was about to sleep when it lost the CPU, and has been ready all the time.

    def _end_slice(self, now: int) -> None:
        start, first = self._slice_from
        cpu = self._cpu if self.scene.cpus > 1 else 0
        self.scene.slices.append(Slice(start, now, self._current, first, self._index, cpu))
        self._slice_from = (now, self._index)

    def _sleep(self, task: Task, now: int) -> None:
        after = self._index + 1
        has_stack = after < len(self._records) and isinstance(self._records[after], StackSample)
        self._asleep[task] = Wait(task, now, -1, -1, after if has_stack else -1, None, "")

    def _end_wait(self, wait: Wait, now: int) -> None:
        wait.end_ns, wait.woken_ns = now, wait.woken_ns if wait.woken_ns >= 0 else now
        self.scene.waits.append(wait)

    def _wake(self, _name: str, hook: Hook) -> None:
        task = self._by_address.get(hook.registers[0])
        wait = self._asleep.get(task) if task else None
        if wait and wait.woken_ns < 0:
            wait.woken_ns, wait.waker, wait.waker_index = self._now(), self._current, self._index
            calls = self._open.of(self._current)
            inner = next((c for c in reversed(calls) if c.kind in ("irq", "softirq")), None)
            if inner:
                wait.irq = inner.text or (f"irq {inner.value}" if inner.kind == "irq" else "timer or softirq")

    def _fork(self, _name: str, hook: Hook) -> None:
        address, pid, _tgid, flags = hook.registers[:4]
        old = self._by_address.get(address)
        if old and old is not self._first:
            self._end(old)
        kernel = bool(flags & KTHREAD_FLAG)
        task = self._task(address, pid, text(hook.text), kernel, self._current)
        if not kernel:
            task.maps = list(self._current.maps)

    def _exit(self, _name: str, _hook: Hook) -> None:
        self._end(self._current)

    def _end(self, task: Task) -> None:
        """A task ends, and with it all its open calls."""
        if task.end_ns is None:
            task.end_ns = self._now()
        self._open.abandon(task, self._now(), self._index)
        wait = self._asleep.pop(task, None)
        if wait and wait.start_ns < task.end_ns:
            self._end_wait(wait, task.end_ns)

    # ---- programs ----

    def _execve(self, _name: str, hook: Hook) -> None:
        arguments = tuple(text(part) for part in hook.text.split(b"\0")) if hook.text else ()
        self._programs[self._current] = ("", arguments)

    def _execve_file(self, _name: str, hook: Hook) -> None:
        arguments = self._programs.get(self._current, ("", ()))[1]
        self._programs[self._current] = (text(hook.text), arguments)

    def _exec(self, _name: str, hook: Hook) -> None:
        # The kernel keeps only the beginning of a long name, and reports that at every switch.
        now, name = self._now(), text(hook.text[:_COMM_BYTES])
        task = self._current
        if not hook.registers[0]:
            self._rename(hook, now, name)
        if not hook.registers[0] or task is self._first:
            return
        file, arguments = self._programs.pop(task, (name, ()))
        task.execs.append(Exec(now, file or name, arguments or (name,)))
        task.names.append((now, name))
        task.kernel = False
        task.past.append((now, task.maps))
        task.maps = []

    def _rename(self, hook: Hook, now: int, name: str) -> None:
        """A task is renamed, perhaps by another task; older recordings do not tell which task it was."""
        task = self._by_address.get(hook.registers[1]) if len(hook.registers) > 1 else None
        if task and task is not self._first:
            task.names.append((now, name))

    def _map(self, _name: str, hook: Hook) -> None:
        file, address, size, flags, page = hook.registers[:5]
        if file and flags & _EXECUTABLE:
            self._current.maps.append(
                Mapping(self._now(), text(hook.text), address, size, page * _PAGE_BYTES)
            )

    # ---- what happened ----

    def _bio(self, _name: str, hook: Hook) -> None:
        _, sector, size, op, inode = hook.registers[:5]
        if op & _OP_MASK > _OP_WRITE:
            return  # discards and the like carry no data, whatever their number of sectors
        write = op & _OP_MASK == _OP_WRITE
        self.scene.bios.append(
            Bio(self._now(), self._index, self._current, sector, size, write, inode, text(hook.text))
        )

    def _page(self, _name: str, hook: Hook) -> None:
        inode, page = hook.registers[:2]
        self.scene.pages.setdefault(inode, set()).add(page)

    def _printk(self, _name: str, hook: Hook) -> None:
        level = hook.registers[0]
        level, form = _level(level - (1 << 32) if level >> 31 else level, text(hook.text))
        self.scene.messages.append(Message(self._now(), self._index, self._current, level, form))

    def _module(self, _name: str, hook: Hook) -> None:
        # A module's initcall has no name of its own; the name comes next on this task.
        self._open.of(self._current).append(
            Call("module", self._current, self._now(), -1, self._index, -1, text=text(hook.text))
        )

    def _register(self, _name: str, hook: Hook) -> None:
        calls = [c for c in self._open.of(self._current) if c.kind == "initcall"]
        if calls:
            self.scene.drivers[text(hook.text)] = calls[-1]

    def _next_program(self, _name: str, _hook: Hook) -> None:
        """A boot loader has jumped to the next program: calls open in it end here, without a return."""
        self._open.abandon(self._current, self._now(), self._index)

    def _driver(self, _name: str, hook: Hook) -> None:
        calls = self._open.of(self._current)
        if calls and calls[-1].kind == "probe":
            calls[-1].detail = text(hook.text)

    def _enter(self, kind: str, hook: Hook) -> None:
        calls = self._open.of(self._current)
        calls.append(
            Call(
                kind=kind,
                task=self._current,
                start_ns=self._now(),
                end_ns=-1,
                first=self._index,
                last=-1,
                value=hook.registers[0] if hook.registers else 0,
                text=text(hook.text.replace(b"\0", b" ")),
                caller=hook.registers[_CALLER_AT] if kind in DELAYS else 0,
                depth=len(calls),
            )
        )

    def _leave(self, name: str, hook: Hook) -> None:
        kind = name.removesuffix(".end")
        self._open.leave(self._current, kind, hook.registers[0], self._now(), self._index)

    def _close(self) -> None:
        """Ends what was still open when the recording ended."""
        self._index = len(self._records)
        self._open.close(self._end_ns, self._index)
        self._end_slice(self._end_ns)
        if self.scene.cpus > 1:
            for cpu, (task, since) in self._others.items():
                self._cpu, self._current, self._slice_from = cpu, task, since
                self._end_slice(self._end_ns)
            self.scene.slices.sort(key=lambda s: (s.start_ns, s.cpu))
        for task, wait in self._asleep.items():
            if task.end_ns is None:  # else it was its last sleep: it is gone
                self._end_wait(wait, self._end_ns)
        self.scene.waits.sort(key=lambda w: w.start_ns)


def _needed(name: str) -> int:
    """How many values a hook must have recorded for its handler."""
    if name.endswith(".end"):
        return 1
    return 1 + _CALLER_AT if name in DELAYS else _VALUES.get(name, 0)


def _level(level: int, form: str) -> tuple[int, str]:
    """(level, format without the leading level marks); -1 for the continuation of a line."""
    while len(form) > 1 and form[0] == _LEVEL_MARK:
        mark, form = form[1], form[2:]
        if mark == "c":
            return -1, form
        if level < 0 and mark in _LEVELS:
            level = int(mark)
    return (_DEFAULT_LEVEL if level < 0 else level), form
