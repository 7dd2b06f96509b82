# SPDX-License-Identifier: Apache-2.0
"""Value change dumps (IEEE 1364): sigrok, PulseView, Saleae, GTKWave, simulators.

Single wires become pins. Buses and real numbers are read and counted, but have no high and low.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bootscope.readers.base import Boot, Clock, FormatError, Options, Reader, Reading, Source
from bootscope.readers.lines import split
from bootscope.readers.pins import MAX_CHANNELS, Pin, add_pins, edge_limit, not_shown
from bootscope.readers.tally import MAX_BOOTS, Tally

NAME = "vcd"
_FEMTO = {"fs": 1, "ps": 10**3, "ns": 10**6, "us": 10**9, "ms": 10**12, "s": 10**15}
_FEMTO_PER_NS = 10**6
_LATEST_NS = 1 << 60
_DECLARE = re.compile(rb"\s*\$(?:date|version|comment|timescale|scope|var)\b")
_TIMESCALE = re.compile(r"(1|10|100)\s*(fs|ps|ns|us|ms|s)", re.ASCII)
_SECTIONS = frozenset(
    ("$date", "$version", "$comment", "$timescale", "$scope", "$upscope", "$var", "$enddefinitions")
)
# What a file begins with, and a further one that was joined to it.
_BEGINS = ("$date", "$version", "$timescale", "$scope", "$var")
# Of the value section: they only bracket ordinary changes.
_BRACKETS = frozenset(("$dumpall", "$dumpoff", "$dumpon", "$dumpvars", "$end"))
_SINGLE = {"0": 0, "1": 1, "x": None, "X": None, "z": None, "Z": None}
_ANALOG = re.compile(r"[^\s:]{1,64}: [-+]?[\d.]{1,20}(?:[eE][-+]?\d{1,3})? .{1,40}")
_MAX_SECTION_WORDS = 10_000


@dataclass
class _Dump:
    """What the declarations say, and the pins as far as they were read; `tick_fs` in 1e-15 s.

    `section` holds the words of a declaration that has not ended yet.
    """

    tick_fs: int = 0
    scope: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    others: dict[str, str] = field(default_factory=dict)
    pins: dict[str, Pin] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    at_ns: int = 0
    stamps: int = 0
    defined: bool = False
    section: list[str] = field(default_factory=list)
    options: Options = field(default_factory=Options)


def sure(source: Source) -> int:
    if not _DECLARE.match(source.head):
        return 0
    return 99 if b"$var" in source.head or b"$enddefinitions" in source.head else 40


def read(source: Source, options: Options) -> Reading:
    lines, tally = split(source.data, once=False), Tally()
    dumps = [_Dump(options=options)]
    for number, text in enumerate(lines, 1):
        if dumps[-1].stamps and len(dumps) < MAX_BOOTS and text.lstrip().startswith(_BEGINS):
            tally.repair("another recording begins here, read separately", number)
            dumps.append(_Dump(options=options))
        if not text.strip():
            tally.empty += 1
        elif ":" in text and dumps[-1].defined and _ANALOG.fullmatch(text):
            tally.understood += 1
            tally.repair("analog values that sigrok-cli prints between the changes left out", number)
        elif _line(text, dumps[-1], tally, number):
            tally.understood += 1
        else:
            tally.miss(number, text)
    if not any(dump.defined or dump.names for dump in dumps):
        raise FormatError(source.name, NAME, 1, "there is no $var and no $enddefinitions")
    if dumps[-1].section:
        tally.repair("the file ends inside its declarations", len(lines))
    return tally.reading([_boot(dump, options, tally) for dump in dumps], lines.repairs)


def _line(text: str, dump: _Dump, tally: Tally, number: int) -> bool:
    """Takes in a line; whether every word of it was understood."""
    parts = text.split()
    if (
        len(parts) == 2
        and dump.defined
        and not dump.section
        and parts[0][0] == "#"
        and parts[1][0] in _SINGLE
    ):
        # Nearly all lines of a long recording are a time and one change.
        fine = _stamp(parts[0][1:], dump, tally, number)
        return len(parts[1]) > 1 and _set(dump, parts[1][1:], parts[1][0]) and fine
    words = iter(parts)
    fine = True
    for word in words:
        if dump.section:
            _more_of_section(word, dump, tally, number)
        elif word in _SECTIONS:
            dump.section.append(word)
        elif word in _BRACKETS:
            continue
        else:
            fine = _change(word, words, dump, tally, number) and fine
    return fine


def _more_of_section(word: str, dump: _Dump, tally: Tally, number: int) -> None:
    section = dump.section
    if word != "$end":
        if len(section) < _MAX_SECTION_WORDS:
            section.append(word)
        return
    kind, *rest = section
    section.clear()
    if kind == "$var":
        _declare(rest, dump, tally, number)
    elif kind == "$timescale":
        match = _TIMESCALE.fullmatch(" ".join(rest)) or _TIMESCALE.fullmatch("".join(rest))
        dump.tick_fs = int(match[1]) * _FEMTO[match[2]] if match else 0
    elif kind == "$scope":
        dump.scope.append(rest[-1] if rest else "")
    elif kind == "$upscope":
        del dump.scope[-1:]
    elif kind == "$enddefinitions":
        dump.defined = True
    elif kind in ("$version", "$date", "$comment") and rest:
        name = {"$version": "tool", "$date": "date", "$comment": "comment"}[kind]
        dump.facts.setdefault(name, " ".join(rest))


def _declare(words: list[str], dump: _Dump, tally: Tally, number: int) -> None:
    """``wire 1 ! D0``; wider ones have a range behind the name, which belongs to it."""
    if len(words) < 4 or len(dump.names) + len(dump.others) >= MAX_CHANNELS:
        tally.repair("declarations of variables left out: broken, or too many", number)
        return
    kind, width, ident, *rest = words
    title = " ".join(rest)
    if width != "1" or kind in ("real", "realtime", "string", "event"):
        dump.others[ident] = title
        return
    if ident in dump.names:
        return  # the same wire under a second name
    # The name alone is what people know a channel by; the scope tells two of one name apart.
    full = ".".join((*dump.scope[:16], title))
    name = next(n for n in (title, full, f"{full} {ident}") if n not in dump.taken or n.endswith(f" {ident}"))
    dump.taken.add(name)
    dump.names[ident] = name


def _change(word: str, words: Iterator[str], dump: _Dump, tally: Tally, number: int) -> bool:
    """A time or a change of a value."""
    first = word[0]
    if first == "#":
        return _stamp(word[1:], dump, tally, number)
    if first in "bBrRsS":
        # A vector, a real number, a string: its identifier is the next word.
        ident = next(words, None)
        if ident in dump.others:
            return True
        bits = word[1:]
        return bool(ident) and len(bits) == 1 and _set(dump, str(ident), bits)
    return len(word) > 1 and _set(dump, word[1:], first)


def _stamp(text: str, dump: _Dump, tally: Tally, number: int) -> bool:
    if not (text.isascii() and text.isdigit()) or len(text) > 30:
        return False
    at_ns = int(text) * (dump.tick_fs or _FEMTO_PER_NS) // _FEMTO_PER_NS
    if at_ns > _LATEST_NS:
        return False
    if at_ns < dump.at_ns:
        tally.repair("clock went back: held", number)
    dump.at_ns = max(dump.at_ns, at_ns)
    dump.stamps += 1
    return True


def _set(dump: _Dump, ident: str, value: str) -> bool:
    if value not in _SINGLE:
        return False
    pin = dump.pins.get(ident)
    if pin is None:
        if ident not in dump.names:
            return ident in dump.others
        limit = edge_limit(len(dump.names))
        pin = dump.pins[ident] = Pin(dump.names[ident], limit, dump.options)
    pin.set(dump.at_ns, _SINGLE[value])
    return True


def _boot(dump: _Dump, options: Options, tally: Tally) -> Boot:
    if not dump.tick_fs:
        tally.repair("no timescale: taken as 1 ns", 1)
    tick_ns = max(1, (dump.tick_fs or _FEMTO_PER_NS) // _FEMTO_PER_NS)
    boot = Boot(Clock("sample", "the start of the recording", tick_ns), facts=dump.facts)
    pins = [dump.pins.get(ident) or Pin(name, options=options) for ident, name in dump.names.items()]
    add_pins(boot, pins, dump.at_ns, options, tally)
    if dump.others:
        boot.facts["not shown"] = not_shown("buses and real numbers", list(dump.others.values()))
    return boot


READERS = (
    Reader(
        NAME,
        "Value change dump of a logic analyser or simulator",
        "sigrok-cli -d DEVICE --samples N -O vcd",
        sure,
        read,
    ),
)
