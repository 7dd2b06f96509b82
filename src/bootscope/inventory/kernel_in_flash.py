# SPDX-License-Identifier: Apache-2.0
"""A kernel in memory-mapped flash that the boot loader copies to memory: by a command `cp` whose target the
next command starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.loader_script import hexadecimal
from bootscope.loaders.registry import BUILT

_COPIES = ("cp", "cp.b", "cp.w", "cp.l", "cp.q")
_STARTS = ("bootz", "bootm")
_HEADER_BYTES = 64
"""The header of a uImage, before the kernel."""
_SPARE_BYTES = 32 << 20
"""From the first address of memory on: more than an unpacked kernel takes."""


@dataclass(frozen=True)
class _Copied:
    source: int
    target: int
    device_tree: str
    """The third argument of the command that starts the kernel."""


def _copied(known: Inventory) -> _Copied | None:
    """The copy that is started; None where the boot loader copies none from outside of memory."""
    if not known.knows(Part.COMMANDS) and not known.knows(Part.ENVIRONMENT):
        raise UserError("it is not known what the boot loader runs")
    memory = _setting(known, "kernel.memory_address")
    end = memory + _setting(known, "kernel.memory_bytes")
    starts = [words for words in known.loader.called(*_STARTS) if len(words) > 1]
    for words in (words for words in known.loader.called(*_COPIES) if len(words) == 4):
        source, target = hexadecimal(words[1]), hexadecimal(words[2])
        started = next((words for words in starts if hexadecimal(words[1]) == target), None)
        if source is None or target is None or started is None or memory <= source < end:
            continue
        return _Copied(source, target, started[3] if len(started) > 3 else "")
    return None


def _setting(known: Inventory, key: str) -> int:
    text = known.settings.get(key, "")
    if not text.isdecimal():
        raise UserError(f"the setting {key} is not known")
    return int(text)


def _of_copy(read: Callable[[_Copied, Inventory], str]) -> Callable[[Inventory], str]:
    """A function for a value of the copied kernel; that is empty where there is none."""

    def find(known: Inventory) -> str:
        copied = _copied(known)
        return read(copied, known) if copied else ""

    return find


def _free_memory(copied: _Copied, known: Inventory) -> str:
    """Where the decompressor may work: the copy's own place, but after the unpacked kernel."""
    return hex(max(copied.target, _setting(known, "kernel.memory_address") + _SPARE_BYTES))


def _script(known: Inventory, copied: _Copied, start: str) -> str:
    """The boot loader's script without the copy, and with another command that starts the kernel; empty where
    it has no script of its own, or writes the copied range in another way."""
    lines = known.settings.get(f"{BUILT.tree}.script", "").splitlines()
    kept = [line for line in lines if not _copies(line.split(), copied.source)]
    told = [start if line.split()[:1] in ([name] for name in _STARTS) else line for line in kept]
    return "".join(f"{line}\n" for line in told) if len(kept) < len(lines) and start in told else ""


def _copies(words: list[str], source: int) -> bool:
    return len(words) == 4 and words[0] in _COPIES and hexadecimal(words[1]) == source


def _in_place(copied: _Copied, known: Inventory) -> str:
    return _script(known, copied, f"bootz {copied.source:#x} - {copied.device_tree}")


def _run_there(copied: _Copied, known: Inventory) -> str:
    """The script for an uncompressed kernel: that has no header of its own that identifies it, so it needs
    a uImage's, whose checksum would cover the whole kernel: it is not verified."""
    script = _script(known, copied, start := f"bootm {copied.source:#x} - {copied.device_tree}")
    return re.sub(rf"(?m)^{re.escape(start)}$", f"setenv verify no\n{start}", script)


FOUND: dict[str, Callable[[Inventory], str]] = {
    "kernel_that_is_copied_from_flash": _of_copy(lambda copied, known: hex(copied.source)),
    "kernel_in_flash": _of_copy(lambda copied, known: str(copied.source)),
    "behind_header_in_flash": _of_copy(lambda copied, known: str(copied.source + _HEADER_BYTES)),
    "kernel_run_in_flash": _of_copy(lambda copied, known: hex(copied.source + _HEADER_BYTES)),
    "memory_for_unpacking": _of_copy(_free_memory),
    "script_without_copy": _of_copy(_in_place),
    "script_that_runs_flash": _of_copy(_run_there),
    "beginning_of_memory": lambda known: hex(_setting(known, "kernel.memory_address")),
}
"""Placeholders, and functions for their values in a system."""
