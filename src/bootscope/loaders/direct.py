# SPDX-License-Identifier: Apache-2.0
"""No boot loader: the emulator puts kernel and initramfs into memory, and the boot begins with the kernel, or
with the firmware that a kernel cannot do without.

What a boot loader would take, reading both from storage among it, is not in such a boot.
"""

from __future__ import annotations

from dataclasses import replace

from bootscope.loaders.grub import BIOS, GRUB
from bootscope.loaders.model import KERNEL, ROM, Hooked, Stage
from bootscope.loaders.opensbi import OPENSBI
from bootscope.loaders.uboot import UBOOT

# Words and settings of a boot loader are those of the one that systems are built with: none of them is met.
DIRECT = replace(
    UBOOT,
    name="direct",
    title="the emulator, without a boot loader",
    announced=(),
    by_emulator=True,
    # The kernel was unpacked before.
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
