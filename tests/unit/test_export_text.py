# SPDX-License-Identifier: Apache-2.0
"""The exports that people read or that CI servers, spreadsheets and Prometheus take."""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.export import collapsed, grabserial, junit, markdown, openmetrics, sums, svg
from bootscope.export import csv as csv_export
from bootscope.export.base import Subject
from bootscope.export.registry import EXPORTERS
from bootscope.export.text import decimal, identifier, seconds
from bootscope.readers import registry
from bootscope.readers.base import Options, Source
from bootscope.timeline.trace import Point, Span, Trace, Track

from .traces import HOSTILE_TRACE, SMALL, traces

FAILED = Subject(
    SMALL, failure="hang: nothing for 30 s", facts={"board": "cubieboard", "command line": 'a="b"'}
)
SVG = "{http://www.w3.org/2000/svg}"


def test_decimals_are_exact() -> None:
    assert [decimal(n, 3) for n in (0, 5, 1500, -1500, 2000, 10**21)] == [
        "0", "0.005", "1.5", "-1.5", "2", "1" + "0" * 18,
    ]  # fmt: skip
    assert seconds(10_629_284_201) == "10.629284201"
    assert decimal(7, 0) == "7"


@given(st.integers(-(10**20), 10**20), st.integers(0, 12))
def test_any_decimal_is_exact(value: int, digits: int) -> None:
    assert Decimal(decimal(value, digits)) * 10**digits == value


def test_identifiers() -> None:
    assert [identifier(t) for t in ("Command line", "9", "", "ä")] == ["command_line", "x_9", "x_", "x_"]


# ---- CSV ----


def table_of(trace: Trace) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_export.make(Subject(trace)).decode(), newline="")))


def test_csv_has_a_row_for_every_span_and_point() -> None:
    rows = table_of(SMALL)
    assert len(rows) == 10 + 3
    assert rows[3] == {
        "record": "span", "kind": "initcall", "track": "initcalls", "under": "", "name": "mmc_init",
        "start_ns": "500", "end_ns": "600", "duration_ns": "100", "error_ns": "",
        "detail": "level=6; cost_ns=50",
    }  # fmt: skip
    assert rows[9]["under"] == "init"
    assert (rows[10]["name"], rows[10]["start_ns"], rows[10]["error_ns"]) == ("kernel-entry", "400", "5")


def check_csv(trace: Trace) -> None:
    for row in table_of(trace):
        assert None not in row and None not in row.values()
        for column in ("start_ns", "end_ns", "duration_ns"):
            int(row[column])
        for column in ("kind", "track", "under", "name", "detail"):
            assert row[column].lstrip()[:1] not in tuple("=+-@")
            assert row[column].isprintable()


def test_no_cell_is_a_formula() -> None:
    check_csv(HOSTILE_TRACE)
    assert "'=cmd|" in csv_export.make(Subject(HOSTILE_TRACE)).decode()


# ---- Markdown ----


def test_markdown_tells_phases_milestones_and_consumers() -> None:
    text = markdown.make(Subject(SMALL)).decode()
    assert "## Boot of stock on cubieboard" in text
    assert "| <code>kernel</code> | 0.000 s | 60.0 % |" in text
    assert "| <code>kernel-entry</code> | 0.000000 s |" in text
    consumers = [line for line in text.splitlines() if line.startswith("| <code>") and line.count("|") == 5]
    assert consumers[0] == "| <code>spl</code> | 400 ns | 40.0 % | <code></code> |"
    assert "kernel &#62; initcall kernel_init" not in text
    assert "<code>kernel &#62; initcall kernel&#95;init</code>" in text


def test_markdown_says_that_a_boot_failed() -> None:
    assert (
        "**not complete** after 0.000 s: <code>hang: nothing for 30 s</code>"
        in markdown.make(FAILED).decode()
    )


def check_markdown(trace: Trace) -> None:
    text = markdown.make(Subject(trace, facts={"x": trace.title})).decode()
    for line in text.splitlines():
        assert line.isprintable()
        if line.startswith("|"):
            assert line.count("|") in (3, 4, 5)
    left = re.sub(r"</?(code|details|summary|sub|br)>|&#[0-9]+;|^\|.*\|$", "", text, flags=re.M)
    assert not re.search(r"[<>\[\]`@]|://|www\.", left)
    cells = re.sub(r"</?(code|br|sub|details|summary)>|&#[0-9]+;", "", text)
    assert not re.search(r"[<>\[\]`@]|://|www\.", cells)


def test_nothing_from_a_boot_is_markup_in_markdown() -> None:
    check_markdown(HOSTILE_TRACE)


# ---- OpenMetrics ----


