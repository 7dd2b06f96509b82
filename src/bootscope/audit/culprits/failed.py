# SPDX-License-Identifier: Apache-2.0
"""What failed in a boot, according to its log: it is listed before all that takes time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bootscope.audit.culprits.model import FAILURE, Culprit, Cure
from bootscope.core.text import cut
from bootscope.inventory.bootlog import BootLog
from bootscope.timeline.failure import PANIC, PROMPT

_LONGEST = 120
_DO = (
    (
        r"Unable to mount root|No root device|Cannot open root",
        "root= and rootfstype=, the drivers of that device in the kernel, rootwait where it comes late",
    ),
    (r"No working init|No init found", "init=, and a root file system with an init for this processor"),
    (r"Attempted to kill init", "the first program ended: its output is in the lines before"),
)
"""Patterns of a panic, and what to look at (Linux init/do_mounts.c, init/main.c, kernel/exit.c)."""
_MEND = "fix this first: a boot that fails has no boot time"
_MEND_BESIDE = "fix this first: its cost is part of the times below"
_LOADER = "the lines before the prompt say why: a boot command that failed, or a key that was pressed"


def find(log: BootLog) -> Iterator[Culprit]:
    """One culprit if something failed in the boot."""
    failed = log.failure
    if failed is None:
        return
    said = "; ".join(f"'{cut(line, _LONGEST)}'" for line in (failed.cause, failed.line) if line)
    at_ns = failed.at_ns or 0
    do = _LOADER if failed.kind == PROMPT else _MEND if failed.ends else _MEND_BESIDE
    if failed.kind == PANIC:
        do = next((told for words, told in _DO if re.search(words, failed.line)), do)
    yield Culprit(FAILURE, failed.words, said, 0, at_ns, at_ns, Cure(do))
