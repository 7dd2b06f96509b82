# SPDX-License-Identifier: Apache-2.0
"""Imported files and boots as the JSON that docs/json.md documents."""

from __future__ import annotations

from bootscope.analysis.silences import Silence
from bootscope.core.text import visible
from bootscope.importing.files import FileRead, Understood
from bootscope.readers.base import Boot, Reader
from bootscope.readers.early_kernel import Bound
from bootscope.readers.join_words import boot_name, link_words, refusal_words
from bootscope.readers.link import HOW, Link
from bootscope.runs.headline import with_figure
from bootscope.runs.heard import SeenBoot
from bootscope.timeline.trace import Table, Trace

MISSED = 1000
"""Of the lines that were not understood, so many are listed; `lines_missed` counts them all."""


def _safe(text: str) -> str:
    return visible(text.encode("utf-8", "backslashreplace"), 400)


def formats(readers: tuple[Reader, ...]) -> dict[str, object]:
    """`bootscope import --formats --json`."""
    return {"formats": [{"name": r.name, "title": r.title, "made_by": r.made_by} for r in readers]}


def understood(run_id: str | None, u: Understood) -> dict[str, object]:
    """`bootscope import --json`; `run_id` is null for a dry run."""
    return {
        "run_id": run_id,
        "files": [_file(f) for f in u.files],
        "left_out": [{"name": _safe(item.name), "why": _safe(item.why)} for item in u.left_out],
        "links": [_link(u, found) for group in u.joined.groups for found in group.links],
        "apart": [_safe(refusal_words(u.read, found)) for found in u.joined.refusals],
        "boots": [trace(u, number) for number in range(1, u.boots + 1)],
    }


def _file(file: FileRead) -> dict[str, object]:
    r = file.reading
    return {
        "name": _safe(file.name),
        "bytes": file.size_bytes,
        "format": file.reader.name,
        "told": not file.guesses,
        "guesses": [{"format": g.reader.name, "sure": g.sure} for g in file.guesses],
        "lines_total": r.lines_total,
        "lines_understood": r.lines_understood,
        "lines_empty": r.lines_empty,
        "lines_missed": len(r.missed),
        "missed": [{"line": m.line, "text": _safe(m.text)} for m in r.missed[:MISSED]],
        "repairs": [{"what": _safe(x.what), "count": x.count, "first_line": x.first_line} for x in r.repairs],
        "questions": [_safe(question) for question in r.questions],
        "boots": [_boot(boot) for boot in r.boots],
    }


def _boot(boot: Boot) -> dict[str, object]:
    clock = boot.clock
    return {
        "clock": clock.name,
        "stamp": clock.stamp,
        "zero": _safe(clock.zero),
        "resolution_ns": clock.resolution_ns,
        "counter": clock.counter_id or None,
        "lines": len(boot.log),
        "facts": {_safe(key): _safe(value) for key, value in boot.facts.items()},
    }


def _link(u: Understood, found: Link) -> dict[str, object]:
    return {
        "file": boot_name(u.read, found.b),
        "onto": boot_name(u.read, found.a),
        "by": HOW[found.how],
        "matched": found.matched,
        "used": found.used,
        "from_ns": found.map.from_ns,
        "to_ns": found.map.to_ns,
        "drift_ppb": found.map.drift_ppt // 1000,
        "error_ns": found.error_ns,
        "words": _safe(link_words(u.read, found)),
    }


def trace(u: Understood, number: int) -> dict[str, object]:
    """A boot in short."""
    t = u.trace(number, lines=False)
    return {
        "boot": number,
        "title": _safe(t.title),
        "clock": _safe(t.clock),
        "total_ns": t.total_ns,
        "phases": [
            {
                "track": _safe(track.title),
                "name": _safe(s.name),
                "start_ns": s.start_ns,
                "end_ns": s.end_ns,
                "evidence": _safe(str(s.detail.get("evidence", ""))),
                **Bound.of(s.detail).detail,
            }
            for track in t.tracks
            if track.kind == "phase"
            for s in track.spans
        ],
        "milestones": {_safe(name): ns for name, ns in t.milestones().items()},
        "notes": [_safe(note) for note in t.notes],
    }


def show(boot: SeenBoot, quiet: list[Silence], top: int) -> dict[str, object]:
    """`bootscope show --json` for a boot of a real board, or an imported one."""
    t = boot.trace(lines=False)
    found = boot.reached(t)
    return {
        "run_id": boot.run_id,
        "how": boot.how,
        "boots": boot.boots,
        **trace(boot.understood, boot.index),
        "number": boot.number,
        "message": _safe(with_figure(boot.message, found)),
        "reached_ns": found.ns if found else None,
        "error_ns": found.error_ns if found else None,
        "milestone_errors_ns": {_safe(p.name): p.error_ns for p in t.points if p.kind == "milestone"},
        "tracks": [_track(t, index, top) for index in range(len(t.tracks))],
        "tables": [_table(x, top) for x in t.tables],
        "silences": [
            {
                "start_ns": s.start_ns,
                "end_ns": s.end_ns,
                "before": visible(s.before),
                "after": visible(s.after),
            }
            for s in quiet
        ],
    }


def _table(found: Table, top: int) -> dict[str, object]:
    rows = [[_safe(cell) if isinstance(cell, str) else cell for cell in row] for row in found.rows[:top]]
    return {"title": _safe(found.title), "columns": [_safe(c) for c in found.columns], "rows": rows}


def _track(t: Trace, index: int, top: int) -> dict[str, object]:
    """A track with its `top` longest spans."""
    track = t.tracks[index]
    longest = sorted(track.spans, key=lambda s: -s.duration_ns)[:top]
    return {
        "id": _safe(track.ident),
        "kind": track.kind,
        "title": _safe(track.title),
        "spans": len(track.spans),
        "longest": [{"name": _safe(s.name), "start_ns": s.start_ns, "end_ns": s.end_ns} for s in longest],
    }
