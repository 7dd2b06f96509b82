# SPDX-License-Identifier: Apache-2.0
"""Calls between entry and return: a stack for each task; finished calls join the scene."""

from __future__ import annotations

from collections import defaultdict

from bootscope.analysis.kernel_activity import Call, Scene, Task


class OpenCalls:
    """The open calls of each task, the innermost last. `index` is the number of a record."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._open: dict[Task, list[Call]] = defaultdict(list)

    def of(self, task: Task) -> list[Call]:
        """The open calls of a task."""
        return self._open[task]

    def leave(self, task: Task, kind: str, result: int, now_ns: int, index: int) -> None:
        """The innermost open call of a kind returns, if any; so do calls in it whose return no hook saw."""
        calls = self._open[task]
        while any(call.kind == kind for call in calls):
            call = calls.pop()
            self._finish(call, result if call.kind == kind else 0, now_ns, index)
            if call.kind == kind:
                if kind == "initcall" and calls and calls[-1].kind == "module":
                    call.detail = calls.pop().text
                return

    def abandon(self, task: Task, now_ns: int, index: int) -> None:
        """Ends all calls of a task, without results."""
        calls = self._open[task]
        while calls:
            self._finish(calls.pop(), 0, now_ns, index)

    def _finish(self, call: Call, result: int, now_ns: int, index: int) -> None:
        call.end_ns, call.last = now_ns, index
        call.result = result - (1 << 32) if result >> 31 else result
        if call.kind != "module":
            self._scene.calls.append(call)

    def close(self, end_ns: int, index: int) -> None:
        """The recording ends: open calls stay marked as open."""
        for call in (call for calls in self._open.values() for call in calls if call.kind != "module"):
            call.end_ns, call.last, call.open = end_ns, index, True
            self._scene.calls.append(call)
