# SPDX-License-Identifier: Apache-2.0
"""The root file system of a system with files, links and removals of its own; tools of the kernel step."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from bootscope.arch.arm import ARM
from bootscope.builder.filesystems.model import Entry
from bootscope.builder.ids import id_of
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import kernel, rootfs
from bootscope.core.errors import UserError
from bootscope.core.tools import TOOLS
from bootscope.system.model import RootFs, Symbols

from .lab_scenes import stock

PROGRAM = "/usr/bin/testcard"
SCRIPT = "#!/bin/sh\necho h\u00e9\n"


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """BusyBox, an application and an overlay, none of which needs a library."""
    monkeypatch.setattr(rootfs, "with_dependencies", lambda _programs, _arch: [])
    for folder in ("busybox", "application", "scratch", "overlay/etc/init.d"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "busybox" / "busybox").write_text("busybox")
    (tmp_path / "busybox" / "busybox.links").write_text("/bin/sh\n/bin/[\n/sbin/init\n/bin/busybox\n")
    (tmp_path / "application" / "program").write_text("program")
    for name in ("rcS", "S30seed", "S99application"):
        (tmp_path / "overlay/etc/init.d" / name).write_text("old")
    results = {name: tmp_path / name for name in ("busybox", "application")}
    return cast(Context, SimpleNamespace(results=results, scratch=tmp_path / "scratch"))


def collected(parts: Context, **fields: Any) -> dict[str, Entry]:
    """What goes into the image, by path."""
    wanted = msgspec.structs.replace(stock().system.rootfs, folders=(), **fields)
    found = rootfs.collect(parts, wanted, parts.scratch.parent / "overlay", PROGRAM, ARM)
    assert all(path == entry.path for path, entry in found.items())
    for path in found:
        assert all(parent in found for parent in path.parents[:-1]), "debugfs makes no parents"
    return {f"/{path}": entry for path, entry in found.items()}


def text(entry: Entry) -> str:
    assert entry.source
    return entry.source.read_text("utf-8")


def test_a_system_that_says_nothing_gets_what_it_always_got(parts: Context) -> None:
    found = collected(parts)
    assert text(found["/etc/init.d/S30seed"]) == "old"
    assert found["/bin/sh"].target == "/bin/busybox"
    assert found["/bin"] == Entry(PurePosixPath("bin"))
    assert found[PROGRAM].program


def test_files_are_written_over_what_is_there(parts: Context) -> None:
    files = {"/etc/init.d/rcS": SCRIPT, "/bin/sh": "x", "/new/place/plain": "text", "etc/relative": ""}
    found = collected(parts, files=files)
    assert text(found["/etc/init.d/rcS"]) == SCRIPT
    assert found["/etc/init.d/rcS"].program
    assert found["/bin/sh"].target is None
    assert not found["/new/place/plain"].program
    assert found["/new/place"].source is None
    assert text(found["/etc/relative"]) == ""


def test_what_is_written_is_listed_as_facts_look_for_it(parts: Context) -> None:
    found = collected(parts, files={"/x": SCRIPT}, links={"/y": "x"})
    digest = hashlib.sha256(SCRIPT.encode()).hexdigest()[:16]
    assert rootfs.content_line(found["/x"]) == f"/x\tprogram {digest}\n"
    assert rootfs.content_line(found["/y"]) == "/y\t-> x\n"


def test_links_are_made_over_what_is_there(parts: Context) -> None:
    found = collected(parts, links={"/sbin/init": "/usr/bin/testcard", "/etc/a b": "../x y"})
    assert found["/sbin/init"].target == "/usr/bin/testcard"
    assert found["/etc/a b"].target == "../x y"


def test_a_link_takes_the_place_of_a_folder_with_all_that_is_in_it(parts: Context) -> None:
    found = collected(parts, links={"/etc": "/tmp", "/new/etc": "/tmp"})
    assert found["/etc"].target == "/tmp"
    assert not [path for path in found if path.startswith("/etc/")]
    assert found["/new"].source is None
    assert found["/new"].target is None


@pytest.mark.parametrize(
    ("pattern", "gone", "left"),
    [
        ("/etc/init.d/S30*", ["/etc/init.d/S30seed"], ["/etc/init.d/S99application"]),
        ("/etc/init.d/S*", ["/etc/init.d/S30seed", "/etc/init.d/S99application"], ["/etc/init.d/rcS"]),
        ("/etc/init.d", ["/etc/init.d", "/etc/init.d/rcS"], ["/etc"]),
        ("/bin/[[]", ["/bin/["], ["/bin/sh"]),
        ("/bin/s?", ["/bin/sh"], ["/bin/busybox"]),
        (PROGRAM, [PROGRAM], ["/usr/bin"]),
        ("etc", [], ["/etc"]),
        ("rcS", [], ["/etc/init.d/rcS"]),
    ],
)
def test_what_matches_a_pattern_is_left_out(
    parts: Context, pattern: str, gone: list[str], left: list[str]
) -> None:
    found = collected(parts, remove=(pattern,))
    assert not set(gone) & found.keys()
    assert set(left) <= found.keys()


def test_what_is_removed_and_written_is_there_with_its_folders(parts: Context) -> None:
    found = collected(
        parts, remove=("/etc", "/sbin/*"), files={"/etc/init.d/rcS": "new"}, links={"/sbin/init": "x"}
    )
    assert text(found["/etc/init.d/rcS"]) == "new"
    assert found["/sbin/init"].target == "x"
    assert "/etc/init.d/S30seed" not in found


@pytest.mark.parametrize("path", ["", "/", "..", "/etc/../../x", '/a"b', "/a\nb", "/a\x1b", "///"])
def test_a_path_that_is_none_is_refused(parts: Context, path: str) -> None:
    for fields in ({"files": {path: "x"}}, {"links": {path: "x"}}):
        with pytest.raises(UserError) as caught:
            collected(parts, **fields)
        assert caught.value.message.isprintable()


def test_a_target_that_debugfs_would_misread_is_refused(parts: Context) -> None:
    with pytest.raises(UserError, match="an image cannot have this name"):
        collected(parts, links={"/x": 'y"\nrm /etc'})


@pytest.mark.parametrize(
    "fields", [{"files": {"/x": "1"}}, {"links": {"/x": "1"}}, {"remove": ("/x",)}, {"filesystem": "ext2"}]
)
def test_whatever_goes_in_changes_the_id(tmp_path: Path, fields: dict[str, Any]) -> None:
    def identity(wanted: RootFs) -> str:
        step = rootfs.step(msgspec.structs.replace(stock().system, rootfs=wanted), tmp_path, ARM)
        assert f"mkfs.{wanted.filesystem}" in step.tools
        assert set(step.tools) <= TOOLS.keys()
        return id_of(step.inputs)

    plain = stock().system.rootfs
    assert identity(msgspec.structs.replace(plain, **fields)) != identity(plain)


@pytest.mark.parametrize(
    ("config", "tools"),
    [
        ({}, set()),
        ({"KERNEL_GZIP": True}, set()),
        ({"KERNEL_LZ4": True}, {"lz4"}),
        ({"KERNEL_LZ4": "y"}, {"lz4"}),
        ({"KERNEL_LZO": True, "KERNEL_LZ4": False}, {"lzop"}),
        ({"KERNEL_XZ": True}, {"xz"}),
        ({"KERNEL_LZMA": True}, {"xz"}),
    ],
)
def test_a_compressor_is_needed_by_kernels_that_use_it(config: Symbols, tools: set[str]) -> None:
    system = stock().system

    def of(symbols: Symbols) -> Step:
        return kernel.step(
            msgspec.structs.replace(system, kernel=msgspec.structs.replace(system.kernel, config=symbols)),
            ARM,
        )

    step, base = of(config), of({})
    assert set(step.tools) - set(base.tools) == tools
    assert set(step.tools) <= TOOLS.keys()
