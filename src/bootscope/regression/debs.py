# SPDX-License-Identifier: Apache-2.0
"""Debian packages as files: their metadata, and which other packages of a list each depends on."""

from __future__ import annotations

import gzip
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bootscope.builder.ids import file_sha256
from bootscope.core import process
from bootscope.core.errors import CommandError, UserError, printable

_FIELDS = ("Package", "Version", "Pre-Depends", "Depends", "Provides")
_WANTED = re.compile(r"\s*([a-z0-9][a-z0-9.+-]*)(?::[a-z0-9]+)?\s*(\(\s*=)?")
MOST = 5_000
"""The most packages in one list."""


@dataclass(frozen=True)
class Deb:
    """A package file. `wanted`: for each dependency the names that satisfy it, each with whether only one
    exact version does; `provides`: its other names."""

    name: str
    version: str
    path: Path
    sha256: str
    wanted: tuple[tuple[tuple[str, bool], ...], ...] = ()
    provides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dependency:
    """A package that another depends on; `exactly`: in one version only."""

    name: str
    exactly: bool


def in_folder(folder: Path) -> dict[str, Deb]:
    """The packages in a folder, by name. Raises UserError for a damaged one, or two of one name."""
    return _by_name(sorted(folder.resolve().glob("*.deb")))


def in_tar(whole: Path, work: Path) -> dict[str, Deb]:
    """The packages in a tar archive, by name; the files are put into `work`. Raises as :func:`in_folder`."""
    try:
        with tarfile.open(whole) as archive:
            for member in archive:
                name, data = PurePosixPath(member.name).name, archive.extractfile(member)
                if data is not None and name.endswith(".deb"):
                    (work / name).write_bytes(data.read())
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise UserError(f"{printable(str(whole))}: {printable(str(error))}") from error
    return in_folder(work)


def _by_name(paths: Iterable[Path]) -> dict[str, Deb]:
    found: dict[str, Deb] = {}
    for path in paths:
        deb = _read(path)
        if deb.name in found:
            raise UserError(
                f"{printable(path.name)} and {printable(found[deb.name].path.name)} are the same package",
                hint="keep one of them",
            )
        found[deb.name] = deb
        if len(found) > MOST:
            raise UserError(f"more than {MOST:,} packages in {printable(str(path.parent))}")
    return found


def _read(path: Path) -> Deb:
    try:
        told = process.run(["dpkg-deb", "-f", path, *_FIELDS]).output
    except CommandError as error:
        raise UserError(f"{printable(path.name)} is no Debian package, or damaged") from error
    fields: dict[str, str] = {}
    key = ""
    for line in told.splitlines():
        if not line.startswith((" ", "\t")):
            key, _, line = line.partition(":")
        fields[key] = f"{fields.get(key, '')} {line.strip()}".strip()
    if not fields.get("Package"):
        raise UserError(f"{printable(path.name)} does not say which package it is")
    groups = ",".join(filter(None, (fields.get("Pre-Depends"), fields.get("Depends")))).split(",")
    wanted = tuple(tuple(_names(group.split("|"))) for group in groups if group.strip())
    provides = tuple(name for name, _ in _names(fields.get("Provides", "").split(",")))
    version = fields.get("Version", "")
    return Deb(fields["Package"], version, path, file_sha256(path), wanted, provides)


def _names(parts: Iterable[str]) -> Iterator[tuple[str, bool]]:
    for part in parts:
        if match := _WANTED.match(part):
            yield match[1], bool(match[2])


def depends(deb: Deb, there: Mapping[str, Deb]) -> Iterator[Dependency]:
    """The packages of a list that one depends on: for each dependency the first name that satisfies it, or a
    package that provides it."""
    for names in deb.wanted:
        if found := next(((name, exactly) for name, exactly in names if name in there), None):
            yield Dependency(*found)
            continue
        wanted = {name for name, _ in names}
        for other in there.values():
            if wanted.intersection(other.provides) and other.name != deb.name:
                yield Dependency(other.name, False)
                break
