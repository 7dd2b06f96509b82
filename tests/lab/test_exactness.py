# SPDX-License-Identifier: Apache-2.0
"""The promise: the same build gives the same stream, to the nanosecond, whatever else happens."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bootscope.builder.cache import Cache
from bootscope.core.paths import cache_dir
from tests.command import Bootscope, environment
from tests.mounts import own_mounts

pytestmark = pytest.mark.boot
KNOWN = Path(__file__).with_name("known_kernels.json")
"""Written by tools/known_kernels.py; `kernels`: step id -> file -> SHA-256."""


def _burn() -> None:
    while True:
        pass


@contextmanager
def both_cores_busy() -> Iterator[None]:
    """One process in an endless loop for every core of the host."""
    burners = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(os.cpu_count() or 2)]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.join()


def test_two_boots_of_a_build_give_identical_streams(stock: tuple[Bootscope, dict[str, Any]]) -> None:
    command, recorded = stock
    assert recorded["complete"]
    assert command.stream(recorded, 1) == command.stream(recorded, 2)
    assert len(command.stream(recorded, 1)) > 500_000


@pytest.mark.campaign
def test_a_boot_under_full_host_load_gives_the_same_stream(
    stock: tuple[Bootscope, dict[str, Any]], bootscope: Bootscope
) -> None:
    command, recorded = stock
    with both_cores_busy():
        loaded = bootscope.json("record", "stock")
    assert bootscope.stream(loaded) == command.stream(recorded)


@pytest.mark.campaign
def test_two_recordings_at_once_are_both_right(
    stock: tuple[Bootscope, dict[str, Any]], bootscope: Bootscope
) -> None:
    command, recorded = stock
    children = [bootscope.start("record", "stock", "--json") for _ in range(2)]
    for child in children:
        _, errors = child.communicate(timeout=1800)
        assert child.returncode == 0, errors
    runs = bootscope.json("list")["runs"]
    assert [run["ended"] for run in runs] == ["milestone", "milestone"]
    wanted = command.stream(recorded)
    streams = [path.read_bytes() for path in bootscope.store.rglob("stream.bin")]
    assert streams == [wanted, wanted]


def files_of(step: dict[str, Any]) -> dict[str, str]:
    """The files of a step that was built, with their SHA-256."""
    meta = json.loads(Path(step["path"], "meta.json").read_text())
    found: dict[str, str] = meta["files"]
    return found


def known_kernel(step: dict[str, Any]) -> dict[str, str] | None:
    """The kernel's files of the same sources and tools on another computer."""
    known: dict[str, dict[str, str]] = json.loads(KNOWN.read_text())["kernels"]
    return known.get(Path(step["path"]).name)


@pytest.mark.campaign
def test_images_built_twice_from_scratch_are_the_same_and_boot_the_same(
    built: dict[str, Any], stock: tuple[Bootscope, dict[str, Any]], tmp_path: Path
) -> None:
    """In another folder, at another time, without a compiler cache; only the downloads are shared.

    The kernel, which takes longest, was built on another computer where its files are known; with other tools
    than there it is built anew here.
    """
    elsewhere = tmp_path / "another" / "place"
    elsewhere.mkdir(parents=True)
    (elsewhere / "sources").symlink_to(cache_dir() / "sources")
    known = known_kernel(built["steps"]["kernel"])
    if known:
        assert files_of(built["steps"]["kernel"]) == known
        (elsewhere / "steps").mkdir()
        kernel = Path(built["steps"]["kernel"]["path"])
        (elsewhere / "steps" / kernel.name).symlink_to(kernel)
    again = Bootscope(tmp_path / "store", elsewhere)
    rebuilt = again.json("build", "stock", "--no-ccache")
    assert rebuilt["build_id"] == built["build_id"]
    for name, step in built["steps"].items():
        for path in Path(step["path"]).iterdir():
            if path.is_file() and path.name != "meta.json":
                other = Path(rebuilt["steps"][name]["path"], path.name)
                assert other.read_bytes() == path.read_bytes(), f"{name}/{path.name} differs"
    command, recorded = stock
    assert again.stream(again.json("record", "stock")) == command.stream(recorded)


THERE_AND_BACK = """
set -e
mount --bind "$2/ccache" "$1/cache/ccache"
mount --rbind "$1/cache" "$2"
"$3" -m bootscope build "$4" --json > "$1/other.json"
for key in "$2"/trees/*; do
    ls -t "$key" | tail -n +2 | while read -r older; do rm -r "$key/$older"; done
done
rm -r "$2/steps/$5" "$2/steps/$6"
"$3" -m bootscope build stock --json > "$1/again.json"
"""


@pytest.mark.campaign
def test_going_on_from_the_build_tree_of_another_configuration_gives_the_same_images(
    built: dict[str, Any], variant: Callable[..., Path], tmp_path: Path
) -> None:
    """There and back: a variant from the tree of stock, and stock from the tree of the variant alone.

    In a copy of the cache at its own path, since trees remember where their sources are.
    """
    here, copy = cache_dir(), tmp_path / "cache"
    copy.mkdir()
    (copy / "ccache").mkdir()
    for name in ("sources", "steps"):
        subprocess.run(["cp", "-al", here / name, copy], check=True)
    for key in (here / "trees").iterdir():
        with Cache(here).lock(f"trees-{key.name}", lambda: None):
            shutil.copytree(key, copy / "trees" / key.name, symlinks=True)
    # Not what every file of the kernel depends on: the compiler would be asked for all of it, twice.
    config = "[kernel.config]\n"
    smaller = f"{config}THERMAL = false\nHID_SUPPORT = false\n"
    loader = 'defconfig = "Cubieboard_defconfig"\n'
    system = variant(
        (config, smaller), (loader, f"{loader}config = {{ BOOTDELAY = 0, CMD_MEMTEST = true }}\n")
    )
    kept = {name: Path(built["steps"][name]["path"]) for name in ("kernel", "uboot")}
    arguments: list[str | Path] = [
        tmp_path,
        here,
        sys.executable,
        system,
        *(path.name for path in kept.values()),
    ]
    script = [*own_mounts(), "sh", "-c", THERE_AND_BACK, "sh", *arguments]
    done = subprocess.run(script, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    other, again = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("other", "again"))
    assert again["build_id"] == built["build_id"] != other["build_id"]
    for name, path in kept.items():
        anew = copy / "steps" / path.name
        assert not (anew / "meta.json").samefile(path / "meta.json"), f"{name} was not built anew"
        for file in path.iterdir():
            if file.name != "meta.json":
                assert (anew / file.name).read_bytes() == file.read_bytes(), f"{name}/{file.name} differs"
