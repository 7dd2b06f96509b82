# SPDX-License-Identifier: Apache-2.0
"""The raw capture of a real board's console: every read with its moment, and events in between.

A file begins with a line that names the format and its version; records follow: kind (1 byte), moment in ns
of the host's monotonic clock (8 bytes), payload length (4 bytes), payload; all little endian. Kind 1 is bytes
as they came, kind 2 an event as JSON with its name under `event`:

  open        listening began: `source`, `rate`, `wall_ns` (the calendar's ns at that moment), `priority`, ...
  lost, back  the port vanished, and came back
  telnet      telnet's own bytes are among the source's
  line        `rate` of the line behind the network, if others have set it
  begin       what came before is older: a server or an adapter had buffered it
  closed      listening ended; `counters` of the port if it has some
  tapped      `host`: the computer that listened, over ssh; or `refused`: why the one asked for did not
  clock       its clock at a question that went out at `asked_ns` and whose answer was heard at `heard_ns`,
              both on the clock of the computer that records
  power       `what` is on, off or cycle; `at` is call or return
  error       the source could not be opened

A file that ends in the middle of a record is valid up to there.

History of the format:
  1  2026-11  first version
  2  2026-11  only where another computer listened: the moments of bytes, and of the events that it tells, are
              those of its own clock; they are read as moments of the clock of the computer that records
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from bootscope.capture import tapper
from bootscope.capture.offset import Answer, Offset, offset_of
from bootscope.capture.telnet import Telnet
from bootscope.core.errors import UserError
from bootscope.core.paths import package_dir

MAGIC = tapper.MAGIC
MAGIC_FAR = b"bootscope-tap 2\n"
"""Of a capture made by another computer, with moments of its own clock."""
MAGICS = (MAGIC, MAGIC_FAR)
_RECORD = tapper.RECORD
# The package's folder is in the path only while the package is being found.
_START = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); import bootscope.capture; del sys.path[0]; "
    f"runpy.run_module({tapper.__name__!r}, run_name='__main__')"
)
_LONGEST = 1 << 20
BITS = 10
"""Bits on the line for a byte: a start bit, 8 of data, a stop bit."""
_LATEST_NS = (1 << 62) - 1
_OURS = frozenset({"telnet", "line", "begin", "power", "tapped"})
"""The events of the computer that records; all others are of the one that listens."""


def listening(words: Sequence[str]) -> list[str]:
    """The command that listens on this computer, to what the words name (tapper.py)."""
    return [sys.executable, "-I", "-c", _START, str(package_dir().parent), *words]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, at a moment of the monotonic clock in ns."""

    at_ns: int
    name: str
    facts: dict[str, object]


@dataclass
class Tap:
    """The content of a capture: bytes with the moments of the reads that brought them, and events.

    Read `i` came at `at_ns[i]` and ends before byte `ends[i]` of `data`.
    """

    data: bytearray = field(default_factory=bytearray)
    at_ns: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    events: list[Event] = field(default_factory=list)
    whole: bool = True
    """False when the file ends in the middle of a record."""
    early: int = 0
    """Bytes that came before the boot began, and are not in `data`: an adapter had buffered them."""
    clock: Offset | None = None
    """From the clock of another computer that listened to ours; all moments have been converted to ours."""

    def of(self, name: str) -> list[Event]:
        """The events of a name."""
        return [event for event in self.events if event.name == name]

    @property
    def opened(self) -> dict[str, object]:
        """The facts of the source; empty if it was never opened."""
        return next((event.facts for event in self.of("open")), {})

    @property
    def rate(self) -> int:
        """The line rate in baud; 0 if unknown."""
        told = (self.opened, *(e.facts for e in self.of("line")))
        rate = next((facts["rate"] for facts in reversed(told) if "rate" in facts), 0)
        return rate if isinstance(rate, int) and 0 <= rate <= 100_000_000 else 0

    @property
    def clock_error_ns(self) -> int:
        """The common error of all moments of bytes, compared with those of our events."""
        return self.clock.error_ns if self.clock else 0

    @property
    def host(self) -> str:
        """The other computer that listened; empty for this one."""
        return next((str(e.facts["host"]) for e in self.of("tapped") if "host" in e.facts), "")


