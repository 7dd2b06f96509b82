# SPDX-License-Identifier: Apache-2.0
"""Whole images: what is said of them, whatever they are packed in, and what is said where something is
wrong."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bootscope.bootimage import handout
from bootscope.bootimage.records import Understood
from bootscope.bootimage.understand import open_image
from bootscope.core.errors import UserError
from tests.command import environment
from tests.unit.image_builders import (
    BASE,
    BUILD_ID,
    SYMBOLS,
    VERSION,
    android_sparse,
    arm64_image,
    boot_folder,
    card,
    device_tree,
    ext4,
    qcow2,
    root_folder,
    tool,
)


def look(*paths: Path) -> Understood:
    with open_image([str(path) for path in paths]) as image:
        return image.understood


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return card(tmp_path_factory.mktemp("card"))


def check_card(known: Understood) -> None:
    assert [(a.volume, a.filesystem.kind if a.filesystem else "", a.readable) for a in known.areas] == [
        ("partition 1", "FAT", True),
        ("partition 2", "ext4", True),
    ]
    assert known.problems == ()
    assert known.architecture == "arm64"
    assert known.command_line == "console=ttyS0 root=/dev/vda2"


def test_a_card(made: Path) -> None:
    known = look(made)
    check_card(known)
    assert (known.kind, known.table, known.layers) == ("disk image", "gpt", ())
    (kernel,) = known.kernels
    assert (kernel.place.volume, kernel.place.path, kernel.version) == ("partition 1", "/Image", VERSION)
    assert (kernel.build_id, kernel.kaslr, kernel.command_line) == (BUILD_ID.hex(), True, "console=ttyAMA0")
    assert (kernel.symbols.source, kernel.symbols.count, kernel.symbols.functions) == (
        "kallsyms",
        SYMBOLS,
        SYMBOLS // 2,
    )
    (root,) = known.roots
    assert (root.init, root.init_path, root.system) == ("BusyBox init v1.37.0", "/bin/busybox", "Product 1")
    assert (root.architecture, root.modules) == ("arm64", (VERSION,))
    (tree,) = known.device_trees
    assert (tree.model, tree.compatible) == ("Test board", ("test,board", "test,soc"))
    assert (tree.command_line, tree.memory) == ("console=ttyS1", ((0x40000000, 0x8000000),))
    assert known.initramfs[0].init == "/init: a script for /bin/sh"
    assert [(e.menu.title, e.menu.chosen) for e in known.entries] == [("first", False), ("Product", True)]
    assert known.environment == {"bootcmd": "run it", "bootargs": "quiet"}


def test_the_steps_of_a_boot(made: Path) -> None:
    steps = [(step.what, step.sure) for step in look(made).steps]
    assert steps == [
        ("U-Boot SPL 2025.01", False),
        ("U-Boot 2025.01", False),
        ("extlinux: Product", True),
        (f"Linux {VERSION} for arm64", True),
        ("initramfs: /init: a script for /bin/sh", True),
        ("BusyBox init v1.37.0 (Product 1)", True),
    ]


def test_the_boards_that_fit(made: Path) -> None:
    fits = {fit.board: (fit.fits, fit.why) for fit in look(made).boards}
    assert fits["cubieboard"] == (False, "it is for arm, the image for arm64")


PACKED: dict[str, tuple[Callable[[bytes], bytes], tuple[str, ...]]] = {
    "gz": (lambda data: gzip.compress(data, 1), ("gzip",)),
    "xz": (lambda data: lzma.compress(data, preset=0), ("xz",)),
    "bz2": (lambda data: bz2.compress(data, 1), ("bzip2",)),
    "zst": (lambda data: tool("zstd", "-q", "-c", "-1", data=data), ("zstd",)),
    "qcow2": (qcow2, ("qcow2",)),
    "unpacked.qcow2": (lambda data: qcow2(data, 12, packed=False), ("qcow2",)),
    "simg": (android_sparse, ("Android sparse",)),
}


@pytest.mark.parametrize("ending", PACKED)
def test_what_an_image_is_packed_in(ending: str, made: Path, tmp_path: Path) -> None:
    pack, layers = PACKED[ending]
    path = tmp_path / f"card.{ending}"
    path.write_bytes(pack(made.read_bytes()))
    before = path.read_bytes()
    with open_image([str(path)]) as image:
        check_card(image.understood)
        assert image.understood.layers == layers
        assert image.disk and image.disk.read_bytes() == made.read_bytes()
    assert path.read_bytes() == before and not image.disk.exists()


def test_an_image_that_is_compressed_twice(made: Path, tmp_path: Path) -> None:
    path = tmp_path / "card.gz.gz"
    path.write_bytes(gzip.compress(gzip.compress(made.read_bytes(), 1)))
    known = look(path)
    check_card(known)
    assert known.notes[0] == "compressed 2 times: gzip, then gzip; once is enough"


def test_the_kernel_is_handed_out(made: Path) -> None:
    with open_image([str(made)]) as image:
        handed = image.kernel()
        assert handed
        data, kernel, symbols = handed
        assert data == arm64_image() and kernel.version == VERSION
        assert symbols[0].address == BASE + 0x10000 and len(symbols) == SYMBOLS
        assert image.read(image.understood.device_trees[0].place) == device_tree()
        assert image.disk == made


def test_what_boots_is_written_as_files(made: Path, tmp_path: Path) -> None:
    with open_image([str(made)]) as image:
        files = handout.write(image, tmp_path / "out")
        with pytest.raises(UserError, match="is there already"):
            handout.write(image, tmp_path / "out")
    assert [path.name for path in files.written] == [
        "kernel", "initramfs", "board.dtb", "System.map", "config", "command-line.txt",
    ]  # fmt: skip
    assert files.kernel and files.kernel.read_bytes() == arm64_image()
    assert files.device_tree and files.device_tree.read_bytes() == device_tree()
    assert files.symbols and files.symbols.read_text().startswith(
        f"{BASE + 0x10000:016x} t function_0_start\n"
    )
    assert files.command_line and files.command_line.read_text() == "console=ttyS0 root=/dev/vda2\n"


def test_a_name_that_is_no_text(made: Path, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.img"
    os.link(made, path)
    known = look(Path(os.fsdecode(path)))
    assert known.name.endswith("/\\xff.img")
    assert msgspec.json.encode(known)
    (tmp_path / "root").mkdir()
    root = root_folder(tmp_path / "root" / "inner")
    (root / "boot" / os.fsdecode(b"Image\xff")).write_bytes(arm64_image())
    assert msgspec.json.encode(look(root))


# ---- files and folders ----


def test_parts_of_a_system_as_files(tmp_path: Path) -> None:
    boot = boot_folder(tmp_path / "boot")
    with tarfile.open(tmp_path / "root.tar.gz", "w:gz") as archive:
        archive.add(root_folder(tmp_path / "root"), ".")
    known = look(boot / "Image", boot / "board.dtb", boot / "initrd", tmp_path / "root.tar.gz")
    assert known.kind == "kernel, device tree, initramfs, root file system, tar archive"
    assert (known.command_line, known.problems) == ("console=ttyAMA0", ())
    assert known.roots[0].init == "BusyBox init v1.37.0"
    assert [step.what for step in known.steps][-1] == "BusyBox init v1.37.0 (Product 1)"


@pytest.mark.parametrize("kind", ["squashfs", "ext4", "folder"])
def test_a_root_file_system_of_every_kind(kind: str, tmp_path: Path) -> None:
    folder = path = root_folder(tmp_path / "root")
    if kind == "squashfs":
        path = tmp_path / "root.squashfs"
        tool("mksquashfs", folder, path, "-quiet", "-no-progress")
    elif kind == "ext4":
        path = ext4(tmp_path / "root.ext4", folder, 8)
    known = look(path)
    assert (known.roots[0].kind, known.problems) == (kind, ())
    assert known.roots[0].init == "BusyBox init v1.37.0"


def test_a_folder_of_images(tmp_path: Path) -> None:
    folder = boot_folder(tmp_path / "deploy")
    (folder / "Image").rename(folder / "Image-6.12-2026.bin")
    (folder / "Image").symlink_to("Image-6.12-2026.bin")
    (folder / "circle").symlink_to("circle")
    (folder / "out").symlink_to("/etc/passwd")
    (folder / "notes.txt").write_text("x")
    ext4(folder / "product.rootfs.ext4", root_folder(tmp_path / "root"), 8)
    known = look(folder)
    assert [kernel.place.volume for kernel in known.kernels] == ["Image"]
    assert [root.kind for root in known.roots] == ["ext4"]
    assert "circle is a link that leads nowhere or in a circle" in known.notes
    assert "out is a link that leads out of the folder: not followed" in known.notes


def test_a_system_map_beside_a_kernel_wins_where_it_is_of_it(tmp_path: Path) -> None:
    folder = boot_folder(tmp_path / "deploy")
    rows = [f"{BASE + 0x10000 + 32 * n:016x} T function_{n}_start\n" for n in range(SYMBOLS)]
    (folder / "System.map").write_text("".join([f"{BASE:016x} A more\n", *rows]))
    symbols = look(folder).kernels[0].symbols
    assert (symbols.source, symbols.count) == ("System.map", SYMBOLS + 1)
    (folder / "System.map").write_text("".join(rows).replace("0 T", "4 T"))
    symbols = look(folder).kernels[0].symbols
    assert (symbols.source, symbols.count) == ("kallsyms", SYMBOLS)
    assert symbols.note == "System.map is of another kernel: its addresses are not those in the kernel"
    (folder / "System.map").write_text("ffffffffffffffff B The real System.map is elsewhere\n")
    symbols = look(folder).kernels[0].symbols
    assert (symbols.source, symbols.note) == ("kallsyms", "System.map holds no symbols")


def test_the_deploy_folder_of_a_build(tmp_path: Path) -> None:
    folder = tmp_path / "tmp/deploy/images/qemuarm64"
    boot_folder(folder)
    rows = [f"{BASE + 0x10000 + 32 * n:016x} T function_{n}_start\n" for n in range(SYMBOLS)]
    (folder / f"System.map-{VERSION}-2026").write_text("".join(rows))
    ext4(folder / "core-image-qemuarm64.rootfs.ext4", root_folder(tmp_path / "root"), 8)
    (folder / "core-image-qemuarm64.rootfs.testdata.json").write_text('{"APPEND": "console=ttyAMA0"}')
    known = look(tmp_path)
    assert known.kind.startswith("Yocto build, ")
    assert (known.kernels[0].symbols.source, known.roots[0].kind) == ("System.map", "ext4")
    assert known.command_line == "console=ttyAMA0"
    assert known.command_line_from == "APPEND of the build's variables"


# ---- the command ----


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bootscope", "image", *map(str, arguments)]
    return subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=False, timeout=120
    )


def test_the_command(made: Path, tmp_path: Path) -> None:
    done = run(made, "--json")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = msgspec.json.decode(done.stdout)
    assert (told["kind"], told["what"], told["architecture"]) == ("image", "disk image", "arm64")
    done = run(made)
    assert f"Linux {VERSION} for arm64" in done.stdout and "command line: console=ttyS0" in done.stdout
    (tmp_path / "x").write_bytes(b"hello")
    done = run(tmp_path / "x")
    assert (
        done.returncode == 2
        and "is not recognised" in done.stderr
        and "hint: give a disk image" in done.stderr
    )
