# SPDX-License-Identifier: Apache-2.0
"""lcov's tracefile: how often each line and each function of the sources ran (geninfo(1), section FILES).

Branches are omitted: which way a branch went is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.export.base import SourceLines, Subject


def make(subject: Subject) -> bytes:
    """The tracefile; without files if no lines were counted."""
    if not subject.lines:
        return b"TN:\n"
    return "".join(line + "\n" for found in subject.lines for line in _file(found)).encode()


def _file(found: SourceLines) -> Iterator[str]:
    yield f"TN:{found.test}"
    yield f"SF:{found.path}"
    yield from (f"FN:{line},{name}" for line, name, _ in found.functions)
    yield from (f"FNDA:{times},{name}" for _, name, times in found.functions)
    yield f"FNF:{len(found.functions)}"
    yield f"FNH:{sum(times > 0 for *_, times in found.functions)}"
    yield from (f"DA:{line},{times}" for line, times in sorted(found.lines.items()))
    yield f"LF:{len(found.lines)}"
    yield f"LH:{sum(times > 0 for times in found.lines.values())}"
    yield "end_of_record"
