# SPDX-License-Identifier: Apache-2.0
"""Command lines: the kernel's, and QEMU's."""

from __future__ import annotations

import re

from bootscope.artefacts.file_facts import Piece
from bootscope.inventory.inventory import Part

_PARAMETER = re.compile(
    r"(?:console|root|rootfstype|rootflags|init|rdinit|earlycon|earlyprintk|loglevel|lpj|ip|mtdparts|ubi\.mtd|nfsroot"
    r"|panic|printk\.time|log_buf_len|rootdelay|isolcpus|mem|cma|video|cgroup\w*|fsck\.\w+|net\.ifnames)=\S*"
    r"|quiet|rootwait|initcall_debug|ro|rw|debug|ignore_loglevel|splash|nosmp"
)
_SURE = re.compile(r"(?:console|root|rootfstype|init|rdinit|lpj|mtdparts)=\S+|initcall_debug|rootwait|quiet")
_MOST_BYTES, _MOST_LINES = 16384, 4
_QEMU = re.compile(r"(?:^|[\s/])qemu-system-\w+")


def is_command_line(text: str) -> bool:
    """Whether this is a command line of the kernel, in the form of /proc/cmdline."""
    return len(text) <= _MOST_BYTES and _words(text) is not None


def _words(text: str) -> list[str] | None:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not 1 <= len(lines) <= _MOST_LINES:
        return None
    words = " ".join(lines).removeprefix("bootargs=").split()
    known = sum(bool(_PARAMETER.fullmatch(word)) for word in words)
    return words if 3 * known >= len(words) and any(map(_SURE.fullmatch, words)) else None


def read_command_line(name: str, text: str) -> Piece:
    """A command line of the kernel."""
    words = _words(text) or []
    told = f"kernel command line: {len(words)} words"
    fields = {"command_line": " ".join(words)}
    return Piece(name, "kernel command line", told, fields, frozenset({Part.COMMAND_LINE}))


def is_emulator(text: str) -> bool:
    """Whether this is a command that starts QEMU."""
    return len(text) <= _MOST_BYTES and bool(_QEMU.search(text))


def read_emulator(name: str, text: str) -> Piece:
    """A command or a script that starts QEMU."""
    told = f"QEMU command line: {len(text.split())} words"
    fields = {"emulator": text.replace("\\\n", " ")}
    return Piece(name, "QEMU command line", told, fields, frozenset({Part.EMULATOR}))
