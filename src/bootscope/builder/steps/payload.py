# SPDX-License-Identifier: Apache-2.0
"""What the boot loader loads as the kernel, where that is more than the kernel image itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.step import EPOCH, Context, Step
from bootscope.system.model import Kernel

DEVICE_TREE = "board.dtb"
IMAGE, WRAPPED = "payload", "uImage"
COMPRESSORS: Mapping[str, tuple[str, ...]] = {
    "gzip": ("gzip", "-9n"),
    "lz4": ("lz4", "-9"),
    "lzo": ("lzop", "-9n"),
    "zstd": ("zstd", "-19"),
}
"""How an image is packed for U-Boot, which knows of LZ4 only its frames."""
ARGUMENTS = "falcon.dtb"
"""The device tree with the command line in it."""


def needed(wanted: Kernel) -> bool:
    """Whether there is anything to do."""
    return wanted.append_device_tree or bool(wanted.uimage_address) or isinstance(wanted.compression, str)


def file_name(wanted: Kernel) -> str:
    """What the kernel is called on the boot partition."""
    return WRAPPED if wanted.uimage_address else wanted.image


def step(wanted: Kernel, arch: Architecture) -> Step:
    """The step `payload`: the image, the device tree behind it, packed, a header before it, as wanted."""
    packer = COMPRESSORS[wanted.compression] if isinstance(wanted.compression, str) else ()

    def work(context: Context) -> None:
        image = context.out / IMAGE
        data = (context.results["kernel"] / wanted.image).read_bytes()
        if wanted.append_device_tree:
            data += (context.results["falcon"] / ARGUMENTS).read_bytes()
        bare = context.scratch / "bare"
        bare.write_bytes(data)
        if packer:
            # lzop keeps the time of what it packs.
            os.utime(bare, (EPOCH, EPOCH))
            line = 'from=$1; to=$2; shift 2; exec "$@" -c < "$from" > "$to"'
            context.run(["sh", "-c", line, "sh", bare, image, *packer])
            shutil.copy(image, bare)
        if not wanted.uimage_address:
            shutil.copy(bare, image)
            return
        address = hex(wanted.uimage_address)
        options = ["-A", arch.tools.mkimage, "-O", "linux", "-T", "kernel", "-C", "none"]
        options += ["-a", address, "-e", address]
        context.run(["mkimage", *options, "-n", "Linux", "-d", bare, image])

    inputs: dict[str, object] = {
        "image": wanted.image,
        "append_device_tree": wanted.append_device_tree,
        "uimage_address": wanted.uimage_address,
    }
    if packer:
        inputs["compression"] = packer
    needs = ("kernel", *(("falcon",) if wanted.append_device_tree else ()))
    return Step("payload", "kernel for the boot loader", 1, work, inputs, needs, ("mkimage", *packer[:1]))


def path_of(context: Context, wanted: Kernel) -> Path:
    """The file that goes to the card."""
    return context.results["payload"] / IMAGE if needed(wanted) else context.results["kernel"] / wanted.image
