# SPDX-License-Identifier: Apache-2.0
"""The call paths of a boot as a flame graph from the top down: width is time, callees are below."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from bootscope.core.errors import UserError
from bootscope.core.text import span
from bootscope.export.collapsed import in_order
from bootscope.export.text import plain
from bootscope.pictures.canvas import SMALL, Canvas
from bootscope.pictures.measure import fit
from bootscope.pictures.subject import Boot
from bootscope.pictures.theme import FLAME_COLOURS
from bootscope.timeline.trace import Trace

DEEPEST = 26
NARROWEST = 2
"""Pixels; narrower frames are not drawn, and neither are their callees."""
_ROW = 19


@dataclass
class _Frame:
    """A frame with all the time seen in it and below."""

    name: str
    ns: int = 0
    inner: dict[str, _Frame] = field(default_factory=dict)


def draw(canvas: Canvas, boot: Boot) -> list[str]:
    """Draws the frames; returns the notes to put below. Raises UserError if the boot has no call paths."""
    root, deeper = _tree(boot.trace)
    if root.ns <= 0:
        raise UserError(
            "this boot has no call paths: its log has none",
            hint="recordings of the emulated board have them, and imported `perf script` output",
        )
    scale = (canvas.right - canvas.left) / root.ns
    canvas.y += 8
    left_out, deepest = 0, 0
    # Frames to draw: (frame, start, row). An explicit stack, since paths may exceed Python's recursion limit.
    todo = [(root, canvas.left, 0)]
    while todo:
        frame, x, row = todo.pop()
        wide = frame.ns * scale
        if wide < NARROWEST:
            left_out += 1
            continue
        deepest = max(deepest, row)
        _frame(canvas, frame, x, row, wide, root.ns)
        for inner in frame.inner.values():
            todo.append((inner, x, row + 1))
            x += inner.ns * scale
    canvas.y += (deepest + 1) * _ROW
    return list(_notes(left_out, deeper))


def _notes(left_out: int, deeper: int) -> list[str]:
    found = [
        "width: time in which a frame was on the stack; rows below: what it called; left to right: phases"
    ]
    if left_out:
        found.append(
            f"{left_out:,} frames narrower than {NARROWEST} pixels are not drawn, nor what they called"
        )
    if deeper:
        found.append(f"{deeper:,} paths are deeper than {DEEPEST} frames: the rest of them is not drawn")
    return found


def _tree(trace: Trace) -> tuple[_Frame, int]:
    """The frames below a common root, and how many paths are deeper than a picture shows."""
    root, deeper = _Frame("all call paths"), 0
    for stack in in_order(trace):
        if stack.ns <= 0 or not stack.frames:
            continue
        frame = root
        frame.ns += stack.ns
        deeper += len(stack.frames) > DEEPEST
        for name in stack.frames[:DEEPEST]:
            frame = frame.inner.setdefault(name, _Frame(name))
            frame.ns += stack.ns
    return root, deeper


def _frame(canvas: Canvas, frame: _Frame, x: float, row: int, wide: float, whole_ns: int) -> None:
    number = zlib.crc32(frame.name.encode("utf-8", "replace")) % FLAME_COLOURS
    colour = "other" if row < 2 else f"flame{number}"
    y, name = canvas.y + row * _ROW, plain(frame.name)
    title = f"{name}: {span(frame.ns)}, {100 * frame.ns / whole_ns:.1f} %"
    name = name if row else title
    canvas.bar(x, y, wide - 0.6, _ROW - 1, colour, title)
    if len(fit(name, wide - 8, SMALL)) > 2:
        canvas.text(x + 4, y + 13, name, size=SMALL, colour=canvas.theme.on(colour), room=wide - 8)