def families(subject: Subject) -> dict[str, Any]:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    text = openmetrics.make(subject).decode()
    assert text.endswith("\n# EOF\n")
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def test_openmetrics_are_gauges_in_seconds() -> None:
    found = families(FAILED)
    assert {n: f.unit for n, f in found.items()} == {
        "bootscope_boot_seconds": "seconds", "bootscope_boot_complete": "",
        "bootscope_phase_seconds": "seconds", "bootscope_milestone_seconds": "seconds",
        "bootscope_busy_seconds": "seconds", "bootscope_boot_facts": "",
    }  # fmt: skip
    assert all(family.type == "gauge" for family in found.values())
    phases = {s.labels["phase"]: s.value for s in found["bootscope_phase_seconds"].samples}
    assert phases == {"spl": 4e-7, "kernel": 6e-7}
    milestones = {s.labels["milestone"]: s.value for s in found["bootscope_milestone_seconds"].samples}
    assert milestones == {"kernel-entry": 4e-7, "first-frame": 1e-6}
    assert found["bootscope_boot_complete"].samples[0].value == 0
    assert found["bootscope_boot_facts"].samples[0].labels["command_line"] == 'a="b"'


def test_busy_time_counts_what_overlaps_once() -> None:
    assert sums.busy(SMALL) == {"initcall": 450, "storage": 300, "process": 100}


def test_what_the_time_went_into_is_told_where_the_phases_say_so() -> None:
    detail: dict[str, str | int] = {"cpu_ns": 300, "idle_ns": 100, "found by": "reset"}
    phases = (Span(0, 400, "spl", detail), Span(400, 900, "kernel", {"cpu_ns": 500}))
    trace = Trace("t", "c", 900, (Track("phases", "phase", "phases", phases),))
    assert sums.spent(trace) == {"cpu": 800, "idle": 100}
    found = families(Subject(trace))["bootscope_spent_seconds"].samples
    assert {s.labels["kind"]: s.value for s in found} == {"cpu": 8e-7, "idle": 1e-7}


def test_a_path_is_drawn_as_running_or_waiting() -> None:
    spans = (Span(0, 400, "U-Boot", {"how": "runs"}), Span(400, 900, "a", {"how": "sleeps"}))
    top = Xml.fromstring(svg.make(Subject(Trace("t", "c", 900, (Track("path", "path", "path", spans),)))))
    drawn = [r.get("class") for r in top.iter(f"{SVG}rect")]
    assert drawn.count("path") == drawn.count("waiting") == 1


@settings(max_examples=40)
@given(traces)
def test_any_trace_gives_openmetrics(trace: Trace) -> None:
    families(Subject(trace, facts={"boot": "b", trace.title: trace.clock}))


# ---- JUnit ----


def test_junit_has_milestones_and_phases_as_cases_with_times() -> None:
    top = Xml.fromstring(junit.make(Subject(SMALL)))
    assert (top.tag, top.get("tests"), top.get("failures")) == ("testsuites", "5", "0")
    cases = [(c.get("classname"), c.get("name"), c.get("time")) for c in top.iter("testcase")]
    assert cases == [
        ("bootscope", "boot", "0.000001"),
        ("bootscope.milestone", "kernel-entry", "0.0000004"),
        ("bootscope.milestone", "first-frame", "0.000001"),
        ("bootscope.phase", "spl", "0.0000004"),
        ("bootscope.phase", "kernel", "0.0000006"),
    ]
    assert not list(top.iter("failure"))


def test_a_boot_that_failed_is_a_failed_case() -> None:
    top = Xml.fromstring(junit.make(FAILED))
    (failure,) = top.iter("failure")
    assert failure.get("message") == "hang: nothing for 30 s"
    assert top.get("failures") == "1"
    assert {p.get("name"): p.get("value") for p in top.iter("property")}["command line"] == 'a="b"'


# ---- collapsed ----


def test_collapsed_stacks_are_paths_and_whole_numbers() -> None:
    assert collapsed.make(Subject(SMALL)).decode().splitlines() == [
        "kernel;idle 200",
        "kernel;initcall kernel_init;do_mount 300",
        "spl 400",
    ]


def test_without_stacks_the_tracks_are_the_paths() -> None:
    lines = collapsed.make(Subject(Trace("t", "c", 1, SMALL.tracks[1:2]))).decode().splitlines()
    assert lines == [
        "initcalls;kernel_init 150",
        "initcalls;kernel_init;mmc_init 100",
        "initcalls;kernel_init;net_init 200",
    ]


@settings(max_examples=40)
@given(traces)
def test_every_collapsed_line_can_be_read_back(trace: Trace) -> None:
    for line in collapsed.make(Subject(trace)).decode().splitlines():
        assert re.fullmatch(r".*\S [1-9][0-9]*", line)
        assert line.isprintable()


