# SPDX-License-Identifier: Apache-2.0
"""All formats that a trace can be written in, and which one a file name means."""

from __future__ import annotations

from bootscope.core.errors import UserError, printable, unknown
from bootscope.export import (
    boots,
    chrome,
    collapsed,
    csv,
    grabserial,
    junit,
    lcov,
    markdown,
    openmetrics,
    perfetto,
    speedscope,
    svg,
)
from bootscope.export.base import Exporter

EXPORTERS = (
    Exporter("perfetto", "Perfetto trace (protobuf)", "ui.perfetto.dev, trace_processor",
             (".pftrace", ".perfetto-trace"), perfetto.make, text=False),
    Exporter("chrome", "Chrome trace events (JSON)",
             "chrome://tracing, ui.perfetto.dev, speedscope (not named .chrome.json)", (), chrome.make),
    Exporter("speedscope", "speedscope profile (JSON)", "speedscope.app, the speedscope command",
             (".speedscope.json",), speedscope.make),
    Exporter("collapsed", "collapsed stacks, in nanoseconds",
             "flamegraph.pl --countname ns, inferno, speedscope", (".folded", ".collapsed"), collapsed.make),
    Exporter("svg", "picture in bootchart's style", "any browser, Inkscape, a README", (".svg",), svg.make),
    Exporter("boots", "table of all boots of a run", "spreadsheets, pandas, R",
             (".boots.csv",), boots.make, whole_run=True),
    Exporter("csv", "table of all spans and points", "spreadsheets, pandas, DuckDB, sqlite3 .import",
             (".csv",), csv.make),
    Exporter("grabserial", "console lines with stamps, as grabserial writes them",
             "scripts made for grabserial -t", (".grabserial",), grabserial.make),
    Exporter("markdown", "summary in Markdown", "pull requests, issues, wikis",
             (".md", ".markdown"), markdown.make),
    Exporter("openmetrics", "OpenMetrics gauges", "Prometheus (textfile collector, Pushgateway)",
             (".prom", ".txt"), openmetrics.make),
    Exporter("junit", "JUnit XML: milestones and phases as test cases",
             "GitLab, Jenkins, GitHub actions that read JUnit", (".xml",), junit.make),
    Exporter("lcov", "how often each line of the sources ran, as lcov writes it",
             "genhtml, lcov, editors that show coverage", (".info",), lcov.make, sources=True),
)  # fmt: skip


def named(name: str) -> Exporter:
    """The format of that name. Raises UserError when there is none, listing the known ones."""
    for exporter in EXPORTERS:
        if exporter.name == name:
            return exporter
    raise unknown("format", name, [exporter.name for exporter in EXPORTERS])


def for_file(file_name: str) -> Exporter:
    """The format that the suffix of a file's name means. Raises UserError when it means none or several."""
    lower = file_name.lower()
    for exporter in EXPORTERS:
        if lower.endswith(exporter.suffixes or ("\0",)):
            return exporter
    hint = f"--format F, one of: {', '.join(exporter.name for exporter in EXPORTERS)}"
    if lower.endswith(".json"):
        hint = "--format chrome or --format speedscope: both are JSON"
    raise UserError(f"the name {printable(file_name)} does not determine the format", hint=hint)
