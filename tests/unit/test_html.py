# SPDX-License-Identifier: Apache-2.0
"""The HTML report: nothing from a target is ever markup, and nothing comes from a network."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from bootscope.analysis.views import View, view
from bootscope.capture import record
from bootscope.capture.store import Store
from bootscope.capture.stream import Idle, Record
from bootscope.report.columns import columns
from bootscope.report.html import render
from bootscope.timeline.trace import Point, Span, Stack, StackAt, Table, Trace, Track

from .builders import KERNEL_SECTOR, card_read, hook, keep_run, typed
from .traces import HOSTILE_TRACE, SMALL, traces

HOSTILE = [
    b"</script><script>alert(1)</script>",
    b"<img src=x onerror=alert(2)>",
    b"<!-- --!> ]]> <![CDATA[",
    b"\x1b[2J\x1b]8;;http://evil.example/\x07link\x1b]8;;\x07",
    b"\0\x08\x7f\x9b31m \xff\xfe",
    "\u202egnp.exe \u2028 {{ 7*7 }} {% raw %}".encode(),
    b"' onmouseover='alert(3)\" autofocus onfocus=\"alert(4)",
    b"&lt;script&gt; &amp;",
    b"U-Boot SPL 2025.01 </code><b>bold</b>",
]


class Page(HTMLParser):
    """What a browser would make of the report: elements with attributes, text, data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.data: list[str] = []
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._in = "data" if ("type", "application/json") in attrs else tag

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        {"": self.text, "data": self.data}.get(self._in, []).append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def view_of(tmp_path: Path, lines: list[bytes]) -> View:
    """A boot that printed these lines, ran programs named like them, and did everything else once."""
    records: list[Record] = [
        hook(0, "uboot.start"),
        *card_read(1_000, KERNEL_SECTOR, 5120),
        *typed(b"".join(line + b"\r\n" for line in lines), 2_000),
        hook(3_000, "kernel.start"),
        Idle(9_000, 5_000),
        hook(9_000, "kernel.init", text=b"/sbin/init"),
        *(hook(10_000 + at, "exec", 1, text=line[:60]) for at, line in enumerate(lines)),
        hook(20_000, "application.start", text=b"testcard"),
    ]
    store = Store(tmp_path / "store")
    return view(store, store.load(keep_run(store, records)))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    return render([view_of(tmp_path_factory.mktemp("hostile"), HOSTILE)])


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> str:
    return render([view_of(tmp_path_factory.mktemp("harmless"), [b"hello"] * len(HOSTILE))])


def data_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(data) for data in Page(text).data]


def test_hostile_text_adds_no_element_and_no_attribute(hostile: str, harmless: str) -> None:
    bad, good = Page(hostile), Page(harmless)

    def kinds(page: Page) -> set[tuple[str, tuple[str, ...]]]:
        return {(tag, tuple(attributes)) for tag, attributes in page.elements}

    assert kinds(bad) - kinds(good) <= {("p", ("class",)), ("b", ()), ("code", ())}
    assert bad.count("script") == good.count("script") == 2
    assert bad.count("img") == good.count("img") == 0
    assert not any(name.startswith("on") for _, attributes in bad.elements for name in attributes)


def test_hostile_text_is_shown_as_text(hostile: str) -> None:
    shown = "".join(Page(hostile).text)
    assert "</script><script>alert(1)</script>" in shown
    assert "<img src=x onerror=alert(2)>" in shown
    assert "{{ 7*7 }} {% raw %}" in shown
    assert "&lt;script&gt; &amp;" in shown


@pytest.mark.parametrize(
    "mark", ["<script>alert", "<img", "</script><script>", "onerror=alert(2)>", "<![CDATA["]
)
def test_nothing_hostile_stands_unescaped(hostile: str, mark: str) -> None:
    assert mark not in hostile


def test_no_control_character_is_in_the_file(hostile: str) -> None:
    assert set(re.findall(r"[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\U0010ffff]", hostile)) <= {"\t"}
    assert not set(hostile) & {"\u202e", "\u2028"}
    assert "\\x1b[2J" in hostile
    assert "\\x00\\x08" in hostile
    hostile.encode()


def names_of(data: dict[str, Any]) -> dict[str, list[str]]:
    """Track -> the names of its spans."""
    return {t["title"]: [data["texts"][n] for n in t["name"]] for t in data["tracks"]}


def test_the_data_element_is_json_and_holds_the_tracks(hostile: str) -> None:
    (data,) = data_of(hostile)
    tracks = names_of(data)
    assert tracks["phases"][-1] == "application"
    assert {"phases", "storage", "console"} <= set(tracks)
    assert tracks["console"][0] == "</script><script>alert(1)</script>"
    assert len(tracks["console"]) == len(HOSTILE)
    assert all(text.isprintable() for text in data["texts"])
    assert data["milestones"][-1][0] in ("application", "app-ready")


