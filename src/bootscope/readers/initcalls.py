# SPDX-License-Identifier: Apache-2.0
"""What `initcall_debug` prints, as spans: initialisation calls and driver probes.

The kernel takes the time of a call itself and prints it when the call is over, so a span is laid back
from that line. The stamp of the `calling` line is no good as a beginning where the console is slow: the
line is printed between its stamp and the call.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec

from bootscope.readers.layout import track
from bootscope.readers.lines import Memo, decode
from bootscope.timeline.trace import Point, Span, Track

_CALLING = re.compile(rb"calling  (\S{1,512}(?: \[[^\]\s]{1,128}\])?)(?: @ (\d{1,10}))?\s*\n")
_RETURNED = re.compile(
    rb"initcall ((\S{1,512})(?: \[([^\]\s]{1,128})\])?) returned (-?\d{1,12})[^\n]{0,80}?"
    rb" after (\d{1,12}) ([um])secs"
)
_PROBE = re.compile(
    rb"probe of (\S{1,512}) returned (-?\d{1,12})[^\n]{0,80}? after (\d{1,12}) usecs",
)
_ENTERING = re.compile(rb"entering initcall level:? ([^\n]{1,80})\n")
_DEFERRED = -517
_FEW = 3
_C, _I, _P, _E = b"cipe"
# More processes than this share a row.
_ROWS = 64


class _Open(msgspec.Struct, frozen=True, gc=False):
    at_ns: int
    pid: int
    level: str


def _names(symbol: bytes) -> tuple[str, str]:
    """A function's name, and the whole symbol where the name alone does not say all."""
    text = decode(symbol)
    name, plus, offset = text.partition("+")
    return name, text if plus and not offset.startswith("0x0/") else ""


@lru_cache(maxsize=10_000)
def _probe_detail(result: int, took_us: int, attempt: int) -> Mapping[str, str | int]:
    """What a probe's span tells; the same for many of them, and kept once."""
    outcome = {"outcome": "deferred"} if result == _DEFERRED else {}
    return {"returned": result, "took_us": took_us, "attempt": attempt, **outcome}


