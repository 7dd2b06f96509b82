# SPDX-License-Identifier: Apache-2.0
"""A calibration as text for a terminal and as the JSON that docs/json.md documents.

Console lines are untrusted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from bootscope.calibration import result
from bootscope.calibration.result import Calibration, Compared, Figure
from bootscope.core.text import seconds, signed, span, visible
from bootscope.report.boots import counted
from bootscope.report.jsondoc import fields
from bootscope.report.tables import make_table

_LINE_CHARACTERS = 40
_NAMES: dict[str, tuple[str, Callable[[int], str]]] = {
    result.CPU_SCALE: ("CPU time, against the emulator", lambda ppm: f"{ppm / 1e6:.4f}"),
    result.INSTRUCTION: ("an instruction", lambda millicycles: f"{millicycles / 1000:.3f} cycles"),
    result.MEMORY_LATENCY: ("a line out of memory", span),
    result.BANDWIDTH: ("card, bandwidth", lambda rate: f"{rate / 1e6:.2f} MB/s"),
    result.LATENCY: ("card, time of a command", span),
    result.LINE_RATE: ("serial line", lambda rate: f"{rate:,} baud"),
    result.POWER_ON: ("power to first instruction", span),
}


def show(out: Console, found: Calibration, path: str, top: int) -> None:
    """The figures found, how well they fit, and where they do not."""
    boots = counted(len(found.boots))
    of = f"{found.board.name}, core {found.core.name}" if found.core else found.board.name
    head = f"{of}: {boots} against {found.like}, matched by {found.matched} lines"
    out.print(Text(head, "bold"))
    _print_figures(out, found)
    _print_fit(out, found)
    _print_phases(out, found)
    _print_worst(out, found, top)
    for note in found.notes:
        out.print(Text(f"note: {note}", "yellow"))
    core = core_path(Path(path)) if found.core else None
    also = (f" and {core}", f" --core {core}") if core else ("", "")
    wrote = f"wrote {path}{also[0]}; next: bootscope show {found.like} --board {path}{also[1]}"
    out.print(wrote if path else "nothing was written; -o FILE.toml writes a board profile", markup=False)


def core_path(path: Path) -> Path:
    """The path of a core's profile, beside that of its board."""
    return path.with_name(f"{path.stem}-core.toml")


def _print_figures(out: Console, found: Calibration) -> None:
    table = make_table("", ">before", ">now", ">in 19 of 20 cases", ">from", spare=("from", "before"))
    for figure in found.figures:
        name, shown = _NAMES[figure.name]
        now = Text(shown(figure.value), "dim" if figure.how == result.KEPT else "bold")
        table.add_row(name, shown(figure.before), now, _interval(figure), _whence(figure))
    out.print(table)
    for figure in found.figures:
        name = _NAMES[figure.name][0]
        if figure.how == result.KEPT:
            out.print(Text(f"  {name}: cannot be determined from these boots: {figure.why}", "yellow"))
        elif figure.how == result.TOLD:
            out.print(Text(f"  {name}: {figure.why}", "dim"))
        if figure.warning:
            out.print(Text(f"  {name}: {figure.warning}", "yellow"))
    out.print()


def _interval(figure: Figure) -> str:
    shown = _NAMES[figure.name][1]
    if figure.low is None:
        return "-"
    return f"{shown(figure.low)} to {shown(figure.high)}" if figure.high else f"{shown(figure.low)} or more"


def _whence(figure: Figure) -> str:
    if figure.how != result.FITTED:
        return {result.KEPT: "the profile", result.TOLD: "the setting"}[figure.how]
    count = max(1, round(figure.stretches))
    if figure.name == result.POWER_ON:
        return counted(count)
    return f"{count} stretch" if count == 1 else f"{count} stretches"


def _print_fit(out: Console, found: Calibration) -> None:
    before, after = (f"{found.explained_ppm(before=b) / 10_000:.1f} %" for b in (True, False))
    out.print(
        f"{len(found.stretches)} stretches between these lines: {after} of their time is explained, {before} "
        f"before; half of them to {span(found.off_ns(50))}, 95 % to {span(found.off_ns(95))}",
        markup=False,
        soft_wrap=True,
    )
    left = sum(not s.counted for s in found.stretches)
    if left:
        words, them = ("1 stretch is", "it") if left == 1 else (f"{left} stretches are", "them")
        out.print(f"{words} so unlike the emulator that nothing was fitted to {them}", markup=False)
    out.print()


def _print_phases(out: Console, found: Calibration) -> None:
    table = make_table("phase", ">board s", ">before s", ">now s", ">off by", ">")
    for phase, took_ns, before_ns, after_ns in found.phases():
        share = f"{100 * (after_ns - took_ns) / took_ns:+.1f} %" if took_ns > 0 else "-"
        table.add_row(
            phase, seconds(took_ns), seconds(before_ns), seconds(after_ns), signed(after_ns - took_ns), share
        )
    out.print(table)
    out.print()


def _print_worst(out: Console, found: Calibration, top: int) -> None:
    table = make_table("", "phase", ">board", ">now", ">off by", "from", "to", spare=("to", "from"))
    for s in found.worst(top):
        ends = (Text(visible(line, _LINE_CHARACTERS)) for line in (s.first, s.last))
        mark = "" if s.counted else "*"
        table.add_row(mark, s.phase, span(s.took_ns), span(s.after_ns), signed(s.off_ns), *ends)
    out.print("Largest deviations of the emulator (* not fitted):", markup=False)
    out.print(table)


def document(found: Calibration, path: str) -> dict[str, object]:
    """`bootscope calibrate --json`."""
    return {
        "board": found.board.name,
        "core": found.core.name if found.core else None,
        **fields(found, "like", "boots", "lines", "matched"),
        "path": path or None,
        "figures": [
            {
                **fields(f, "name", "before", "value", "low", "high", "how"),
                "stretches": round(f.stretches, 1),
                **fields(f, "why", "warning"),
            }
            for f in found.figures
        ],
        "median_off_ns": found.off_ns(50),
        "p95_off_ns": found.off_ns(95),
        "explained_ppm": found.explained_ppm(),
        "explained_before_ppm": found.explained_ppm(before=True),
        "phases": [
            {"name": phase, "board_ns": took, "before_ns": before, "after_ns": after}
            for phase, took, before, after in found.phases()
        ],
        "stretches": [_stretch(s) for s in found.stretches],
        "notes": found.notes,
    }


def _stretch(s: Compared) -> dict[str, object]:
    return {
        "phase": s.phase,
        "first": visible(s.first),
        "last": visible(s.last),
        "boots": s.boots,
        "board_ns": s.took_ns,
        **fields(s, "before_ns", "after_ns", "counted"),
    }
