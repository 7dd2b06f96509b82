# SPDX-License-Identifier: Apache-2.0
"""The cache of fonts in an image, made by this computer's own fc-cache for another root file system."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import msgspec
import pytest

from bootscope.arch.registry import ARCHITECTURES
from bootscope.builder import font_cache
from bootscope.builder.cache import Cache
from bootscope.builder.filesystems.model import Entry, lay_out
from bootscope.builder.progress import Progress
from bootscope.builder.step import EPOCH, Context
from bootscope.builder.steps import rootfs
from bootscope.core.errors import UserError
from bootscope.core.tools import OPTIONAL_TOOLS

from .lab_scenes import stock

X86 = ARCHITECTURES["x86-64"]
FONTS = Path("/usr/share/fonts")


def context(tmp_path: Path) -> Context:
    for name in ("scratch", "out"):
        (tmp_path / name).mkdir(parents=True)
    return Context(
        {}, tmp_path / "scratch", tmp_path / "out", Cache(tmp_path / "cache"), Progress(), 1, False
    )


def root_of_this_computer() -> dict[PurePosixPath, Entry]:
    """fc-cache with its libraries, a font, and a configuration that a link from the root on leads to."""
    program = shutil.which("fc-cache")
    font = next(FONTS.rglob("*.ttf"), None)
    assert program
    assert font, "the browser of the tests brings fonts"
    found = {PurePosixPath("usr/bin/fc-cache"): Path(program), PurePosixPath("usr/share/fonts/a/a.ttf"): font}
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"(/\S+) \(0x", told):
        found[PurePosixPath(name.lstrip("/"))] = Path(name)
    found[PurePosixPath("usr/share/fontconfig/fonts.conf")] = Path("/etc/fonts/fonts.conf")
    entries = {path: Entry(path, source=source, program=True) for path, source in found.items()}
    link = PurePosixPath("etc/fonts/fonts.conf")
    entries[link] = Entry(link, target="/usr/share/fontconfig/fonts.conf")
    for path in [*entries]:
        entries.update({parent: Entry(parent) for parent in path.parents[:-1]})
    return entries


def test_fontconfig_takes_the_cache_for_good(tmp_path: Path) -> None:
    there = root_of_this_computer()
    made = {
        entry.path: entry
        for entry in font_cache.entries(context(tmp_path / "one"), there, X86, font_cache.tools(there))
    }
    assert made
    assert all(path.parent == font_cache.FOLDER and path.suffix.startswith(".cache-") for path in made)
    root = tmp_path / "root"
    folders = {parent: Entry(parent) for path in made for parent in path.parents[:-1]}
    lay_out({**there, **folders, **made}, root)
    (root / "etc/fonts/fonts.conf").unlink()
    shutil.copyfile(root / "usr/share/fontconfig/fonts.conf", root / "etc/fonts/fonts.conf")
    os.utime(root / "usr/share/fonts", (EPOCH, EPOCH))
    command: list[str | Path] = [
        "qemu-x86_64",
        "-L",
        root,
        root / "usr/bin/fc-cache",
        "--verbose",
        "--system-only",
    ]
    env = {"FONTCONFIG_SYSROOT": str(root), "PATH": os.defpath}
    told = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    assert "/usr/share/fonts/a: skipping, existing cache is valid: 1 fonts" in told


def test_it_is_the_same_in_any_folder_and_names_none(tmp_path: Path) -> None:
    there = root_of_this_computer()
    one, other = (
        {
            entry.path: entry.source.read_bytes()
            for entry in font_cache.entries(context(tmp_path / name), there, X86, font_cache.tools(there))
            if entry.source
        }
        for name in ("one", "another")
    )
    assert one == other
    assert not any(str(tmp_path).encode() in data for data in one.values())


def test_what_makes_it_need_not_be_in_the_image(tmp_path: Path) -> None:
    there = root_of_this_computer()
    tools = font_cache.tools(there)
    assert font_cache.PROGRAM in tools
    image = {path: entry for path, entry in there.items() if path not in tools}
    whole, bare = (
        {entry.path for entry in font_cache.entries(context(tmp_path / name), entries, X86, tools)}
        for name, entries in (("whole", there), ("bare", image))
    )
    assert bare == whole


def test_without_the_program_nothing_can_be_made(tmp_path: Path) -> None:
    there = {path: entry for path, entry in root_of_this_computer().items() if path != font_cache.PROGRAM}
    with pytest.raises(UserError, match="no /usr/bin/fc-cache"):
        list(font_cache.entries(context(tmp_path), there, X86, font_cache.tools(there)))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_what_runs_a_program_of_the_target_is_asked_for_then(tmp_path: Path, name: str) -> None:
    chosen = ARCHITECTURES[name]
    system = stock().system
    wanted = msgspec.structs.replace(system.rootfs, font_cache=True)
    before = rootfs.step(system, tmp_path, chosen)
    after = rootfs.step(msgspec.structs.replace(system, rootfs=wanted), tmp_path, chosen)
    (tool,) = set(after.tools) - set(before.tools)
    assert OPTIONAL_TOOLS[tool].package == "qemu-user"
    assert shutil.which(tool)
