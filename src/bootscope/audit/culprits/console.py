# SPDX-License-Identifier: Apache-2.0
"""Messages that the boot waits for: every byte goes over the serial line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bootscope.analysis.console_cost import Line, hidden_by_quiet
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.audit.culprits.recorded import RecordedBoot
from bootscope.core.text import size, span
from bootscope.loaders.model import ROM
from bootscope.loaders.registry import BUILT, LOADER_PHASES

_LOADERS = (ROM.phase, *LOADER_PHASES)
QUIET = Cure("do not print them on the console", ("kernel-quiet", "kernel-printk-diet"), ("quiet",))
SILENT = Cure(BUILT.cures.silent_words, BUILT.cures.silent)
_PROGRAMS = Cure("print less, or to a file", ())


def find(boot: RecordedBoot) -> Iterator[Culprit]:
    """The messages of the kernel, of the boot loaders and of programs."""
    lines = boot.ground.lines
    before: list[Line] = []
    after: list[Line] = []
    for line in lines:
        if not line.kernel:
            (before if boot.evidence.phase_at(line.start_ns) in _LOADERS else after).append(line)
    for who, found, cure in (
        ("kernel messages", hidden_by_quiet(lines), QUIET),
        ("boot loaders' messages", before, SILENT),
        ("messages of programs", after, _PROGRAMS),
    ):
        if found:
            yield _culprit(boot, who, found, cure)


def _culprit(boot: RecordedBoot, who: str, lines: Sequence[Line], cure: Cure) -> Culprit:
    costs: Counter[str] = Counter()
    for line in lines:
        costs[line.who] += line.cost_ns
    [(most, most_ns)] = costs.most_common(1)
    first, last = lines[0], lines[-1]
    return Culprit(
        kind="console",
        what=f"{len(lines)} {who}, {size(sum(n.bytes for n in lines))}, over the serial line",
        where=f"most of them, {span(most_ns)}, by {most}",
        cost_ns=sum(n.cost_ns for n in lines),
        start_ns=first.start_ns,
        end_ns=boot.evidence.clock.after(last.last),
        seen_in="--view console",
        cure=cure,
    )
