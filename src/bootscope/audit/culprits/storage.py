# SPDX-License-Identifier: Apache-2.0
"""What is read from storage, by what it is, and the kernel that unpacks itself afterwards."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from bootscope.analysis.storage import Access, accesses
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.audit.culprits.recorded import RecordedBoot
from bootscope.core.text import size, span

ROOT = "the root file system"
_CURES = {
    "kernel": Cure(
        "make it smaller or compress it better",
        ("kernel-compression", "kernel-zstd", "kernel-remove-unused"),
        ("kernel-bytes=-1M", "card=2x"),
    ),
    ROOT: Cure(
        "compress it or use smaller programs",
        ("fs-squashfs-ro", "fs-erofs-ro", "app-static-link", "toolchain-small-libc"),
        ("rootfs=squashfs-lz4hc", "card=2x"),
    ),
}
_OTHER = Cure("read less of it", (), ("card=2x",))


_UNPACKING = Cure(
    "another compression, or none", ("kernel-compression", "kernel-uncompressed"), ("compression=lz4",)
)


def find(boot: RecordedBoot) -> Iterator[Culprit]:
    """One culprit for each thing that is read (all files of the root are one); and the unpacking, by its CPU
    time."""
    groups: dict[str, list[Access]] = defaultdict(list)
    for access in accesses(boot.evidence):
        of_root = access.what.startswith(("/", "root file system"))
        groups[ROOT if of_root else access.what].append(access)
    for what, found in groups.items():
        yield _culprit(what, found)
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
                cure=_UNPACKING,
            )


def _culprit(what: str, found: Sequence[Access]) -> Culprit:
    costs: Counter[str] = Counter()
    for access in found:
        costs[access.what] += access.cost_ns
    [(most, most_ns)] = costs.most_common(1)
    number = len({a.index for a in found})
    count = f"{number} access{'es' if number > 1 else ''}"
    return Culprit(
        kind="storage",
        what=f"{what}: {size(sum(a.size_bytes for a in found))} from storage",
        where=f"{count}, most of them ({span(most_ns)}) for {most}" if len(costs) > 1 else count,
        cost_ns=sum(costs.values()),
        start_ns=found[0].start_ns,
        end_ns=found[-1].start_ns + found[-1].cost_ns,
        seen_in="--view storage",
        cure=_CURES.get(what, _OTHER),
    )
