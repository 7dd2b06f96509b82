# SPDX-License-Identifier: Apache-2.0
"""What usually happens in a gap of the console, judged by the lines before and after it.

The kinds are tables in `gap_kinds/`: `before` and `after` are regular expressions for the two lines (both
must match if both are given), `least_ms` and `most_ms` bound the gap's length, `what` is the reason and `do`
what would help, `techniques` are ids of the catalogue, the best first. `span` is a regular expression for
names in time logs - systemd's units and their descriptions, its phases (`firmware`) and its own work
(`generators`) - whose length it explains. `sure` is `known` if the lines themselves say so, else `likely`. An
`idle` gap is not part of the boot: nothing waits. `source` says where the knowledge comes from.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec

from bootscope.loaders import console
from bootscope.loaders.registry import BUILT

KNOWN, LIKELY = "known", "likely"
_TABLES = Path(__file__).with_name("gap_kinds")
_LONGEST = 400
"""The number of characters of a line that are examined."""
_NS_OF_MS = 1_000_000
_COMPRESSION = ("kernel-compression", "kernel-uncompressed", "kernel-remove-unused")


class Reason(msgspec.Struct, frozen=True):
    """Why the console is silent for a while: `what` and what to `do`, in words. `same` is the device or
    driver named in the lines before and after (untrusted, from a board); empty if they differ."""

    kind: str
    what: str
    sure: str
    do: str
    techniques: tuple[str, ...] = ()
    source: str = ""
    idle: bool = False
    same: str = ""

    @property
    def words(self) -> str:
        """The reason as shown; a reason that is only likely is marked so."""
        told = self.what if self.sure == KNOWN else f"{LIKELY}: {self.what}"
        return f"{told} (same probe: {self.same})" if self.same and self.same not in told else told


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of gap, as in its table."""

    what: str
    sure: str
    do: str
    source: str
    before: str = ""
    after: str = ""
    span: str = ""
    least_ms: int = 0
    most_ms: int = 0
    techniques: tuple[str, ...] = ()
    idle: bool = False

    def fits(self, before: str, after: str, gap_ns: int) -> bool:
        """Whether a gap of that length between these lines is of this kind."""
        if gap_ns < self.least_ms * _NS_OF_MS or (self.most_ms and gap_ns > self.most_ms * _NS_OF_MS):
            return False
        pairs = ((self.before, before), (self.after, after))
        return all(_compiled(pattern).search(line) for pattern, line in pairs if pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def kinds() -> dict[str, Kind]:
    """All kinds by id, in the order of trial: those that match both lines, then known ones, then the rest."""
    found = dict(_of_loaders())
    for path in sorted(_TABLES.glob("*.toml")):
        found |= msgspec.toml.decode(path.read_bytes(), type=dict[str, Kind])
    return dict(sorted(found.items(), key=lambda item: _order(item[1])))


def _order(kind: Kind) -> tuple[bool, bool]:
    return not (kind.before and kind.after), kind.sure != KNOWN


def _of_loaders() -> dict[str, Kind]:
    """Those whose lines the boot loaders define."""
    return {
        "countdown": Kind(
            f"{BUILT.title} waits for a key",
            KNOWN,
            "a boot delay of 0",
            "the line itself counts down",
            before=console.COUNTDOWN,
            techniques=BUILT.cures.countdown,
        ),
        # An arm64 kernel prints ten digits in its first line; its Image is never compressed.
        "kernel-start-64": Kind(
            "the kernel starts, before its console works",
            LIKELY,
            "earlycon shows more; less memory to be cleared, fewer pages to be set up",
            "the boot loader's last line, the kernel's first one",
            before=f"^{console.HANDOVER}",
            after=r"^Booting Linux on physical CPU 0x[0-9a-f]{10}\b",
        ),
        "kernel-start": Kind(
            "the kernel unpacks itself (if packed) and starts, without its console",
            LIKELY,
            "a smaller or better compressed kernel; earlycon shows more",
            "the boot loader's last line, the kernel's first one",
            before=f"^{console.HANDOVER}",
            after="^(?:Uncompressing |Booting Linux|Linux version)",
            techniques=_COMPRESSION,
        ),
        "quiet": Kind(
            "the kernel and all programs until that line, not told apart: nothing is printed",
            KNOWN,
            "boot once without quiet; what is printed then costs time of its own",
            "the boot loader's last line, and no line of a kernel after it",
            before=f"^{console.HANDOVER}",
        ),
    }


_DEVICE = re.compile(r"([\w-]{2,40} [\w.-]{1,40}[:.@-][\w.:-]{1,60}|[A-Za-z][\w./-]{2,40}): ")
"""The prefix of Linux's dev_info and pr_fmt: driver and device, or one of the two."""
_NO_PROBE = re.compile(
    r"(?:systemd|random|boot|audit|init|INIT|procd|usb|hub|usbcore|Run|udevd|TERM|NET|IPv6|ACPI|printk"
    r"|clocksource|WARNING|NOTICE|INFO|Freeing|kmodloader|mtdblock|mount_root|BUG|EXT4-fs|device)\b|EXT4-fs"
)
"""Prefixes that many share: they do not identify one probe."""


_NOTHING = re.compile(
    r"(?!.*type=1403)(?:kernel: )?(?:audit(?:\[\d{1,9}\])?: |type=\d{4} audit\(|AVC )"
    r"|.*\bapparmor=\"|.*\bavc: +(?:denied|granted)"
    r"|(?:\[  OK  \] |systemd\[1\]: )(?:Finished|Reached target|Created slice|Listening on|Condition check) "
    r"|.*(?:was skipped because|being skipped\b|skipped, unmet condition)"
)
"""Lines that do not say what happens after them: audit, AppArmor and SELinux records (they name programs and
files; 1403 is a loaded policy), units that have finished or were skipped."""


def same_probe(before: str, after: str) -> str:
    """The device or driver named in both lines; empty if they differ."""
    one, two = _DEVICE.match(before), _DEVICE.match(after)
    if not one or not two or one[1] != two[1] or _NO_PROBE.match(one[1]):
        return ""
    return one[1]


def reason(before: str, after: str, gap_ns: int) -> Reason | None:
    """What usually happens in a gap of `gap_ns` between two lines without their stamps; None if unknown. The
    lines are untrusted."""
    before, after = (_telling(line[:_LONGEST].strip()) for line in (before, after))
    same = same_probe(before, after)
    for ident, kind in kinds().items():
        if (kind.before or kind.after) and kind.fits(before, after, gap_ns):
            return _reason(ident, kind, same)
    if not same:
        return None
    do = "its driver's waits: parameters, asynchronous probing, or a module that is loaded later"
    techniques = ("kernel-async-probe", "kernel-driver-params", "kernel-modules-later")
    return Reason(
        "same-probe", f"same probe: {same}", LIKELY, do, techniques, "both lines name it", same=same
    )


def _telling(line: str) -> str:
    """A line, or an empty string if it says nothing about a gap beside it."""
    return "" if _NOTHING.match(line) else line


@cache
def span_reason(name: str) -> Reason | None:
    """Why an entry of this name (untrusted) in a time log usually takes long; None if unknown."""
    for ident, kind in kinds().items():
        if kind.span and _compiled(kind.span).search(name[:_LONGEST]):
            return _reason(ident, kind, "")
    return None


def as_reason(ident: str) -> Reason:
    """The kind with that id, as the reason of a gap in which its program is known to run. Raises KeyError for
    an unknown id."""
    return _reason(ident, kinds()[ident], "")


def _reason(ident: str, kind: Kind, same: str) -> Reason:
    return Reason(ident, kind.what, kind.sure, kind.do, kind.techniques, kind.source, kind.idle, same)
