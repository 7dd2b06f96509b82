# SPDX-License-Identifier: Apache-2.0
"""What each part of bootscope needs on this machine, and whether that is present.

The parts build on each other: booting emulated boards includes reading logs, building systems includes
booting.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.core import hints
from bootscope.core.paths import cache_dir, plugin_source_dir, store_dir
from bootscope.core.text import size
from bootscope.core.tools import HOST_TOOLS, OPTIONAL_TOOLS, how_to_get, look_up

PYTHON_PACKAGES = ("rich", "jinja2", "msgspec", "pyelftools", "platformdirs", "capstone")
SERVER_PACKAGES = ("starlette", "uvicorn")
"""What `bootscope serve` needs; no other verb does."""
PICTURE_PACKAGES = ("typst",)
"""What PNG and PDF output of `bootscope report` needs; its other formats do not."""
CLUSTER_PACKAGES = ("distributed",)
"""What --cluster needs."""
SHARE_PACKAGES = ("fsspec",)
"""What BOOTSCOPE_SHARE needs, and BOOTSCOPE_STORE if it is a URL."""
STORE_BYTES, CARD_BYTES, BUILD_BYTES = 1 << 30, 2 << 30, 8 << 30

REAL = ("sigrok-cli", "unsquashfs")
"""Tools that reading logs and listening to boards can use."""

HOST = ("cc", "make", "apt-get", "dpkg-deb", "gzip")
IMAGES = ("mkimage", "fdtput", "sfdisk", "mkfs.vfat", "mcopy", "mksquashfs")
"""Tools that the plugin and the system `debian` are made with."""


@dataclass(frozen=True)
class Check:
    """One requirement: found or not, its version, how to get it (`package`: by apt)."""

    name: str
    found: str
    good: bool
    required: bool
    purpose: str
    hint: str
    package: str = ""


@dataclass(frozen=True)
class Part:
    """A part of bootscope: its verbs, and what they need in addition to the part `before`."""

    name: str
    title: str
    verbs: str
    own: Callable[[Sequence[Architecture]], list[Check]]
    before: str = ""


@dataclass(frozen=True)
class State:
    """A part on this machine. It works if nothing is missing, here or in the parts that it builds on."""

    part: Part
    checks: list[Check]
    before: State | None = None

    @property
    def missing(self) -> list[Check]:
        """Requirements that are not met, of this part alone."""
        return [check for check in self.checks if check.required and not check.good]

    @property
    def good(self) -> bool:
        """Whether this part works here."""
        return not self.missing and (self.before is None or self.before.good)


def state(name: str, archs: Sequence[Architecture]) -> State:
    """A part with those that it builds on, for boards of these architectures."""
    part = PARTS[name]
    return State(part, part.own(archs), state(part.before, archs) if part.before else None)


def _real(_archs: Sequence[Architecture]) -> list[Check]:
    python = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    first = Check("python", python, good, True, "runs bootscope", "Python 3.11 or newer", "python3")
    names = (*PYTHON_PACKAGES, *(("backports.zstd",) if sys.version_info < (3, 14) else ()))
    return [
        first,
        *map(_python_package, names),
        *(_python_package(name, "bootscope serve", hints.server()) for name in SERVER_PACKAGES),
        *(_python_package(name, "PNG and PDF of reports", hints.pictures()) for name in PICTURE_PACKAGES),
        *(_python_package(name, "--cluster", hints.cluster()) for name in CLUSTER_PACKAGES),
        *(_python_package(name, "a store or cache at a URL", hints.share(name)) for name in SHARE_PACKAGES),
        *_tools(REAL, required=False),
        _folder(store_dir(), "store", STORE_BYTES),
    ]


def _emulated(archs: Sequence[Architecture]) -> list[Check]:
    there, first = (plugin_source_dir() / "plugin.c").exists(), archs[:1]
    return [
        *_tools([arch.tools.qemu for arch in first], required=True),
        *_tools(HOST, required=True),
        *_tools(_chain(first), required=True),
        *_tools(IMAGES, required=True),
        Check("plugin's sources", _there(there), there, True, str(plugin_source_dir()), hints.REINSTALL),
        *(_file(name, *_FILES[name]) for name in _EMULATED_FILES),
        *map(_cross_library, first),
        *_tools(["gdb-multiarch"], required=False),
        _folder(cache_dir(), "cache", CARD_BYTES),
    ]


def _chain(archs: Sequence[Architecture]) -> list[str]:
    return [arch.tools.tool(name) for arch in archs for name in ("gcc", "ld", "strip")]


def _building(archs: Sequence[Architecture]) -> list[Check]:
    """Boards of architectures other than the first have systems that are partly compiled."""
    more = archs[1:]
    before = (*HOST, *IMAGES, *REAL)
    others = [name for name in HOST_TOOLS if name not in before]
    optional = [name for name in OPTIONAL_TOOLS if name not in before]
    return [
        *_tools(others, required=True),
        *_tools(optional, required=False),
        *_tools([*(arch.tools.qemu for arch in more), *_chain(more)], required=False),
        *(replace(_cross_library(arch), required=False) for arch in more),
        *(_file(name, *found) for name, found in _FILES.items() if name not in _EMULATED_FILES),
        _folder(cache_dir(), "room for builds", BUILD_BYTES),
    ]


PARTS = {
    part.name: part
    for part in (
        Part("logs", "logs and real boards", "import, record --board, show, report, audit, check", _real),
        Part("emulated", "emulated boards", "record debian", _emulated, "logs"),
        Part("building", "building systems", "build, record, try, optimize, trim", _building, "emulated"),
    )
}

_FILES = {
    "C library headers": ("usr/include/stdio.h", "libc6-dev", "compiles the QEMU plugin"),
    "archive's keys": (
        "usr/share/keyrings/debian-archive-keyring.gpg",
        "debian-archive-keyring",
        "verifies downloads from the Debian archive",
    ),
    "openssl headers": ("usr/include/openssl/evp.h", "libssl-dev", "builds U-Boot's tools"),
    "gnutls headers": ("usr/include/gnutls/gnutls.h", "libgnutls28-dev", "builds U-Boot's tools"),
    "uuid headers": ("usr/include/uuid/uuid.h", "uuid-dev", "builds U-Boot's tools"),
    "python headers": ("usr/include/python3*/Python.h", "python3-dev", "builds U-Boot's tools"),
    "setuptools": ("usr/lib/python3/dist-packages/setuptools", "python3-setuptools", "builds U-Boot's tools"),
}
"""Name -> a path below / for which one match is enough, its package, its purpose."""
_EMULATED_FILES = ("C library headers", "archive's keys")


def _cross_library(arch: Architecture) -> Check:
    places = [f"{folder}/libc.so.6" for folder in arch.tools.library_folders]
    there = next((place for place in places if Path("/", place).exists()), places[0])
    package = arch.tools.library_package
    return _file(f"C library for {arch.tools.debian}", there, package, "what programs on the board link to")


def _python_package(name: str, only_for: str = "", hint: str = "") -> Check:
    """A Python package; `only_for` is the only verb that needs it, if there is just one."""
    version = ""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version(name)
    purpose = f"Python package, for {only_for}" if only_for else "Python package"
    return Check(
        name, version or "missing", bool(version), not only_for, purpose, hint or hints.python_packages()
    )


def _tools(names: Iterable[str], *, required: bool) -> Iterator[Check]:
    for name in names:
        found = look_up(name)
        tool = found.tool
        minimum = f" ({'.'.join(map(str, tool.minimum))} or newer needed)" if tool.minimum else ""
        text = (found.version or "missing") + ("" if found.good else minimum)
        yield Check(name, text, found.good, required, tool.purpose, how_to_get(tool), tool.package)


def _file(name: str, pattern: str, package: str, purpose: str) -> Check:
    there = any(Path("/").glob(pattern))
    return Check(name, _there(there), there, True, purpose, hints.packages(package), package)


def _there(found: bool) -> str:
    return "there" if found else "missing"


def _folder(path: Path, what: str, needed_bytes: int) -> Check:
    """Whether `path`, which may not exist yet, is writable, and the free space on its disk."""
    there = next(p for p in (path, *path.parents) if p.exists())
    variable = f"BOOTSCOPE_{'STORE' if what == 'store' else 'CACHE'}"
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        hint = f"set {variable} to a folder that you can write to"
        return Check(what, "cannot be written to", False, True, str(path), hint)
    free = shutil.disk_usage(there).free
    hint = f"set {variable} to a folder with {size(needed_bytes)} free"
    return Check(what, f"{size(free)} free", free > needed_bytes, False, str(path), hint)
