# SPDX-License-Identifier: Apache-2.0
"""What the boot loader loads as the kernel, where that is more than the kernel image itself."""

from __future__ import annotations

from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.step import Context, Step
from bootscope.system.model import Kernel

DEVICE_TREE = "board.dtb"
IMAGE, WRAPPED = "payload", "uImage"
ARGUMENTS = "falcon.dtb"
"""The device tree with the command line in it."""


def needed(wanted: Kernel) -> bool:
    """Whether there is anything to do."""
    return wanted.append_device_tree or bool(wanted.uimage_address)


def file_name(wanted: Kernel) -> str:
    """What the kernel is called on the boot partition."""
    return WRAPPED if wanted.uimage_address else wanted.image


def step(wanted: Kernel, arch: Architecture) -> Step:
    """The step `payload`: the image, with the device tree behind it and a header before it as wanted."""

    def work(context: Context) -> None:
        image = context.out / IMAGE
        data = (context.results["kernel"] / wanted.image).read_bytes()
        if wanted.append_device_tree:
            data += (context.results["falcon"] / ARGUMENTS).read_bytes()
        if not wanted.uimage_address:
            image.write_bytes(data)
            return
        bare = context.scratch / "bare"
        bare.write_bytes(data)
        address = hex(wanted.uimage_address)
        options = ["-A", arch.tools.mkimage, "-O", "linux", "-T", "kernel", "-C", "none"]
        options += ["-a", address, "-e", address]
        context.run(["mkimage", *options, "-n", "Linux", "-d", bare, image])

    inputs = {
        "image": wanted.image,
        "append_device_tree": wanted.append_device_tree,
        "uimage_address": wanted.uimage_address,
    }
    needs = ("kernel", *(("falcon",) if wanted.append_device_tree else ()))
    return Step("payload", "kernel for the boot loader", 1, work, inputs, needs, ("mkimage",))


def path_of(context: Context, wanted: Kernel) -> Path:
    """The file that goes to the card."""
    return context.results["payload"] / IMAGE if needed(wanted) else context.results["kernel"] / wanted.image
