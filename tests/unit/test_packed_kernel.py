# SPDX-License-Identifier: Apache-2.0
"""Kernel images that the boot loader unpacks, and what else makes one build another."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from bootscope.arch.arm64 import ARM64
from bootscope.builder.cache import Cache
from bootscope.builder.plan import outlook, steps_of
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Runner
from bootscope.builder.steps import payload
from bootscope.builder.steps.packing import FOR_LOADERS
from bootscope.core.errors import UserError
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, check_system, load_system

IMAGE = b"MZ an Image" * 5000


def changed(**settings: object) -> LoadedSystem:
    loaded = load_system("debian-systemd")
    change = Change(settings={key.replace("__", "."): value for key, value in settings.items()})  # type: ignore[misc]
    return LoadedSystem(apply(loaded.system, {"it": change}), loaded.path)


def ids(loaded: LoadedSystem, folder: Path) -> dict[str, str]:
    return outlook(loaded, Cache(folder)).ids


@pytest.mark.parametrize("kind", FOR_LOADERS)
def test_an_image_is_packed_and_the_same_twice(kind: str, tmp_path: Path) -> None:
    if not shutil.which(FOR_LOADERS[kind][0]):
        pytest.skip(f"no {kind}")
    wanted = changed(kernel__packed=kind).system.kernel
    assert payload.needed(wanted)
    assert payload.file_name(wanted) == "Image"
    built = tmp_path / "kernel"
    built.mkdir()
    (built / "Image").write_bytes(IMAGE)
    packed = []
    for turn in ("one", "two"):
        runner = Runner(Cache(tmp_path / turn), Progress())
        step = payload.step(wanted, ARM64)
        made = runner.run(step, step.step_id({"kernel": "00"}), {"kernel": built})
        packed.append((made / payload.IMAGE).read_bytes())
    assert packed[0] == packed[1]
    assert len(packed[0]) < len(IMAGE) // 10
    if kind == "gzip":
        assert gzip.decompress(packed[0]) == IMAGE


def test_an_unknown_compression_is_refused() -> None:
    loaded = changed(kernel__packed="brotli")
    with pytest.raises(UserError, match=r"kernel\.packed: expected one of"):
        check_system(loaded.system, loaded.path)


def test_what_is_not_packed_stays_the_build_that_it_was(tmp_path: Path) -> None:
    plain = load_system("debian-systemd")
    assert not payload.needed(plain.system.kernel)
    assert "payload" not in ids(plain, tmp_path)
    assert "payload" in ids(changed(kernel__packed="gzip"), tmp_path)


def test_builds_that_differ_in_their_firmware_are_two() -> None:
    """It is not on the card, after which builds are called."""
    loaded = load_system("debian-systemd")
    found = {name: Resolved("", "00", "", "") for name in loaded.system.sources}
    steps = {step.name: step for step in steps_of(loaded, found)}
    assert "firmware" in steps["card"].needs
    stock = load_system("stock")
    found = {name: Resolved("", "00", "", "") for name in stock.system.sources}
    assert "firmware" not in {step.name: step for step in steps_of(stock, found)}["card"].needs