class Decoder:
    """Reads records from pieces of a capture, however they are cut."""

    def __init__(self) -> None:
        self._rest = b""
        self._begun = False

    def feed(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yields (kind, moment in ns, payload) of each whole record. Raises UserError for anything else."""
        data = self._rest + data
        at = 0
        if not self._begun:
            if len(data) < len(MAGIC) and any(magic.startswith(data) for magic in MAGICS):
                self._rest = data
                return
            if not data.startswith(MAGICS):
                raise UserError("this is not a console capture of bootscope, or is from a newer version")
            self._begun, at = True, len(MAGIC)
        while len(data) - at >= _RECORD.size:
            kind, at_ns, length = _RECORD.unpack_from(data, at)
            if kind not in (tapper.BYTES, tapper.EVENT) or length > _LONGEST or at_ns >> 63:
                raise UserError(f"the capture is damaged {len(data) - at} bytes before its end")
            if len(data) - at - _RECORD.size < length:
                break
            at += _RECORD.size
            yield kind, at_ns, data[at : at + length]
            at += length
        self._rest = data[at:]

    @property
    def whole(self) -> bool:
        """Whether no incomplete record is left."""
        return not self._rest


def read(data: bytes) -> Tap:
    """A capture, without telnet's own bytes if its source is on the network.

    Raises UserError when it is none.
    """
    tap, decoder = Tap(), Decoder()
    records = list(decoder.feed(data))
    events = {at: event_of(r[1], r[2]) for at, r in enumerate(records) if r[0] == tapper.EVENT}
    speaks_telnet = any(event.name == "telnet" for event in events.values())
    tap.clock = _clock(events.values(), max((r[1] for r in records if r[0] == tapper.BYTES), default=0))
    telnet = Telnet()
    tap.events = [
        e if e.name in _OURS else replace(e, at_ns=_ours(e.at_ns, tap.clock)) for e in events.values()
    ]
    begin_ns = _begin_ns(tap)
    for index, (_, there_ns, payload) in enumerate(records):
        at_ns = _ours(there_ns, tap.clock)
        if index in events:
            if events[index].name == "back":
                telnet = Telnet()  # a new connection begins a new conversation
            continue
        plain = telnet.plain(payload) if speaks_telnet else payload
        if at_ns < begin_ns:
            tap.early += len(plain)
        elif plain:
            tap.data += plain
            tap.at_ns.append(at_ns)
            tap.ends.append(len(tap.data))
    tap.whole = decoder.whole
    return tap


def _begin_ns(tap: Tap) -> int:
    """No byte before this moment belongs to this boot: the power was not on yet, or the first byte was still
    on the line."""
    begun = max((event.at_ns for event in tap.of("begin")), default=0)
    on = [e.at_ns for e in tap.of("power") if e.facts.get("what") == "on" and e.facts.get("at") == "call"]
    byte_ns = BITS * 10**9 // tap.rate if tap.rate else 0
    return max(begun, min(on) + byte_ns - tap.clock_error_ns if on else 0)


def _clock(events: Iterable[Event], last_ns: int) -> Offset | None:
    """From the clock of the computer that listened to ours; None if they are the same."""
    answers = []
    for event in events:
        asked_ns, heard_ns = (event.facts.get(name) for name in ("asked_ns", "heard_ns"))
        if (
            event.name == "clock"
            and isinstance(asked_ns, int)
            and isinstance(heard_ns, int)
            and 0 <= asked_ns <= heard_ns <= _LATEST_NS
        ):
            answers.append(Answer(asked_ns, event.at_ns, heard_ns))
    return offset_of(answers, last_ns)


def _ours(there_ns: int, clock: Offset | None) -> int:
    return min(max(0, there_ns + clock.offset_ns), _LATEST_NS) if clock else there_ns


def record(kind: int, at_ns: int, payload: bytes) -> bytes:
    """A record as stored in the file."""
    return _RECORD.pack(kind, at_ns, len(payload)) + payload


def event_record(at_ns: int, name: str, **facts: object) -> bytes:
    """The record of an event."""
    return record(tapper.EVENT, at_ns, json.dumps({"event": name, **facts}).encode())


def event_of(at_ns: int, payload: bytes) -> Event:
    try:
        found = json.loads(payload)
        name = found.pop("event")
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise UserError("the capture is damaged: an event cannot be read") from error
    return Event(at_ns, str(name), found)
