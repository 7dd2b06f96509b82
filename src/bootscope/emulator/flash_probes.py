# SPDX-License-Identifier: Apache-2.0
"""Plugin settings for a flash whose caches are on only while the software enables them."""

from __future__ import annotations

from bootscope.arch.model import Control
from bootscope.boards.profile import Board
from bootscope.devices.model import MemoryStorage
from bootscope.emulator.probes import Hooks

_MIB = 1 << 20
_EVERYWHERE = 1 << 64
_IMAGE, _KERNEL = "kernel.image", "kernel.start"


def follow_switches(board: Board) -> bool:
    """Whether the plugin follows how software switches the caches of the board's flash."""
    found = board.storage_device
    return isinstance(found, MemoryStorage) and found.caches_are_switched


def control_lines(control: Control) -> list[str]:
    """How software switches caches and the MMU, for the plugin (native/plugin/watch_timing.h)."""
    bits = f"{control.translates:#x} {control.data:#x} {control.code:#x}"
    changed_by = (f"control-by {o.size} {o.mask:#x} {o.value:#x}" for o in control.changed_by)
    off = [f"control-off {control.off:#x}"] if control.off else []
    return [f"control {bits} {' '.join(control.registers)}", *off, *changed_by]


def lines(board: Board, hooks: Hooks, image_at: int | None) -> list[str]:
    """The lines for a board whose caches are followed; none for others. `image_at`: the start of a
    self-extracting kernel.

    Boot loaders cache memory only, if anything.
    """
    if not follow_switches(board):
        return []
    storage = board.storage_device
    assert isinstance(storage, MemoryStorage)
    windows = [(number, 0, _EVERYWHERE - 1) for number in _numbers(hooks, _KERNEL)]
    if image_at is not None:
        begin = image_at // _MIB * _MIB
        inside = storage.base <= image_at < storage.base + storage.size
        end = begin + (board.arch.kernel.unpacker_caches if inside else 0)
        windows += [(number, begin, end) for number in _numbers(hooks, _IMAGE)]
    told = (f"flash-window {number} {low:#x} {high:#x}" for number, low, high in windows)
    return [*control_lines(board.arch.control), *told]


def _numbers(hooks: Hooks, name: str) -> list[int]:
    return [number for number, known in hooks.names.items() if known == name]