def test_nothing_comes_from_a_network(harmless: str, hostile: str) -> None:
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", harmless)
    for text in (harmless, hostile):
        for _, attributes in Page(text).elements:
            for name in ("src", "href", "action", "data", "srcset"):
                assert (attributes.get(name) or "#").startswith(("#", "data:"))
        assert "default-src 'none'" in text


def test_hostile_names_in_the_description_are_text_too(tmp_path: Path) -> None:
    v = view_of(tmp_path, [b"hello"])
    path = v.run.path / "run.json"
    bad = "</title></script><script>alert(5)</script>"
    info = msgspec.json.decode(path.read_bytes())
    info["system"].update(name=bad, title=bad, command_line=bad, extents=[
        {"name": bad, "sector": KERNEL_SECTOR, "sectors": 100}])  # fmt: skip
    info["board"]["title"] = info["build_id"] = info["until"] = info["tools"][bad] = bad
    info["host"] = {bad: bad}
    info["parts"] = [{"name": bad, "step_id": bad, "sha256": bad, "size_bytes": 1}]
    path.write_bytes(msgspec.json.encode(info))
    boot = msgspec.structs.replace(v.boot.info, message=bad, ended="died")
    record.write_json(v.boot.path / record.BOOT, boot)
    store = Store(tmp_path / "store")
    text = render([view(store, store.load(v.run.info.run_id))])
    assert "<script>alert(5)" not in text
    assert text.count("</title>") == 1
    assert Page(text).count("script") == 2
    (data,) = data_of(text)
    assert names_of(data)["storage"][0].endswith(bad)


def test_several_boots_have_a_section_and_data_each(tmp_path: Path) -> None:
    views = [view_of(tmp_path / str(number), [b"hello"]) for number in range(3)]
    page = Page(render(views))
    assert [attributes["id"] for tag, attributes in page.elements if tag == "article"] == [
        "boot1",
        "boot2",
        "boot3",
    ]
    assert len(page.data) == 1  # the others are packed


def unpacked(text: str, part: str) -> list[str]:
    """The packed parts of a page, as they are once they were put into it; equal ones are there once."""
    found = re.findall(rf'class="packed" data-part="{part}"[^>]*>([^<]+)</script>', text)
    return [gzip.decompress(base64.b64decode(each)).decode() for each in found]


def test_a_packed_boot_holds_what_an_open_one_does_and_nothing_hostile(tmp_path: Path) -> None:
    boots = [view_of(tmp_path / name, lines) for name, lines in (("good", [b"hello"]), ("bad", HOSTILE))]
    text = render([*boots, boots[1]])
    assert text == render([*boots, boots[1]])
    (data,) = map(json.loads, unpacked(text, "data"))
    texts = data_of(text)[0]["texts"]
    assert names_of({**data, "texts": texts})["console"][0] == "</script><script>alert(1)</script>"
    first, second = unpacked(text, "rest")
    for rest in (first, second):
        assert "<script>alert" not in rest
        assert "{{ 7*7 }} {% raw %}" in "".join(Page(rest).text)
        assert not any(name.startswith("on") for _, attributes in Page(rest).elements for name in attributes)
    assert 'data-part="data" data-same="2"' in text


def test_a_boot_of_which_nothing_was_recorded_can_be_shown(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    run_id = keep_run(store, [])
    (data,) = data_of(render([view(store, store.load(run_id))]))
    assert names_of(data)["phases"] == ["rom"]


# ---- a trace, with and without a recording ----


def spans_of(data: dict[str, Any], number: int) -> list[tuple[int, int, str, dict[str, Any]]]:
    """Start, end, name and details of a track's spans, as the page reads them."""
    track, texts = data["tracks"][number], data["texts"]
    at, value, found = 0, 0, []
    for index, (start, length, name) in enumerate(
        zip(track["start"], track["length"], track["name"], strict=True)
    ):
        at += start
        labels = track["shapes"][track["shape"][index] if track["shape"] else 0]
        values = track["values"][value : value + len(labels)]
        value += len(labels)
        detail = {k[1:]: v if k[0] == "#" else texts[v] for k, v in zip(labels, values, strict=True)}
        found.append((at, at + length, texts[name], detail))
    assert value == len(track["values"])
    return found


def test_the_columns_hold_what_the_trace_holds() -> None:
    data = msgspec.json.decode(msgspec.json.encode(columns(SMALL)))
    assert [t["title"] for t in data["tracks"]] == ["phases", "initcalls", "storage", "init", "mount", "pins"]
    for number, track in enumerate(SMALL.tracks):
        assert spans_of(data, number) == [(s.start_ns, s.end_ns, s.name, dict(s.detail)) for s in track.spans]
    assert data["milestones"] == [["kernel-entry", 400], ["first-frame", 1000]]
    assert data["tracks"][4]["parent"] == data["tracks"][3]["id"]


def test_the_flame_graph_is_a_tree_with_parents_first() -> None:
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(columns(SMALL)))
    flame = data["flame"]
    paths: list[tuple[str, ...]] = []
    for parent, name in zip(flame["parent"], flame["name"], strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), data["texts"][name]))
    assert {path: ns for path, ns in zip(paths, flame["self"], strict=True) if ns} == {
        stack.frames: stack.ns for stack in SMALL.stacks if stack.ns
    }


