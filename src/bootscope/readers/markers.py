# SPDX-License-Identifier: Apache-2.0
"""Lines that announce something in a boot's log, whoever stamped it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from re import Pattern

from bootscope.loaders import console
from bootscope.readers.base import NO_STAMP, Log
from bootscope.timeline.kernel_lines import (
    BEGINS,
    BEGINS_LATE,
    CALLER,
    FINISHED,
    FREED,
    INIT,
    INIT_SPEAKS,
    INIT_TEXTS,
    LOGIN,
    OTHER_TASK,
    SHELL,
    SWITCH,
    TARGET,
)

# Level, printk's time, printk's caller: what may stand before the words of a kernel line.
_STAMP = r"\[ {0,12}(\d{1,10})\.(\d{6})(?:@\d{1,3})?\](?!@\d) ?"
_PREFIX = re.compile(rf"(?:<\d{{1,3}}>)?(?:kernel: )?\s{{0,8}}(?:{_STAMP})?{CALLER}")
_MOST_COMMANDS = 64
"""Lines of commands that are told from the kernel's."""
_OTHER_TASK, _PREFIX_MOST = re.compile(OTHER_TASK), 60
_SHARED = re.compile(_STAMP + CALLER)


@dataclass(frozen=True, slots=True)
class Marker:
    """A line by what it says: one of `texts` is in it, and `pattern` is found in its words.

    `name` is the milestone that it is, `phase` the phase that begins there (or the empty string).
    """

    name: str
    phase: str
    texts: tuple[str, ...]
    pattern: Pattern[str]
    after_kernel: bool = False
    """Where the kernel's first line is seen, only lines after it count: others are of the system before."""


def _marker(name: str, phase: str, pattern: str, *texts: str, after_kernel: bool = False) -> Marker:
    return Marker(name, phase, texts, re.compile(pattern), after_kernel)


_later = partial(_marker, after_kernel=True)
KERNEL_ENTRY, INIT_SEEN = "kernel-entry", "init-seen"


def _loader(milestone: str) -> Marker:
    """The lines with which a boot loader's programs begin, of those that can be found by a text."""
    texts = dict.fromkeys(
        banner.text for banner in console.BANNERS if banner.milestone == milestone and banner.text
    )
    return _marker(milestone, milestone, f"^(?:{console.patterns(milestone)})", *texts)


LOADERS = tuple(_loader(milestone) for milestone in ("spl", "bootloader"))
MARKERS = (
    *LOADERS,
    _marker("kernel-start", "decompress", f"^{console.HANDOVER}", "Starting kernel", "Now booting linux"),
    _marker(KERNEL_ENTRY, "kernel", f"^(?:{BEGINS}|{BEGINS_LATE})", "Booting Linux", "Linux version"),
    _later("kernel-done", "", f"^{FREED}", "Freeing unused kernel", "Freeing init memory"),
    _later("init", "init", f"^{INIT}", " as init process"),
    _later(INIT_SEEN, "", f"^(?:{INIT_SPEAKS})", *INIT_TEXTS),
    _later("switch-root", "", f"^(?:{SWITCH})", "Switching root", "exec switch_root"),
    _later("login", "application", f"^{LOGIN}", "login:"),
    _later("console-ready", "", f"^{SHELL}", "Please press Enter"),
    _later("default-target", "", f"^{TARGET}", "Reached target "),
    _later("systemd-finished", "", f"^{FINISHED}", "Startup finished in "),
)


ANYTHING = re.compile("")


def said(name: str, text: str) -> Marker:
    """The marker of a user's own: a milestone reached by the first line that holds `text`."""
    return Marker(name, "", (text,), ANYTHING)


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of a log: its place, stamp and text (untrusted).

    `shared`: it stands behind other words on their row, and `at_ns` is its own stamp, the kernel's.
    """

    index: int
    at_ns: int
    text: str
    shared: bool = False


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
        kernel = found.get(KERNEL_ENTRY)
        if hit := first_line(log, marker, kernel.index if kernel and marker.after_kernel else 0):
            found[marker.name] = hit
    return found


def first_line(log: Log, marker: Marker, since: int) -> Hit | None:
    """The first line of a marker from line `since` on."""
    first: Hit | None = None
    for text in marker.texts:
        first = next(_lines(log, text, marker, since, first.index if first else len(log)), first)
    return first


def _lines(log: Log, part: str, marker: Marker, since: int, until: int) -> Iterator[Hit]:
    """The lines since <= i < until that hold `part` and are the marker's."""
    commands = _MOST_COMMANDS if marker.name == KERNEL_ENTRY else 0
    for index in log.lines_with(part.encode(), since, until):
        if commands and _of_a_command(log, index):
            commands -= 1
            continue
        text = log.text(index)
        if marker.name == "kernel-done" and _OTHER_TASK.search(text, 0, _PREFIX_MOST):
            continue
        if marker.pattern.search(split_line(text)[1]):
            yield Hit(index, log.at_ns[index], text)
        elif log.own[index] == 0 and log.kernel_ns[index] != NO_STAMP:
            shared = _SHARED.search(text)
            if shared and marker.pattern.search(text[shared.end() :]):
                yield Hit(index, log.kernel_ns[index], text, shared=True)


def _of_a_command(log: Log, index: int) -> bool:
    """Whether a command printed the kernel's version: the line has no stamp, and before it are lines that the
    kernel stamped, and words of init."""
    if log.kernel_ns[index] != NO_STAMP:
        return False
    if next((i for i, ns in enumerate(log.kernel_ns) if ns != NO_STAMP), index) >= index:
        return False
    texts = (text for text in INIT_TEXTS if next(log.lines_with(text.encode()), index) < index)
    return next(texts, None) is not None
