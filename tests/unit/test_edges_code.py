# SPDX-License-Identifier: Apache-2.0
"""What the little analysers write is what their reader reads: their own code writes it here."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types
from array import array
from pathlib import Path
from typing import Any

import pytest

from bootscope.readers.base import Options, Source
from bootscope.readers.formats.edges import READERS, row

from .builders import ROOT

(EDGES,) = READERS
ANALYSER = ROOT / "native" / "analyser"
WRITER = r"""
#include <stdio.h>
#include "edges.h"

int main(void)
{
    const struct bs_clock clock = {1000, 2000, 50, "GP"};
    const uint8_t pins[] = {2, 3, 4, 5, 6, 7};
    char line[BS_LINE], what;
    unsigned ticks, a, b;

    while (scanf(" %c %u %u %u", &what, &ticks, &a, &b) == 4) {
        size_t length = what == 'e' ? bs_edge(line, &clock, ticks, a, b) :
                what == 'l' ? bs_lost(line, ticks, a) : bs_state(line, &clock, ticks, pins, 6, a >> 2);
        if (line[length] || line[length - 1] != '\n' || length >= BS_LINE)
            return 1;
        fwrite(line, 1, length, stdout);
    }
    return 0;
}
"""
ORDERS = [
    ("s", 80, 0b0000_0100, 0), ("e", 4_294_967_290, 2, 0), ("e", 6, 3, 1), ("l", 9, 4_294_967_295, 0),
    ("s", 4_294_967_295, 0b1111_1100, 0), ("e", 0, 7, 1), ("e", 123_456_789, 6, 0),
]  # fmt: skip


@pytest.fixture(scope="module")
def by_c(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the sketch's code writes for ORDERS."""
    folder = tmp_path_factory.mktemp("edges")
    (folder / "writer.c").write_text(WRITER)
    words = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{ANALYSER / 'arduino'}", "-o"]
    subprocess.run([*words, str(folder / "writer"), str(folder / "writer.c")], check=True)
    text = "".join("{} {} {} {}\n".format(*order) for order in ORDERS)
    done = subprocess.run([str(folder / "writer")], input=text, capture_output=True, text=True, check=True)
    return done.stdout.splitlines(keepends=True)


@pytest.fixture(scope="module")
def pico() -> Any:
    """The Pico's program, with what only MicroPython has put in its place."""
    stand_in = types.ModuleType("micropython")
    stand_in.const = lambda value: value  # type: ignore[attr-defined]
    stand_in.viper = lambda function: function  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("pico_main", ANALYSER / "pico" / "main.py")
    assert spec and spec.loader
    module: Any = importlib.util.module_from_spec(spec)
    module.ptr32 = int
    sys.modules["micropython"] = stand_in
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["micropython"]
    return module


def test_both_analysers_write_the_same(by_c: list[str], pico: Any) -> None:
    write = {"e": pico.edge, "l": lambda t, a, _: pico.lost(t, a), "s": lambda t, a, _: pico.state(t, a)}
    assert by_c == [write[kind](ticks, a, b) for kind, ticks, a, b in ORDERS]


def test_each_line_is_read_as_it_was_meant(by_c: list[str]) -> None:
    for text, (kind, ticks, a, b) in zip(by_c, ORDERS, strict=True):
        line = row(text)
        assert line is not None and line.ticks == ticks
        if kind == "e":
            assert (line.pin, line.level) == (f"GP{a}", b)
        elif kind == "l":
            assert line.lost == a
        else:
            assert line.worth == {"tick_ns": 1000, "resolution_ns": 2000, "ppm": 50, "wrap": 1 << 32}
            assert line.levels == tuple((f"GP{pin}", a >> pin & 1) for pin in range(2, 8))
    assert EDGES.sure(Source("x", "".join(by_c).encode())) > 90


class Stop(Exception):
    """Ends a loop that never ends."""


def test_the_pico_notes_each_change_and_tells_it_once(pico: Any) -> None:
    """Its loop is fed with levels as the chip's registers would show them."""
    shown = [0b0100, 0b0100, 0b1100, 0b1100, 0b1000, 0b1000 | 1 << 20, 0b0000]
    looks = iter(shown)
    now = [100]

    class Inputs:
        def __getitem__(self, index: int) -> int:
            now[0] += 1
            try:
                return next(looks)
            except StopIteration as end:
                raise Stop from end

    class Timer:
        def __getitem__(self, index: int) -> int:
            return now[0]

    ring = array("I", bytes(4 * (1 + 2 * pico.SIZE)))
    with pytest.raises(Stop):
        pico.watch(ring, Inputs(), Timer(), 0b1111_1100, 0b0100)
    written: list[str] = []
    assert pico.taken(ring, 0, 0b0100, written.append) == (3, 0)
    assert "".join(written) == "bs1 103 GP3 1\nbs1 105 GP2 0\nbs1 107 GP3 0\n"
    assert pico.taken(ring, 3, 0, written.append) == (3, 0) and len(written) == 3


def test_the_pico_says_how_many_it_could_not_tell(pico: Any) -> None:
    ring = array("I", bytes(4 * (1 + 2 * pico.SIZE)))
    for count in range(3 * pico.SIZE):
        at = 1 + 2 * (count % pico.SIZE)
        ring[at], ring[at + 1], ring[0] = count, count % 2 << 2, count + 1
    written: list[str] = []
    done, _ = pico.taken(ring, 0, 0, written.append)
    assert done == 3 * pico.SIZE
    told = [text for text in "".join(written).splitlines() if " lost " not in text]
    lost = row(written[0])
    assert lost is not None and lost.lost + len(told) in (3 * pico.SIZE, 3 * pico.SIZE - 1)
    reading = EDGES.read(Source("x", "".join(written).encode()), Options())
    assert not reading.missed and any("lost" in r.what for r in reading.repairs)


def test_the_sketch_names_the_header_beside_it() -> None:
    sketch = (ANALYSER / "arduino" / "arduino.ino").read_text()
    assert '#include "edges.h"' in sketch and Path(ANALYSER / "arduino" / "edges.h").is_file()
    assert all(name in sketch for name in ("bs_edge(", "bs_state(", "bs_lost("))
