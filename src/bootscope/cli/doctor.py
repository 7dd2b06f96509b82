# SPDX-License-Identifier: Apache-2.0
"""bootscope doctor: what is missing on this machine, in which version, and how to get it."""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.paths import cache_dir, store_dir
from bootscope.report.text import size
from bootscope.tools import OPTIONAL_TOOLS, TOOLS, Found, how_to_get, look_up

PACKAGES = ("rich", "jinja2", "msgspec", "pyelftools", "platformdirs")
NEEDED_BYTES = 8 << 30
_HEADERS = {
    "openssl headers": ("/usr/include/openssl/evp.h", "libssl-dev", "builds U-Boot's tools"),
    "gnutls headers": ("/usr/include/gnutls/gnutls.h", "libgnutls28-dev", "builds U-Boot's tools"),
    "uuid headers": ("/usr/include/uuid/uuid.h", "uuid-dev", "builds U-Boot's tools"),
    "archive's keys": (
        "/usr/share/keyrings/debian-archive-keyring.gpg",
        "debian-archive-keyring",
        "checks sources that come from Debian's archive",
    ),
    "cross C library": (
        "/usr/arm-linux-gnueabihf/lib/libc.so.6",
        "libc6-dev-armhf-cross",
        "what programs on the board link to",
    ),
}


@dataclass(frozen=True)
class Check:
    """One thing that is needed: found or not, in which version, how to get it."""

    name: str
    found: str
    good: bool
    required: bool
    purpose: str
    hint: str


def _tool(found: Found, required: bool) -> Check:
    tool = found.tool
    minimum = f" ({'.'.join(map(str, tool.minimum))} or newer needed)" if tool.minimum else ""
    state = (found.version or "missing") + ("" if found.good else minimum)
    return Check(tool.name, state, found.good, required, tool.purpose, how_to_get(tool))


def checks() -> list[Check]:
    """Everything that is needed, in the order in which it is used."""
    python = ".".join(map(str, sys.version_info[:3]))
    found = [
        Check("python", python, sys.version_info >= (3, 11), True, "runs bootscope", "Python 3.11 or newer")
    ]
    for name in PACKAGES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = ""
        found.append(Check(name, version or "missing", bool(version), True, "Python package", "make setup"))
    found += [_tool(look_up(name), True) for name in TOOLS]
    found += [_tool(look_up(name), False) for name in OPTIONAL_TOOLS]
    for name, (path, package, purpose) in _HEADERS.items():
        there = bool(list(Path("/").glob(path.lstrip("/"))))
        hint = f"run 'make setup', or: sudo apt-get install {package}"
        found.append(Check(name, "there" if there else "missing", there, True, purpose, hint))
    return [*found, _space(cache_dir(), "cache"), _space(store_dir(), "store")]


def _space(path: Path, what: str) -> Check:
    """Room on the disk that holds `path`, which may not exist yet."""
    there = next(p for p in (path, *path.parents) if p.exists())
    free = shutil.disk_usage(there).free
    needed = NEEDED_BYTES if what == "cache" else 1 << 30
    hint = f"set BOOTSCOPE_{what.upper()} to a folder with {size(needed)} free"
    return Check(f"{what} disk", f"{size(free)} free", free > needed, False, str(path), hint)


class Doctor(Verb):
    name = "doctor"
    summary = "say what is missing on this machine, and how to get it"
    example = "bootscope doctor"

    def run(self, args: argparse.Namespace) -> int:
        found = checks()
        bad = [check for check in found if check.required and not check.good]
        if args.json:
            rows = [
                {"name": c.name, "found": c.found, "good": c.good, "required": c.required, "hint": c.hint}
                for c in found
            ]
            print_json("doctor", {"good": not bad, "checks": rows})
            return 3 if bad else 0
        table = Table(box=None, pad_edge=False, show_header=False)
        for check in found:
            mark = "[green]ok[/]" if check.good else "[red]no[/]" if check.required else "[yellow]--[/]"
            table.add_row(mark, check.name, check.found, check.purpose, style="" if check.good else "bold")
        out = terminal()
        out.print(table)
        for check in found:
            if not check.good:
                out.print(f"{check.name}: {check.hint}", markup=False)
        out.print("everything is there" if not bad else f"{len(bad)} missing or too old")
        return 3 if bad else 0
