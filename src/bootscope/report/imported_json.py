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
from bootscope.report.jsondoc import fields, silences
from bootscope.runs.headline import with_figure
from bootscope.runs.heard import SeenBoot
from bootscope.timeline.failure import Failure
from bootscope.timeline.trace import LENGTH, Table, Trace

MISSED = 1000
"""How many of the lines that were not understood are listed; `lines_missed` counts them all."""


def formats(readers: tuple[Reader, ...]) -> dict[str, object]:
    """`bootscope import --formats --json`."""
    return {"formats": [{"name": r.name, "title": r.title, "made_by": r.made_by} for r in readers]}


def understood(run_id: str | None, u: Understood) -> dict[str, object]:
    """`bootscope import --json`; `run_id` is null for a dry run."""
    return {
        "run_id": run_id,
        "files": [_file(f) for f in u.files],
        "left_out": [{"name": visible(item.name), "why": visible(item.why)} for item in u.left_out],
        "links": [_link(u, found) for group in u.joined.groups for found in group.links],
        "apart": [visible(refusal_words(u.read, found)) for found in u.joined.refusals],
        "boots": [trace(u, number) for number in range(1, u.boots + 1)],
    }


def _file(file: FileRead) -> dict[str, object]:
    r = file.reading
    return {
        "name": visible(file.name),
        "bytes": file.size_bytes,
        "format": file.reader.name,
        "told": not file.guesses,
        "guesses": [{"format": g.reader.name, "sure": g.sure} for g in file.guesses],
        **fields(r, "lines_total", "lines_understood", "lines_empty"),
        "lines_missed": len(r.missed),
        "missed": [{"line": m.line, "text": visible(m.text)} for m in r.missed[:MISSED]],
        "repairs": [{"what": visible(x.what), **fields(x, "count", "first_line")} for x in r.repairs],
        "questions": [visible(question) for question in r.questions],
        "boots": [_boot(boot) for boot in r.boots],
    }


def _boot(boot: Boot) -> dict[str, object]:
    clock = boot.clock
    return {
        "clock": clock.name,
        "stamp": clock.stamp,
        "zero": visible(clock.zero),
        "resolution_ns": clock.resolution_ns,
        "counter": clock.counter_id or None,
        "lines": len(boot.log),
        "facts": {visible(key): visible(value) for key, value in boot.facts.items()},
    }


def _link(u: Understood, found: Link) -> dict[str, object]:
    return {
        "file": boot_name(u.read, found.b),
        "onto": boot_name(u.read, found.a),
        "by": HOW[found.how],
        **fields(found, "matched", "used"),
        **fields(found.map, "from_ns", "to_ns"),
        "drift_ppb": found.map.drift_ppt // 1000,
        "error_ns": found.error_ns,
        "words": visible(link_words(u.read, found)),
    }


def trace(u: Understood, number: int) -> dict[str, object]:
    """A boot, summarised."""
    t = u.trace(number, lines=False, tracks=False)
    return {
        "boot": number,
        "title": visible(t.title),
        "clock": visible(t.clock),
        "total_ns": t.total_ns if t.timed else None,
        "total_or_later": t.total_or_later,
        "failure": _failure(t.failure) if t.failure else None,
        "phases": [
            {
                "track": visible(track.title),
                "name": visible(s.name),
                **fields(s, "start_ns", "end_ns"),
                "evidence": visible(str(s.detail.get("evidence", ""))),
                **Bound.of(s.detail).detail,
                **({LENGTH: s.detail[LENGTH]} if LENGTH in s.detail else {}),
            }
            for track in t.tracks
            if track.kind == "phase"
            for s in track.spans
        ],
        "milestones": {visible(name): ns for name, ns in t.milestones().items()},
        "milestones_or_later": [visible(name) for name in t.earliest()],
        "notes": [visible(note) for note in t.notes],
    }


def _failure(found: Failure) -> dict[str, object]:
    """A failure; its texts come from a board."""
    texts = {name: visible(getattr(found, name)) for name in ("words", "line", "cause", "phase")}
    return {**fields(found, "kind", "at_ns", "earliest", "ends", "after"), **texts}


def show(boot: SeenBoot, quiet: list[Silence], top: int) -> dict[str, object]:
    """`bootscope show --json` for a boot of a real board, or an imported one."""
    t = boot.trace(lines=False)
    found = boot.reached(t)
    return {
        **fields(boot, "run_id", "how", "boots"),
        **trace(boot.understood, boot.index),
        "number": boot.number,
        "message": visible(with_figure(boot.message, found)),
        "reached_ns": found.ns if found else None,
        "error_ns": found.error_ns if found else None,
        "milestone_errors_ns": {visible(p.name): p.error_ns for p in t.points if p.kind == "milestone"},
        "milestone_errors_or_more": [
            visible(p.name) for p in t.points if p.kind == "milestone" and p.error_or_more
        ],
        "tracks": [_track(t, index, top) for index in range(len(t.tracks))],
        "tables": [_table(x, top) for x in t.tables],
        "silences": silences(quiet),
    }


def _table(found: Table, top: int) -> dict[str, object]:
    rows = [[visible(cell) if isinstance(cell, str) else cell for cell in row] for row in found.rows[:top]]
    return {"title": visible(found.title), "columns": [visible(c) for c in found.columns], "rows": rows}


def _track(t: Trace, index: int, top: int) -> dict[str, object]:
    """A track with its `top` longest spans."""
    track = t.tracks[index]
    longest = sorted(track.spans, key=lambda s: -s.duration_ns)[:top]
    return {
        "id": visible(track.ident),
        "kind": track.kind,
        "title": visible(track.title),
        "spans": len(track.spans),
        "longest": [{"name": visible(s.name), "start_ns": s.start_ns, "end_ns": s.end_ns} for s in longest],
    }
