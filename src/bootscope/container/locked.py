# SPDX-License-Identifier: Apache-2.0
"""What is in the tools container: Debian packages, each by its path on a mirror and its SHA-256.

    debian12-amd64.lock   `# DATE` of the archive that has them, then a line `SHA256 BYTES PATH` each
    python.lock           Python packages with their hashes, as pip reads them

tools/container_lock.py writes the first, `make lock` the second.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path

from bootscope.core.errors import ToolError

RELEASE = "Debian 12"
PYTHON_LOCK = Path(__file__).with_name("python.lock")
_LINE = re.compile(r"([0-9a-f]{64}) ([0-9]+) (pool/[A-Za-z0-9+.~_/-]+\.deb)", re.ASCII)
_MACHINES = {"x86_64": "amd64"}


@dataclass(frozen=True)
class Package:
    """A package's file: its hash, its size, and its path below a mirror's address."""

    sha256: str
    size_bytes: int
    path: str

    @property
    def file(self) -> str:
        """The name of the file, without its folders."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Lock:
    """The packages, and the day of the archive that has them, YYYY-MM-DD."""

    day: str
    packages: tuple[Package, ...]


def lock_path() -> Path:
    """The list for this kind of machine. Raises ToolError where there is none."""
    machine = platform.machine()
    if machine not in _MACHINES:
        raise ToolError(
            f"there is no tools container for {machine}",
            hint=f"install the tools of {RELEASE} by apt: bootscope doctor",
        )
    return Path(__file__).with_name(f"debian12-{_MACHINES[machine]}.lock")


def read_lock(path: Path) -> Lock:
    """Reads a list. Raises ToolError where it is damaged."""
    day, *lines = path.read_text().splitlines() or [""]
    found = [_LINE.fullmatch(line) for line in lines]
    bad = next((number for number, match in enumerate(found, start=2) if not match), 0)
    if bad or not day.startswith("# ") or not found:
        raise ToolError(f"{path} is damaged in line {bad or 1}")
    packages = (Package(match[1], int(match[2]), match[3]) for match in found if match)
    return Lock(day.removeprefix("# "), tuple(packages))
