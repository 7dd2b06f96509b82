# SPDX-License-Identifier: Apache-2.0
"""Boots that fail: panics, oopses and lockups of the kernel, and boot loaders that stop at their prompt.

Linux kernel/panic.c (`Kernel panic - not syncing`, without these words before 2.4.10), lib/bug.c, the `die`
of each architecture (`Oops`), kernel/watchdog.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bootscope.loaders import console
from bootscope.readers.base import Log
from bootscope.readers.hits import Hit, View
from bootscope.readers.join import Member
from bootscope.readers.markers import KERNEL_ENTRY, LOADERS, split_line
from bootscope.timeline.failure import LOCKUP, OOPS, PANIC, PROMPT, Failure

_AT = r"(?:^|\d\.\d{6}\] ?)"
_KINDS = (
    (PANIC, ("Kernel panic",), re.compile(_AT + r"Kernel panic(?: - |: )")),
    (
        OOPS,
        ("Unable to handle kernel", "Oops", "BUG: unable to handle", "BUG: kernel NULL", "ernel BUG at"),
        re.compile(
            _AT + r"(?:(?:CPU \d{1,4} )?Unable to handle kernel |(?:Internal error: )?Oops\b(?!,)"
            r"|BUG: (?:unable to handle|kernel NULL)|[Kk]ernel BUG at )"
        ),
    ),
    (
        LOCKUP,
        ("soft lockup", "hard LOCKUP"),
        re.compile(r"BUG: soft lockup - CPU|[Ww]atchdog.{0,40} hard LOCKUP"),
    ),
)
TEXTS = tuple(text for _, texts, _ in _KINDS for text in texts)
"""One of these is in each line that tells of a failure of the kernel."""
_PROMPT = re.compile(console.PROMPT)
_COUNTDOWN = re.compile(console.COUNTDOWN)
_LAST_LINES = 5
_KERNEL = ("kernel-start", "kernel-entry", "kernel-seen", "kernel-done", "init", "init-seen", "login")
_BEGINS = (*(marker.name for marker in LOADERS), "kernel-start", KERNEL_ENTRY)
"""Milestones before which nothing of a boot can fail."""


def failure(view: View, hits: Iterable[Hit], end: Hit | None) -> Failure | None:
    """What failed in a boot whose `end` is known or not: a panic, else the first thing else that failed."""
    member = view.console()
    if member is None:
        return None
    log, known = view.boot(member).log, {hit.marker.name: hit for hit in hits}
    begins = [index for name in _BEGINS if name in known for at, index in known[name].firsts if at == member]
    since = min(begins, default=0)
    firsts = ((kind, _first(log, texts, words, since)) for kind, texts, words in _KINDS)
    found = {kind: index for kind, index in firsts if index is not None}
    if not found:
        at = _stopped(log) if not known.keys() & set(_KERNEL) else None
        return None if at is None else _failure(view, member, PROMPT, at, "", None)
    kind = PANIC if PANIC in found else min(found, key=found.__getitem__)
    index = found[kind]
    earlier = kind == PANIC and found.get(OOPS, index) < index
    cause = split_line(log.text(found[OOPS]))[1] if earlier else ""
    return _failure(view, member, kind, index, cause, end)


def may_fail(log: Log) -> bool:
    """Whether something in a log may be a failure: quick, also in a million lines."""
    return (
        any(_first(log, texts, words) is not None for _, texts, words in _KINDS) or _stopped(log) is not None
    )


def _first(log: Log, texts: Iterable[str], words: re.Pattern[str], since: int = 0) -> int | None:
    """The first line from line `since` on in which one of the texts is, with the words around it."""
    lines = ((i for i in log.lines_with(text.encode()) if i >= since) for text in texts)
    firsts = (next((i for i in some if words.search(split_line(log.text(i))[1])), None) for some in lines)
    return min((index for index in firsts if index is not None), default=None)


def _stopped(log: Log) -> int | None:
    """The prompt at which a log ends that had the countdown before; None where it does not."""
    said = [i for i in range(max(0, len(log) - _LAST_LINES), len(log)) if log.text(i).strip()]
    if not said or not _PROMPT.match(log.text(said[-1]).strip()):
        return None
    texts = (log.text(i).strip() for i in range(len(log)))
    return said[-1] if any(_COUNTDOWN.search(text) for text in texts) else None


def _failure(view: View, member: Member, kind: str, index: int, cause: str, end: Hit | None) -> Failure:
    boot = view.boot(member)
    log, since = boot.log, boot.log.stamped_line(index)
    timed = since >= 0 and boot.clock.name != "none"
    at_ns = view.map(member).at(log.at_ns[index]) if timed else None
    after = end is not None and _before(end, member, index, at_ns)
    return Failure(
        kind=kind,
        at_ns=at_ns,
        line=split_line(log.text(index))[1],
        cause=cause,
        earliest=timed and since < index,
        ends=kind in (PANIC, PROMPT) and not after,
        after=after,
    )


def _before(end: Hit, member: Member, index: int, at_ns: int | None) -> bool:
    """Whether a boot's end was before that line, by its place in the same log, else by its time."""
    places: Mapping[Member, int] = dict(end.firsts)
    if member in places:
        return places[member] < index
    return at_ns is not None and end.at_ns <= at_ns
