# SPDX-License-Identifier: Apache-2.0
"""No boot loader: the emulator puts kernel and initramfs into memory, and the boot begins with the kernel.

What a boot loader would take, reading both from storage among it, is not in such a boot.
"""

from __future__ import annotations

from dataclasses import replace

from bootscope.loaders.model import KERNEL, ROM
from bootscope.loaders.uboot import UBOOT

# Words and settings of a boot loader are those of the one that systems are built with: none of them is met.
DIRECT = replace(
    UBOOT,
    name="direct",
    title="the emulator, without a boot loader",
    announced=(),
    # The kernel was unpacked before.
    stages=(ROM, *KERNEL[1:]),
)
