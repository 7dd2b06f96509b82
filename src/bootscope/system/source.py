# SPDX-License-Identifier: Apache-2.0
"""Where the sources of a system come from."""

from __future__ import annotations

import msgspec

from bootscope.core.settings import Setting


class Archive(Setting, frozen=True):
    """Where a source is in Debian's archive: a file of a source package (`source` and `file`) or
    a file inside a binary package (`package` and `member`)."""

    suite: str
    source: str | None = None
    file: str | None = None
    package: str | None = None
    member: str | None = None


class Package(Setting, frozen=True):
    """A binary package of Debian's archive, taken whole.

    `follow`: patterns, each for the name of a package that the one before depends on: the last one is taken.
    So a package with a version in its name is found from one whose name is always the same.
    """

    suite: str
    name: str
    architecture: str
    follow: tuple[str, ...] = ()


class PackageSet(Setting, frozen=True):
    """Binary packages of Debian's archive with all their dependencies according to the archive's index,
    without recommended packages."""

    suite: str
    architecture: str
    names: tuple[str, ...]


class Source(Setting, frozen=True):
    """Where a source tree comes from, in order of preference: `path`, `url`, `archive`, `package` or
    `packages`."""

    version: str
    path: str | None = None
    url: str | None = None
    sha256: str | None = None
    archive: Archive | None = None
    package: Package | msgspec.UnsetType = msgspec.UNSET
    packages: PackageSet | msgspec.UnsetType = msgspec.UNSET
