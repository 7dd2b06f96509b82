# SPDX-License-Identifier: Apache-2.0
"""What systemd reported of its jobs in a recorded boot: journal records, and before that console lines.

Both were seen in the kernel at the moment PID 1 sent them, whether or not anything reads them. Messages that
others send in its name do not count. The target wrote all of it: it is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bootscope.analysis.evidence import Evidence
from bootscope.capture.stream import Bytes, Hook
from bootscope.readers.journal_records import exported
from bootscope.system.unit_files import is_unit

DATAGRAM, KMSG, KMSG_TEXT, CGROUP = "datagram", "kmsg", "kmsg.text", "cgroup"
HOOKS = (DATAGRAM, KMSG, CGROUP)
_JOURNAL = b"/run/systemd/journal/socket"
BEGINS, DONE, FAILED, SKIPPED, MADE, QUEUED = "begins", "done", "failed", "skipped", "made", "queued"
"""What is reported of a unit: its job begins or is over, with which result; its control group is made; the
jobs of the default target, which stands for the unit here, are queued."""
_LONGEST_BYTES = 1 << 16
_LINE = re.compile(r"<\d{1,4}>systemd\[1\]: (.{1,1000})", re.DOTALL)
_QUEUED = re.compile(r"Queued start job for default target (.{1,255})")
_SKIPPED = re.compile(r"(.{1,300}?)(?: was)? skipped(?: because of an?|,) .{1,500}")
_SAID = (
    (BEGINS, re.compile(r"(?:Starting|Mounting|Activating swap|Expecting device) (.{1,500})\.\.\.")),
    (
        FAILED,
        re.compile(
            r"(?:Failed to (?:start|mount|listen on|set up automount|activate swap)"
            r"|Timed out (?:starting|mounting|waiting for device|activating swap)|Dependency failed for)"
            r" (.{1,500}?)\.?"
        ),
    ),
    (
        DONE,
        re.compile(
            r"(?:Started|Finished|Mounted|Reached target|Listening on|Created slice|Set up automount"
            r"|Found device|Activated swap) (.{1,500}?)\.?"
        ),
    ),
)
_JOBS = ("start", "restart", "")


@dataclass(frozen=True, slots=True)
class Said:
    """A report on a unit at a moment; `index` is the number of the record."""

    at_ns: int
    index: int
    unit: str
    what: str


def said(evidence: Evidence, descriptions: Mapping[str, str]) -> Iterator[Said]:
    """All reports, in order of time. `descriptions` -> unit, for systems whose lines do not name the unit."""
    hooks = evidence.run.watch.hooks
    numbers = {number: name for number, name in hooks.items() if name in (*HOOKS, KMSG_TEXT)}
    begun: tuple[int, int] | None = None
    for index, record in enumerate(evidence.records):
        name = numbers.get(record.hook) if isinstance(record, Hook) else None
        if name is None or not isinstance(record, Hook):
            continue
        at_ns = evidence.clock.before(index)
        if evidence.slice_at(at_ns, evidence.cpu_of_records[index]).task.pid != 1:
            continue
        if name == KMSG:
            begun = (at_ns, index)
        elif name == KMSG_TEXT and begun:
            for unit, what in _of_line(record.text, descriptions):
                yield Said(*begun, unit, what)
            begun = None
        elif name == CGROUP and is_unit(unit := record.text.decode("utf-8", "replace")):
            yield Said(at_ns, index, unit, MADE)
        elif name == DATAGRAM and record.text == _JOURNAL:
            for unit, what in _of_record(_bytes_after(evidence, index), descriptions):
                yield Said(at_ns, index, unit, what)


def _bytes_after(evidence: Evidence, index: int) -> bytes:
    """The bytes that a hook recorded."""
    found = bytearray()
    for at in range(index + 1, len(evidence.records)):
        record = evidence.records[at]
        if not isinstance(record, Bytes) or len(found) > _LONGEST_BYTES:
            break
        found += record.data
    return bytes(found)


def _of_line(data: bytes, descriptions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    match = _LINE.fullmatch(data.decode("utf-8", "replace").rstrip("\n"))
    if match:
        yield from words_of(match[1], descriptions)


def _of_record(data: bytes, descriptions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for fields in exported(data):
        unit, message = str(fields.get("UNIT", "")), str(fields.get("MESSAGE", ""))
        job, result = fields.get("JOB_TYPE"), fields.get("JOB_RESULT")
        if not unit or job is None:
            yield from ((name, what) for name, what in words_of(message, descriptions) if what == QUEUED)
        elif is_unit(unit) and job in _JOBS:
            if result is None:
                yield unit, BEGINS
            elif result == "done":
                yield unit, SKIPPED if _SKIPPED.fullmatch(message) else DONE
            else:
                yield unit, SKIPPED if result == "skipped" else FAILED


def words_of(text: str, descriptions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(unit, what) that a line of systemd reports, if any."""
    if queued := _QUEUED.fullmatch(text.removesuffix(".")):
        if is_unit(queued[1]):
            yield queued[1], QUEUED
        return
    if (skipped := _SKIPPED.fullmatch(text)) and (unit := _unit(skipped[1], descriptions)):
        yield unit, SKIPPED
        return
    for what, form in _SAID:
        if match := form.fullmatch(text):
            if unit := _unit(match[1], descriptions):
                yield unit, what
            return


def _unit(words: str, descriptions: Mapping[str, str]) -> str:
    """The unit that a line names: by its name, name and description, or description alone."""
    name = words.partition(" - ")[0]
    return name if is_unit(name) else descriptions.get(words, "")
