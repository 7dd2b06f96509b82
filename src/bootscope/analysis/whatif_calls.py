# SPDX-License-Identifier: Apache-2.0
"""What if programs made fewer system calls? From a recording with system calls."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from statistics import mean

from bootscope.analysis import redundant_calls, syscalls
from bootscope.analysis.critical import Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.redundant_calls import LIBRARIES, Row
from bootscope.analysis.storage import accesses
from bootscope.analysis.whatif_plan import Plan, on_path
from bootscope.core.errors import UserError

LIBRARY_CACHE = "library-cache"
NEED_CALLS = frozenset({LIBRARY_CACHE})
"""Changes that can be predicted only from system calls."""
CACHE = "/etc/ld.so.cache"
_SETTINGS = "/etc/"
_PAGE_BYTES = 4096
_READS_CACHE = (("fstat64", "newfstatat", "statx", "fstat"), ("mmap2", "mmap"), ("close",))
"""What the dynamic loader does with its cache once that is open: the names of each call."""


def library_cache(plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
    """The dynamic loader finds each library in its cache, instead of searching folder after folder.

    Raises UserError for a recording without system calls, and if no program searched.
    """
    rows = syscalls.calls(evidence)
    missed = redundant_calls.of_kind(rows, LIBRARIES)
    # The cache itself is looked up either way, and so is a list of libraries for all programs.
    searched = [row for row in missed if not str(row["file"]).startswith(_SETTINGS)]
    if not searched:
        raise UserError("no program of this boot searched for its libraries")
    tasks: dict[int, set[Task]] = defaultdict(set)
    for task in evidence.scene.tasks:
        tasks[task.pid].add(task)
    mine = {_int(row["pid"]) for row in searched}
    for row in searched:
        plan.gone += on_path(steps, tasks[_int(row["pid"])], _int(row["start_ns"]), _int(row["end_ns"]))
    plan.kept |= _needed(evidence, rows, searched)
    card = plan.board.card
    reading_ns = _each_ns(rows) * len(mine)
    plan.counted_ns -= reading_ns + card.random_read_ns(_PAGE_BYTES)
    plan.assume(
        f"{len(searched)} calls in which {len(mine)} programs looked for libraries in vain are gone",
        f"each of these programs maps {CACHE}, which is read once: {reading_ns / 1e6:.1f} ms in all",
    )


def _needed(evidence: Evidence, rows: list[Row], searched: list[Row]) -> set[int]:
    """Card commands first caused by a search, but also needed elsewhere: they read folders in which something
    was found."""
    found = {str(row["file"]) for row in rows if not str(row["result"]).startswith(("E", "-"))}
    folders = {posixpath.dirname(path) for path in found if path.startswith("/")}
    spans = [(_int(row["start_ns"]), _int(row["end_ns"])) for row in searched]
    return {
        access.index
        for access in accesses(evidence)
        if any(start <= access.start_ns < end for start, end in spans) and access.what in folders
    }


def _each_ns(rows: list[Row]) -> int:
    """The time that a program takes to map an opened file: the mean of such calls in this boot."""
    found = 0
    for names in _READS_CACHE:
        took = [_int(row["cpu_ns"]) for row in rows if row["what"] in names]
        found += round(mean(took)) if took else 0
    return found


def _int(cell: object) -> int:
    return int(str(cell))
