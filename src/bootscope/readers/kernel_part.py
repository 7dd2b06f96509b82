# SPDX-License-Identifier: Apache-2.0
"""A kernel log that is a part of another file: bootchart archives, boot-time-wizard's files."""

from __future__ import annotations

from bootscope.readers.base import Boot, FormatError, Options, Reading, Source
from bootscope.readers.console import Tool, read_console
from bootscope.readers.stamp_forms import PRINTK


def kernel_reading(data: bytes) -> Reading:
    """Reads the text of `dmesg`; a reading without a boot where there is nothing to read."""
    if not data.strip():
        return Reading([])
    try:
        return read_console(Source("dmesg", data), Options(), Tool("dmesg", (PRINTK,)), PRINTK)
    except FormatError:
        return Reading([])


def add_kernel(boot: Boot, kernel: Boot) -> None:
    """Puts what a kernel log told into `boot`, which is on the kernel's clock too."""
    boot.log = kernel.log
    boot.tracks += kernel.tracks
    boot.points += kernel.points
    for name, value in kernel.facts.items():
        if name != "tool":
            boot.facts.setdefault(name, value)
