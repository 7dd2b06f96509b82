# SPDX-License-Identifier: Apache-2.0
"""What cannot be done to the machine that a log is of, whatever its configuration says."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.inventory.inventory import Inventory
from bootscope.system.changes import Change

_PROCESSORS = r"[Bb]rought up \d{1,3} nodes?, (\d{1,5}) CPUs?|SMP: Total of (\d{1,5}) processors"
_NFS = ("/dev/nfs", "nfs")


def impossible(change: Change, facts: Inventory) -> Iterator[str]:
    """Why a change is none for this machine, in words: one for each reason."""
    if change.kernel.get("SMP") is False and (count := processors(facts)) > 1:
        yield f"{count} processors were brought up"
    root = facts.word("root") or ""
    if any(key.startswith("rootfs.") for key in change.settings) and root.startswith(_NFS):
        yield f"the root is on a server (root={root})"


def processors(facts: Inventory) -> int:
    """How many processors the kernel says it brought up; 0 where its log does not tell."""
    found = facts.logged(_PROCESSORS)
    return max(int(number) for number in found.groups() if number) if found else 0
