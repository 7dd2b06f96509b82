# SPDX-License-Identifier: Apache-2.0
"""The HTML report: one file, opens without a network, nothing from a target is ever markup.

Text goes through jinja2's escaping, data through JSON in a script element of a type that no browser
runs, with every '<' escaped.
"""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from markupsafe import Markup

from bootscope import __version__
from bootscope.analysis.compare import SPLIT
from bootscope.analysis.consumers import phase_at
from bootscope.analysis.silences import silences_of_trace
from bootscope.analysis.uncertainty import brief, uncertainty, words
from bootscope.analysis.views import View
from bootscope.boards.changed import clock_core_of, waits_for_devices
from bootscope.boards.profile import Board
from bootscope.core.text import error_words, seconds, size, span, visible
from bootscope.devices.model import CardClass
from bootscope.export.text import plain
from bootscope.report import answer, run_bar
from bootscope.report.columns import Texts, columns
from bootscope.report.modelled import cpu_words
from bootscope.report.overlay_html import bar_of, overlay
from bootscope.report.packed import Packer
from bootscope.report.pages import sources, template
from bootscope.report.runs_html import sections
from bootscope.report.shown import ALONE, About, Shown
from bootscope.timeline.trace import Table, Trace

# In this order: each uses only those before it.
TIMELINE = ("format", "model", "paint", "layout", "names", "timeline", "interaction", "panel", "search")
"""The scripts of a timeline alone."""
_SCRIPTS = (
    *TIMELINE, "link", "consoles", "flame_tree", "flame", "sorted", "packed", "page",
)  # fmt: skip
_CARD_FIGURES = {
    "bandwidth_bytes_per_s": "card bandwidth", "command_latency_ns": "card latency",
    "random_latency_ns": "card latency of random reads",
    "write_bandwidth_bytes_per_s": "card bandwidth of writes",
    "random_write_latency_ns": "card latency of random writes",
}  # fmt: skip
MAX_LINE = 400
MAX_ROWS = 1000
MAX_LINES = 5_000
MAX_POINTS = 100_000


def _console(lines: Sequence[tuple[int, str, str]], begin_ns: int, total_ns: int) -> list[dict[str, object]]:
    """Console lines, given as (time, phase, text), with the gap before each, counted from `begin_ns`."""
    before = [begin_ns, *(at_ns for at_ns, _, _ in lines)]
    return [
        {
            "time": seconds(at_ns, 6),
            "gap": span(at_ns - before_ns),
            "slow": at_ns - before_ns > total_ns // 50 > 0,
            "phase": phase,
            "text": text,
        }
        for before_ns, (at_ns, phase, text) in zip(before, lines, strict=False)
    ]


def _of_card(card: CardClass) -> Iterator[tuple[str, str]]:
    for key, value, is_rate in card.figures():
        told = f"{size(value)}/s" if is_rate else f"{span(value)} a command"
        yield _CARD_FIGURES[key], f"{told} ({getattr(card, key).source})"


def _provenance(v: View) -> list[tuple[str, str]]:
    info, card = v.run.info, v.run.info.board.card
    return [
        ("run", info.run_id),
        ("boot", f"{v.boot.info.number} of {len(v.run.boots)}, started {v.boot.info.started}"),
        ("how it ended", f"{v.boot.info.ended}: {v.boot.info.message}"),
        ("stream sha256", v.boot.info.stream_sha256),
        ("system", f"{info.system.name}: {info.system.title}"),
        *(
            (f"source: {n}", f"{s.version} from {s.origin}, sha256 {s.sha256}")
            for n, s in info.sources.items()
        ),
        ("command line", info.system.command_line),
        ("board", f"{info.board.name}: {info.board.title}"),
        ("build", info.build_id),
        ("power-on", f"{span(info.board.power_on_ns.value)} ({info.board.power_on_ns.source})"),
        _clock(info.board),
        ("CPU time", f"{info.board.cpu_scale_ppm.value / 1e6:g} of that ({info.board.cpu_scale_ppm.source})"),
        ("card", card.title),
        *_of_card(card),
        *([("core", v.core.title)] if v.core else []),
        ("clock", f"{v.timeline.clock_syncs:,} resynchronisations, worst {span(v.timeline.clock_worst_ns)}"),
        ("bootscope", info.bootscope),
        *((f"tool: {name}", version) for name, version in sorted(info.tools.items())),
        *((f"host: {name}", value) for name, value in sorted(info.host.items())),
    ]


