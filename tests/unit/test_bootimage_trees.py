# SPDX-License-Identifier: Apache-2.0
"""Images in the folder of the build that made them: what lies beside them there tells more of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bootscope.arch.registry import ARCHITECTURES
from bootscope.artefacts.tree import FILE, Entry
from bootscope.bootimage.understand import open_image
from bootscope.imageedit import user_programs

from . import tree_builders as trees
from .image_builders import VERSION, arm64_image, cpio, ext4, root_folder

X86_64 = ARCHITECTURES["x86-64"]


def buildroot(folder: Path, version: str) -> Path:
    """An output folder with an arm64 kernel, in whose build folder a configuration of `version` lies."""
    (folder / "images").mkdir(parents=True)
    (folder / "images/Image").write_bytes(arm64_image(config=""))
    ext4(folder / "images/rootfs.ext4", root_folder(folder.parent / "root"), 8)
    config = f"#\n# Linux/arm64 {version} Kernel Configuration\n#\nCONFIG_RANDOMIZE_BASE=y\n"
    return trees.put(
        folder,
        {
            ".config": trees.BR2_CONFIG,
            "build/linux-custom/.config": config,
            "build/busybox-1.37.0/busybox_unstripped": b"",
            "staging/lib/libc.so.6": b"",
        },
    )


@pytest.mark.parametrize("named", ["output", "output/images"])
def test_images_of_buildroot_are_those_of_its_tree(named: str, tmp_path: Path) -> None:
    folder = buildroot(tmp_path / "output", VERSION.partition("-")[0])
    with open_image([str(tmp_path / named)]) as image:
        known = image.understood
        assert known.kind.startswith("Buildroot build, ")
        assert known.kernels[0].config == str(folder / "build/linux-custom/.config")
        assert known.kernels[0].kaslr is True
        assert [path.name for path in image.unstripped] == ["busybox_unstripped", "staging"]


def test_a_configuration_of_another_kernel_is_not_taken(tmp_path: Path) -> None:
    folder = buildroot(tmp_path / "output", f"{VERSION.partition('-')[0]}1")
    with open_image([str(folder)]) as image:
        assert (image.understood.kernels[0].config, image.configuration()) == ("", "")


@pytest.mark.parametrize("ending", ["", ".rootfs"])
def test_the_initramfs_of_a_yocto_build(ending: str, tmp_path: Path) -> None:
    deploy = trees.yocto(tmp_path, "qemuarm64") / "tmp/deploy/images/qemuarm64"
    for path in deploy.glob("*.rootfs*.cpio.gz"):
        path.unlink()
    (deploy / "Image").write_bytes(arm64_image())
    early = deploy / f"core-image-minimal-initramfs-qemuarm64{ending}.cpio.gz"
    early.write_bytes(cpio({"init": b"#!/bin/sh\n", "bin/sh": b"x"}))
    (told,) = deploy.glob("*-2026*.testdata.json")
    words = told.read_text().replace("zImage", "Image")
    told.write_text(words.replace("{", '{"INITRAMFS_IMAGE": "core-image-minimal-initramfs", ', 1))
    with open_image([str(tmp_path)]) as image:
        assert [one.place.volume for one in image.understood.initramfs] == [early.name]
    told.write_text(told.read_text().replace("{", '{"INITRAMFS_IMAGE_BUNDLE": "1", ', 1))
    with open_image([str(tmp_path)]) as image:
        assert not image.understood.initramfs


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A program as it was linked, and stripped."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "p.c").write_text("int helper(int x) { return x * 3; }\nint main(void) { return helper(2); }\n")
    whole, stripped = folder / "whole", folder / "stripped"
    subprocess.run(["gcc", "-O0", "-Wl,--build-id", "-o", whole, folder / "p.c"], check=True)
    subprocess.run(["strip", "-o", stripped, whole], check=True)
    return whole, stripped


def names(stripped: Path, *unstripped: Path) -> set[str]:
    """The functions that are known of a program /bin/p."""
    data = stripped.read_bytes()
    entry = Entry("/bin/p", FILE, len(data), program=True, read=lambda most: data[:most])
    found = user_programs.functions([entry], unstripped, X86_64)
    return {name for _, _, name in found["/bin/p"].functions}


def test_functions_of_a_program_that_was_stripped(compiled: tuple[Path, Path], tmp_path: Path) -> None:
    whole, stripped = compiled
    assert "helper" not in names(stripped)
    assert {"helper", "main"} <= names(stripped, whole)
    # Beside its path in a folder; another program there is none of it.
    (tmp_path / "bin").mkdir()
    shutil.copy(whole, tmp_path / "bin/p")
    assert "helper" in names(stripped, tmp_path)
    other = tmp_path / "bin/p"
    (tmp_path / "q.c").write_text("int helper(void) { return 1; }\nint main(void) { return helper(); }\n")
    subprocess.run(["gcc", "-O0", "-Wl,--build-id", "-o", other, tmp_path / "q.c"], check=True)
    assert "helper" not in names(stripped, tmp_path)


def test_what_is_no_program_or_cannot_be_read_whole(tmp_path: Path) -> None:
    entries = [
        Entry("/bin/script", FILE, 10, program=True, read=lambda most: b"#!/bin/sh\n"),
        Entry("/bin/damaged", FILE, 8, program=True, read=lambda most: b"\x7fELF\2\1\1\0"),
        Entry("/bin/gone", FILE, 8000, program=True),
    ]
    assert user_programs.functions(entries, [tmp_path / "gone"], X86_64) == {}
