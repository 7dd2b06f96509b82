# SPDX-License-Identifier: Apache-2.0
"""An image as a system: the settings that techniques refer to, as far as an image has them.

Nothing of it is compiled: kernel, boot loader and programs are prebuilt, so changes of their configuration
are advice for the build and cannot be tried.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from bootscope.boards.profile import Board
from bootscope.bootimage import initramfs
from bootscope.bootimage.records import Root
from bootscope.bootimage.understand import Image
from bootscope.devices.model import SECTOR_BYTES
from bootscope.imageboot.given import Given
from bootscope.system.application import Application
from bootscope.system.load import INITRAMFS_COMPRESSIONS, LoadedSystem
from bootscope.system.model import (
    SCHEMA,
    BusyBox,
    Card,
    Initramfs,
    Kernel,
    Prebuilt,
    RootFs,
    System,
    UBoot,
)

PREBUILT = "image"
"""Takes the place of the sources that a built system names."""


def loaded(system: System) -> LoadedSystem:
    """The system in the form of built ones, without files beside it."""
    return LoadedSystem(system, Path("/"))


def system_of(image: Image, got: Given, board: Board, name: str, application: str = "") -> System:
    """An image as a system; `application` is the path of the product's main program."""
    return System(
        schema=SCHEMA,
        name=name,
        title=f"image: {image.understood.name}",
        board=board.name,
        sources={},
        uboot=UBoot(source="", script=""),
        kernel=_kernel(got),
        busybox=BusyBox(source="", defconfig=""),
        application=Application(
            process=PurePosixPath(application).name, sources="", path=application, compiler_options=()
        ),
        rootfs=RootFs(overlay="", filesystem=_filesystem(image), uuid="", label=""),
        card=_card(got),
        initramfs=_initramfs(image, got),
        prebuilt=Prebuilt(
            uboot=PREBUILT, kernel=PREBUILT, kernel_config=PREBUILT, busybox=PREBUILT, root=PREBUILT
        ),
    )


def root_of(image: Image) -> Root | None:
    """The root file system: the first one with an init."""
    return next((root for root in image.understood.roots if root.init), None)


def _kernel(got: Given) -> Kernel:
    return Kernel(
        source="",
        device_tree="",
        command_line=got.command_line,
        load_address=0,
        device_tree_address=0,
        image=next(iter(got.kernel.forms[-1:]), "Image"),
        packed=next(iter(got.kernel.compressions), "none"),
    )


def _filesystem(image: Image) -> str:
    """The kind of the root file system; empty where there is none, or it is unknown."""
    root = root_of(image)
    area = next((a for a in image.understood.areas if root and a.volume == root.place.volume), None)
    if area and area.filesystem:
        return area.filesystem.kind.lower()
    # A folder or an archive becomes an ext4.
    return "ext4" if root else ""


def _card(got: Given) -> Card:
    size = got.card.stat().st_size if got.card else 0
    return Card(
        size_bytes=size,
        disk_id=0,
        loader_sector=0,
        boot_sector=0,
        boot_sectors=0,
        root_sector=0,
        root_sectors=size // SECTOR_BYTES,
        boot_volume_id=0,
    )


def _initramfs(image: Image, got: Given) -> Initramfs | None:
    opened = initramfs.opened("initramfs", got.initramfs) if got.initramfs else None
    if opened is None:
        return None
    kind = opened.parts[-1].compression or "none"
    text = opened.files.text("/init")
    script = {"/init": text} if text and text.startswith("#!") else {}
    return Initramfs(
        place="external", compression=kind if kind in INITRAMFS_COMPRESSIONS else "none", files=script
    )
