# SPDX-License-Identifier: Apache-2.0
"""Results of Red Hat's BootTime (jharriga/BootTime, sut_boottest.py): a JSON list, an entry for each boot."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from bootscope.readers.base import KERNEL, Boot, FormatError, Options, Reader, Reading, Source
from bootscope.readers.systemd_units import PHASES, blame_table, phase_track
from bootscope.readers.tally import Tally
from bootscope.readers.timespan import decimal_ns
from bootscope.timeline.trace import Point, Table

NAME = "boottime-json"
_BEGIN = re.compile(rb"\s*\[?\s*\{")
_FACTS = {
    "kernel": "kernel",
    "osrelease": "distribution",
    "architecture": "architecture",
    "model": "processor",
    "numcores": "processors",
}


def sure(source: Source) -> int:
    if not _BEGIN.match(source.head) or b'"test_results"' not in source.head:
        return 0
    return 97 if b'"satime"' in source.data[:1_000_000] or b'"boot-time"' in source.head else 40


def read(source: Source, options: Options) -> Reading:
    try:
        # Numbers stay text, so that no time goes through a float.
        found = json.loads(source.data.decode("utf-8", "backslashreplace"), parse_float=str, parse_int=str)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise FormatError(source.name, NAME, line, "it is not JSON, or truncated") from error
    entries = found if isinstance(found, list) else [found]
    tally, boots = Tally(), []
    for number, entry in enumerate(entries, 1):
        if isinstance(entry, dict) and isinstance(entry.get("test_results"), dict):
            boots.append(_boot(entry))
            tally.understood += 1
        else:
            tally.miss(number, json.dumps(entry)[:2000])
    if not boots:
        raise FormatError(source.name, NAME, 1, "no entry has 'test_results'")
    return tally.reading(boots)


def _boot(entry: dict[str, Any]) -> Boot:
    boot = Boot(replace(KERNEL, resolution_ns=1_000_000))
    results = entry["test_results"]
    for key in ("cluster_name", "date", "sample"):
        if isinstance(entry.get(key), str):
            boot.facts[{"cluster_name": "machine"}.get(key, key)] = entry[key]
    for key, name in _FACTS.items():
        value = _part(entry, "system_config").get(key)
        if isinstance(value, str):
            boot.facts[name] = value
    at_ns, bounds = 0, []
    times = _seconds(_part(results, "satime"))
    for phase in PHASES:
        if phase in times and phase in ("kernel", "initrd", "userspace"):
            bounds.append((phase, at_ns, at_ns + times[phase]))
            at_ns += times[phase]
    if bounds:
        boot.tracks.append(phase_track(bounds))
    if blame := _seconds(_part(results, "sablame")):
        boot.tables.append(blame_table(blame.items()))
    _moments(boot, results)
    return boot


def _moments(boot: Boot, results: dict[str, Any]) -> None:
    """Times of kernel lines (``..._ts``) as points, all other figures as a table."""
    points: dict[str, int] = {}
    rows: list[tuple[str | int | None, ...]] = []
    for part in results:
        if part in ("satime", "sablame"):
            continue
        for name, ns in _seconds(_part(results, part)).items():
            if name.endswith("_ts") or name == "link_is_up":
                points.setdefault(name.removesuffix("_ts"), ns)
            else:
                rows.append((part, name, ns))
    boot.points += [Point(ns, name, "milestone", 1_000) for name, ns in points.items()]
    if rows:
        boot.tables.append(Table("Other durations", ("of", "what", "ns"), tuple(rows)))


def _part(whole: dict[str, Any], name: str) -> dict[str, Any]:
    part = whole.get(name)
    return part if isinstance(part, dict) else {}


def _seconds(part: dict[str, Any]) -> dict[str, int]:
    """All entries that are numbers, in ns."""
    times = {key: decimal_ns(value) for key, value in part.items() if isinstance(value, str)}
    return {key: ns for key, ns in times.items() if ns is not None and ns >= 0}


READERS = (Reader(NAME, "results of BootTime (Red Hat)", "python3 sut_boottest.py", sure, read),)
