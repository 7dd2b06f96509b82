# SPDX-License-Identifier: Apache-2.0
"""Drivers that can be probed after the application starts: slow probes that the boot does not need.

By evidence: the object file that registered a driver shows its kind; a kind is used if programs opened
its devices, start scripts name one, or the root is on one. That the others are not used is a judgement for
kinds of devices that a boot seldom needs, not proof; the proof is a boot with them deferred.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from bootscope.analysis import syscalls
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Call
from bootscope.builder.linkmap import Objects, read
from bootscope.capture import objects
from bootscope.core.text import span
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.recorded import Recorded, Unrecorded

PARAMETER = "probe_later.drivers"
"""The word of the command line that names them."""
_DISKS = ("/dev/sd*", "/dev/sr*", "/dev/disk/*")
_KINDS = {
    "drivers/ata/": _DISKS,
    "drivers/hid/": ("/dev/hidraw*", "/dev/input/*"),
    "drivers/iio/": ("/dev/iio:*",),
    "drivers/input/": ("/dev/input/*",),
    "drivers/media/": ("/dev/video*", "/dev/media*", "/dev/lirc*", "/dev/input/*", "/dev/dvb/*"),
    "drivers/usb/": ("/dev/bus/usb/*", "/dev/tty[UA]*", "/dev/input/*", "/dev/video*", *_DISKS),
    "sound/": ("/dev/snd/*", "/dev/dsp*", "/dev/audio*"),
}
"""Folders of the kernel, and the device files of the drivers in them."""
_MAYBE_DISK = r"/dev/(?:sd|sr|disk|md|dm|mapper)|\w+=|[0-9a-f]+(?::\d+)?$"
"""A root given by the name of a disk, by an identifier on one, or by its device number."""
_LEAST_NS = 10_000_000
"""A driver whose probes take less is left as it is."""
_NAME = re.compile(r"[\w.+-]+", re.ASCII)


def drivers(known: Inventory) -> str:
    """Their names, separated by commas, the slowest first; empty where there are none."""
    word = (known.word(PARAMETER) or "").split(",")
    return ",".join(dict.fromkeys([*filter(None, word), *_found(_recorded(known))]))


def probes(known: Inventory) -> str:
    """The devices that they probed, for `what-if without:`."""
    facts = _recorded(known)
    found = [call.text for calls in _found(facts).values() for call in calls]
    return " ".join(dict.fromkeys(found))


def shown(facts: Recorded) -> str:
    """What the boot shows of them; empty where there are none."""
    took = {name: sum(call.end_ns - call.start_ns for call in own) for name, own in _found(facts).items()}
    return ", ".join(f"{name} {span(ns)}" for name, ns in took.items())


FOUND = {"postponable_drivers": drivers, "postponable_probes": probes}
"""Placeholders, and functions for their values in a system; `try` records a boot's system calls for them."""


def _recorded(known: Inventory) -> Recorded:
    if not isinstance(known, Recorded):
        raise Unrecorded("which drivers take time is not known without a recording")
    return known


def _found(facts: Recorded) -> dict[str, list[Call]]:
    """Driver -> its probes, the slowest first."""
    evidence = facts.view.evidence
    spare = set(_spare(facts))
    found: dict[str, list[Call]] = {}
    for call in _outermost(evidence, spare):
        found.setdefault(call.detail, []).append(call)
    took = {driver: sum(call.end_ns - call.start_ns for call in own) for driver, own in found.items()}
    kept = (driver for driver in took if took[driver] >= _LEAST_NS)
    return {driver: found[driver] for driver in sorted(kept, key=lambda name: (-took[name], name))}


def _outermost(evidence: Evidence, wanted: set[str]) -> Iterator[Call]:
    """Successful probes of these drivers, without those nested in another one of them."""
    calls = [c for c in evidence.scene.of("probe") if c.detail in wanted and c.text and c.first >= 0]
    ends: dict[int, int] = {}
    for call in sorted(calls, key=lambda c: (c.first, -c.last)):
        if call.open or call.first < ends.get(call.task.number, -1):
            continue
        ends[call.task.number] = call.last
        if not call.result:
            yield call


def _spare(facts: Recorded) -> Iterator[str]:
    """Drivers of such kinds that nothing used."""
    evidence = facts.view.evidence
    linked = Objects(read(evidence.load(objects.KERNEL_OBJECTS).decode("utf-8", "replace")))
    used = _used(facts)
    for driver, call in evidence.scene.drivers.items():
        piece = linked.at(evidence.arch.code_address(call.value))
        folder = next((kind for kind in _KINDS if piece and piece.object.startswith(kind)), "")
        if folder and folder not in used and _NAME.fullmatch(driver):
            yield driver


def _used(facts: Recorded) -> set[str]:
    """The kinds that programs or the root use."""
    root = facts.word("root") or ""
    on_disk = bool(re.match(_MAYBE_DISK, root))
    opened, texts = _opened(facts.view.evidence), "\n".join(facts.scripts.values())
    found = set()
    for folder, patterns in _KINDS.items():
        named = any(re.search(re.escape(p.rstrip("*").partition("[")[0]), texts) for p in patterns)
        seen = any(fnmatchcase(name, pattern) for name in opened for pattern in patterns)
        if named or seen or (on_disk and set(_DISKS) <= set(patterns)):
            found.add(folder)
    return found


def _opened(evidence: Evidence) -> set[str]:
    """Files that programs opened; none where system calls were not recorded."""
    if not syscalls.recorded(evidence):
        return set()
    return {
        name
        for row in syscalls.calls(evidence)
        if str(row["what"]).startswith("open")
        for name in str(row["file"]).split()
    }
