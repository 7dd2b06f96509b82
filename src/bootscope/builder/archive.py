# SPDX-License-Identifier: Apache-2.0
"""Fetches sources from Debian's archive, without root and without touching the host's apt.

A private apt configuration (its own list of sources, state and cache) takes its mirror from the host's
and lets apt check signatures: the index is signed and contains the SHA-256 of every file.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import shutil
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bootscope.core.errors import ToolError
from bootscope.core.process import environment, run
from bootscope.system.source import Archive, Package, PackageSet

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
HELPER = Path("/usr/lib/apt/apt-helper")
_OTHER_NAMES = ("stable", "oldstable")
"""A mirror updates the folders for a suite's names one after the other. While one of them has a new list of
indexes but old indexes, which lasts hours on some mirrors, the other is consistent."""


@dataclass(frozen=True)
class Fetched:
    """A file from the archive: where it is stored, and the version of the package it came from."""

    path: Path
    version: str


MIRROR = "BOOTSCOPE_DEBIAN_MIRROR"
"""Environment variable with the address of a Debian mirror, for hosts that do not run Debian."""


def host_mirrors() -> list[str]:
    """Base addresses of Debian mirrors: the one that MIRROR names, or else those that the host's apt uses,
    without those for security updates."""
    if os.environ.get(MIRROR):
        return [os.environ[MIRROR].rstrip("/")]
    output = run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(ORIGIN)", "Created-By: Packages"],
        check=False,
    ).output
    pairs = [line.split("|") for line in output.splitlines() if line.count("|") == 1]
    named = [uri for uri, origin in pairs if origin == "Debian"]
    likely = [uri for uri, _ in pairs if uri.rstrip("/").endswith("/debian")]
    return [uri for uri in dict.fromkeys(named + likely) if "security" not in uri]


_REASON = re.compile(r"^\s*E: (.+)$", re.MULTILINE)
_FAILED = re.compile(r"^Failed to fetch (\S+)\s+(.+)$")


def _reason(told: str) -> str:
    """Why apt failed, in one line: the first of its output that it marks as an error, or empty."""
    reason = _REASON.search(told)
    if not reason:
        return ""
    failed = _FAILED.match(reason[1])
    return f"{failed[2]} ({failed[1]})" if failed else reason[1]


class PrivateApt:
    """apt with its own configuration below `work`, for one suite: with packages of `architecture`, or where
    that is empty with the host's packages and the sources."""

    def __init__(self, work: Path, mirror: str, suite: str, architecture: str = "") -> None:
        self._work, self._mirror = work, mirror.rstrip("/")
        self._env = environment({"APT_CONFIG": str(work / "apt.conf")})
        for folder in ("parts", "lists/partial", "cache/archives/partial", "conf.d"):
            (work / folder).mkdir(parents=True, exist_ok=True)
        (work / "status").touch()
        types, targets = ("deb", "Packages") if architecture else ("deb deb-src", "Packages Sources")
        (work / "parts" / "bootscope.sources").write_text(
            f"Types: {types}\nURIs: {mirror}\nSuites: {suite}\nComponents: main\nSigned-By: {_KEYRING}\n"
            f"Targets: {targets}\n"
        )
        foreign = (
            f'APT::Architecture "{architecture}";\nAPT::Architectures {{ "{architecture}"; }};\n'
            if architecture
            else ""
        )
        (work / "apt.conf").write_text(
            'Dir::Etc::sourcelist "/dev/null";\n'
            f'Dir::Etc::sourceparts "{work}/parts";\n'
            f'Dir::State::lists "{work}/lists";\n'
            f'Dir::State::status "{work}/status";\n'
            f'Dir::Cache "{work}/cache";\n'
            'APT::Sandbox::User "root";\n'
            'Acquire::Languages "none";\n'
            f"{foreign}"
        )

    def apt(self, *arguments: str | Path) -> str:
        """Runs one apt command in `work` and returns what it printed."""
        done = run(arguments, cwd=self._work, env=self._env, timeout_s=1800, check=False)
        if done.status:
            raise ToolError(_reason(done.output) or f"{arguments[0]} failed (status {done.status})")
        return done.output

    def codename(self) -> str:
        """The suite's code name in the signed index."""
        return self.apt("apt-get", "indextargets", "--format", "$(CODENAME)").split("\n")[0].strip()

    def source_file(self, source: str, name: str) -> Fetched:
        """Fetches file `name` of a source package, checked against the signed index."""
        output = self.apt("apt-cache", "showsrc", "--only-source", source)
        for stanza in output.split("\n\n"):
            found = re.search(rf"^ ([0-9a-f]{{64}}) \d+ {re.escape(name)}$", stanza, re.MULTILINE)
            folder = re.search(r"^Directory: (\S+)$", stanza, re.MULTILINE)
            version = re.search(r"^Version: (\S+)$", stanza, re.MULTILINE)
            if found and folder and version:
                uri = f"{self._mirror}/{folder[1]}/{name}"
                self.apt(HELPER, "download-file", uri, self._work / name, f"SHA256:{found[1]}")
                return Fetched(self._work / name, version[1])
        raise ToolError(f"the archive has no {name} in the source package {source}")

    def package_member(self, package: str, member: str) -> Fetched:
        """Fetches a binary package (apt checks it) and extracts one file."""
        deb = self._download(package)
        run(["dpkg-deb", "-x", deb.path, self._work / "contents"])
        deb.path.unlink()
        return Fetched(self._work / "contents" / member, deb.version)

    def package(self, name: str, follow: Iterable[str]) -> Fetched:
        """Fetches a binary package, checked against the signed index; see :class:`Package` for `follow`."""
        for pattern in follow:
            name = self._dependency(name, pattern)
        deb = self._download(name)
        return Fetched(deb.path, f"{name} {deb.version}")

    def packages(self, names: Iterable[str]) -> Fetched:
        """Fetches packages with all dependencies as apt resolves them, each checked against the signed index:
        one tar archive of them, with the same bytes for the same packages."""
        words = ("-y", "-q", "--no-install-recommends", "--download-only")
        self.apt("apt-get", "install", *words, *names)
        debs = sorted((self._work / "cache" / "archives").glob("*.deb"))
        if not debs:
            raise ToolError("apt fetched no package")
        whole = put_together(self._work / "packages.tar", debs)
        for deb in debs:
            deb.unlink()
        return Fetched(whole, f"{len(debs)} packages")

    def _download(self, package: str) -> Fetched:
        self.apt("apt-get", "download", "-q", package)
        deb = next(self._work.glob(f"{package}_*.deb"))
        return Fetched(deb, run(["dpkg-deb", "-f", deb, "Version"]).output.strip())

    def _dependency(self, name: str, pattern: str) -> str:
        """The first package that `name` depends on and that matches `pattern`."""
        told = self.apt("apt-cache", "show", "--no-all-versions", name)
        depends = re.search(r"^Depends: (.+)$", told, re.MULTILINE)
        names = [item.split()[0] for item in depends[1].split(",")] if depends else []
        found = next((one for one in names if fnmatch.fnmatchcase(one, pattern)), None)
        if not found:
            raise ToolError(f"the archive's {name} depends on no package like {pattern}")
        return found