def test_times_that_javascript_cannot_count_are_moved_to_zero() -> None:
    epoch = 1_790_000_000 * 10**9
    track = Track("a", "other", "a", (Span(epoch + 5, epoch + 9, "x"),))
    data: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(columns(Trace("t", "c", epoch + 9, (track,))))
    )
    assert spans_of(data, 0) == [(0, 4, "x", {})]
    assert (data["total_ns"], data["origin_ns"]) == (4, str(epoch + 5))


@settings(max_examples=40)
@given(traces)
def test_any_trace_gives_a_page(trace: Trace) -> None:
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(columns(trace)))
    assert sum(len(t["start"]) for t in data["tracks"]) == sum(len(t.spans) for t in trace.tracks) + sum(
        p.kind != "milestone" for p in trace.points
    )
    for number in range(len(data["tracks"])):
        assert all(0 <= start <= end for start, end, _, _ in spans_of(data, number))


def test_a_hostile_trace_alone_is_a_page_without_markup_of_its_own() -> None:
    text = render([HOSTILE_TRACE])
    assert "<script>alert" not in text
    assert "onload=" not in "".join(f" {n}=" for _, a in Page(text).elements for n in a)
    assert Page(text).count("script") == 2
    assert set(re.findall(r"[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\U0010ffff]", text)) <= {"\t"}


def test_tables_are_shown_and_a_long_one_says_that_it_goes_on() -> None:
    rows = (("a<b", 1_234_567_890, 1200), *((None, n, n) for n in range(1500)))
    text = render([Trace("t", "c", 1, tables=(Table("blame", ("unit", "time_ns", "bytes"), rows),))])
    assert '<td class="text">a&lt;b</td><td>1,234.568</td><td>1,200</td>' in text
    assert "<th>time ms</th><th>bytes</th>" in re.sub(r"<th [^>]*>", "<th>", text)
    assert "and 501 more rows" in text


def test_the_lines_of_an_imported_log_are_listed_with_their_phase() -> None:
    phases = Track("ph", "phase", "phases", (Span(10, 50, "kernel"),))
    points = (Point(5, "U-Boot <x>", "line"), Point(20, "Linux", "line"))
    text = render([Trace("t", "c", 100, (phases,), points)])
    assert "<td>0.000000</td><td>0 ns</td><td></td>" in text.replace(' class="slow"', "")
    assert "<code>U-Boot &lt;x&gt;</code>" in text
    assert re.search(r"15 ns</td><td>kernel</td><td class=.text.><code>Linux</code>", text)


def test_a_log_too_long_for_a_page_is_left_out_and_that_is_said() -> None:
    points = tuple(Point(n, "x", "line") for n in range(100_001))
    text = render([Trace("t", "c", 1, points=points)])
    assert len(text) < 200_000
    assert "100,001 console lines are left out of this page" in text


def test_samples_of_the_stack_are_stretches_of_one_path() -> None:
    outer, inner = ("kernel", "init", "f"), ("kernel", "init", "f", "g")
    moments = [(100, outer), (110, outer), (120, inner), (130, outer), (190, outer)]
    sampled = tuple(StackAt(at_ns, frames) for at_ns, frames in moments)
    flame = columns(Trace("t", "c", 200, stacks=(Stack(outer, 40), Stack(inner, 20)), sampled=sampled))[
        "flame"
    ]
    assert isinstance(flame, dict)
    # The third node is f, the fourth g within it. From 150 to 190 nothing was sampled: no code ran.
    assert flame["samples"] == {"start": [100, 20, 10, 60], "length": [20, 10, 20, 10], "node": [2, 3, 2, 2]}


def test_one_sample_tells_no_length() -> None:
    flame = columns(Trace("t", "c", 100, sampled=(StackAt(5, ("kernel",)),)))["flame"]
    assert isinstance(flame, dict)
    assert flame["samples"] is None
