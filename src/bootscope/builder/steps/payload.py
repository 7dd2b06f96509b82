# SPDX-License-Identifier: Apache-2.0
"""What the boot loader loads as the kernel, where that is more than the kernel image itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.step import Context, Step
from bootscope.builder.steps.packing import FOR_LOADERS, pack
from bootscope.system.model import Kernel

DEVICE_TREE = "board.dtb"
IMAGE, WRAPPED = "payload", "uImage"
ARGUMENTS = "falcon.dtb"
"""The device tree with the command line in it."""


def needed(wanted: Kernel) -> bool:
    """Whether the kernel image needs any of this."""
    return wanted.append_device_tree or bool(wanted.uimage_address) or wanted.packed != "none"


def file_name(wanted: Kernel) -> str:
    """The kernel's file name on the boot partition."""
    return WRAPPED if wanted.uimage_address else wanted.image


def step(wanted: Kernel, arch: Architecture) -> Step:
    """The step `payload`: the image, with the device tree appended, packed, and with a header, as needed."""
    packer = FOR_LOADERS[wanted.packed] if wanted.packed != "none" else ()

    def work(context: Context) -> None:
        image = context.out / IMAGE
        data = (context.results["kernel"] / wanted.image).read_bytes()
        if wanted.append_device_tree:
            data += (context.results["falcon"] / ARGUMENTS).read_bytes()
        bare = context.scratch / "bare"
        bare.write_bytes(data)
        if packer:
            pack(context, packer, bare, context.scratch / "packed")
            bare = context.scratch / "packed"
        if not wanted.uimage_address:
            shutil.copy(bare, image)
            return
        wrap(context, arch, wanted, wanted.uimage_address, bare, image)

    inputs: dict[str, object] = {
        "image": wanted.image,
        "append_device_tree": wanted.append_device_tree,
        "uimage_address": wanted.uimage_address,
    }
    if packer:
        inputs["packed"] = packer
    needs = ("kernel", *(("falcon",) if wanted.append_device_tree else ()))
    return Step("payload", "kernel for the boot loader", 1, work, inputs, needs, ("mkimage", *packer[:1]))


def wrap(context: Context, arch: Architecture, wanted: Kernel, address: int, bare: Path, image: Path) -> None:
    """Puts the header of a uImage in front of a kernel that is loaded to `address`."""
    options = ["-A", arch.tools.mkimage, "-O", "linux", "-T", "kernel", "-C", wanted.packed]
    options += ["-a", hex(address), "-e", hex(address)]
    context.run(["mkimage", *options, "-n", "Linux", "-d", bare, image])


def path_of(context: Context, wanted: Kernel) -> Path:
    """The file for the card."""
    return context.results["payload"] / IMAGE if needed(wanted) else context.results["kernel"] / wanted.image