# ---- SVG ----


def test_a_line_that_stays_open_is_an_outline_in_the_picture() -> None:
    """Only what the boot waited for the serial line is filled."""
    line = Track("console", "console", "console", (Span(100, 900, "Seeding: "),))
    spent = Track(
        "spent", "spent", "spent", (Span(0, 100, "cpu"), Span(100, 150, "console"), Span(150, 900, "cpu"))
    )
    bars = [
        (r.get("class"), r.findtext(f"{SVG}title"))
        for r in svg_of(Trace("t", "c", 900, (spent, line))).iter(f"{SVG}rect")
    ]
    found = [bar for bar in bars if bar[0] in ("open", "console")]
    assert [kind for kind, _ in found] == ["open", "console"]
    assert "Seeding" in str(found[0][1]) and "50 ns" in str(found[1][1])


def svg_of(trace: Trace) -> Xml.Element:
    return Xml.fromstring(svg.make(Subject(trace)))


def test_the_picture_has_phases_processes_devices_and_milestones() -> None:
    top = svg_of(SMALL)
    texts = [t.text or "" for t in top.iter(f"{SVG}text")]
    assert {"stock on cubieboard: 0.000 s", "storage", "init", "mount", "first-frame"} <= set(texts)
    titles = [r.findtext(f"{SVG}title") or "" for r in top.iter(f"{SVG}rect")]
    assert "kernel: 600 ns" in titles
    waiting = [r for r in top.iter(f"{SVG}rect") if "waiting" in (r.get("class") or "")]
    assert len(waiting) == 1


def test_the_picture_needs_nothing_and_does_nothing() -> None:
    for trace in (SMALL, HOSTILE_TRACE):
        top = svg_of(trace)
        names = {element.tag.removeprefix(SVG) for element in top.iter()}
        assert names <= {"svg", "title", "style", "rect", "text", "line"}
        attributes = {name for element in top.iter() for name in element.attrib}
        assert not any("href" in name or name.startswith("on") for name in attributes)
        style = top.findtext(f"{SVG}style") or ""
        assert "url(" not in style and "@import" not in style and "prefers-color-scheme: dark" in style


def test_a_picture_of_very_many_spans_stays_small() -> None:
    spans = tuple(Span(10 * i, 10 * i + 5, "x") for i in range(100_000))
    data = svg.make(Subject(Trace("t", "c", 1_000_000, (Track("a", "storage", "a", spans),))))
    assert len(data) < 300_000
    bars = [r for r in Xml.fromstring(data).iter(f"{SVG}rect") if r.get("class") == "storage"]
    told = [re.match(r"([0-9]+) spans", r.findtext(f"{SVG}title") or "") for r in bars]
    assert sum(int(m[1]) if m else 1 for m in told) == 100_000


# ---- all of them ----


@settings(max_examples=40)
@given(traces)
def test_any_trace_can_be_written_in_every_text_format(trace: Trace) -> None:
    subject = Subject(trace, failure=trace.clock, facts={trace.title: trace.clock})
    Xml.fromstring(svg.make(subject))
    Xml.fromstring(junit.make(subject))
    check_csv(trace)
    check_markdown(trace)


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda e: e.name)
def test_an_empty_trace_and_a_hostile_one_can_be_exported(exporter: Any) -> None:
    assert exporter.make(Subject(Trace("", "", 0))) or exporter.name in ("collapsed", "grabserial")
    text = exporter.make(Subject(HOSTILE_TRACE, "\x1b[2J", {"\x1b[2J": "\x1b[2J"})).decode("utf-8", "replace")
    if exporter.text:
        assert set(re.findall(r"[^\x20-\x7e\u00a0-\ud7ff\ue000-\uffff]", text)) <= set("\n\r")


def test_console_lines_are_read_back_from_grabserials_form() -> None:
    said = [(1_500_000, "U-Boot SPL 2025.01"), (2_000_000_000, "[    0.000000] Linux\x1b version")]
    points = (*(Point(at_ns, text, "line") for at_ns, text in said), Point(7, "init", "milestone"))
    trace = Trace("a boot", "host", 2_000_000_000, (), points, (), (), ())
    text = grabserial.make(Subject(trace)).decode()
    assert text.splitlines()[0] == "[0.001500 0.001500] U-Boot SPL 2025.01"
    assert text.splitlines()[1].startswith("[2.000000 1.998500] [    0.000000] Linux")
    assert "\x1b" not in text
    reading = registry.reader("grabserial").read(Source("x", text.encode()), Options())
    assert [at_ns for at_ns, _ in reading.boots[0].log] == [at_ns for at_ns, _ in said]
