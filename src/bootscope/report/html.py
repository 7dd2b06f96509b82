# SPDX-License-Identifier: Apache-2.0
"""The HTML report: one file, opens without a network, nothing from a target is ever markup.

Text goes through jinja2's escaping, data through JSON in a script element of a type that no browser
runs, with every '<' escaped.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

import jinja2
import msgspec
from markupsafe import Markup

from bootscope import __version__
from bootscope.analysis.consumers import phase_at
from bootscope.report.jsondoc import phase
from bootscope.report.text import seconds, size, span, visible
from bootscope.views import View

_TEMPLATES = Path(__file__).parent / "templates"
MAX_LINE = 400


def _timeline_data(v: View) -> dict[str, object]:
    """What the zoomable timeline draws: spans as [start_ns, end_ns, text], one list a track."""
    tl = v.timeline
    transfers = [
        [
            t.start_ns,
            t.start_ns + t.cost_ns,
            f"{'write' if t.write else 'read'} {size(t.size_bytes)}: {t.what}",
        ]
        for t in tl.transfers
    ]
    return {
        "total_ns": tl.total_ns,
        "phases": [phase(p) for p in tl.phases],
        "milestones": list(tl.milestones.items()),
        "tracks": [
            {"name": "storage", "spans": transfers},
            {"name": "console", "spans": [[n.start_ns, n.end_ns, visible(n.data, 160)] for n in tl.lines]},
            {"name": "idle", "spans": [[s.start_ns, s.end_ns, "CPU asleep"] for s in tl.sleeps]},
            {"name": "programs", "spans": _programs(v)},
            {"name": "pins", "spans": [[ns, ns, change] for ns, change in tl.pins]},
        ],
    }


def _programs(v: View) -> list[list[object]]:
    """When each program was started; drawn to the start of the next."""
    tl = v.timeline
    ends = [start for start, _ in tl.execs[1:]] + [tl.total_ns]
    return [
        [start, end, visible(name.encode(), 40)] for (start, name), end in zip(tl.execs, ends, strict=False)
    ]


def _console(v: View) -> list[dict[str, object]]:
    tl = v.timeline
    rows: list[dict[str, object]] = []
    before_ns = 0
    for line in tl.lines:
        rows.append(
            {
                "time": seconds(line.start_ns, 6),
                "gap": span(line.start_ns - before_ns),
                "slow": line.start_ns - before_ns > tl.total_ns // 50,
                "phase": phase_at(tl.phases, line.start_ns).name,
                "text": visible(line.data, MAX_LINE),
            }
        )
        before_ns = line.start_ns
    return rows


def _provenance(v: View) -> list[tuple[str, str]]:
    info = v.run.info
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
        ("instruction", f"{info.board.tick_ns} ns ({info.board.qemu.icount_shift.source})"),
        *_card(v),
        ("clock", f"{v.timeline.clock_syncs:,} resynchronisations, worst {span(v.timeline.clock_worst_ns)}"),
        ("bootscope", info.bootscope),
        *((f"tool: {name}", version) for name, version in sorted(info.tools.items())),
        *((f"host: {name}", value) for name, value in sorted(info.host.items())),
    ]


def _card(v: View) -> list[tuple[str, str]]:
    card = v.run.info.board.card
    bandwidth, latency = card.bandwidth_bytes_per_s, card.command_latency_ns
    return [
        ("card", card.title),
        ("card bandwidth", f"{size(bandwidth.value)}/s ({bandwidth.source})"),
        ("card latency", f"{span(latency.value)} a command ({latency.source})"),
    ]


def _boot(v: View) -> dict[str, object]:
    tl = v.timeline
    picture = base64.b64encode(v.picture).decode() if v.picture else None
    return {
        "title": f"{v.run.info.system.name} on {v.run.info.board.name}",
        "subtitle": v.run.info.system.title,
        "boot_id": v.boot.info.boot_id,
        "complete": v.boot.info.complete,
        "message": v.boot.info.message,
        "until": v.run.info.until,
        "total": seconds(tl.total_ns),
        "phases": tl.phases,
        "sums": {
            k: sum(getattr(p, f"{k}_ns") for p in tl.phases)
            for k in ("cpu", "storage", "console", "idle", "fixed")
        },
        "milestones": tl.milestones,
        "consumers": v.consumers[:25],
        "silences": v.silences,
        "disagreements": tl.disagreements,
        "console": _console(v),
        "parts": v.run.info.parts,
        "provenance": _provenance(v),
        "picture": picture,
        "data": _safe_json(_timeline_data(v)),
    }


def _safe_json(value: object) -> Markup:
    """JSON that cannot end the script element it stands in."""
    text = msgspec.json.encode(value).decode()
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def render(views: Sequence[View]) -> str:
    """The report of one boot or more, as one HTML document."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(seconds=seconds, span=span, size=size, visible=lambda b: visible(b, 80))
    template = environment.get_template("report.html.j2")
    return template.render(
        boots=[_boot(v) for v in views],
        version=__version__,
        style=Markup((_TEMPLATES / "report.css").read_text()),
        script=Markup((_TEMPLATES / "report.js").read_text()),
    )
