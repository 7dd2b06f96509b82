# SPDX-License-Identifier: Apache-2.0
"""What units of systemd are ordered after, from the unit files of the root file system.

That is what the files say (After=, Before=, folders such as .wants), and what systemd adds by itself: see
"Implicit" and "Default Dependencies" in the manual pages systemd.unit(5), systemd.service(5) and so on. What
generators write at boot is in no file of the image.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bootscope.system.unit_files import (
    UnitFile,
    UnitFiles,
    filled_in,
    instance_of,
    is_unit,
    mount_name,
    template_of,
)

NEEDS = ("Requires", "Requisite", "BindsTo", "Wants", "Upholds")
_SYSTEM = ("sysinit.target",)
_EARLY = {"service": ("sysinit.target", "basic.target"), "socket": _SYSTEM, "timer": _SYSTEM, "path": _SYSTEM}
_EARLY_TARGETS = {"socket": "sockets.target", "timer": "timers.target", "path": "paths.target"}
_JOURNAL, _TMPFILES = "systemd-journald.socket", "systemd-tmpfiles-setup.service"
_NO = ("no", "false", "off", "0", "n", "f")


def after(names: Iterable[str], files: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Unit -> the units of `names` that it is ordered after, by name."""
    known = UnitFiles(files)
    wanted = sorted(set(names))
    units = {name: unit for name in wanted if (unit := known.unit(name)) and not unit.masked}
    aliases: dict[str, list[str]] = {}
    for name in wanted:
        aliases.setdefault(known.real_name(name), []).append(name)
    found: dict[str, set[str]] = {name: set() for name in wanted}
    for name, unit in units.items():
        for other in _after(name, unit, units):
            found[name].update(aliases.get(known.real_name(other), ()))
        for other in _before(name, unit):
            for later in aliases.get(known.real_name(other), ()):
                found[later].add(name)
    return {name: tuple(sorted(others - {name})) for name, others in found.items()}


def needs(unit: UnitFile, name: str) -> list[str]:
    """The units that a unit requests in its files."""
    words = filled_in(unit.words("Unit", *NEEDS), name)
    return [other for other in (*words, *(other for _, other in unit.dropped_in)) if is_unit(other)]


def _defaults(unit: UnitFile | None) -> bool:
    return unit is None or unit.last("Unit", "DefaultDependencies", "yes").lower() not in _NO


def _kind(name: str) -> str:
    return name.rpartition(".")[2]


def _after(name: str, unit: UnitFile, units: Mapping[str, UnitFile]) -> Iterator[str]:
    yield from filled_in(unit.words("Unit", "After"), name)
    for path in filled_in(unit.words("Unit", "RequiresMountsFor", "WantsMountsFor"), name):
        yield from _mounts(path)
    kind = _kind(name)
    if _defaults(unit):
        yield from _EARLY.get(kind, ())
        if kind == "mount":
            yield "local-fs-pre.target"
    if kind == "target" and _defaults(unit):
        # A target is ordered after what it requests, unless that says the opposite.
        yield from (
            o for o in needs(unit, name) if _defaults(units.get(o)) and not _is_before(name, o, units)
        )
    if kind in ("service", "socket", "mount", "swap"):
        yield from _after_of_programs(name, unit, kind)


def _is_before(name: str, other: str, units: Mapping[str, UnitFile]) -> bool:
    """Whether a unit is itself ordered after the target that requests it."""
    unit = units.get(other)
    return unit is not None and name in filled_in(unit.words("Unit", "After"), other)


def _after_of_programs(name: str, unit: UnitFile, kind: str) -> Iterator[str]:
    """What a unit that runs programs is ordered after."""
    section = kind.capitalize()
    output = unit.last(section, "StandardOutput", "journal")
    if kind == "service" and output.startswith(("journal", "kmsg", "inherit")):
        yield _JOURNAL
    if unit.last(section, "PrivateTmp", "no").lower() not in _NO:
        yield _TMPFILES
        yield from (*_mounts("/tmp"), *_mounts("/var/tmp"))
    if unit.last(section, "Type") == "dbus" or unit.words(section, "BusName"):
        yield "dbus.socket"
    yield from (other for other in filled_in(unit.words(section, "Sockets"), name) if is_unit(other))
    yield from _slice(name, unit, section)


def _slice(name: str, unit: UnitFile, section: str) -> Iterator[str]:
    named = unit.last(section, "Slice")
    if named:
        yield named
    elif template_of(name) or instance_of(name):
        prefix = name.partition("@")[0].replace("-", "\\x2d")
        yield f"system-{prefix}.slice"
    elif _defaults(unit):
        yield "system.slice"


def _mounts(path: str) -> Iterator[str]:
    """The mount units of a path and of all folders above it."""
    parts = [part for part in path.split("/") if part][:64]
    yield from (mount_name("/".join(parts[:count])) for count in range(len(parts) + 1))


def _before(name: str, unit: UnitFile) -> Iterator[str]:
    yield from filled_in(unit.words("Unit", "Before"), name)
    kind = _kind(name)
    if _defaults(unit) and kind in _EARLY_TARGETS:
        yield _EARLY_TARGETS[kind]
    if kind == "mount" and _defaults(unit):
        yield "local-fs.target"
    if kind in ("socket", "timer", "path"):
        section = kind.capitalize()
        yield (
            unit.last(section, "Service" if kind == "socket" else "Unit")
            or f"{name.rpartition('.')[0]}.service"
        )
