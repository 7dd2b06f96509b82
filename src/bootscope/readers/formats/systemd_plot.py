# SPDX-License-Identifier: Apache-2.0
"""`systemd-analyze plot` as data: --json=short, --json=pretty, --table."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from bootscope.readers.base import KERNEL, Options, Reader, Reading, Source
from bootscope.readers.lines import split
from bootscope.readers.systemd_units import US_NS, Unit, boot_of_plot, unit_of_times
from bootscope.readers.tally import Tally, sample
from bootscope.readers.timespan import LONGEST_NS, leading_span, span_ns

JSON_NAME = "systemd-plot-json"
TABLE_NAME = "systemd-plot-table"
_MS_NS = 1_000_000
_KEYS = ("name", "activated", "activating", "time", "deactivated", "deactivating")
_MAX_US = LONGEST_NS // US_NS
_BEGIN = re.compile(
    rb'\s*\[\s*\{\s*"name"\s*:\s*"[^"]{1,2000}"\s*,\s*"(?:activated|activating|time)"\s*:\s*\d'
)
_HEADING = re.compile(r"NAME +ACTIVATED +ACTIVATING +TIME +DEACTIVATED +DEACTIVATING *")
_COUNT = re.compile(r"\d{1,9} Units listed\.")
_WORD = re.compile(r"(?<!\S)\S")
_ROW = re.compile(r"(\S{1,1000}) +(\d.*)")


def sure_json(source: Source) -> int:
    return 97 if _BEGIN.match(source.head) else 0


def read_json(source: Source, options: Options) -> Reading:
    tally = Tally()
    entries = _entries(source, tally)
    units = []
    for number, entry in enumerate(entries, 1):
        unit = _unit_of(entry)
        if unit:
            units.append(unit)
            tally.understood += 1
        else:
            tally.miss(number, json.dumps(entry)[:2000])
    tally.require(source, JSON_NAME, split(b""), "a list of units from systemd-analyze plot --json")
    return tally.reading([boot_of_plot(units, KERNEL)])


def _entries(source: Source, tally: Tally) -> list[Any]:
    """The list in the file; of a file that breaks off, the entries before the break.

    systemd 257 prints the count of its table behind the list, which is then no JSON for others.
    """
    text = source.data.decode("utf-8", "backslashreplace").strip()
    try:
        found, end = json.JSONDecoder().raw_decode(text)
        rest = text[end:].strip()
    except (ValueError, RecursionError):
        found, rest = _before_the_break(text, tally), ""
    if not isinstance(found, list):
        tally.miss(1, text[:2000])
        return []
    if _COUNT.fullmatch(rest):
        tally.understood += 1
    elif rest:
        tally.miss(len(found) + 1, rest[:2000])
    return found


def _before_the_break(text: str, tally: Tally) -> object:
    try:
        found = json.loads(f"{text[: text.rfind('}') + 1]}]")
    except (ValueError, RecursionError):
        return None
    tally.repair("the file is truncated: only the units before that", 1)
    return found


def _unit_of(entry: object) -> Unit | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return None
    times = [entry.get(key) for key in _KEYS[1:]]
    if not all(isinstance(t, int) and not isinstance(t, bool) and 0 <= t <= _MAX_US for t in times):
        return None
    by_key = {key: entry[key] * US_NS for key in _KEYS[1:]}
    return unit_of_times(entry["name"], by_key)


def sure_table(source: Source) -> int:
    lines = sample(source)
    if lines and _HEADING.fullmatch(lines[0].decode("latin-1")):
        return 97
    texts = [line.decode("utf-8", "backslashreplace") for line in lines]
    columns = _columns(texts)
    return 90 * sum(_row(text, columns) is not None for text in texts) // max(1, len(texts))


def read_table(source: Source, options: Options) -> Reading:
    lines, tally = split(source.data), Tally()
    texts = list(lines)
    columns = _columns(texts)
    units: list[Unit] = []
    for number, text in enumerate(texts, 1):
        if unit := _row(text, columns):
            units.append(unit)
        tally.line(number, text, bool(unit or _HEADING.fullmatch(text) or _COUNT.fullmatch(text.strip())))
    tally.require(source, TABLE_NAME, lines, "a table of systemd-analyze plot --table")
    return tally.reading([boot_of_plot(units, replace(KERNEL, resolution_ns=_MS_NS))], lines.repairs)


def _columns(texts: list[str]) -> tuple[int, ...]:
    """Where each column begins: where the heading's words begin, without one, where a word begins in every
    row. Empty when that does not come out."""
    if heading := next((text for text in texts if _HEADING.fullmatch(text)), ""):
        return tuple(match.start() for match in _WORD.finditer(heading))
    starts: set[int] = set()
    for text in texts:
        if _ROW.fullmatch(text.rstrip()) and not _COUNT.fullmatch(text.strip()):
            here = {m.start() for m in _WORD.finditer(text)}
            starts = starts & here if starts else here
    columns = tuple(sorted(starts))
    return columns if len(columns) == len(_KEYS) else ()


def _row(text: str, columns: tuple[int, ...]) -> Unit | None:
    """A row: cut at its columns where these are known, else where a span must end."""
    if columns and text[: columns[1]].strip():
        name, *spans = (text[a:b].strip() for a, b in zip(columns, (*columns[1:], None), strict=True))
    else:
        match = _ROW.fullmatch(text.rstrip())
        if not match:
            return None
        name, spans = match[1], _spans(match[2])
    times = [ns for span in spans if (ns := span_ns(span)) is not None]
    if len(times) != len(_KEYS) - 1 or not name:
        return None
    return unit_of_times(name, dict(zip(_KEYS[1:], times, strict=True)))


def _spans(text: str) -> list[str]:
    """Cuts ``1min 9.2s 857ms 0`` into its spans."""
    found: list[str] = []
    while text and len(found) < len(_KEYS):
        part = leading_span(text)
        if part is None:
            return []
        found.append(text[: len(text) - len(part[1])].strip())
        text = part[1].lstrip()
    return found


READERS = (
    Reader(
        JSON_NAME,
        "systemd-analyze plot as JSON",
        "systemd-analyze plot --json=short",
        sure_json,
        read_json,
    ),
    Reader(
        TABLE_NAME,
        "systemd-analyze plot as a table",
        "systemd-analyze plot --table",
        sure_table,
        read_table,
    ),
)
