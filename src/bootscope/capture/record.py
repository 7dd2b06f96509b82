# SPDX-License-Identifier: Apache-2.0
"""What is known about a run and about each of its boots, beside the raw streams.

On disk: ``RUN/run.json`` and ``RUN/boots/NNN/boot.json``. Both carry `schema`.

History of the schema:
  1  2026-11  first version
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import msgspec

from bootscope.boards.profile import Board
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import UserError

SCHEMA = 1

T = TypeVar("T", bound=msgspec.Struct)

RUN, STREAM, CONSOLE, LINES, BOOT = "run.json", "stream.bin", "console.bin", "console.txt", "boot.json"
# Names in a recording: the milestones that need no text, and the prefix of the others' texts.
FIRST_FRAME, MILESTONE_TEXT = "first-frame", "milestone "
# The first pixel that is not dark, whatever shows it: a boot loader, the kernel, a splash.
FIRST_LIGHT = "first-light"
# Hooks of functions named by the user, and of their returns.
PROBED, RETURNED = "function ", ".return"
# Hooks of system calls, and of the names of files that they look up.
SYSCALL, SYSCALL_FILE = "syscall ", "syscall.file"
RECORDS = "records.bin"
USAGE = "usage.bin"
WATCH, FRAME, PICTURE, EMULATOR_LOG = "watch.txt", "frame.raw", "screen.png", "qemu.log"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that booted: an image or program, with the content id of the step that made it."""

    name: str
    step_id: str
    sha256: str
    size_bytes: int


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """A run of sectors on the card and what lies there, e.g. `kernel` or `partition rootfs`."""

    name: str
    sector: int
    sectors: int


class WatchNames(msgspec.Struct, frozen=True, kw_only=True):
    """The meaning of the numbers in a stream."""

    devices: dict[int, str]
    hooks: dict[int, str]
    texts: dict[int, str]


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """The frame buffer: size in pixels, bytes from line to line, layout of a pixel. `changing`: rectangles
    (x, y, width, height) whose content may differ from boot to boot."""

    width: int
    height: int
    stride_bytes: int
    format: str
    changing: tuple[tuple[int, int, int, int], ...] | msgspec.UnsetType = msgspec.UNSET


class SourceFact(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a source that was built: `origin` in words, SHA-256 of the tarball or tree."""

    version: str
    origin: str
    sha256: str


class SystemFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the timeline needs to know about the system that booted."""

    name: str
    title: str
    application: str | None
    screen: Screen | None
    card_bytes: int
    extents: tuple[Extent, ...]
    symbols: dict[str, str]
    command_line: str
    settings: dict[str, str]

    @property
    def kernel_source(self) -> str:
        """The name of the kernel's source among the run's sources."""
        return self.settings.get("kernel.source", "linux")


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A run: N boots of one build on one board. `symbols` in `system` name files in the store."""

    run_id: str
    created: str
    bootscope: str
    build_id: str
    until: str
    system: SystemFacts
    board: Board
    parts: tuple[Part, ...]
    tools: dict[str, str]
    host: dict[str, str]
    watch: WatchNames
    sources: dict[str, SourceFact] = {}
    schema: int = SCHEMA


class BootEnd(StrEnum):
    """How a boot ended; those from SILENT on apply to real boards (docs/real-boards.md)."""

    MILESTONE = "milestone"  # it reached `until`
    PANIC = "panic"
    HANG = "hang"  # nothing seen for `quiet`
    LIMIT = "limit"  # of virtual time
    TIMEOUT = "timeout"  # of host time
    INTERRUPTED = "interrupted"  # Ctrl-C
    DIED = "died"  # QEMU, or what listens, ended by itself
    PARTIAL = "partial"  # bootscope was killed; found later
    SILENT = "silent"
    GARBLED = "garbled"
    PROMPT = "prompt"
    LOOP = "loop"
    LOST = "lost"


class BootInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One boot."""

    boot_id: str
    number: int
    started: str
    ended: BootEnd
    message: str
    host_ms: int
    stream_sha256: str
    schema: int = SCHEMA

    @property
    def complete(self) -> bool:
        """Whether the boot reached what it was recorded for."""
        return self.ended == BootEnd.MILESTONE


def write_json(path: Path, value: msgspec.Struct) -> None:
    """Writes `value` to `path` by rename, so that the file is complete or absent."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=1))


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file that is complete or absent, even after a power cut and beside another writer."""
    write_parts(path, (data,))


def write_parts(path: Path, parts: Iterable[bytes]) -> None:
    """:func:`write_whole` for data in parts."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as f:
        try:
            f.writelines(parts)
            f.flush()
            os.fsync(f.fileno())
            Path(f.name).chmod(0o644)
            Path(f.name).replace(path)
        except BaseException:
            Path(f.name).unlink(missing_ok=True)
            raise


def read_json(path: Path, kind: type[T], newest: int = SCHEMA) -> T:
    """The `kind` in a JSON file. Raises UserError when it is damaged, or its schema is newer than
    `newest`."""
    try:
        data = path.read_bytes()
        schema = msgspec.json.decode(data).get("schema", 0)
        if not isinstance(schema, int):
            raise UserError(f"{path} cannot be read: its schema is no number")
        if schema > newest:
            raise UserError(f"{path} has schema {schema}, newer than this bootscope reads ({newest})")
        return msgspec.json.decode(data, type=kind)
    except (AttributeError, OSError, *DAMAGED) as error:
        raise UserError(f"{path} cannot be read: {error}") from error
