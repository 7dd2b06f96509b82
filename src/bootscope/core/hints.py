# SPDX-License-Identifier: Apache-2.0
"""How to get missing things, as commands that work here: in a checkout or without one.

System packages are named as Debian and Ubuntu name them.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable

from bootscope.core.paths import is_installed

REINSTALL = "this copy of bootscope is incomplete; install it again, for example: pipx reinstall bootscope"
"""For our own files that are missing."""
_SETUP = "run 'make setup', or: "


def apt(packages: Iterable[str], suite: str = "") -> str:
    """The command that installs packages, from a particular suite if one is named."""
    root = "" if os.geteuid() == 0 else "sudo "
    names = " ".join(dict.fromkeys(packages))
    return f"{root}apt-get install {f'-t {suite} ' if suite else ''}{names}"


def packages(*names: str) -> str:
    """How to get system packages."""
    return f"{'' if is_installed() else _SETUP}{apt(names)}"


def newer_suite() -> str:
    """The suite with a QEMU that is new enough, if the distribution's own is too old; else ''."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    return "bookworm-backports" if release.get("VERSION_CODENAME") == "bookworm" else ""


def new_qemu(package: str, version: str) -> str:
    """How to get a QEMU of at least that version."""
    if not newer_suite():
        return f"{packages(package)} (a release with {version} or newer)"
    command = apt([package], newer_suite())
    if is_installed():
        return f"with {newer_suite()} among apt's sources: {command}"
    return f"{_SETUP}{command}, with {newer_suite()} among apt's sources"


def server() -> str:
    """How to get what `bootscope serve` needs."""
    if is_installed():
        return "pipx inject bootscope starlette uvicorn, or install bootscope[serve]"
    return "make setup, or: pip install starlette uvicorn"


def pictures() -> str:
    """How to get what PNG and PDF output of `bootscope report` needs."""
    if is_installed():
        return "pipx inject bootscope typst, or install bootscope[pictures]; SVG needs nothing"
    return "make setup, or: pip install typst; SVG needs nothing"


def python_packages() -> str:
    """How to get Python packages that should have come with bootscope."""
    return REINSTALL if is_installed() else "make setup"


def cluster() -> str:
    """How to get what `--cluster` needs."""
    if is_installed():
        return "pipx inject bootscope distributed, or install bootscope[cluster]"
    return "make setup, or: pip install distributed"


def share(package: str) -> str:
    """How to get what files at a URL need: fsspec, and the package for its kind of URL."""
    name = package or "the package that fsspec names"
    if is_installed():
        return f"pipx inject bootscope {name}" + (", or install bootscope[share]" if package else "")
    return f"make setup, or: pip install {name}"
