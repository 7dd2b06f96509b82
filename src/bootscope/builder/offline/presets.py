# SPDX-License-Identifier: Apache-2.0
"""Which units of a root file system are enabled: makes the links that `systemctl preset-all` would make."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from bootscope.system.unit_files import (
    ENABLED,
    LINK,
    UnitFile,
    UnitFiles,
    filled_in,
    instance_name,
    is_unit,
)

FOLDERS = ("/etc/systemd/system-preset", "/usr/lib/systemd/system-preset")
_BY = (("WantedBy", "wants"), ("RequiredBy", "requires"), ("UpheldBy", "upholds"))


def rules(texts: Mapping[str, str]) -> list[tuple[bool, str, tuple[str, ...]]]:
    """(whether it enables, pattern, instances) of each rule in preset files, by path; the first match counts.

    Of files with the same name, the one in /etc counts.
    """
    chosen: dict[str, str] = {}
    for folder in FOLDERS:
        for path in texts:
            place = PurePosixPath(path)
            if str(place.parent) == folder and place.suffix == ".preset":
                chosen.setdefault(place.name, path)
    found = []
    for name in sorted(chosen):
        for line in texts[chosen[name]].splitlines():
            words = line.split()
            if len(words) >= 2 and words[0] in ("enable", "disable"):
                found.append((words[0] == "enable", words[1], tuple(words[2:])))
    return found


def links(files: Mapping[str, str], texts: Mapping[str, str]) -> dict[str, str]:
    """Path -> target of the links that enable units: `files` are unit files, `texts` preset files.

    A unit without a rule is enabled, as in systemd.
    """
    known, order = UnitFiles(files), rules(texts)
    found: dict[str, str] = {}
    seen: set[str] = set()
    for name in known.names():
        unit = known.unit(name)
        if (
            unit is None
            or unit.masked
            or known.files.get(unit.path, "").startswith(LINK)
            or unit.name != name
        ):
            continue
        enables, instances = _rule(name, order)
        if enables:
            _enable(unit, known, found, seen, instances)
    return {path: target for path, target in found.items() if path not in files}


def _rule(name: str, order: Sequence[tuple[bool, str, tuple[str, ...]]]) -> tuple[bool, tuple[str, ...]]:
    fitting = ((enables, more) for enables, pattern, more in order if fnmatch.fnmatchcase(name, pattern))
    return next(fitting, (True, ()))


def _enable(
    unit: UnitFile, known: UnitFiles, found: dict[str, str], seen: set[str], instances: Sequence[str]
) -> None:
    if unit.name in seen:
        return
    seen.add(unit.name)
    for name in _names(unit, instances):
        for key, folder in _BY:
            others = (other for other in filled_in(unit.words("Install", key), name) if is_unit(other))
            found.update({f"{ENABLED}/{other}.{folder}/{name}": unit.path for other in others})
    for alias in unit.words("Install", "Alias"):
        # A name in a folder of another unit was once a way to write WantedBy.
        if is_unit(alias):
            found[f"{ENABLED}/{alias}"] = unit.path
    for also in unit.words("Install", "Also"):
        beside = known.unit(also)
        if beside and not beside.masked:
            _enable(beside, known, found, seen, ())


def _names(unit: UnitFile, instances: Sequence[str]) -> list[str]:
    """The unit, or the enabled instances of a template."""
    if "@." not in unit.name:
        return [unit.name]
    default = unit.last("Install", "DefaultInstance")
    return [instance_name(unit.name, one) for one in instances or ([default] if default else [])]
