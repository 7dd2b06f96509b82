# SPDX-License-Identifier: Apache-2.0
"""U-Boot's bootstage: the report on the console, and the records as it hands them on, in the device tree
or in memory."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from bootscope.readers import fdt
from bootscope.readers.base import Boot, Clock, FormatError, Options, Reader, Reading, Source
from bootscope.readers.marks import place_marks
from bootscope.readers.tally import Tally, sample, share
from bootscope.timeline.trace import Table

TEXT, STASH, TREE, FOLDER = "bootstage", "bootstage-stash", "bootstage-fdt", "bootstage-folder"

# ---- records, however they came

_WRAP_US = 1 << 32
"""A record's time is a word of 32 bits in the device tree, and on 32-bit boards everywhere: it starts
anew after 71.6 minutes."""
_LARGEST_US = 1 << 52


@dataclass(frozen=True, slots=True)
class _Record:
    """A mark (`time_us` since the timer's zero), or with `summed` a time that was added up."""

    name: str
    time_us: int
    summed: bool = False


def _boot_of(records: list[_Record], tally: Tally, options: Options) -> Boot:
    """One boot of `records` in the order in which U-Boot made them."""
    counter = options.values.get("counter_id", "")
    zero = "the zero of U-Boot's timer; its record 'reset' is set to it and is not the power-on"
    boot = Boot(Clock("counter", zero, 1_000, counter_id=counter), facts={"tool": "U-Boot bootstage"})
    if not counter:
        tally.ask(
            "which counter U-Boot's timer is: counter_id=arm-generic if it is ARM's generic counter "
            "(all 64-bit boards), so that TF-A's stamps are on the same clock"
        )
    marks = _unwrapped([r for r in records if not r.summed], tally)
    place_marks(boot, marks, "bootstage", "U-Boot's stages")
    summed = tuple((r.name, min(r.time_us, _LARGEST_US) * 1_000) for r in records if r.summed)
    if summed:
        boot.tables.append(Table("accumulated time", ("what", "time ns"), summed))
    return boot


def _unwrapped(marks: list[_Record], tally: Tally) -> list[tuple[int, str]]:
    placed: list[tuple[int, str]] = []
    last_us = turns_us = 0
    for number, record in enumerate(marks, 1):
        time_us = min(record.time_us, _LARGEST_US)
        if time_us + turns_us < last_us - _WRAP_US // 2 and time_us < _WRAP_US and turns_us < _LARGEST_US:
            turns_us += _WRAP_US
            tally.repair("the 32-bit timer wrapped after 71.6 minutes", number)
        elif time_us + turns_us < last_us:
            tally.repair("the clock went back", number)
        last_us = time_us + turns_us
        placed.append((last_us * 1_000, record.name))
    return placed


# ---- the report

_STAMP = r"(?:\[[^\]\n]{1,60}\] {0,2})?"
_NUMBER = r"(\d{1,3}(?:,\d{3}){0,6})"
_TITLE = re.compile(rf"{_STAMP}Timer summary in microseconds \((\d{{1,9}}) records\):?")
_MARK = re.compile(rf"{_STAMP} {{0,11}}{_NUMBER} {{0,10}}{_NUMBER}  (\S.{{0,200}})")
_SUMMED = re.compile(rf"{_STAMP} {{10,24}}{_NUMBER}  (\S.{{0,200}})")
_AROUND = re.compile(rf"{_STAMP}(?: +Mark +Elapsed +Stage|Accumulated time:) *")
_OVERFLOW = re.compile(
    rf"{_STAMP}Overflowed internal boot id table by (\d{{1,9}}) entries|Please increase CONFIG_"
)
_FITS = re.compile(
    rb"(?:\[[^\]]{1,60}\] {0,2})?(?:Timer summary in microseconds| +Mark +Elapsed +Stage|Accumulated time:"
    rb"| *[\d,]{1,30} *[\d,]{1,30}  \S)"
)


class _Report:
    """Reads the lines of a console log with one or more reports in it."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._inside = self._summed = False
        self.reports: list[list[_Record]] = []

    def take(self, number: int, line: str) -> bool:
        fits = self._fits(number, line)
        if not fits and line.strip():
            self._inside = False
        return fits

    def _fits(self, number: int, line: str) -> bool:
        if _TITLE.match(line):
            self._inside, self._summed = True, False
            self.reports.append([])
            return True
        if not self._inside:
            return False
        if _AROUND.fullmatch(line):
            self._summed = "Accumulated" in line
            return True
        if _OVERFLOW.match(line):
            self._tally.repair("U-Boot had no room for all records: " + line.strip()[-60:], number)
            return True
        return self._record(line)

    def _record(self, line: str) -> bool:
        summed = _SUMMED.fullmatch(line) if self._summed else None
        mark = None if self._summed else _MARK.fullmatch(line)
        if summed:
            self.reports[-1].append(_Record(summed[2], _us(summed[1]), summed=True))
        elif mark:
            self.reports[-1].append(_Record(mark[3], _us(mark[1])))
        return bool(summed or mark)

    def boots(self) -> list[list[_Record]]:
        """One list for each boot: a later report of the same boot repeats the marks of the one before."""
        kept: list[list[_Record]] = []
        for report in self.reports:
            marks = [r for r in report if not r.summed]
            before = [r for r in kept[-1] if not r.summed] if kept else []
            if before and marks[: len(before)] == before:
                kept[-1] = report
            else:
                kept.append(report)
        return kept


def _us(text: str) -> int:
    return int(text.replace(",", ""))


def _sure_text(source: Source) -> int:
    if b"Timer summary in microseconds (" not in source.head:
        return 0
    return max(12, share(sample(source), _FITS))


def _read_text(source: Source, options: Options) -> Reading:
    tally = Tally()
    report = _Report(tally)
    repairs = tally.lines(source, TEXT, "bootstage report", report.take)
    boots = [_boot_of(records, tally, options) for records in report.boots()]
    return tally.reading(boots, repairs)


# ---- the stash in memory

_MAGIC = 0xB00757A3
_HEADER_BYTES = 20
_MAX_RECORDS = 10_000
_NAME = re.compile(rb"[ -~]{1,199}")
# Layout of a record by the width of a pointer: bytes, and a struct of time, start, flags, id.
_LAYOUTS = {4: (20, "II4xiI"), 8: (32, "QI4x8xiI")}


def _stash_order(data: bytes) -> str:
    """`<` or `>` when `data` begins with a stash, else nothing."""
    for order in "<>":
        if len(data) >= _HEADER_BYTES and struct.unpack_from(f"{order}I", data, 12)[0] == _MAGIC:
            return order
    return ""


def _sure_stash(source: Source) -> int:
    return 98 if _stash_order(source.head) else 0


def _read_stash(source: Source, options: Options) -> Reading:
    order = _stash_order(source.data)
    if not order:
        raise FormatError(source.name, STASH, 1, "no magic number 0xb00757a3 at byte 12")
    version, count, size, _, _ = struct.unpack_from(f"{order}5I", source.data)
    if version != 0:
        raise FormatError(source.name, STASH, 1, f"version {version} of the stash is not known")
    tally = Tally()
    if size > len(source.data) or count > _MAX_RECORDS:
        tally.repair(f"the stash declares {size:,} bytes, there are {len(source.data):,}", 1)
    data = source.data[: size or len(source.data)]
    for width, (record_bytes, layout) in _LAYOUTS.items():
        names = data[_HEADER_BYTES + count * record_bytes :].split(b"\0")
        if count <= _MAX_RECORDS and len(names) == count + 1 and all(map(_NAME.fullmatch, names[:-1])):
            records = _stash_records(data, f"{order}{layout}", record_bytes, names)
            tally.understood = count
            boot = _boot_of(records, tally, options)
            boot.facts["layout"] = f"{8 * width}-bit, {'little' if order == '<' else 'big'}-endian"
            return tally.reading([boot])
    raise FormatError(source.name, STASH, 1, "its names match neither 32-bit nor 64-bit records")


def _stash_records(data: bytes, layout: str, record_bytes: int, names: list[bytes]) -> list[_Record]:
    records = []
    for index, name in enumerate(names[:-1]):
        time_us, start_us, _, _ = struct.unpack_from(layout, data, _HEADER_BYTES + index * record_bytes)
        records.append(_Record(name.decode("ascii"), time_us, summed=start_us != 0))
    return records


# ---- the device tree, as a blob and as the folder that Linux makes of it

_MEMBER = re.compile(r"(?:.{0,4000}/)?bootstage/(\d{1,6})/(name|mark|accum)")


def _sure_tree(source: Source) -> int:
    if not source.data.startswith(fdt.MAGIC):
        return 0
    return 97 if b"bootstage" in source.data else 30


def _read_tree(source: Source, options: Options) -> Reading:
    try:
        root = fdt.parse(source.data)
    except (fdt.BadTree, ValueError) as error:
        raise FormatError(source.name, TREE, 1, str(error)) from None
    node = root.child("bootstage")
    if node is None:
        raise FormatError(
            source.name, TREE, 1, "the device tree has no node /bootstage (CONFIG_BOOTSTAGE_FDT)"
        )
    reading = _of_nodes({child.name: child.properties for child in node.children}, options)
    facts = {"machine": root.text("model"), "compatible": root.text("compatible")}
    chosen = root.child("chosen")
    if chosen:
        facts |= {"command line": chosen.text("bootargs"), "U-Boot": chosen.text("u-boot,version")}
    reading.boots[0].facts.update({name: value for name, value in facts.items() if value})
    return reading


def _nodes_of(members: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    nodes: dict[str, dict[str, bytes]] = {}
    for path, data in members.items():
        found = _MEMBER.fullmatch(path)
        if found:
            nodes.setdefault(found[1], {})[found[2]] = data
    return nodes


def _sure_folder(source: Source) -> int:
    return 97 if _nodes_of(source.members) else 0


def _read_folder(source: Source, options: Options) -> Reading:
    nodes = _nodes_of(source.members)
    if not nodes:
        raise FormatError(source.name, FOLDER, 1, "there are no files bootstage/NUMBER/mark in it")
    return _of_nodes(nodes, options)


def _of_nodes(nodes: Mapping[str, Mapping[str, bytes]], options: Options) -> Reading:
    """The records of nodes called 0, 1, ...: U-Boot writes the last record first."""
    tally = Tally()
    ordered = sorted(nodes.items(), key=lambda node: _index(node[0]))
    records: list[_Record] = []
    for number, (ident, properties) in enumerate(reversed(ordered), 1):
        kind = "accum" if "accum" in properties else "mark"
        raw, name = properties.get(kind, b""), properties.get("name", ident.encode())
        if len(raw) != 4:
            tally.miss(number, f"bootstage/{ident}")
            continue
        tally.understood += 1
        text = name.split(b"\0")[0].decode("utf-8", "backslashreplace")
        records.append(_Record(text, int.from_bytes(raw, "big"), summed=kind == "accum"))
    boot: Boot = _boot_of(records, tally, options)
    return tally.reading([boot])


def _index(ident: str) -> int:
    return int(ident) if ident.isascii() and ident.isdigit() and len(ident) < 10 else -1


READERS = (
    Reader(TEXT, "U-Boot's timer report", "bootstage report", _sure_text, _read_text),
    Reader(STASH, "U-Boot's timer records in memory", "bootstage stash", _sure_stash, _read_stash),
    Reader(TREE, "device tree with U-Boot's timer records", "cat /sys/firmware/fdt", _sure_tree, _read_tree),
    Reader(
        FOLDER,
        "folder of U-Boot's timer records",
        "tar -C /proc/device-tree -cf FILE bootstage",
        _sure_folder,
        _read_folder,
    ),
)
