# SPDX-License-Identifier: Apache-2.0
"""The differences between two lists of Debian packages that a system is made of: packages that are new, gone
or of another version. A combination is made of the packages of both, without the network."""

from __future__ import annotations

import contextlib
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import msgspec

from bootscope.builder import sources
from bootscope.builder.archive import put_together
from bootscope.builder.cache import Cache
from bootscope.builder.ids import id_of
from bootscope.builder.plan import wanted_sources
from bootscope.builder.sources import Wanted
from bootscope.core.errors import UserError, printable
from bootscope.regression.debs import Deb, depends, in_folder, in_tar
from bootscope.regression.inputs import Inputs
from bootscope.regression.parts import Part, Parts, parts_of, together, with_parts
from bootscope.regression.placed import placed
from bootscope.regression.units import Chosen
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem, load_system, system_names
from bootscope.system.named_sources import packaged_root
from bootscope.system.source import PackageSet, Source

_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]*(?::[a-z0-9]+)?(?:=[A-Za-z0-9.+~:-]+)?")
_TAR = "packages.tar"


@dataclass(frozen=True)
class Packages(Inputs):
    """The packages of two lists, by name: of root file systems, and (`parts`) the other sources of systems.
    `cache`: where combinations are composed."""

    option: ClassVar[str] = "--packages"
    noun: ClassVar[tuple[str, str]] = ("package", "packages")
    views: ClassVar[tuple[str, ...]] = ("processes", "storage", "functions")
    sides: tuple[Mapping[str, Deb], Mapping[str, Deb]]
    cache: Cache
    parts: tuple[Parts, Parts] = ({}, {})

    @cached_property
    def differing(self) -> dict[str, str]:
        """Name -> its change, in words."""
        both = zip(self.parts, self.sides, strict=True)
        old, new = (dict[str, Deb | Part]({**parts, **debs}) for parts, debs in both)
        names = sorted(n for n in {*old, *new} if _hash(old.get(n)) != _hash(new.get(n)))
        return {name: f"{_version(old.get(name))} -> {_version(new.get(name))}" for name in names}

    @cached_property
    def key(self) -> str:
        """Of both contents."""
        both = (*self.sides, *self.parts)
        return id_of([{name: deb.sha256 for name, deb in side.items()} for side in both])

    def chosen(self, chosen: Chosen) -> dict[str, Deb]:
        """The packages of a combination, by name."""
        from_bad = self.names(chosen)
        old, new = self.sides
        names = sorted({*old, *new})
        picked = {name: (new if name in from_bad else old).get(name) for name in names}
        return {name: deb for name, deb in picked.items() if deb}

    @contextlib.contextmanager
    def system(self, chosen: Chosen) -> Iterator[LoadedSystem]:
        """The system with the packages of a combination as its root file system."""
        from_bad, (old, new) = self.names(chosen), self.parts
        with self.cache.workspace() as work:
            s = placed(self.loaded, work)
            changed = with_parts(s.system, {n: (new if n in from_bad else old)[n] for n in old})
            if name := packaged_root(changed) if self.sides[0] else "":
                put_together(work / _TAR, [deb.path for deb in self.chosen(chosen).values()])
                own = Source(version=changed.sources[name].version, path=str(work / _TAR))
                changed = msgspec.structs.replace(changed, sources={**changed.sources, name: own})
            yield LoadedSystem(changed, s.path)

    def needs(self) -> Mapping[str, set[str]]:
        """Of the packages that differ: an added or changed package needs its dependencies to be added or
        changed first; a removed one needs the packages that depend on it to be removed first. A package that
        another one requires in an exact version changes with it."""
        needs: dict[str, set[str]] = {name: set() for name in self.differing}
        for one, other in (*self._dependencies(), *together(self.loaded.system)):
            if one in needs and other in needs:
                needs[one].add(other)
        return needs

    def _dependencies(self) -> Iterator[tuple[str, str]]:
        """Pairs: a package, and one that must be changed before it."""
        old, new = self.sides
        for name in self.differing:
            for each in depends(new[name], new) if name in new else ():
                yield name, each.name
                if each.exactly and name in old:
                    yield each.name, name
            for each in depends(old[name], old) if name in old else ():
                if each.name not in new:
                    yield each.name, name


