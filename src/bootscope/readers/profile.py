# SPDX-License-Identifier: Apache-2.0
"""Samples with call stacks, summed up."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.timeline.trace import Stack, Table


@dataclass(slots=True)
class _Sum:
    ns: int = 0
    untimed: int = 0

    def add(self, ns: int | None) -> None:
        if ns is None:
            self.untimed += 1
        else:
            self.ns += ns

    def total(self, each_ns: int) -> int:
        return self.ns + self.untimed * each_ns


class Profile:
    """Samples by task and call path. A sample either tells its time, or stands for `each_ns`, which the
    caller knows in the end."""

    def __init__(self) -> None:
        self._stacks: dict[tuple[str, ...], _Sum] = {}
        self._self: dict[tuple[str, str], _Sum] = {}
        self._total: dict[tuple[str, str], _Sum] = {}
        self._samples: dict[tuple[str, str], int] = {}
        self.untimed = 0

    def add(self, task: str, frames: list[tuple[str, str]], ns: int | None) -> None:
        """A sample in `task` with (symbol, object) for each frame, outermost first; time in ns if known."""
        frames = frames or [("[no stack]", "")]
        self.untimed += ns is None
        path = (task, *(symbol for symbol, _ in frames))
        self._stacks.setdefault(path, _Sum()).add(ns)
        self._self.setdefault(frames[-1], _Sum()).add(ns)
        self._samples[frames[-1]] = self._samples.get(frames[-1], 0) + 1
        for frame in set(frames):
            self._total.setdefault(frame, _Sum()).add(ns)

    def stacks(self, each_ns: int) -> list[Stack]:
        """Time by call path."""
        return [Stack(path, one.total(each_ns)) for path, one in self._stacks.items()]

    def tables(self, each_ns: int) -> list[Table]:
        """Functions by the time that was seen in them themselves."""
        if not self._total:
            return []
        nothing = _Sum()
        rows = sorted(
            (
                (
                    symbol,
                    dso,
                    self._samples.get((symbol, dso), 0),
                    self._self.get((symbol, dso), nothing).total(each_ns),
                    one.total(each_ns),
                )
                for (symbol, dso), one in self._total.items()
            ),
            key=lambda row: (-row[3], -row[4], row[0]),
        )
        return [Table("functions", ("function", "object", "samples", "self ns", "total ns"), tuple(rows))]
