# SPDX-License-Identifier: Apache-2.0
"""The HTML report: nothing from a target is ever markup, and nothing comes from a network."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bootscope.capture import record
from bootscope.capture.store import Store
from bootscope.capture.stream import Idle, Record
from bootscope.report.html import render
from bootscope.views import View, view

from .builders import KERNEL_SECTOR, card_read, hook, keep_run, typed

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


def test_the_data_element_is_json_and_holds_the_timeline(hostile: str) -> None:
    (data,) = data_of(hostile)
    assert [phase["name"] for phase in data["phases"]][-1] == "application"
    tracks = {track["name"]: track["spans"] for track in data["tracks"]}
    assert list(tracks) == ["storage", "console", "idle", "programs", "pins"]
    assert len(tracks["console"]) == len(tracks["programs"]) == len(HOSTILE)
    assert tracks["console"][0][2] == "</script><script>alert(1)</script>"
    assert all(text.isprintable() for spans in tracks.values() for _, _, text in spans)
    assert all(start <= end <= data["total_ns"] for spans in tracks.values() for start, end, _ in spans)


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
    assert data["tracks"][0]["spans"][0][2].endswith(bad)


def test_several_boots_have_a_section_and_data_each(tmp_path: Path) -> None:
    views = [view_of(tmp_path / str(number), [b"hello"]) for number in range(3)]
    page = Page(render(views))
    assert [attributes["id"] for tag, attributes in page.elements if tag == "main"] == [
        "boot1",
        "boot2",
        "boot3",
    ]
    assert len(page.data) == 3


def test_a_boot_of_which_nothing_was_recorded_can_be_shown(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    run_id = keep_run(store, [])
    (data,) = data_of(render([view(store, store.load(run_id))]))
    assert [phase["name"] for phase in data["phases"]] == ["rom"]