def packages(loaded: LoadedSystem, given: tuple[str, str], bench: Bench, work: Path) -> Packages:
    """The inputs that a user gives; packages given by name are fetched with all their dependencies.

    Of two systems their other sources are compared too, as far as SYSTEM has these. Raises UserError for what
    is no list of packages, for a system whose root is not made of packages, and for two equal inputs;
    ToolError if packages cannot be fetched.
    """
    systems = [load_system(name) for name in given if _is_system(name)]
    sides: list[dict[str, Deb]] = [{}, {}]
    if packaged_root(loaded.system):
        sides = [_side(loaded, name, bench, work / str(number)) for number, name in enumerate(given)]
    elif len(systems) < len(given):
        raise UserError(
            f"the root file system of {loaded.system.name} is not made of packages",
            hint="two systems; or a system with prebuilt.root, such as debian-systemd; or --files",
        )
    parts: list[Parts] = [{}, {}]
    if len(systems) == len(given):
        made = [parts_of(one, bench) for one in systems]
        own = {f"sources.{each.name}" for each in wanted_sources(loaded)}
        shared = own & made[0].keys() & made[1].keys()
        parts = [{name: one[name] for name in sorted(shared)} for one in made]
    both, rest = (sides[0], sides[1]), (parts[0], parts[1])
    found = Packages(loaded, given[0], given[1], both, bench.cache, rest)
    if not found.differing:
        raise UserError(
            f"{printable(given[0])} and {printable(given[1])} are the same packages", hint="another pair"
        )
    return found


def _side(loaded: LoadedSystem, given: str, bench: Bench, work: Path) -> dict[str, Deb]:
    """The packages of one input, by name."""
    work.mkdir()
    path, shown = Path(given).expanduser(), printable(given)
    if path.is_dir():
        found = in_folder(path)
    elif path.is_file() and not _is_system(given):
        try:
            text = None if tarfile.is_tarfile(path) else path.read_text()
        except (OSError, UnicodeError) as error:
            raise UserError(
                f"{shown} is no list of packages", hint="a name in a line, or .deb files"
            ) from error
        found = in_tar(path if text is None else _fetched(loaded, _names(text, shown), bench), work)
    else:
        other = load_system(given)
        if not packaged_root(other.system):
            raise UserError(f"the root file system of {shown} is not made of packages")
        found = _of_system(other, bench, work)
    if not found:
        raise UserError(f"there are no packages (.deb) in {shown}")
    return found


def _is_system(given: str) -> bool:
    """Whether a name is that of a system or of a system file."""
    return given.endswith(".toml") or (given in system_names() and not Path(given).exists())


def _names(text: str, shown: str) -> tuple[str, ...]:
    """The names of packages in a text: one per line, also as `name=version`; `#` begins a comment."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    names = tuple(dict.fromkeys(line for line in lines if line))
    wrong = next((name for name in names if not _NAME.fullmatch(name)), "")
    if wrong or not names:
        told = f"'{printable(wrong[:60])}' is not the name of a package" if wrong else "it is empty"
        raise UserError(f"{shown} is no list of packages: {told}", hint="a name in a line, or .deb files")
    return names


def _fetched(loaded: LoadedSystem, names: tuple[str, ...], bench: Bench) -> Path:
    """The archive of packages with these names, from the same place as the system's own."""
    source = loaded.system.sources[packaged_root(loaded.system)]
    if not isinstance(source.packages, PackageSet):
        raise UserError(
            f"{loaded.system.name} does not say which suite its packages are of",
            hint="sources.NAME.packages in the system file, or give .deb files",
        )
    wanted = msgspec.structs.replace(source.packages, names=names)
    own = Wanted("root", Source(version=source.version, packages=wanted), loaded.path.parent)
    return Path(sources.fetch(own, bench.cache, bench.progress).path)


def _of_system(other: LoadedSystem, bench: Bench, work: Path) -> dict[str, Deb]:
    name = packaged_root(other.system)
    source = Wanted(name, other.system.sources[name], other.path.parent)
    found = sources.fetch(source, bench.cache, bench.progress)
    if found.is_tree:
        raise UserError(f"sources.{name} is a folder of files, not of packages", hint="--files")
    return in_tar(Path(found.path), work)


def _hash(deb: Deb | Part | None) -> str:
    return deb.sha256 if deb else ""


def _version(deb: Deb | Part | None) -> str:
    return printable(deb.version) if deb else "none"
