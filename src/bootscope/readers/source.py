# SPDX-License-Identifier: Apache-2.0
"""From what the user names (files, folders, `-`) to sources that readers can read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bootscope.capture.imported import Raw
from bootscope.capture.tap import MAGICS
from bootscope.core.errors import UserError, printable, to_stderr
from bootscope.core.text import listed
from bootscope.readers import sent as sent_over
from bootscope.readers import trace_dat
from bootscope.readers.base import Repair, Source
from bootscope.readers.conversions import is_other
from bootscope.readers.encoding import as_utf8
from bootscope.readers.perfetto_packets import is_trace
from bootscope.readers.unpack import MAX_BYTES, Budget, archive, compression, decompressed

STDIN = "-"
_LAYERS = 4
_BINARY = (*MAGICS, trace_dat.MAGIC)
"""Formats that are binary, and whose beginning may look like text with NUL bytes."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A source, and what was mended to make it one."""

    source: Source
    repairs: tuple[Repair, ...] = ()


def gather(names: list[str], says: Callable[[str], None] = to_stderr) -> list[Raw]:
    """Reads all files from disk; a folder stands for the files below it, hidden ones and links excepted.

    `says` is told which links were left out: a folder of somebody else's may link to private files. What is
    named itself may be a link. Raises UserError for what is not there, cannot be read, is empty or is too
    large.
    """
    budget = Budget()
    found: list[Raw] = []
    for name in dict.fromkeys(names):
        if name == STDIN:
            found.append(Raw("stdin", _bounded(name, sys.stdin.buffer.read(MAX_BYTES + 1), budget)))
        elif Path(name).is_dir():
            found += _folder(Path(name), budget, says)
        else:
            found.append(Raw(name, _read(Path(name), budget)))
    empty = [raw.name for raw in found if not raw.data and not raw.folder]
    if empty:
        raise UserError(f"{printable(empty[0])} is empty")
    return found


def _read(path: Path, budget: Budget, opener: Callable[[str, int], int] | None = None) -> bytes:
    try:
        with open(path, "rb", opener=opener) as opened:
            return _bounded(str(path), opened.read(MAX_BYTES + 1), budget)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"cannot read {printable(str(path))}: {why}") from error


def _bounded(name: str, data: bytes, budget: Budget) -> bytes:
    if len(data) > MAX_BYTES:
        raise UserError(f"{printable(name)} is larger than {MAX_BYTES >> 20} MB", hint="cut out the boot")
    budget.spend(len(data), name)
    return data


def _folder(folder: Path, budget: Budget, says: Callable[[str], None]) -> Iterator[Raw]:
    found = [p for p in sorted(folder.rglob("*")) if not _hidden(p.relative_to(folder))]
    links = [str(p.relative_to(folder)) for p in found if p.is_symlink()]
    paths = [p for p in found if not p.is_symlink() and p.is_file()]
    if links:
        says(f"{folder}: links are not followed: {listed(links)}")
    if not paths:
        raise UserError(f"there are no files in {printable(str(folder))}")
    for path in paths:
        budget.member(str(folder))
        yield Raw(str(path), _read(path, budget, _no_link), str(folder))


def _no_link(path: str, flags: int) -> int:
    """Opens a file that may have become a link, or a pipe without a writer, since it was found."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def opened(name: str, data: bytes, budget: Budget) -> Opened:
    """A source of bytes: unpacked, its members found, its text as UTF-8. Raises UserError for a bomb."""
    repairs: list[Repair] = []
    for _ in range(_LAYERS):
        if not compression(data):
            break
        data, found = decompressed(name, data, budget)
        repairs += found
    if box := archive(name, data, budget):
        repairs += box.repairs
        return Opened(Source(name, data, box.members), tuple(repairs))
    binary = data.startswith(_BINARY) or is_other(data) or is_trace(data)
    text, found = (data, []) if binary else as_utf8(data)
    return Opened(Source(name, text), (*repairs, *found))


def sent(log: Opened, budget: Budget) -> tuple[list[Opened], Opened]:
    """Files that came over the console that `log` is of, and the log without them."""
    if log.source.members or not sent_over.is_there(log.source.data):
        return [], log
    files, rest = sent_over.sent_files(log.source.data)
    found = [opened(f"{log.source.name}/{file.name}", file.data, budget) for file in files]
    mended = [
        replace(one, repairs=(*file.repairs, *one.repairs)) for one, file in zip(found, files, strict=True)
    ]
    return mended, replace(log, source=replace(log.source, data=rest))


def as_folder(raws: list[Raw]) -> Opened:
    """The files of a folder as one source with members, for formats that are folders."""
    folder = raws[0].folder
    names = [str(Path(raw.name).relative_to(folder)) for raw in raws]
    return Opened(Source(folder, b"", dict(zip(names, (raw.data for raw in raws), strict=True))))


def members(box: Opened, budget: Budget) -> Iterator[Opened]:
    """The files of an archive that is no format itself, each as a source."""
    for name, data in box.source.members.items():
        if data:
            one = opened(f"{box.source.name}/{name}", data, budget)
            yield replace(one, repairs=(*box.repairs, *one.repairs))
