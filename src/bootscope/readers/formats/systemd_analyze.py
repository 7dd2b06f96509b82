# SPDX-License-Identifier: Apache-2.0
"""The texts of `systemd-analyze` for people: time, blame and critical-chain, alone or one after another."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from bootscope.readers.base import KERNEL, Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.startup_line import FINISHED, bounds, finished
from bootscope.readers.systemd_units import (
    AFTER_SOFT_REBOOT,
    CHAIN_TITLE,
    SOFT_REBOOT,
    USER_SPACE,
    blame_table,
    milestone,
    phase_track,
)
from bootscope.readers.tally import MAX_BOOTS, Tally, sample
from bootscope.readers.timespan import leading_span, span_ns
from bootscope.timeline.trace import Span, Table, Track

NAME = "systemd-analyze"
_MS_NS = 1_000_000
_LEGEND = re.compile(r"The time (?:when unit|after the unit|the unit)\b.{0,80} is printed after the \"[@+]\"")
_REACHED = re.compile(r"(\S{1,300}) reached after (.{1,60}?) in user ?space\.?\s*")
_NEVER = re.compile(
    r"\S{1,300} was never reached\.?\s*|Could not get time to reach \S{1,300}"
    r"|could not find default\.target\."
)
_UNIT = re.compile(
    r"[A-Za-z0-9:_.\\@-]{1,300}\.(?:service|socket|device|mount|automount|swap|target|path|timer|slice|scope)"
)
_TREE = " │├└─`|-"
_CHAIN = re.compile(r"(\S{1,300})(?: @(.{1,60}?))?(?: \+(.{1,60}))?")


@dataclass
class _Link:
    """A unit of a critical chain: `at_ns` and `took_ns` after user space began, None when not told."""

    name: str
    depth: int
    at_ns: int | None
    took_ns: int | None


@dataclass
class Said:
    """All that was said of one boot; times in ns."""

    parts: dict[str, int] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    blame: list[tuple[str, int]] = field(default_factory=list)
    chain: list[_Link] = field(default_factory=list)


def understands(text: str, said: Said) -> bool:
    """Takes in a line; whether it was understood."""
    if text.startswith(FINISHED):
        said.parts = finished(text)
        return bool(said.parts)
    if match := _REACHED.fullmatch(text):
        took_ns = span_ns(match[2])
        if took_ns is not None:
            said.reached[match[1]] = took_ns
        return took_ns is not None
    if _LEGEND.match(text) or _NEVER.fullmatch(text) or text.strip() == "-----":
        return True
    return _blame(text, said) or _chain(text, said)


def _blame(text: str, said: Said) -> bool:
    found = leading_span(text.lstrip(" "))
    if not found or not _UNIT.fullmatch(found[1].rstrip()):
        return False
    said.blame.append((found[1].rstrip(), found[0]))
    return True


def _chain(text: str, said: Said) -> bool:
    """`  └─basic.target @1.2s`, with `+857ms` behind it for a unit that took time."""
    body = text.lstrip(_TREE)
    if body in ("...", "…"):
        return True
    # A mount unit of the root is called `-.mount`: its dash is not part of the tree.
    body = f"-{body}" if body.startswith(".") and len(body) < len(text) else body
    match = _CHAIN.fullmatch(body.rstrip())
    if not match or not _UNIT.fullmatch(match[1]):
        return False
    if not (match[2] or match[3]) and len(body) == len(text):
        return False  # a name alone could stand in any text
    at_ns = span_ns(match[2]) if match[2] else None
    took_ns = span_ns(match[3]) if match[3] else None
    if (match[2] and at_ns is None) or (match[3] and took_ns is None):
        return False
    said.chain.append(_Link(match[1], (len(text) - len(body)) // 2, at_ns, took_ns))
    return True


def boot_of(said: Said) -> Boot:
    """The boot that all these words are about."""
    user_ns = sum(said.parts.get(name, 0) for name in ("kernel", "initrd", SOFT_REBOOT))
    boot = Boot(_clock(said))
    if said.parts:
        boot.tracks.append(phase_track(bounds(said.parts)))
        end_ns = user_ns + said.parts.get("userspace", 0)
        boot.points.append(milestone(user_ns, "systemd", _MS_NS))
        boot.points.append(milestone(end_ns, "systemd-finished", _MS_NS))
    for name, after_ns in said.reached.items():
        boot.points.append(milestone(user_ns + after_ns, name, _MS_NS))
    if said.chain:
        boot.tracks += _chain_tracks(said.chain, user_ns)
        boot.tables.append(_chain_table(said.chain))
    if said.blame:
        boot.tables.append(blame_table(said.blame))
    return boot


def _clock(said: Said) -> Clock:
    """The kernel's clock where the kernel's part is known; user space's own otherwise; or none."""
    if "kernel" in said.parts:
        return replace(KERNEL, resolution_ns=_MS_NS)
    if SOFT_REBOOT in said.parts:
        return AFTER_SOFT_REBOOT
    if said.parts or said.chain or said.reached:
        return USER_SPACE
    return Clock("none", "no times of day, only durations", _MS_NS)


def _chain_tracks(chain: list[_Link], user_ns: int) -> list[Track]:
    """A track per unit of the chain; one without `+` took no time that systemd saw."""
    tracks = {}
    for link in chain:
        if link.at_ns is not None:
            begin_ns = user_ns + link.at_ns
            span = Span(begin_ns, begin_ns + (link.took_ns or 0), "starting")
            tracks[link.name] = Track(f"systemd:{link.name}", "service", link.name, (span,))
    return sorted(tracks.values(), key=lambda t: t.spans[0].start_ns)


def _chain_table(chain: list[_Link]) -> Table:
    rows = tuple((link.depth, link.name, link.at_ns, link.took_ns) for link in chain)
    columns = ("depth", "unit", "after user space began, ns", "took, ns")
    return Table(CHAIN_TITLE, columns, rows)


def sure(source: Source) -> int:
    lines = sample(source)
    if not lines:
        return 0
    said = Said()
    fit = sum(understands(line.decode("utf-8", "backslashreplace"), said) for line in lines)
    share = 98 * fit // len(lines)
    # A list of spans and names could be someone's own; the other texts are systemd's words.
    return share if said.parts or said.reached or said.chain else min(share, 85)


def read(source: Source, options: Options) -> Reading:
    tally, boots = Tally(), [Said()]

    def take(_number: int, text: str) -> bool:
        if text.startswith(FINISHED) and boots[-1].parts and len(boots) < MAX_BOOTS:
            boots.append(Said())
        return understands(text, boots[-1])

    repairs = tally.lines(source, NAME, "output of systemd-analyze", take)
    return tally.reading([boot_of(said) for said in boots], repairs)


READERS = (
    Reader(
        NAME,
        "systemd-analyze time, blame, critical-chain",
        "systemd-analyze; systemd-analyze blame; systemd-analyze critical-chain",
        sure,
        read,
    ),
)