class _Probed(Mapping[str, str | int]):
    """The same of a device that is probed again and again, in a third of the memory: there are many."""

    __slots__ = ("_attempt", "_result", "_took_us")

    def __init__(self, result: int, took_us: int, attempt: int) -> None:
        self._result, self._took_us, self._attempt = result, took_us, attempt

    def _all(self) -> dict[str, str | int]:
        told: dict[str, str | int] = {"returned": self._result, "took_us": self._took_us}
        told["attempt"] = self._attempt
        return told | ({"outcome": "deferred"} if self._result == _DEFERRED else {})

    def __getitem__(self, label: str) -> str | int:
        return self._all()[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


def _call_detail(call: tuple[bytes, int, int, str, bytes | None, str]) -> Mapping[str, str | int]:
    """What a call's span tells of its result, its time in ns, its process (-1: its beginning is not in the
    log), level, module, and its symbol where its name does not say all."""
    result, took_ns, pid, level, module, symbol = call
    detail: dict[str, str | int] = {"returned": int(result), "took_us": took_ns // 1000}
    if pid < 0:
        detail["start"] = "not in the log"
    else:
        detail["pid"] = pid
    if level:
        detail["level"] = level
    if module:
        detail["module"] = decode(module)
    if symbol:
        detail["symbol"] = symbol
    return detail


def _nearest(calls: list[_Open], start_ns: int) -> _Open:
    """Takes the call that a return belongs to: of several open ones of a name (static functions that are
    called alike, run at once), the one that began nearest to the time the kernel tells."""
    at = bisect_left(calls, start_ns, key=lambda c: c.at_ns)
    near = min((i for i in (at - 1, at) if 0 <= i < len(calls)), key=lambda i: abs(calls[i].at_ns - start_ns))
    return calls.pop(near)


@dataclass
class Calls:
    """Collects lines, by the time at which they were printed, in ns.

    With `follows_lines` these times are not the kernel's, and its durations cannot be laid on them: a
    call then reaches from its first line to its last.
    """

    follows_lines: bool = False
    spans: dict[int, list[Span]] = field(default_factory=lambda: defaultdict(list))
    probes: list[Span] = field(default_factory=list)
    _open: dict[bytes, list[_Open]] = field(default_factory=lambda: defaultdict(list))
    _attempts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _names: Memo[bytes, tuple[str, str]] = field(default_factory=lambda: Memo(_names))
    _details: Memo[tuple[bytes, int, int, str, bytes | None, str], Mapping[str, str | int]] = field(
        default_factory=lambda: Memo(_call_detail)
    )
    _devices: Memo[bytes, str] = field(default_factory=lambda: Memo(decode))
    _level: str = ""

    @property
    def takers(self) -> Mapping[int, Callable[[bytes, int, int], bool]]:
        """By the first byte of a line's words: what takes that line, given the text, where they begin and
        when it came; False for one that is none of `initcall_debug`."""
        return {_C: self._calling, _I: self._returned, _P: self._probe, _E: self._entering}

    def _entering(self, blob: bytes, offset: int, _at_ns: int) -> bool:
        match = _ENTERING.match(blob, offset)
        if match:
            self._level = decode(match[1]).strip()
        return bool(match)

    def _calling(self, blob: bytes, offset: int, at_ns: int) -> bool:
        match = _CALLING.match(blob, offset)
        if match:
            called, pid = match.groups()
            self._open[called].append(_Open(at_ns, int(pid) if pid else 1, self._level))
        return bool(match)

    def _returned(self, blob: bytes, offset: int, at_ns: int) -> bool:
        match = _RETURNED.match(blob, offset)
        if not match:
            return False
        called, symbol, module, result, count, unit = match.groups()
        took_ns = int(count) * (1000 if unit == b"u" else 1_000_000)
        start_ns = at_ns - took_ns
        calls = self._open.get(called)
        if calls is None:
            call = None
        elif len(calls) == 1:
            call = calls[0]
            del self._open[called]
        else:
            call = _nearest(calls, start_ns)
        name, whole = self._names[symbol]
        pid, level = (call.pid, call.level) if call else (-1, "")
        detail = self._details[result, took_ns, pid, level, module, whole]
        if not call:
            start_ns = self._unseen_start(start_ns, at_ns)
        elif self.follows_lines or call.at_ns > start_ns:
            # Not before the line that announces it.
            start_ns = call.at_ns if call.at_ns < at_ns else at_ns
        self.spans[max(pid, 0)].append(Span(start_ns, at_ns, name, detail))
        return True

    def _unseen_start(self, start_ns: int, end_ns: int) -> int:
        """When a call began that no line announces: not before the clock."""
        return start_ns if start_ns >= 0 or self.follows_lines else max(start_ns, min(0, end_ns))

    def _probe(self, blob: bytes, offset: int, at_ns: int) -> bool:
        match = _PROBE.match(blob, offset)
        if not match:
            return False
        name, code, took = match.groups()
        device, result, took_us = self._devices[name], int(code), int(took)
        attempt = self._attempts[device] = self._attempts[device] + 1
        detail = (_probe_detail if attempt <= _FEW else _Probed)(result, took_us, attempt)
        start_ns = at_ns - took_us * 1000
        if start_ns < 0:
            start_ns = self._unseen_start(start_ns, at_ns)
        self.probes.append(Span(start_ns, at_ns, device, detail))
        return True

    def tracks(self) -> list[Track]:
        """Initcalls by the process that ran them, the first process first, and probes."""
        found = []
        pids = sorted(self.spans, key=lambda pid: (pid != 1, pid))
        rest = [span for pid in pids[_ROWS:] for span in self.spans[pid]]
        for pid in pids[:_ROWS]:
            main = pid == 1
            title = (
                "Initcalls" if main else f"Initcalls of process {pid}" if pid else "Initcalls begun unseen"
            )
            ident = "initcalls" if main else f"initcalls-{pid}"
            parent = "" if main else "initcalls"
            found.append(track(ident, "initcall", title, self.spans[pid], parent=parent))
        if rest:
            title = "Initcalls of more processes"
            found.append(track("initcalls-rest", "initcall", title, rest, parent="initcalls"))
        if self.probes:
            found.append(track("probes", "probe", "Driver probes", self.probes))
        return found

    def open_calls(self) -> list[Point]:
        """Calls that never returned: where the log, or the boot, ended."""
        found = []
        for symbol, calls in self._open.items():
            name = self._names[symbol.partition(b" ")[0]][0]
            found += [Point(c.at_ns, f"{name} called, never returned", "mark") for c in calls]
        return sorted(found, key=lambda p: p.at_ns)
