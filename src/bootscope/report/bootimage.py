# SPDX-License-Identifier: Apache-2.0
"""An image on the terminal: its content, how it boots, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bootscope.bootimage.partitions import Partition
from bootscope.bootimage.records import (
    Area,
    DeviceTree,
    Initramfs,
    InitramfsPart,
    Kernel,
    Place,
    Symbols,
    Understood,
)
from bootscope.core.errors import printable
from bootscope.core.text import cut, listed, size
from bootscope.report.tables import make_table

_MOST_ROWS = 12
_TABLES = {"gpt": "GPT", "mbr": "MBR"}
_LIKELY = "likely"
_KASLR = {None: "", False: "no", True: "yes: its addresses move, unless its command line has nokaslr"}


def show(out: Console, known: Understood) -> None:
    """Prints all of it."""
    out.print(Text.assemble((_title(known), "bold")))
    _areas(out, known.areas)
    _steps(out, known)
    _kernels(out, known.kernels)
    for one in known.initramfs[:_MOST_ROWS]:
        _initramfs(out, one)
    _device_trees(out, known.device_trees)
    for root in known.roots:
        place = _place(root.place)
        modules = f", modules for {listed(root.modules)}" if root.modules else ""
        told = f"root file system in {place}: {root.system or root.kind}, {root.init or 'no init'}"
        out.print(Text(printable(f"{told}, for {root.architecture or 'an unknown CPU'}{modules}")))
    _entries(out, known)
    for fit in known.boards:
        verdict = {True: "fits", False: "does not fit", None: "may fit"}[fit.fits]
        out.print(Text(printable(f"board {fit.board}: {verdict}: {fit.why}")))
    for note in known.notes:
        out.print(Text(f"note: {printable(note)}", "yellow"))
    for problem in known.problems:
        out.print(Text(f"problem: {printable(problem)}", "red"))


def _title(known: Understood) -> str:
    table = f", {_TABLES.get(known.table, known.table)}" if known.table else ""
    layers = f", packed: {', then '.join(known.layers)}" if known.layers else ""
    wanted = f", for {known.architecture}" if known.architecture else ", for an unknown CPU"
    count = f", {size(known.size_bytes)}" if known.size_bytes else ""
    return printable(f"{known.name}: {known.kind}{count}{layers}{table}{wanted}")


def _place(place: Place) -> str:
    at = f" at {place.at_bytes:#x}" if place.at_bytes and not place.path else ""
    return printable(f"{place.volume} {place.path}".strip() + at)


# ---- content ----


def _areas(out: Console, areas: Sequence[Area]) -> None:
    if not areas:
        return
    table = make_table("=where", ">from", ">size", "table says", "holds", header_style="bold")
    for area in areas:
        part, system = area.partition, area.filesystem
        holds = system.kind if system else "no file system" if not part or part.type != "extended" else ""
        if system and system.label:
            holds += f" “{system.label}”"
        said = _said(part) if part else ""
        where = (size(part.start_bytes), size(part.size_bytes)) if part else ("", "")
        table.add_row(printable(area.volume), *where, Text(printable(said)), Text(printable(holds)))
    out.print(table)
    for area in areas:
        for note in (*area.notes, *(area.filesystem.notes if area.filesystem else ())):
            out.print(Text(printable(f"{area.volume}: {note}"), "yellow"))


def _said(part: Partition) -> str:
    name = f" “{part.name}”" if part.name else ""
    return f"{part.type}{name}{', active' * part.bootable}"


def _kernels(out: Console, kernels: Sequence[Kernel]) -> None:
    for kernel in kernels:
        packed = f", {', then '.join(kernel.compressions)}" if kernel.compressions else ""
        unpacked = f", unpacked {size(kernel.unpacked_bytes)}" if packed and kernel.unpacked_bytes else ""
        form = f"{' in '.join(reversed(kernel.forms))}{packed}, {size(kernel.size_bytes)}{unpacked}"
        title = f"kernel {_place(kernel.place)}: {kernel.version or 'version unknown'}"
        out.print(Text(printable(f"{title}, {kernel.architecture or 'CPU unknown'}, {form}")))
        rows = [
            ("banner", kernel.banner and f"Linux version {kernel.banner}"),
            ("symbols", _symbols(kernel.symbols)),
            ("build id", kernel.build_id),
            ("debug files", ", ".join(kernel.debug_files)),
            ("configuration", kernel.config or "not found: KASLR may be on or off"),
            ("KASLR", _KASLR[kernel.kaslr]),
            ("built-in command line", kernel.command_line),
            *(("note", note) for note in kernel.notes),
        ]
        for name, text in rows:
            if text:
                out.print(Text(f"  {name}: {cut(printable(text), 300)}", "dim"))


def _symbols(known: Symbols) -> str:
    note = f" ({known.note})" if known.note else ""
    if not known.source:
        return f"none{note}"
    form = f", addresses {known.form}" if known.form else ""
    named = known.path.rpartition("/")[2] != known.source
    where = f" {known.path}" * named if known.path else " in the kernel"
    return f"{known.count:,} from {known.source}{where}, {known.functions:,} of them functions{form}{note}"


def _initramfs(out: Console, one: Initramfs) -> None:
    parts = "; ".join(_part(part) for part in one.parts)
    out.print(Text(printable(f"initramfs {_place(one.place)}: {size(one.size_bytes)}: {parts}")))
    out.print(Text(printable(f"  starts {one.init}"), "dim"))
    for note in one.notes:
        out.print(Text(f"  note: {printable(note)}", "yellow"))


def _part(part: InitramfsPart) -> str:
    how = f"cpio, {part.compression}, unpacked {size(part.unpacked_bytes)}" if part.compression else "cpio"
    return f"{how}, {part.files:,} {'entries' if part.what == 'files' else f'entries: {part.what}'}"


def _device_trees(out: Console, trees: Sequence[DeviceTree]) -> None:
    for tree in trees[:_MOST_ROWS]:
        memory = ", ".join(f"{size(count)} at {at:#x}" for at, count in tree.memory)
        words = f", bootargs {tree.command_line}" if tree.command_line else ""
        told = f"{tree.model or 'no model'} ({', '.join(tree.compatible)})"
        words += f", memory {memory}" if memory else ""
        out.print(Text(printable(f"device tree {_place(tree.place)}: {told}{words}")))
    if len(trees) > _MOST_ROWS:
        out.print(Text(f"and {len(trees) - _MOST_ROWS} more device trees (--json lists them)", "dim"))


# ---- how it boots ----


def _steps(out: Console, known: Understood) -> None:
    if known.steps:
        table = make_table(">", "how it boots", "seen in", "=", header_style="bold")
        for number, step in enumerate(known.steps, 1):
            row = (Text(printable(step.what)), Text(printable(step.why)), "" if step.sure else _LIKELY)
            table.add_row(str(number), *row)
        out.print(table)
    if known.command_line:
        out.print(Text(printable(f"command line: {known.command_line}")))
        out.print(Text(printable(f"  from {known.command_line_from}"), "dim"))
    elif known.kernels:
        told = any(kernel.config for kernel in known.kernels)
        built_in = "" if told else "; one built into the kernel cannot be seen"
        out.print(Text(f"command line: not found{built_in}"))
    if not known.entries:
        for name, value in known.environment.items():
            out.print(Text(printable(f"U-Boot's {name}: {cut(value, 200)}"), "dim"))


def _entries(out: Console, known: Understood) -> None:
    if len(known.entries) < 2:
        return
    table = make_table("menu entry", "kernel", "<command line", "=", header_style="bold")
    for entry in known.entries[:_MOST_ROWS]:
        menu = entry.menu
        title = Text(printable(menu.title or menu.path))
        words = Text(printable(menu.command_line))
        table.add_row(title, Text(printable(menu.kernel)), words, "default" if menu.chosen else "")
    out.print(table)
    if len(known.entries) > _MOST_ROWS:
        out.print(Text(f"and {len(known.entries) - _MOST_ROWS} more entries (--json lists them)", "dim"))
