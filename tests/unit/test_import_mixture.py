# SPDX-License-Identifier: Apache-2.0
"""A folder with things of several products is not taken for one product."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import tree_builders as trees
from .conftest import Command
from .test_cli import assert_refused

KERNEL = {".config": "# Linux/arm 6.1.0 Kernel Configuration\nCONFIG_ARM=y\n"}
ROOTFS = {f"{name}/x": "x" for name in ("bin", "etc", "lib", "usr", "sbin")}


def placed(folder: str, files: dict[str, str]) -> dict[str, str]:
    return {f"{folder}/{name}": text for name, text in files.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "things"
    found.mkdir()
    return found


MIXED: dict[str, tuple[dict[str, str], int, list[str]]] = {
    "a folder for everybody": (
        placed("linux", KERNEL) | placed("somebodys", ROOTFS),
        0o1777,
        ["kernel in linux", "root file system in somebodys"],
    ),
    "two projects": (
        placed("a/linux", KERNEL) | placed("b/rootfs", ROOTFS),
        0o755,
        ["kernel in a/linux", "root file system in b/rootfs"],
    ),
    "two kernels": (placed("new", KERNEL) | placed("old", KERNEL), 0o755, ["kernel in new", "kernel in old"]),
    "two roots": (
        placed("linux", KERNEL) | placed("r1", ROOTFS) | placed("r2", ROOTFS),
        0o755,
        ["root file system in r1", "root file system in r2"],
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_what_may_not_belong_together_is_refused(main_here: Command, folder: Path, name: str) -> None:
    files, mode, words = MIXED[name]
    trees.put(folder, files)
    folder.chmod(mode)
    done = main_here("system", "import", folder)
    assert_refused(
        done, f"{folder} has parts that may not belong together: ", *words, "name the folder of one product"
    )
    assert main_here("system", "list").stdout.startswith("no imported systems")


ONE: dict[str, tuple[dict[str, str], int]] = {
    "side by side": (placed("linux", KERNEL) | placed("rootfs", ROOTFS), 0o755),
    "below one folder": (placed("build/linux", KERNEL) | placed("build/rootfs", ROOTFS), 0o755),
    "one thing in a folder for everybody": (placed("linux", KERNEL), 0o1777),
    "a kernel's own folder": (KERNEL | placed("rootfs", ROOTFS), 0o755),
    "a kernel in its own output": (placed("linux", KERNEL) | placed("linux/out", KERNEL), 0o755),
}


@pytest.mark.parametrize("name", ONE)
def test_one_product_is_taken(main_here: Command, folder: Path, name: str) -> None:
    files, mode = ONE[name]
    trees.put(folder, files)
    folder.chmod(mode)
    assert main_here("system", "import", folder).returncode == 0


def test_the_parts_of_a_mixture_can_be_had_one_by_one(main_here: Command, folder: Path) -> None:
    trees.put(folder, placed("a/linux", KERNEL) | placed("b/rootfs", ROOTFS))
    assert main_here("system", "import", folder / "a").returncode == 0
    assert main_here("audit", folder / "a" / "linux" / ".config", folder / "b" / "rootfs").returncode == 0
