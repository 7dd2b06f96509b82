# SPDX-License-Identifier: Apache-2.0
"""The loader's list of libraries, as the C library's own tools read it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from bootscope.arch.registry import ARCHITECTURES
from bootscope.builder.filesystems.model import Entry
from bootscope.builder.library_cache import content, rank
from bootscope.core.errors import ToolError
from bootscope.inventory.indicators import INDICATORS

from .known_builders import inventory_of

X86 = ARCHITECTURES["x86-64"]
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")


def told(cache: bytes, where: Path) -> dict[str, tuple[str, str]]:
    """What ldconfig reads in a cache: path and kind of each library, by name."""
    (where / "cache").write_bytes(cache)
    tool = shutil.which("ldconfig", path="/sbin:/usr/sbin:/bin")
    assert tool
    done = subprocess.run([tool, "-p", "-C", where / "cache"], capture_output=True, text=True, check=True)
    found = re.findall(r"^\t(\S+) \((.+)\) => (\S+)$", done.stdout, re.MULTILINE)
    return {name: (path, kind) for name, kind, path in found}


def file(path: str, source: Path) -> tuple[PurePosixPath, Entry]:
    return PurePosixPath(path), Entry(PurePosixPath(path), source=source, program=True)


def link(path: str, target: str) -> tuple[PurePosixPath, Entry]:
    return PurePosixPath(path), Entry(PurePosixPath(path), target=target)


def test_ldconfig_reads_what_the_loader_would_find_first(tmp_path: Path) -> None:
    libc, libm = (LIBRARIES / name for name in ("libc.so.6", "libm.so.6"))
    (tmp_path / "text").write_text("GROUP ( /lib/libc.so.6 )")
    entries = dict(
        [
            file("lib/libc.so.6", libc),
            file("usr/lib/libc.so.6", libc),
            link("usr/lib/libm.so.6", "../deep/libm-2.36.so"),
            file("usr/deep/libm-2.36.so", libm),
            file("usr/lib/libc.so", tmp_path / "text"),
            link("usr/lib/libgone.so.1", "nowhere"),
        ]
    )
    assert told(content(entries, X86), tmp_path) == {
        "libc.so.6": ("/lib/libc.so.6", "libc6,x86-64"),
        "libm.so.6": ("/usr/lib/libm.so.6", "libc6,x86-64"),
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [("arm", "libc6,hard-float"), ("arm64", "libc6,AArch64"), ("riscv64", "libc6,double-float")],
)
def test_libraries_of_other_architectures_are_marked_as_theirs(name: str, kind: str, tmp_path: Path) -> None:
    arch = ARCHITECTURES[name]
    places = [Path("/", folder, "libc.so.6") for folder in arch.tools.library_folders]
    source = next(path for path in places if path.exists())
    cache = content(dict([file("lib/libc.so.6", source)]), arch)
    assert told(cache, tmp_path) == {"libc.so.6": ("/lib/libc.so.6", kind)}
    with pytest.raises(ToolError, match="no shared libraries"):
        content(dict([file("lib/libc.so.6", source)]), X86)


def test_numbers_in_names_are_compared_as_numbers() -> None:
    """As the loader does, which halves the list until it has the name."""
    names = ["liba.so.10", "liba.so.9", "liba.so", "liba1.so", "libab.so", "liba.so.9.1"]
    assert sorted(names, key=rank) == [
        "liba.so",
        "liba.so.9",
        "liba.so.9.1",
        "liba.so.10",
        "libab.so",
        "liba1.so",
    ]


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        (("/lib/ld-linux-armhf.so.3",), "no /etc/ld.so.cache: every program searches"),
        (("/usr/lib/ld-linux-aarch64.so.1", "/etc/ld.so.cache"), ""),
        (("/bin/busybox", "/lib/ld-musl-armhf.so.1"), ""),
    ],
)
def test_a_search_for_libraries_is_seen_in_files(files: tuple[str, ...], shown: str) -> None:
    """tests/prebuilt/test_syscalls.py counts the calls of a boot."""
    told = INDICATORS["library-search"].otherwise(inventory_of(files=dict.fromkeys(files, "program 0")))
    assert told is not None
    assert told.startswith(shown) and bool(told) == bool(shown)
    assert INDICATORS["library-search"].otherwise(inventory_of()) is None
