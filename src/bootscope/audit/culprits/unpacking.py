# SPDX-License-Identifier: Apache-2.0
"""The kernel unpacks itself."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.audit.culprits.recorded import RecordedBoot

_CURE = Cure(
    "another compression, or none", ("kernel-compression", "kernel-uncompressed"), ("compression=lz4",)
)


def find(boot: RecordedBoot) -> Iterator[Culprit]:
    """The phase, by its CPU time."""
    for phase in boot.evidence.timeline.phases:
        if phase.name == "decompress":
            yield Culprit(
                kind="unpacking",
                what="the kernel unpacks itself",
                where="phase decompress",
                cost_ns=phase.cpu_ns,
                start_ns=phase.start_ns,
                end_ns=phase.end_ns,
                seen_in="--view functions --phase decompress",
                cure=_CURE,
            )