def _clock(board: Board) -> tuple[str, str]:
    """What advances the guest's clock, and the source of that."""
    core = clock_core_of(board)
    took = f"instructions and waits of core {core.name}: {core.title}" if core else ""
    if waits_for_devices(board):
        took = f"{board.console} and {board.storage}, and with {took or f'{board.tick_ns} ns an instruction'}"
    if took:
        return "guest's clock", f"passes with {took}"
    return "instruction", f"{board.tick_ns} ns ({board.qemu.icount_shift.source})"


def _boot(v: View, texts: Texts) -> dict[str, Any]:
    tl = v.timeline
    lines = [(s.start_ns, phase_at(tl.phases, s.start_ns).name, visible(s.data, MAX_LINE)) for s in tl.lines]
    return {
        **_of_trace(v.trace, texts),
        "title": f"{v.run.info.system.name} on {v.run.info.board.name}",
        "subtitle": v.run.info.system.title,
        "boot_id": v.boot.info.boot_id,
        "complete": v.boot.info.complete,
        "message": v.boot.info.message,
        "until": v.run.info.until,
        "total": seconds(tl.total_ns),
        "on_core": _on_core(v),
        "error": brief(uncertainty(tl, v.core)) if v.core else "",
        "phases": tl.phases,
        "where": answer.of_phases(tl.phases, [key.removesuffix("_ns") for key in SPLIT]),
        "sums": {key.removesuffix("_ns"): sum(getattr(p, key) for p in tl.phases) for key in SPLIT},
        "milestones": tl.milestones,
        "consumers": v.consumers[:25],
        "silences": v.silences,
        "disagreements": tl.disagreements,
        "console": _console(lines, 0, tl.total_ns),
        "parts": v.run.info.parts,
        "provenance": _provenance(v),
        "picture": base64.b64encode(v.picture).decode() if v.picture else None,
    }


def _on_core(v: View) -> list[str]:
    """What CPU time means on a core's model, and how inaccurate that may be; empty without one."""
    if v.core is None:
        return []
    found = uncertainty(v.timeline, v.core)
    return [f"on core {v.core.name}: {cpu_words(v.timeline)}", *words(found)]


def _of_trace(trace: Trace, texts: Texts) -> dict[str, Any]:
    """A boot of which there is only a trace; a recording adds to it."""
    trace = _lean(trace)
    return {
        "title": plain(trace.title),
        "subtitle": plain(trace.clock),
        "boot_id": "",
        "complete": True,
        "message": "",
        "until": _last(trace),
        "which": "",
        "on_core": (),
        "error": "",
        "total": trace.took(seconds).removesuffix(" s"),
        "unit": " s" if trace.timed else "",
        "phases": (),
        "where": answer.of_trace(trace),
        "first": (),
        "consoles": (),
        "sums": {},
        "milestones": {plain(name): ns for name, ns in trace.milestones().items()},
        "errors": {
            plain(p.name): "or later" if p.earliest else error_words(p.error_ns, p.error_or_more)
            for p in trace.points
            if p.kind == "milestone" and (p.earliest or p.error_ns)
        },
        "consumers": (),
        "silences": silences_of_trace(trace),
        "disagreements": (),
        "console": _lines(trace),
        "parts": (),
        "provenance": [("clock", plain(trace.clock)), *(("note", plain(note)) for note in trace.notes)],
        "picture": None,
        "tables": [_table(table) for table in trace.tables],
        "flames": _flames(trace),
        "data": columns(trace, texts),
    }


def _flames(trace: Trace) -> list[tuple[str, str]]:
    """The available flame graphs: the name of their data, and their title."""
    found = [("flame", "Flame graph")] if trace.stacks else []
    return [*found, *([("stalls", "Flame graph of waiting for memory")] if trace.stalls else [])]


def _last(trace: Trace) -> str:
    """The milestone that ended the boot; empty if it ended otherwise."""
    return next((plain(name) for name, ns in trace.known_milestones().items() if ns == trace.total_ns), "")


def _lean(trace: Trace) -> Trace:
    """The trace without console lines if the log is too long for a browser; a note says so."""
    lines = sum(p.kind == "line" for p in trace.points)
    if lines <= MAX_POINTS:
        return trace
    note = f"{lines:,} console lines are left out of this page; see bootscope export --format csv"
    kept = tuple(p for p in trace.points if p.kind != "line")
    return replace(trace, points=kept, notes=(*trace.notes, note))


