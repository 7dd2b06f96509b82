# SPDX-License-Identifier: Apache-2.0
"""Traces that the tests of exports and of the report build by hand or let hypothesis make up."""

from __future__ import annotations

from hypothesis import strategies as st

from bootscope.timeline.trace import Point, Span, Stack, Table, Trace, Track

HOSTILE = (
    "</title></script><script>alert(1)</script>",
    "]]> <![CDATA[ <!-- --> &lt; & ' \" onload=alert(2)",
    "\x1b[31m\x00\x08\x7f\ud800\udfff\u202e\u2028\ufffe",
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    "+1;-1",
    "| a | b | `x` **y** [z](http://evil.example) @root #1 www.evil.example",
    '\\" } 1\nfoo 2',
    "a;b;c 12",
    "",
    "x" * 5000,
)

SMALL = Trace(
    title="stock on cubieboard",
    clock="board time from power-on",
    total_ns=1_000,
    tracks=(
        Track("phases", "phase", "phases", (Span(0, 400, "spl"), Span(400, 1000, "kernel"))),
        Track(
            "initcalls",
            "initcall",
            "initcalls",
            (
                Span(450, 900, "kernel_init", {"level": 6}),
                Span(500, 600, "mmc_init", {"level": 6, "cost_ns": 50}),
                Span(600, 600, "nothing"),
                Span(700, 900, "net_init"),
            ),
        ),
        Track(
            "storage",
            "storage",
            "storage",
            (Span(100, 300, "read A", {"bytes": 512}), Span(200, 400, "read B", {"bytes": 1024})),
            overlaps=True,
        ),
        Track("p1", "process", "init", (Span(900, 1000, "running", {"pid": 1}),)),
        Track("p7", "process", "mount", (Span(950, 990, "waiting for disk", {"pid": 7}),), parent="p1"),
    ),
    points=(
        Point(1000, "first-frame", "milestone"),
        Point(400, "kernel-entry", "milestone", 5),
        Point(410, "PB8 high", "pin"),
    ),
    stacks=(
        Stack(("kernel", "initcall kernel_init", "do_mount"), 300),
        Stack(("kernel", "idle"), 200),
        Stack(("spl",), 400),
        Stack(("kernel", "nothing"), 0),
    ),
    notes=("a note",),
)

HOSTILE_TRACE = Trace(
    title=HOSTILE[0],
    clock=HOSTILE[1],
    total_ns=100,
    tracks=(
        Track(
            "phases",
            "phase",
            HOSTILE[2],
            tuple(Span(i, i + 1, t, {t: t, "n": 1 << 70}) for i, t in enumerate(HOSTILE)),
        ),
        *(Track(t, t, t, (Span(-5, 1 << 66, t, {"pid": t, "bytes": -1}),), parent=t) for t in HOSTILE),
        *(
            Track(f"p{i}", "process", t, (Span(9, 3, t, {"pid": 1}),), parent="phases")
            for i, t in enumerate(HOSTILE)
        ),
    ),
    points=tuple(Point(i - 3, t, k) for i, t in enumerate(HOSTILE) for k in ("milestone", "line", t)),
    stacks=tuple(Stack((t, *HOSTILE), 7) for t in HOSTILE),
    tables=(Table(HOSTILE[0], HOSTILE, (HOSTILE,)),),
    notes=HOSTILE,
)

_names = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8))
_times = st.integers(-50, 50)
_details = st.dictionaries(_names, st.one_of(_names, st.integers(-(1 << 70), 1 << 70)), max_size=2)
_spans = st.builds(Span, _times, _times, _names, _details)
_tracks = st.builds(
    Track,
    st.sampled_from("abcd"),
    st.sampled_from(("phase", "process", "storage", "other")),
    _names,
    st.lists(_spans, max_size=12).map(tuple),
    st.booleans(),
    st.sampled_from(("", "a", "b", "c", "z")),
)

traces = st.builds(
    Trace,
    _names,
    _names,
    st.integers(0, 100),
    st.lists(_tracks, max_size=4).map(tuple),
    st.lists(st.builds(Point, _times, _names, st.sampled_from(("milestone", "pin"))), max_size=4).map(tuple),
    st.lists(st.builds(Stack, st.lists(_names, max_size=4).map(tuple), st.integers(-5, 50)), max_size=4).map(
        tuple
    ),
)
"""Any trace at all: hostile names, spans in any order that end before they start and overlap in part."""
