# SPDX-License-Identifier: Apache-2.0
"""sigrok's session files (.sr): a zip of `version`, `metadata` and samples in chunks.

https://sigrok.org/wiki/File_format:Sigrok/v2. Samples are units of 1, 2, 4 or 8 bytes, a bit for each
channel, least significant first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bootscope.readers.base import Boot, Clock, FormatError, Options, Reader, Reading, Source
from bootscope.readers.csv_clock import rate_of
from bootscope.readers.pins import Pin, add_pins, edge_limit, not_shown, sample_rate_hz
from bootscope.readers.stamp_forms import NS
from bootscope.readers.tally import Tally
from bootscope.readers.timespan import whole

NAME = "sigrok"
_CHUNK_BYTES = 1 << 20
_MAX_UNIT = 64
_CHANGED = re.compile(rb"[^\0]")
_PROBE = re.compile(r"probe(\d{1,4})")
_ANALOG = re.compile(r"analog(\d{1,4})")


@dataclass
class _Session:
    """What the metadata says: channel number (from 0, its bit) -> name; samples a second."""

    capture: str = "logic-1"
    unit_bytes: int = 1
    rate_hz: int | None = None
    channels: dict[int, str] = field(default_factory=dict)
    analog: list[str] = field(default_factory=list)
    tool: str = "sigrok"


def sure(source: Source) -> int:
    if "metadata" not in source.members or "version" not in source.members:
        return 0
    return 99 if b"sigrok version" in source.members["metadata"][:4096] else 60


def read(source: Source, options: Options) -> Reading:
    tally = Tally()
    metadata = source.members.get("metadata")
    if metadata is None:
        raise FormatError(source.name, NAME, 1, "there is no file 'metadata' in it")
    version = source.members.get("version", b"2").strip()
    if version not in (b"1", b"2"):
        raise FormatError(source.name, NAME, 1, "only versions 1 and 2 of the format are known")
    session = _metadata(metadata, tally)
    rate_hz = sample_rate_hz(options) or session.rate_hz
    if rate_hz is None:
        tally.ask("the file has no sample rate: give --option samplerate_hz=N; assumed 1 a second")
        rate_hz = 1
    limit = edge_limit(len(session.channels))
    pins = {bit: Pin(name, limit, options) for bit, name in session.channels.items()}
    samples = _feed(_chunks(source, session.capture), session.unit_bytes, rate_hz, pins, tally)
    if session.channels and not samples:
        tally.repair(f"no samples: {session.capture} is missing or empty", 1)
    tally.understood += samples
    boot = Boot(Clock("sample", "the start of the recording", max(1, NS // rate_hz)))
    boot.facts.update({"tool": session.tool, "samples": f"{samples} at {rate_hz} a second"})
    if session.analog:
        boot.facts["not shown"] = not_shown("analog channels", session.analog)
    add_pins(boot, pins.values(), samples * NS // rate_hz, options, tally)
    return tally.reading([boot])


def _metadata(data: bytes, tally: Tally) -> _Session:
    """An INI file; of several devices the first one with samples counts."""
    session = _Session()
    for number, line in enumerate(data.decode("utf-8", "backslashreplace").split("\n"), 1):
        key, equals, value = (part.strip() for part in line.partition("="))
        if line.strip() and not equals and not line.lstrip().startswith("["):
            tally.miss(number, line)
        elif (probe := _PROBE.fullmatch(key)) and int(probe[1]) > 0:
            _channel(session, int(probe[1]) - 1, value)
        elif _ANALOG.fullmatch(key):
            session.analog.append(value)
        elif key == "capturefile":
            session.capture = value
        elif key == "samplerate":
            session.rate_hz = rate_of(value) or rate_of(f"{value} Hz")
        elif key == "unitsize" and (size := whole(value, 3)) is not None:
            session.unit_bytes = max(1, min(_MAX_UNIT, size))
        elif key == "sigrok version":
            session.tool = f"sigrok {value}"
    session.channels = {
        bit: name for bit, name in sorted(session.channels.items()) if bit < 8 * session.unit_bytes
    }
    return session


def _channel(session: _Session, bit: int, name: str) -> None:
    taken = name in session.channels.values() or not name
    session.channels[bit] = f"{name} {bit + 1}".strip() if taken else name


def _chunks(source: Source, capture: str) -> Iterator[bytes]:
    """``logic-1`` of version 1; ``logic-1-1``, ``logic-1-2``... of version 2."""
    if capture in source.members:
        yield source.members[capture]
        return
    number = 1
    while (name := f"{capture}-{number}") in source.members:
        yield source.members[name]
        number += 1


def _feed(chunks: Iterable[bytes], unit_bytes: int, rate_hz: int, pins: dict[int, Pin], tally: Tally) -> int:
    """Sets the pins by all samples; the number of samples."""
    done = 0
    last = b""
    rest = b""
    for chunk in chunks:
        for at in range(0, len(chunk), _CHUNK_BYTES):
            piece = rest + chunk[at : at + _CHUNK_BYTES]
            whole = len(piece) - len(piece) % unit_bytes
            piece, rest = piece[:whole], piece[whole:]
            if not piece:
                continue
            if not last:
                last = piece[:unit_bytes]
                _set(last, pins.items(), 0)
            for index in _changes(last + piece, unit_bytes):
                unit = piece[index * unit_bytes : (index + 1) * unit_bytes]
                _set(unit, pins.items(), (done + index) * NS // rate_hz)
            last = piece[-unit_bytes:]
            done += len(piece) // unit_bytes
    if rest:
        tally.repair("the last sample is truncated", done + 1)
    return done


def _changes(data: bytes, unit_bytes: int) -> Iterator[int]:
    """Numbers, from 0, of units that differ from the one before; the first unit is only compared with.

    Samples mostly repeat: one exclusive-or over the whole piece finds the changes without a loop over all.
    """
    length = len(data) - unit_bytes
    before = int.from_bytes(data[:length], "little")
    after = int.from_bytes(data[unit_bytes:], "little")
    last = -1
    for match in _CHANGED.finditer((before ^ after).to_bytes(length, "little")):
        index = match.start() // unit_bytes
        if index != last:
            last = index
            yield index


def _set(unit: bytes, pins: Iterable[tuple[int, Pin]], at_ns: int) -> None:
    bits = int.from_bytes(unit, "little")
    for bit, pin in pins:
        level = bits >> bit & 1
        if level != pin.level:
            pin.set(at_ns, level)


READERS = (
    Reader(
        NAME,
        "sigrok session (PulseView, sigrok-cli)",
        "sigrok-cli -d DEVICE -c samplerate=1M --time 10s -o boot.sr",
        sure,
        read,
    ),
)
