# SPDX-License-Identifier: Apache-2.0
"""Writes the list of Debian packages in the tools container, at their current versions in the archive.

    python tools/container_lock.py

The list has the packages of bootscope's tools (core/tools.py), what builds also need, and all their
dependencies. QEMU comes from the backports, because Debian 12's own is too old.
"""

from __future__ import annotations

import re
import sys
import tempfile
import urllib.parse
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from bootscope.builder.archive import PrivateApt, host_mirrors
from bootscope.container.locked import lock_path
from bootscope.core.tools import OPTIONAL_TOOLS, TOOLS

SUITES = "bookworm bookworm-backports"
NEWER = "qemu* opensbi seabios"
"""Taken from the backports."""
ESSENTIAL = """base-files bash coreutils dash debianutils diffutils findutils grep gzip hostname libc-bin mawk
    perl-base sed tar util-linux"""
BESIDES = """ca-certificates cpio debian-archive-keyring libc6-dev libelf-dev libgnutls28-dev libssl-dev patch
    perl pkg-config python3 python3-dev python3-pip-whl python3-setuptools uuid-dev
    libc6-dev-arm64-cross libc6-dev-armhf-cross libc6-dev-riscv64-cross"""
LEFT_OUT = {"sigrok-cli", "gcc-x86-64-linux-gnu", "binutils-x86-64-linux-gnu"}
"""One is for boards on a desk; the machine's own compiler is in another package."""


def main() -> None:
    tools = {tool.package for tool in (TOOLS | OPTIONAL_TOOLS).values()} - LEFT_OUT
    names = sorted(tools | set(ESSENTIAL.split()) | set(BESIDES.split()))
    mirror = host_mirrors()[0].rstrip("/")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        apt = PrivateApt(work, mirror, SUITES, "amd64")
        pin = f"Package: {NEWER}\nPin: release n=*-backports\nPin-Priority: 990\n"
        (work / "preferences").write_text(pin)
        apt.apt("apt-get", "update", "-q")
        how = ("-y", "-q", "--no-install-recommends", "--print-uris")
        preferences = f"Dir::Etc::preferences={work}/preferences"
        told = apt.apt("apt-get", "install", *how, "-o", preferences, *names)
        uris = re.findall(r"^'([^']+)' (\S+)_\S+_\S+ ", told, re.MULTILINE)
        known = _hashes(apt.apt("apt-cache", "show", "--all-versions", *sorted({name for _, name in uris})))
    paths = sorted(urllib.parse.unquote(uri).removeprefix(f"{mirror}/") for uri, _ in uris)
    lines = [f"# {datetime.now(UTC):%Y-%m-%d}", *(f"{known[path]} {path}" for path in paths)]
    lock_path().write_text("\n".join(lines) + "\n")
    print(f"{lock_path()}: {len(paths)} packages")


def _hashes(told: str) -> dict[str, str]:
    """Path of a package -> its SHA-256 and size, from the output of apt-cache."""
    found = {}
    for stanza in told.split("\n\n"):
        fields = dict(re.findall(r"^(Filename|SHA256|Size): (\S+)$", stanza, re.MULTILINE))
        if len(fields) == 3:
            found[fields["Filename"]] = f"{fields['SHA256']} {fields['Size']}"
    return found


if __name__ == "__main__":
    main()
