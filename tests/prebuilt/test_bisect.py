# SPDX-License-Identifier: Apache-2.0
"""`bootscope bisect` over files and packages, on a system of which only the application is compiled."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from bootscope.system.load import system_dir
from tests.command import Bootscope
from tests.debs import make_deb

pytestmark = [pytest.mark.boot, pytest.mark.campaign]

MS = 1_000_000
QUIET = "#!/bin/sh\n# checks nothing\n:\n"
WAITS = "#!/bin/sh\n# waits for the sensor\nsleep 0.2\n"
UNTIL = ("--milestone", "application")


def trees(folder: Path) -> tuple[Path, Path]:
    """Two overlays that differ in 64 files: in one of four scripts of the second, a wait is hidden."""
    old, new = folder / "old", folder / "new"
    shutil.copytree(system_dir() / "debian" / "rootfs", old)
    for number in range(40):
        put(old / f"etc/product.d/{number:02}.conf", f"value = {number}\n")
    for number in range(50, 54):
        put(old / f"etc/init.d/S{number}check", QUIET)
    shutil.copytree(old, new)
    for number in range(40):
        put(new / f"etc/product.d/{number:02}.conf", f"value = {number + 1}\n")
    for number in range(20):
        put(new / f"usr/share/product/{number:02}.txt", f"text {number}\n")
    for number in range(50, 54):
        put(new / f"etc/init.d/S{number}check", WAITS if number == 52 else f"{QUIET}# of version 2\n")
    return old, new


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755 if text.startswith("#!") else 0o644)


def test_the_script_that_waits_is_found_among_64_files(bootscope: Bootscope, tmp_path: Path) -> None:
    old, new = trees(tmp_path)
    text = tmp_path / "found.md"
    words = ("bisect", "debian", "--files", old, new, *UNTIL)
    done = bootscope.json(*words, "--by", "50", "-o", text)
    assert (done["differences"], done["units"]) == (64, 64)
    (found,) = done["found"]
    assert [each["name"] for each in found["differences"]] == ["/etc/init.d/S52check"]
    assert (found["only_beside"], found["needs"], found["alone"]) == ([], [], True)
    # What the script sleeps, and what it takes to start the program that does.
    assert 200 * MS < found["change_ns"] < 260 * MS
    assert abs(done["whole_ns"] - found["change_ns"]) < 20 * MS
    assert 0 < len(done["tried"]) <= 10
    assert all(each["state"] == "measured" for each in done["tried"])
    assert "S52check" in text.read_text()
    # The two runs differ in nothing else: what compare says is what was found.
    compared = bootscope.json("compare", found["run_before"], found["run_after"])
    assert compared["kind"] == "compare"
    # All is in the journal.
    again = bootscope.json(*words, "--all", "--by", "50", "--resume")
    assert [each["differences"] for each in again["found"]] == [found["differences"]]
    assert [each for each in again["tried"] if each not in done["tried"]] == []
    refused = bootscope.run(*words, "--by", "1000", "--resume")
    assert refused.returncode == 2 and "not slower by" in refused.stderr


def packaged_system(bootscope: Bootscope, folder: Path) -> tuple[Path, Path]:
    """The system `debian` with a root file system of packages, and a folder with what both lists have."""
    for name in ("debian", "stock"):
        shutil.copytree(system_dir() / name, folder / name)
    text = (system_dir() / "debian.toml").read_text()
    text = text.replace(
        "[prebuilt]\n", '[sources.root]\nversion = "1"\npath = "common"\n\n[prebuilt]\nroot = "root"\n'
    )
    system = folder / "packaged.toml"
    system.write_text(text.replace('name = "debian"', 'name = "packaged"'))
    busybox = Path(bootscope.json("build", "debian")["steps"]["busybox"]["path"])
    applets = (busybox / "busybox.links").read_text().split()
    files: dict[str, str | bytes] = {path[1:]: "-> busybox" for path in applets if path != "/bin/busybox"}
    files["bin/busybox"] = (busybox / "busybox").read_bytes()
    empty = ("dev", "proc", "sys", "tmp", "run", "root", "sbin", "usr/bin", "usr/sbin", "lib")
    common = folder / "common"
    common.mkdir()
    make_deb(common, "busybox", "1", files, empty)
    return system, common


def lists(folder: Path, common: Path) -> tuple[Path, Path]:
    """Two folders of packages that differ in twelve: the sensor's service waits only where a package with its
    settings is there, too. Each of them is new."""
    old, new = folder / "old", folder / "new"
    shutil.copytree(common, old)
    shutil.copytree(common, new)
    for number in range(8):
        name, script = f"service-{number}", f"etc/init.d/S{50 + number}service"
        make_deb(old, name, "1", {script: QUIET})
        make_deb(new, name, "2", {script: f"{QUIET}# of version 2\n"})
    make_deb(new, "settings", "1", {"usr/lib/sensor/slow": "yes\n"})
    make_deb(new, "library", "1", {"usr/lib/sensor/data": "data\n"})
    waits = "#!/bin/sh\n[ -e /usr/lib/sensor/slow ] && sleep 0.2\n:\n"
    make_deb(new, "sensor", "1", {"etc/init.d/S60sensor": waits}, Depends="library")
    make_deb(old, "zoo", "1", {"usr/share/zoo": "old\n"})
    return old, new


def test_two_packages_that_are_slow_only_together_are_found(bootscope: Bootscope, tmp_path: Path) -> None:
    system, common = packaged_system(bootscope, tmp_path)
    old, new = lists(tmp_path, common)
    done = bootscope.json("bisect", system, "--packages", old, new, *UNTIL)
    assert done["differences"] == 12
    (found,) = done["found"]
    (one,), (other,) = found["differences"], found["only_beside"]
    assert {one["name"], other["name"]} == {"sensor", "settings"}
    assert [each["name"] for each in found["needs"]] == ["library"]
    assert found["alone"] is True
    assert 200 * MS < found["change_ns"] < 300 * MS
    shown: dict[str, Any] = bootscope.json("show", found["run_after"], "--view", "processes", "--top", "1000")
    assert "S60sensor" in str(shown["tables"])
