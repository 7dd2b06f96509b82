# SPDX-License-Identifier: Apache-2.0
"""Calls of functions whose entries and returns were both recorded (native/plugin/returns.h)."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Call
from bootscope.capture.record import RETURNED
from bootscope.capture.stream import Hook

Pair = tuple[Call, tuple[int, ...]]
"""A call, and the arguments recorded at its entry."""


def pairs(evidence: Evidence, kind: str, *, takes_caller: bool) -> tuple[Pair, ...]:
    """The calls whose hooks are named `kind` and a name, by start; `text` is the name. `open`: the call did
    not return, and lasts to the end of its task or of the recording.

    An entry holds the return address (if it `takes_caller`), the stack pointer and the arguments; a return
    holds the stack pointer and the result.
    """
    return tuple(sorted(_pairs(evidence, kind, int(takes_caller)), key=lambda p: (p[0].first, -p[0].last)))


def _pairs(evidence: Evidence, kind: str, at: int) -> Iterator[Pair]:
    hooks = evidence.run.watch.hooks.items()
    names = {number: name.removeprefix(kind) for number, name in hooks if name.startswith(kind)}
    if not names:
        return
    # A call is identified by its function and its place on the stack; every task has its own stack.
    open_calls: dict[tuple[str, int], Pair] = {}
    arch = evidence.arch
    taken_off = 0 if arch.registers.link else arch.word_bytes
    for index, record in enumerate(evidence.records):
        if not isinstance(record, Hook) or len(record.registers) <= at or record.hook not in names:
            continue
        name, now_ns = names[record.hook], evidence.clock.before(index)
        if name.endswith(RETURNED):
            if found := open_calls.pop((name.removesuffix(RETURNED), record.registers[0]), None):
                call = found[0]
                call.end_ns, call.last, call.open = now_ns, index, False
                call.result = record.registers[1] if len(record.registers) > 1 else 0
                yield found
            continue
        place = (name, record.registers[at] + taken_off)
        task = evidence.slice_at(now_ns, evidence.cpu_of_records[index]).task
        # Until it returns, it lasts as long as its task.
        end_ns = evidence.timeline.total_ns if task.end_ns is None else max(now_ns, task.end_ns)
        call = Call(kind, task, now_ns, end_ns, index, evidence.index_at(end_ns), text=name)
        call.caller, call.open = (record.registers[0] if at else 0), True
        # An earlier call at that place never returned.
        if place in open_calls:
            yield open_calls[place]
        open_calls[place] = call, record.registers[at + 1 :]
    yield from open_calls.values()
