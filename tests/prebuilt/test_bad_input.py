# SPDX-License-Identifier: Apache-2.0
"""Packages that cannot be had, or are not what they should be: told in one line, and nothing is half done."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.builder.archive import MIRROR
from tests.command import environment

LOADER = "pool/main/u/u-boot/u-boot-sunxi_1_armhf.deb"
SUITE = Path("dists/trixie")
INDEX = "main/binary-armhf/Packages"
DEB = b"!<arch>\na package that holds nothing"
TRUSTED = "\nTrusted: yes"
"""Behind an address: apt believes this mirror although nobody signed its index."""
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


def _suite(folder: Path, name: str, codename: str, deb: bytes) -> None:
    """A suite of a mirror of ours whose index names one package; nobody signed it."""
    index = (
        "Package: u-boot-sunxi\nVersion: 1\nArchitecture: armhf\nMaintainer: nobody\nDescription: x\n"
        f"Filename: {LOADER}\nSize: {len(deb)}\nSHA256: {hashlib.sha256(deb).hexdigest()}\n"
    ).encode()
    release = (
        f"Suite: stable\nCodename: {codename}\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nArchitectures: armhf\n"
        f"Components: main\nSHA256:\n {hashlib.sha256(index).hexdigest()} {len(index)} {INDEX}\n"
    ).encode()
    for path, data in (
        (folder / "dists" / name / "Release", release),
        (folder / "dists" / name / INDEX, index),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A mirror with an index that names a package which is not there."""
    folder = tmp_path / "mirror"
    _suite(folder, "trixie", "trixie", DEB)
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A package that can be unpacked."""
    folder = tmp_path_factory.mktemp("package")
    control = "Package: u-boot-sunxi\nVersion: 1\nArchitecture: armhf\nMaintainer: nobody\nDescription: x\n"
    (folder / "tree/DEBIAN").mkdir(parents=True)
    (folder / "tree/DEBIAN/control").write_text(control)
    subprocess.run(["dpkg-deb", "--build", "tree", "made.deb"], cwd=folder, check=True, capture_output=True)
    return (folder / "made.deb").read_bytes()


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
    assert "cannot fetch u-boot-sunxi" in told and "onnect" in told
    assert _nothing_is_left(tmp_path)


def test_a_mirror_that_lacks_the_version_of_its_index(record: Record, mirror: Path, tmp_path: Path) -> None:
    told = _one_line(record(f"file:{mirror}{TRUSTED}"))
    assert "File not found" in told and Path(LOADER).name in told
    assert _nothing_is_left(tmp_path)


@pytest.mark.parametrize("codename", ["trixie", "forky"])
def test_a_suite_in_the_middle_of_its_renewal_is_asked_for_by_its_other_name(
    record: Record, package: bytes, tmp_path: Path, codename: str
) -> None:
    mirror = tmp_path / "mirror"
    _suite(mirror, "trixie", "trixie", package)
    with (mirror / SUITE / INDEX).open("ab") as index:
        index.write(b"\n")
    _suite(mirror, "stable", codename, package)
    (mirror / LOADER).parent.mkdir(parents=True)
    (mirror / LOADER).write_bytes(package)
    told = _one_line(record(f"file:{mirror}{TRUSTED}"))
    # By its other name the package comes, and the next one fails, which this mirror lacks.
    assert ("cannot fetch u-boot-sunxi" in told) == (codename == "forky")
    assert "Hash Sum mismatch" in told


def test_a_package_with_another_hash(record: Record, mirror: Path, tmp_path: Path) -> None:
    path = mirror / LOADER
    path.parent.mkdir(parents=True)
    path.write_bytes(DEB.replace(b"nothing", b"NOTHING"))
    told = _one_line(record(f"file:{mirror}{TRUSTED}"))
    assert "Hash Sum mismatch" in told and path.name in told
    assert _nothing_is_left(tmp_path)


def test_an_index_that_nobody_signed(record: Record, mirror: Path, tmp_path: Path) -> None:
    told = _one_line(record(f"file:{mirror}"))
    assert "cannot fetch u-boot-sunxi" in told and "not signed" in told
    assert _nothing_is_left(tmp_path)
