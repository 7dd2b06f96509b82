# SPDX-License-Identifier: Apache-2.0
"""Lines that announce something in a boot's log, whoever stamped it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from re import Pattern

from bootscope.loaders import console
from bootscope.readers.base import Log
from bootscope.timeline.kernel_lines import (
    BEGINS,
    CALLER,
    FINISHED,
    FREED,
    INIT,
    LOGIN,
    SHELL,
    SWITCH,
    TARGET,
)

# Level, printk's time, printk's caller: what may stand before the words of a kernel line.
_PREFIX = re.compile(
    r"(?:<\d{1,3}>)?(?:kernel: )?\s{0,8}(?:\[ {0,12}(\d{1,10})\.(\d{6})(?:@\d{1,3})?\] ?)?" + CALLER
)


@dataclass(frozen=True, slots=True)
class Marker:
    """A line by what it says: one of `texts` is in it, and `pattern` is found in its words.

    `name` is the milestone that it is, `phase` the phase that begins there (or the empty string).
    """

    name: str
    phase: str
    texts: tuple[str, ...]
    pattern: Pattern[str]


def _marker(name: str, phase: str, pattern: str, *texts: str) -> Marker:
    return Marker(name, phase, texts, re.compile(pattern))


def _loader(milestone: str) -> Marker:
    """The lines with which a boot loader's programs begin, of those that can be found by a text."""
    texts = dict.fromkeys(
        banner.text for banner in console.BANNERS if banner.milestone == milestone and banner.text
    )
    return _marker(milestone, milestone, f"^(?:{console.patterns(milestone)})", *texts)


MARKERS = (
    *(_loader(milestone) for milestone in ("spl", "bootloader")),
    _marker("kernel-start", "decompress", f"^{console.HANDOVER}", "Starting kernel"),
    _marker("kernel-entry", "kernel", f"^(?:{BEGINS})", "Booting Linux", "Linux version"),
    _marker("kernel-done", "", f"^{FREED}", "Freeing unused kernel", "Freeing init memory"),
    _marker("init", "init", f"^{INIT}", " as init process"),
    _marker("switch-root", "", f"^{SWITCH}", "Switching root"),
    _marker("login", "application", f"^{LOGIN}", "login:"),
    _marker("console-ready", "", f"^{SHELL}", "Please press Enter"),
    _marker("default-target", "", f"^{TARGET}", "Reached target "),
    _marker("systemd-finished", "", f"^{FINISHED}", "Startup finished in "),
)


ANYTHING = re.compile("")


def said(name: str, text: str) -> Marker:
    """The marker of a user's own: a milestone reached by the first line that holds `text`."""
    return Marker(name, "", (text,), ANYTHING)


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of a log: its place, stamp and text (untrusted)."""

    index: int
    at_ns: int
    text: str


def split_line(text: str) -> tuple[int, str]:
    """The kernel's stamp in a line in ns (-1: none), and its words without it."""
    match = _PREFIX.match(text)
    if not match or not match.end():
        return -1, text.strip()
    kernel_ns = int(match[1]) * 1_000_000_000 + int(match[2]) * 1_000 if match[1] else -1
    return kernel_ns, text[match.end() :].strip()


def marker_lines(log: Log, markers: Iterable[Marker]) -> dict[str, Hit]:
    """The first line of each marker, by the marker's name."""
    found: dict[str, Hit] = {}
    for marker in markers:
        firsts = [index for text in marker.texts for index in islice(_lines(log, text, marker.pattern), 1)]
        if firsts:
            index = min(firsts)
            found[marker.name] = Hit(index, log.at_ns[index], log.text(index))
    return found


def _lines(log: Log, part: str, pattern: Pattern[str]) -> Iterator[int]:
    """The lines that hold `part` and are found by `pattern`."""
    return (i for i in log.lines_with(part.encode()) if pattern.search(split_line(log.text(i))[1]))
