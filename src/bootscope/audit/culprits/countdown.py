# SPDX-License-Identifier: Apache-2.0
"""The boot loader counts down before it boots."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.analysis.waits import caller
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.audit.culprits.recorded import RecordedBoot


def find(boot: RecordedBoot) -> Iterator[Culprit]:
    """The countdown, if there is one."""
    calls, loader = boot.countdown, boot.evidence.run.board.boot_loader
    if calls:
        yield Culprit(
            kind="countdown",
            what=f"{loader.title} waits for a key",
            where=f"{loader.title}'s {caller(calls[0], boot.evidence)}, before it runs its boot command",
            cost_ns=sum(c.end_ns - c.start_ns for c in calls),
            start_ns=calls[0].start_ns,
            end_ns=calls[-1].end_ns,
            seen_in="--view waits",
            cure=Cure("a boot delay of 0", loader.cures.countdown, ("bootdelay=0",)),
        )
