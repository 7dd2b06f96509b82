# SPDX-License-Identifier: Apache-2.0
"""No boot loader: the emulator loads kernel and initramfs into memory, and the boot begins with the kernel,
or with firmware that the kernel depends on.

Such a boot lacks a boot loader's time, including that for reading both from storage.
"""

from __future__ import annotations

from dataclasses import replace

from bootscope.loaders.grub import BIOS, GRUB
from bootscope.loaders.model import KERNEL, ROM, Hooked, Stage
from bootscope.loaders.opensbi import OPENSBI
from bootscope.loaders.uboot import UBOOT

# Texts and settings are those of the boot loader that systems are built with: none of them occurs here.
DIRECT = replace(
    UBOOT,
    name="direct",
    title="the emulator, without a boot loader",
    announced=(),
    by_emulator=True,
    # The kernel is unpacked already.
    stages=(ROM, *KERNEL[1:]),
)
DIRECT_UNPACKING = replace(
    DIRECT,
    name="direct-unpacking",
    title="the emulator, without a boot loader, and the kernel unpacks itself",
    stages=(ROM, *KERNEL),
)
DIRECT_OPENSBI = replace(
    DIRECT,
    name="direct-opensbi",
    title="OpenSBI, with the emulator in the place of a boot loader",
    stages=(ROM, Stage("opensbi", OPENSBI.hook(Hooked.START), "opensbi", OPENSBI), *KERNEL[1:]),
)
DIRECT_BIOS = replace(
    GRUB,
    name="direct-bios",
    title="SeaBIOS, with the emulator in the place of a boot loader",
    by_emulator=True,
    stages=(ROM, Stage("firmware", BIOS.hook(Hooked.START), "firmware", BIOS), *KERNEL),
)
