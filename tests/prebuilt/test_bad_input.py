# SPDX-License-Identifier: Apache-2.0
"""Packages that cannot be had, or are not what they should be: told in one line, and nothing is half done."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.build.archive import MIRROR, host_mirrors
from tests.command import environment

LOADER = "pool/main/u/u-boot"
INDEX = ("dists/trixie/InRelease", "dists/trixie/main/binary-armhf/Packages.xz")
Recorded = subprocess.CompletedProcess[str]
Record = Callable[[str], Recorded]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """`record debian` with an empty cache, from the mirror at an address."""

    def run(mirror: str) -> Recorded:
        env = {**environment(tmp_path / "store", tmp_path / "cache"), MIRROR: mirror}
        command = [sys.executable, "-m", "bootscope", "record", "debian"]
        return subprocess.run(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A mirror with the real archive's signed index, and none of its packages."""
    there = (os.environ.get(MIRROR) or host_mirrors()[0]).rstrip("/")
    folder = tmp_path / "mirror"
    for name in INDEX:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(f"{there}/{name}", timeout=60) as answer:
            path.write_bytes(answer.read())
    return folder


def _nothing_is_left(tmp_path: Path) -> bool:
    sources, runs = tmp_path / "cache" / "sources", tmp_path / "store" / "runs"
    return not any(sources.iterdir()) and not (runs.exists() and any(runs.iterdir()))


def _one_line(done: Recorded) -> str:
    told = [line for line in done.stderr.splitlines() if line.startswith("bootscope: ")]
    assert len(told) == 1, done.stderr
    assert done.returncode == 3
    assert MIRROR in done.stderr
    return told[0]


def test_no_network(record: Record, tmp_path: Path) -> None:
    told = _one_line(record("http://127.0.0.1:9/debian"))
    assert "cannot fetch u-boot-sunxi" in told and "Could not connect" in told
    assert _nothing_is_left(tmp_path)


def test_a_mirror_that_lacks_the_version_of_its_index(record: Record, mirror: Path, tmp_path: Path) -> None:
    told = _one_line(record(f"file:{mirror}"))
    assert "File not found" in told and "u-boot-sunxi_" in told
    assert _nothing_is_left(tmp_path)


def test_a_package_with_another_hash(record: Record, mirror: Path, tmp_path: Path) -> None:
    first = record(f"file:{mirror}")
    name = next(word for word in first.stderr.split() if "u-boot-sunxi_" in word).rsplit("/", 1)[1]
    folder = mirror / LOADER
    folder.mkdir(parents=True)
    (folder / name).write_bytes(b"!<arch>\nnot what the index names")
    told = _one_line(record(f"file:{mirror}"))
    assert "u-boot-sunxi_" in told and ("Hash Sum mismatch" in told or "unexpected size" in told)
    assert _nothing_is_left(tmp_path)


def test_an_index_that_nobody_signed(record: Record, mirror: Path, tmp_path: Path) -> None:
    path = mirror / INDEX[0]
    path.write_bytes(path.read_bytes().replace(b"Suite: stable", b"Suite: stabel"))
    assert "cannot fetch u-boot-sunxi" in _one_line(record(f"file:{mirror}"))
    assert _nothing_is_left(tmp_path)
