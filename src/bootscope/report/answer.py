# SPDX-License-Identifier: Apache-2.0
"""The answer at the top of a report: where the time goes, what to do first. Texts may come from a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bootscope.audit.culprits.model import FAILURE, Culprit
from bootscope.audit.outlook import outlook
from bootscope.audit.result import AuditResult
from bootscope.core.errors import printable
from bootscope.core.text import cut, seconds, span
from bootscope.export.text import plain
from bootscope.report.culprits import applying, commands
from bootscope.report.phase_lengths import length_words, share_words
from bootscope.timeline.model import Phase
from bootscope.timeline.trace import LENGTH, Trace

TOP = 5
"""How many findings are shown."""
_LONGEST = 220
"""Characters of a finding's text; the audit has all of it."""

Answer = Mapping[str, object]


def first(found: AuditResult, run: str, *, recorded: bool) -> list[Answer]:
    """The findings that cost most, as the page shows them: cost, evidence and cure, and the stretch of the
    boot (ns) in which each lies. `run` is the boot's name in commands; no predictions are offered for a boot
    that was not `recorded` on the emulated board."""
    specs = {f.technique.id: f.spec for f in reversed(found.audit.findings)}
    rows: Sequence[Culprit] = found.culprits if recorded else outlook(found)
    return [_row(culprit, specs, run, recorded) for culprit in rows[:TOP]]


def _row(culprit: Culprit, specs: Mapping[str, str], run: str, recorded: bool) -> Answer:
    typed = commands(culprit.cure, specs, predicted=recorded, explained=True, run=run)
    return {
        "cost": "fails" if culprit.kind == FAILURE else span(culprit.cost_ns),
        "at_most": culprit.at_most,
        "what": _text(culprit.what),
        "where": _text(culprit.where),
        "do": _text(culprit.cure.do),
        "commands": [f"bootscope {printable(command)}" for command in typed],
        "technique": applying(culprit.cure, specs),
        "start_ns": culprit.start_ns,
        "end_ns": culprit.end_ns,
    }


def _text(words: str) -> str:
    return cut(plain(words), _LONGEST)


def of_phases(phases: Sequence[Phase], kinds: Sequence[str]) -> list[Answer]:
    """Where the time of a recorded boot goes: a row for each phase, its kinds of time in percent of the
    longest phase."""
    whole_ns = phases[-1].end_ns if phases else 0
    longest_ns = max((p.duration_ns for p in phases), default=0) or 1
    return [
        {
            "name": p.name,
            "start_ns": p.start_ns,
            "end_ns": p.end_ns,
            "length": seconds(p.duration_ns),
            "share": share_words(p.duration_ns, whole_ns),
            "bars": [(kind, 100 * getattr(p, f"{kind}_ns") / longest_ns) for kind in kinds],
        }
        for p in phases
    ]


def of_trace(trace: Trace) -> list[Answer]:
    """The same for any other boot; lengths that are only bounds are marked."""
    spans = [s for track in trace.tracks if track.kind == "phase" for s in track.spans]
    if not trace.timed:
        return []
    longest_ns = max((s.duration_ns for s in spans), default=0) or 1
    return [
        {
            "name": plain(s.name),
            "start_ns": s.start_ns,
            "end_ns": s.end_ns,
            "length": length_words(s),
            "share": share_words(s.duration_ns, trace.known_total_ns if LENGTH not in s.detail else None),
            "bars": [("phase", 100 * s.duration_ns / longest_ns)],
        }
        for s in spans
    ]
