# SPDX-License-Identifier: Apache-2.0
"""A boot of an emulated board as the kinds of culprits look at it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from bootscope.analysis import waits
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.initcalls import LOADER_KINDS
from bootscope.analysis.kernel_activity import Call
from bootscope.analysis.whatif_plan import Ground
from bootscope.audit.culprits.model import Culprit
from bootscope.audit.culprits.on_path import Own, index_at, own_times

KERNEL = ("initcall", "probe")
SMALL = 200
"""What takes less than this part of a boot is no culprit."""


@dataclass(frozen=True)
class RecordedBoot:
    """A boot, with what was made of it for predictions already."""

    evidence: Evidence
    ground: Ground

    @property
    def stacks(self) -> Stacks:
        """Call paths."""
        return self.ground.stacks

    def is_small(self, ns: int) -> bool:
        """Whether a time is too short a part of the boot to be a culprit's."""
        return ns * SMALL <= self.evidence.timeline.total_ns

    def without_devices(self, culprit: Culprit) -> Culprit:
        """The same without what storage and console took in its stretch, which is counted elsewhere."""
        ends = (culprit.start_ns, culprit.end_ns)
        storage_ns, console_ns = self.evidence.ledger.devices(*(index_at(self.evidence, ns) for ns in ends))
        return replace(culprit, cost_ns=max(0, culprit.cost_ns - storage_ns - console_ns))

    @cached_property
    def countdown(self) -> list[Call]:
        """The boot loader's delays while it waits for a key."""
        return waits.countdown(self.evidence)

    @cached_property
    def own(self) -> dict[Call, Own]:
        """Steps of boot loaders, initcalls, probes and the countdown, with what the path spent in each."""
        return own_times(self.evidence, self.ground.steps, (*LOADER_KINDS, *KERNEL), self.countdown)