def put_together(whole: Path, debs: Iterable[Path]) -> Path:
    """Packages as one tar archive, sorted by name: the same bytes for the same packages."""
    with tarfile.open(whole, "w", format=tarfile.GNU_FORMAT) as archive:
        for deb in sorted(debs, key=lambda path: path.name):
            member = tarfile.TarInfo(deb.name)
            member.size = deb.stat().st_size
            with deb.open("rb") as f:
                archive.addfile(member, f)
    return whole


class Archives:
    """Debian's archive while one system's sources are fetched below `work`. Fetches each index once."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._updated: dict[tuple[str, str, str], PrivateApt] = {}

    def fetch(self, wanted: Archive | Package | PackageSet) -> Fetched:
        """Fetches what `wanted` names.

        Raises ToolError when the host has no Debian mirror, the key ring is missing, or nothing matches.
        """
        if isinstance(wanted, Package):
            package = wanted
            return self._from_mirrors(
                wanted.suite, wanted.architecture, lambda apt: apt.package(package.name, package.follow)
            )
        if isinstance(wanted, PackageSet):
            names = wanted.names
            return self._from_mirrors(wanted.suite, wanted.architecture, lambda apt: apt.packages(names))
        source, file, name, member = wanted.source, wanted.file, wanted.package, wanted.member
        if source and file:
            return self._from_mirrors(wanted.suite, "", lambda apt: apt.source_file(source, file))
        if name and member:
            return self._from_mirrors(wanted.suite, "", lambda apt: apt.package_member(name, member))
        raise ToolError("an archive needs source and file, or package and member")

    def _from_mirrors(self, suite: str, architecture: str, get: Callable[[PrivateApt], Fetched]) -> Fetched:
        if not _KEYRING.exists():
            raise ToolError(
                "the keys of Debian's archive are missing",
                hint="sudo apt-get install debian-archive-keyring",
            )
        last = ToolError(
            "the host's apt has no mirror of the Debian archive configured",
            hint=f"set {MIRROR} to the address of one",
        )
        for mirror in host_mirrors():
            try:
                return get(self._apt(mirror, suite, architecture))
            except ToolError as error:
                last = error
        for mirror in host_mirrors():
            for name in _OTHER_NAMES:
                with contextlib.suppress(ToolError):
                    apt = self._apt(mirror, name, architecture)
                    if apt.codename() == suite:
                        return get(apt)
        raise last

    def _apt(self, mirror: str, suite: str, architecture: str) -> PrivateApt:
        """apt for this part of the archive, with its index fetched."""
        key = (mirror, suite, architecture)
        if key not in self._updated:
            work = self._work / f"apt{len(self._updated)}"
            # Files of an earlier attempt cannot be used.
            shutil.rmtree(work, ignore_errors=True)
            apt = PrivateApt(work, mirror, suite, architecture)
            apt.apt("apt-get", "update", "-q", "-o", "APT::Update::Error-Mode=any")
            self._updated[key] = apt
        return self._updated[key]
