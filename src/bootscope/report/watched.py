# SPDX-License-Identifier: Apache-2.0
"""A boot in progress, on a terminal, as lines and as JSON. Names of milestones are untrusted."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from bootscope.core.text import seconds, visible
from bootscope.report.tables import FittedTable, make_table
from bootscope.runs.watching import Progress


def document(progress: Progress) -> dict[str, object]:
    """A boot's progress as JSON."""
    return {
        "run_id": progress.run_id,
        "boot": progress.boot,
        "now_ns": progress.now_ns,
        "phase": visible(progress.phase) or None,
        "phases": {visible(name): ns for name, ns in progress.phases.items()},
        "milestones": {visible(name): ns for name, ns in progress.milestones.items()},
        "ended": visible(progress.ended) or None,
    }


class Lines:
    """A line for each phase and milestone reached, and for the end of each boot."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._told: set[tuple[int, str, str]] = set()

    def tell(self, progress: Progress) -> None:
        """Prints what is new."""
        reached = [("phase", name, ns) for name, ns in progress.phases.items()]
        reached += [("milestone", name, ns) for name, ns in progress.milestones.items()]
        for kind, name, ns in sorted(reached, key=lambda item: item[2]):
            if (progress.boot, kind, name) not in self._told:
                self._told.add((progress.boot, kind, name))
                self._say(f"boot {progress.boot}  {seconds(ns):>9} s  {kind} {visible(name)}")
        if progress.ended:
            self._say(f"boot {progress.boot}: {visible(progress.ended, 200)}")


class Drawn:
    """The current boot, redrawn at each look; boots that have ended are one line each above it."""

    def __init__(self, out: Console) -> None:
        self._live = Live(console=out, auto_refresh=False, vertical_overflow="visible")
        self._out = out

    def __enter__(self) -> Drawn:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def tell(self, progress: Progress) -> None:
        """Draws the progress."""
        if progress.ended:
            self._live.update(Text(), refresh=True)
            self._out.print(table(progress))
            self._out.print(Text(f"boot {progress.boot}: {visible(progress.ended, 200)}", "bold"))
            return
        head = Text(f"{progress.run_id}, boot {progress.boot}, being recorded", "bold")
        now = Text.assemble((f"{progress.phase:>11} ", "reverse"), f" {seconds(progress.now_ns)} s")
        self._live.update(Group(head, table(progress), now), refresh=True)


def table(progress: Progress) -> FittedTable:
    """The phases so far with their milestones; the last phase is still running."""
    made = make_table("=phase", ">start s", ">length s", "milestones")
    starts = list(progress.phases.items())
    for (name, start_ns), (_, end_ns) in zip(starts, [*starts[1:], ("", progress.now_ns)], strict=True):
        last = name == progress.phase
        inside = [
            f"{visible(called, 40)} {seconds(ns)}"
            for called, ns in progress.milestones.items()
            if start_ns <= ns and (last or ns < end_ns)
        ]
        length = seconds(max(0, end_ns - start_ns))
        made.add_row(visible(name, 40), seconds(start_ns), length, Text(", ".join(inside)))
    return made