def _lines(trace: Trace) -> list[dict[str, object]]:
    """The first console lines of a trace."""
    phases = trace.spans("phase")
    starts, names = [s.start_ns for s in phases], ["", *(plain(s.name) for s in phases)]
    points = sorted((p for p in trace.points if p.kind == "line"), key=lambda p: p.at_ns)[:MAX_LINES]
    lines = [(p.at_ns, names[bisect_right(starts, p.at_ns)], plain(p.name, MAX_LINE)) for p in points]
    return _console(lines, points[0].at_ns if points else 0, trace.total_ns)


def _table(table: Table) -> dict[str, object]:
    """Figures as text; only the beginning of a very long table. Lengths are shown in ms, moments in s."""
    rows = [
        [(_cell(cell, name), isinstance(cell, str)) for cell, name in zip(row, table.columns, strict=True)]
        for row in table.rows[:MAX_ROWS]
    ]
    text = [any(isinstance(row[at], str) for row in table.rows) for at in range(len(table.columns))]
    words = table.headings or [name.removesuffix("_ns").replace("_", " ") for name in table.columns]
    headings = [_heading(*pair) for pair in zip(table.columns, words, strict=True)]
    names = [(plain(heading), is_text) for heading, is_text in zip(headings, text, strict=True)]
    total = [_cell(cell, name) for cell, name in zip(table.total, table.columns, strict=False)]
    more = len(table.rows) - len(rows)
    return {"title": plain(table.title), "columns": names, "rows": rows, "total": total, "more": more}


_MOMENTS = ("start_ns", "end_ns")


def _heading(name: str, words: str) -> str:
    """The words of a column's heading, with the unit of its cells."""
    if name == "ns":
        return "time ms"
    if not name.endswith("_ns") or words.endswith((" s", " ms")):
        return words
    return f"{words} s" if name in _MOMENTS else f"{words} ms"


def _cell(cell: str | int | None, column: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return plain(cell)
    if column in _MOMENTS:
        return seconds(cell, 6)
    if column == "ns" or column.endswith("_ns"):
        return f"{cell / 1e6:,.3f}" if cell else "-"
    return f"{cell:,}"


def _safe_json(value: object) -> Markup:
    """JSON that cannot end its script element."""
    text = msgspec.json.encode(value).decode()
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def render(boots: Sequence[View | Trace | Shown], about: About = ALONE) -> str:
    """The report of one or more boots, recorded or known only as a trace, as one HTML document."""
    page = template(
        "report.html.j2", size=size, visible=lambda b: visible(b, 80), told=visible, data=_safe_json
    )
    shown = [boot if isinstance(boot, Shown) else Shown(boot) for boot in boots]
    several = [each.run for each in shown if each.run]
    told = _boots(shown)
    return page.render(
        boots=told,
        lead=next((boot for boot in told if boot["leads"]), None),
        packer=Packer(),
        recorded=any(isinstance(each.boot, View) for each in shown),
        runs=sections(several),
        compared=about.compared,
        overlay=overlay(
            [run_bar.of_run(each.run) if each.run else bar_of(each.name, each.boot) for each in shown]
        ),
        overlay_note=run_bar.NOTE if several else "",
        changed=[_table(table) for table in about.changed],
        home=about.home,
        version=__version__,
        style=sources("report.css", "runs.css", "overlay.css"),
        script=script(),
    )


def _boots(shown: Sequence[Shown]) -> list[dict[str, object]]:
    """The template's data of each boot. The texts of all boots are in the data of the first."""
    texts = Texts()
    found = [
        (each, _of_trace(each.boot, texts) if isinstance(each.boot, Trace) else _boot(each.boot, texts))
        for each in shown
    ]
    for number, (_, boot) in enumerate(found):
        boot["data"] = _safe_json({**boot["data"], **({} if number else {"texts": list(texts.numbers)})})
    told = [{**boot, **each.told(), "leads": 0} for each, boot in found]
    # At the top of the page: what to do about the last boot, or the one that stands for all of its run.
    if told[-1]["first"] and (len(told) > 1 or shown[-1].run):
        told[-1]["leads"] = len(told)
    return told


def script(names: Sequence[str] = _SCRIPTS) -> Markup:
    """The scripts of the page, as they are included in it."""
    return sources(*(f"{name}.js" for name in names))
