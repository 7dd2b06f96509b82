# SPDX-License-Identifier: Apache-2.0
"""Whether programs search for their libraries, from the system calls of a boot or the files of a system."""

from __future__ import annotations

from fnmatch import fnmatchcase

from bootscope.analysis import redundant_calls, syscalls
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.recorded import Recorded

_LOADER, CACHE = "*/ld-linux*", "/etc/ld.so.cache"
"""glibc's loader, which is the one that reads the cache."""
_OTHERS = (
    redundant_calls.NOT_THERE,
    redundant_calls.AGAIN,
    redundant_calls.ASKED,
    redundant_calls.SMALL,
    redundant_calls.POLLS,
)


def by_calls(facts: Recorded) -> str | None:
    """What the boot shows of it, and of other calls without effect; judged by its files where it was recorded
    without system calls."""
    if not syscalls.recorded(facts.view.evidence):
        return by_files(facts)
    found = redundant_calls.redundant(syscalls.calls(facts.view.evidence))
    searched = redundant_calls.words(found, redundant_calls.LIBRARIES)
    others = [redundant_calls.words(found, kind) for kind in _OTHERS]
    return "; ".join(filter(None, [searched, *others])) if searched else ""


def by_files(known: Inventory) -> str | None:
    """The same without a recording, and without counts."""
    if not known.knows(Part.FILES):
        return None
    if CACHE in known.files or not any(fnmatchcase(path, _LOADER) for path in known.files):
        return ""
    return f"no {CACHE}: every program searches for its libraries (record --syscalls counts it)"
