# SPDX-License-Identifier: Apache-2.0
"""What a join rests on, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from bootscope.core.errors import printable
from bootscope.readers import link as on
from bootscope.readers.base import Clock
from bootscope.readers.early_kernel import Bound
from bootscope.readers.fit import TRILLION
from bootscope.readers.join import File, Group
from bootscope.readers.link import Link, Refusal, extent

_HOW = {
    on.TOLD: "by --offset",
    on.SAME_STAMPS: "{n} identical lines, with the same kernel stamps",
    on.COUNTER: "both count on {counter}, taken for the same boot",
    on.KERNEL: "both are on the kernel's clock, taken for the same boot",
    on.LINES: "{n} identical lines, taken for the same boot",
    on.STAMPS: "{n} kernel stamps inside the lines, taken for the same boot",
    on.HOST: "both were started and ended by this computer",
    on.EVENTS: "{n} known event(s) in both, taken for the same boot",
    on.CALENDAR: "both are stamped with calendar time, taken to agree to a second",
    on.BESIDE: "it has no stamps and is shown separately",
}


def boot_name(files: Sequence[File], key: tuple[int, int]) -> str:
    """A boot by its file, and by its number where the file has several. Safe to show."""
    file = files[key[0]]
    number = f" (boot {key[1] + 1})" if len(file.reading.boots) > 1 else ""
    return printable(file.name) + number


def link_words(files: Sequence[File], found: Link) -> str:
    """A link as one sentence: what it rests on, offset, drift, error."""
    a, b = files[found.a[0]].reading.boots[found.a[1]], files[found.b[0]].reading.boots[found.b[1]]
    how = _HOW[found.how].format(n=f"{found.matched:,}", counter=printable(a.clock.counter_id))
    words = [f"{boot_name(files, found.b)} onto {boot_name(files, found.a)}: {how}"]
    if found.how == on.BESIDE:
        return words[0]
    # Years since 1970 tell nobody anything: a calendar's boot is told by its first stamp.
    zero_ns = extent(b)[0] if b.clock.name == "wall" else 0
    origin_ns = extent(a)[0] if a.clock.name == "wall" else 0
    what = "its first stamp" if b.clock.name == "wall" else "its 0"
    words.append(f"{what} is at {_seconds(found.map.at(zero_ns) - origin_ns)} s")
    if found.map.drift_ppt:
        words.append(f"drift {_ppm(found.map.drift_ppt)} ppm")
    if found.used < found.matched and found.how in (on.LINES, on.STAMPS, on.SAME_STAMPS):
        words.append(f"{found.used:,} of them within the error")
    words.append(f"error {_nanoseconds(found.error_ns)}" if found.how != on.TOLD else "error as told")
    return "; ".join(words)


def refusal_words(files: Sequence[File], found: Refusal) -> str:
    """Why two boots are apart, as one sentence."""
    return f"{boot_name(files, found.b)} and {boot_name(files, found.a)} are not joined: {found.why}"


def clock_words(files: Sequence[File], group: Group, rebased: bool, other_ns: int = 0) -> str:
    """The clock of a joined boot: whose it is and where 0 lies: at the clock's own 0, or at the boot's
    beginning, which is `other_ns` on that clock."""
    first = group.members[0]
    clock = files[first.file].reading.boots[first.boot].clock
    if clock.name == "none":
        return f"no clock: durations only, of {boot_name(files, (first.file, first.boot))}"
    zero = "the first thing seen" if rebased else clock.zero
    whose = f"{clock.name} clock of {boot_name(files, (first.file, first.boot))}"
    if other_ns:
        after = f"{_seconds(other_ns)[1:]} s after the clock's 0: {printable(zero)}"
        return f"{whose}, 0 is this boot's beginning, {after}"
    return f"{whose}, 0 is {printable(zero)}"


def stamp_words(clock: Clock) -> str:
    """A file's clock, for its reader: `host clock, stamps at the first byte, ...`."""
    if clock.name == "none":
        return "no clock: durations only"
    words = f"{clock.name} clock, a stamp is {_STAMP.get(clock.stamp, clock.stamp)}"
    return f"{words}, resolution {_nanoseconds(clock.resolution_ns)}, 0 is {printable(clock.zero)}"


_STAMP = {
    "first byte": "when the first byte of its line came",
    "end of line": "when its line was complete",
    "previous newline": "when the line before ended",
    "when logged": "when its line was logged",
    "unknown": "at an unknown moment of its line (give --stamp)",
}


def silence_words(phase: str, found: Bound) -> str:
    """What is known of the phase in which the kernel is unpacked and runs without a console."""
    if found.unpack_most_ns is None or found.kernel_least_ns is None:
        return f"{phase}: these inputs cannot separate them; the kernel is silent until its console works"
    most = f"{phase}: unpacking took at most {_milliseconds(found.unpack_most_ns)}"
    if not found.kernel_least_ns:
        return f"{most}, with what the kernel did before its clock began"
    least = _milliseconds(found.kernel_least_ns)
    return f"{most}; the kernel ran without a console for at least {least} (by its stamps)"


def after_words(end_ns: int, last_ns: int, *, earliest: bool) -> str:
    """That the files go on after the boot's end, which was then or, with `earliest`, later."""
    end, last = _seconds(end_ns)[1:], _seconds(last_ns)[1:]
    later = " or later" if earliest else ""
    return f"the boot ended at {end} s{later}; what follows, up to {last} s, is not part of it"


def failed_words(end_ns: int, last_ns: int) -> str:
    """That what the files say after a boot failed is not counted."""
    end, last = _seconds(end_ns)[1:], _seconds(last_ns)[1:]
    return f"the boot failed at {end} s; what follows, up to {last} s, is not part of it"


def _milliseconds(ns: int) -> str:
    return f"{ns / 1e6:,.1f} ms"


def _seconds(ns: int) -> str:
    sign = "-" if ns < 0 else "+"
    return f"{sign}{abs(ns) // 10**9}.{abs(ns) % 10**9 // 1000:06}"


def _ppm(drift_ppt: int) -> str:
    tenths = round(drift_ppt * 10 / (TRILLION // 10**6))
    return f"{'-' if tenths < 0 else '+'}{abs(tenths) // 10:,}.{abs(tenths) % 10}"


def _nanoseconds(ns: int) -> str:
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 1000)):
        if ns >= size:
            tenths = (ns * 10 + size // 2) // size
            return f"{tenths // 10}.{tenths % 10} {unit}" if ns % size else f"{ns // size} {unit}"
    return f"{ns} ns"
