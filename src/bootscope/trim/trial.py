# SPDX-License-Identifier: Apache-2.0
"""Tries a trimmed variant: does it build, boot, show the same, and does the application keep running?

Builds and boots that work are in the cache and the store. What these lack is kept here, so that an
interrupted trimming can continue: that a build failed, and why. A failure that may pass is not kept: a full
disk, a compiler that was killed, a boot that this computer ended.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import msgspec

from bootscope.analysis.views import View, view
from bootscope.builder.ids import id_of
from bootscope.capture import usage
from bootscope.capture.record import USAGE, BootEnd, BootInfo, write_whole
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import StepError, ToolError, UserError
from bootscope.emulator.plugin_config import Limits
from bootscope.search.bench import Bench
from bootscope.search.outcome import faults, outcome_of
from bootscope.system.load import LoadedSystem
from bootscope.system.model import System
from bootscope.trim import build_errors

AS_BUSY_PERCENT = 80
"""Below this share of its instructions an application has stopped, or waits where it did not before."""

_LEAST_QUIET_NS = 3_000_000_000
SCHEMA = 1


class Tried(msgspec.Struct, frozen=True):
    """The result of a variant: the recording, or why there is none; symbols that its linker missed.

    `reason` is empty when it works.
    """

    reason: str = ""
    run_id: str = ""
    undefined: tuple[str, ...] = ()


class _Kept(msgspec.Struct):
    schema: int = SCHEMA
    outcomes: dict[str, Tried] = {}


class Memory:
    """The results of variants by their ids, in one file; written after each of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = _Kept()
        # Losing a file that is damaged, or of a newer version, only costs the time to find out again.
        with contextlib.suppress(OSError, *DAMAGED):
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
            if kept.schema == SCHEMA:
                self._kept = kept

    def __len__(self) -> int:
        return len(self._kept.outcomes)

    def get(self, key: str) -> Tried | None:
        """The result of a variant, if known."""
        return self._kept.outcomes.get(key)

    def keep(self, key: str, tried: Tried) -> Tried:
        """Stores the result of a variant; returns it."""
        self._kept.outcomes[key] = tried
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self._path, msgspec.json.encode(self._kept))
        return tried


def limits_beside(base: View, limits: Limits) -> Limits:
    """When to give up on a variant: well after the end of `base`, and well beyond its longest silence. A boot
    loader that hangs spins, which takes long to emulate."""
    starts = [line.start_ns for line in base.timeline.lines]
    silence_ns = max((b - a for a, b in pairwise(starts)), default=limits.quiet_ns)
    quiet_ns = min(limits.quiet_ns, max(3 * silence_ns, _LEAST_QUIET_NS))
    return replace(limits, quiet_ns=quiet_ns, limit_ns=min(limits.limit_ns, 3 * base.timeline.total_ns))


@dataclass
class Trials:
    """Variants of a system, compared with the system itself as recorded in `base`.

    `services`: whether the console output of init's programs must be the same, too.
    """

    bench: Bench
    loaded: LoadedSystem
    base: View
    memory: Memory
    services: bool = False
    built: int = 0
    """The number of variants that were tried and not remembered."""

    def run(self, system: System) -> tuple[Tried, View | None]:
        """The result of a variant, and its boot when it works.

        Raises ToolError for a build or boot that fails for a reason outside of the variant.
        """
        key = id_of([msgspec.to_builtins(system), self.services])
        known = self.memory.get(key)
        if known and known.reason:
            return known, None
        self.built += known is None
        try:
            found = self._view(system)
        except (StepError, UserError) as error:
            said = build_errors.read(error)
            return self.memory.keep(key, Tried("; ".join(said.lines), undefined=said.undefined)), None
        if not self.bench.lasting(found.boot):
            raise _of_the_host(found.boot.info)
        outcome = Tried("; ".join(self._faults(found)), found.run.info.run_id)
        return self.memory.keep(key, outcome), None if outcome.reason else found

    def _view(self, system: System) -> View:
        run = self.bench.measured(LoadedSystem(system, self.loaded.path), until=self.base.run.info.until)
        return view(self.bench.store, run)

    def _faults(self, found: View) -> list[str]:
        wrong = faults(outcome_of(self.base), outcome_of(found))
        if wrong:
            # The last message of a program is nearest to the cause.
            return [*wrong, *(f"it prints: {line}" for line in new_lines(self.base, found)[-1:])]
        less = _less_busy(self.base, found)
        if not less and self.services and programs_say(found) != programs_say(self.base):
            new = new_lines(self.base, found)
            less.append(f"init's programs print something else: {new[0] if new else 'a line is missing'}")
        return less


def _of_the_host(end: BootInfo) -> ToolError:
    """The error for a boot whose end is caused by this computer, not by the variant."""
    if end.ended == BootEnd.TIMEOUT:
        hint = "on a less busy host the same command continues from here"
        return ToolError(f"a boot took too long: {end.message}", hint=hint)
    return ToolError(f"a boot was cut short: {end.message}", hint="the same command continues from here")


def own_instructions(of: View) -> int:
    """Instructions of its own program that the application executed, until the recording's afterlife ended.
    Raises UserError for a recording without that."""
    counted = usage.read(of.boot.path / USAGE)
    kernel = of.run.info.board.arch.kernel.first_address
    return sum(b.instructions * b.own for b in counted.blocks if b.address < kernel)


def _less_busy(base: View, found: View) -> list[str]:
    before, after = own_instructions(base), own_instructions(found)
    if after * 100 >= before * AS_BUSY_PERCENT:
        return []
    return [f"the application does {100 * after // before} % of its former work in the same time"]


def programs_say(of: View) -> list[str]:
    """The lines that programs, not the kernel, wrote to the console, in order."""
    starts = [phase.start_ns for phase in of.timeline.phases]
    names = [phase.name for phase in of.timeline.phases]
    found = []
    for line in of.timeline.lines:
        phase = names[max(0, bisect_right(starts, line.start_ns) - 1)]
        # The kernel's lines begin with a time, or with a level where times are switched off.
        if phase in ("init", "application") and not line.data.lstrip().startswith((b"[", b"<")):
            found.append(line.data.decode("utf-8", "replace").strip())
    return found


def new_lines(base: View, found: View) -> list[str]:
    """Lines of programs that are not in `base`."""
    known = set(programs_say(base))
    return [line for line in programs_say(found) if line and line not in known]
