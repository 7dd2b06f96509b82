# SPDX-License-Identifier: Apache-2.0
"""The packages of the tools container, from a mirror of Debian's archive, checked by their hashes."""

from __future__ import annotations

import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from bootscope.builder.archive import HELPER, MIRROR, host_mirrors
from bootscope.builder.ids import file_sha256
from bootscope.container.locked import RELEASE, Lock, Package
from bootscope.core.errors import ToolError
from bootscope.core.process import environment, run

_TIMEOUT_S = 60


def fetch(lock: Lock, folder: Path, helper: Path = HELPER) -> None:
    """Fetches all packages into a folder, with apt's `helper` if it exists. Raises ToolError where no mirror
    has them with the right hashes."""
    mirrors = mirrors_of_debian()
    last = ToolError("no mirror of Debian's archive is known here")
    for mirror in mirrors:
        try:
            _from(mirror.rstrip("/"), lock.packages, folder, helper)
            return
        except (ToolError, OSError) as error:
            last = error if isinstance(error, ToolError) else ToolError(f"{mirror}: {error}")
    raise ToolError(
        f"the packages of the tools container cannot be fetched: {last.message}",
        hint=f"{MIRROR} names a mirror of {RELEASE}; where it has newer packages only, one that keeps the "
        f"archive of {lock.day}",
    ) from last


def mirrors_of_debian() -> list[str]:
    """Addresses of mirrors, as for all downloads; none on a computer without apt where none is set."""
    try:
        return host_mirrors()
    except ToolError:
        return []


def _from(mirror: str, packages: Sequence[Package], folder: Path, helper: Path) -> None:
    missing = [p for p in packages if not _good(p, folder)]
    if helper.exists():
        # apt knows the network's proxy, and fetches many files over one connection.
        words = [word for p in missing for word in (_url(mirror, p), folder / p.file, f"SHA256:{p.sha256}")]
        command = [helper, "-q", "-o", "APT::Sandbox::User=root", "download-file", *words]
        run(command, env=environment(), timeout_s=3600)
    else:
        for package in missing:
            with urllib.request.urlopen(_url(mirror, package), timeout=_TIMEOUT_S) as answer:
                (folder / package.file).write_bytes(answer.read(package.size_bytes + 1))
    for package in missing:
        if not _good(package, folder):
            raise ToolError(f"{mirror}: {package.file} is not what it was: expected sha256 {package.sha256}")


def _good(package: Package, folder: Path) -> bool:
    path = folder / package.file
    return path.exists() and file_sha256(path) == package.sha256


def _url(mirror: str, package: Package) -> str:
    return f"{mirror}/{urllib.parse.quote(package.path)}"
