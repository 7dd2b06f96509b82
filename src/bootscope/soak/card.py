# SPDX-License-Identifier: Apache-2.0
"""The card of a soak: a copy that keeps what boots write, and the checks of its partitions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bootscope.artefacts.ext_image import REGULAR, ExtImage
from bootscope.bootimage import partitions, probe
from bootscope.bootimage.volume import CHUNK_BYTES, Volume, opened
from bootscope.core.errors import ToolError, UserError
from bootscope.soak.checkers import CHECKERS, COPY, ONLY_READ
from bootscope.soak.states import State, Verdict


@dataclass(frozen=True)
class Region:
    """A partition of the card, or all of it where it has none: its name for people, and its content (empty
    where unknown)."""

    name: str
    start_bytes: int
    size_bytes: int
    kind: str


@dataclass(frozen=True)
class Checked:
    """The state of a region after a cut. `lost`: files of the image that are gone, or have become empty."""

    region: Region
    state: State
    lost: tuple[str, ...] = ()


def copied(source: Path, to: Path, size_bytes: int) -> None:
    """Copies an image to a card of `size_bytes`; holes stay holes. Raises ToolError where it does
    not fit."""
    try:
        with source.open("rb") as f, to.open("wb") as g:
            g.truncate(size_bytes)
            _copy(f.fileno(), 0, g.fileno(), source.stat().st_size)
    except OSError as error:
        raise ToolError(f"the card cannot be copied to {to.parent}: {error.strerror or error}") from error


def _copy(source: int, start: int, to: int, count: int) -> None:
    at, end = start, start + count
    while at < end and (data := os.pread(source, min(CHUNK_BYTES, end - at), at)):
        if data.count(0) != len(data):
            os.pwrite(to, data, at - start)
        at += len(data)


def regions(card: Path) -> tuple[Region, ...]:
    """The regions of a card, by its partition table."""
    volume = opened(card, str(card))
    try:
        found = [one for one in partitions.read(volume).partitions if one.type != "extended"]
        stretches = [(f"p{one.number}", one.start_bytes, one.size_bytes) for one in found]
        return tuple(_regions(volume, stretches or [("card", 0, volume.size_bytes)]))
    finally:
        os.close(volume.descriptor)


def _regions(volume: Volume, stretches: list[tuple[str, int, int]]) -> Iterator[Region]:
    for name, start, size in stretches:
        part = volume.part(start, size)
        found = probe.probe(part)
        yield Region(name, part.offset_bytes, part.size_bytes, found.kind if found else "")


class CardCheck:
    """Compares a card in use with the original image. `folder` is a scratch folder for copies."""

    def __init__(self, built: Path, card: Path, folder: Path) -> None:
        self._built, self.path, self._folder = built, card, folder
        self.regions = regions(card)
        self._files = {region.name: self._listed(built, region) for region in self.regions}

    def check(self) -> tuple[Checked, ...]:
        """The current state of every region."""
        return tuple(self._checked(region) for region in self.regions)

    def _checked(self, region: Region) -> Checked:
        if self._same(region):
            return Checked(region, State(Verdict.UNCHANGED))
        if region.kind in ONLY_READ:
            return Checked(region, State(Verdict.DAMAGED, "only read, and its bytes changed"))
        checker = CHECKERS.get(region.kind)
        if not checker:
            return Checked(region, State(Verdict.UNCHECKED, "changed"))
        folder = self._folder / "check"
        folder.mkdir()
        try:
            copy = self._part(self.path, region, folder)
            state = checker(folder)
            now = self._names(copy, folder) if self._files[region.name] else {}
        finally:
            shutil.rmtree(folder)
        before = self._files[region.name]
        lost = (path for path, size in before.items() if size and not now.get(path)) if now else ()
        return Checked(region, state, tuple(sorted(lost)))

    def _listed(self, built: Path, region: Region) -> dict[str, int]:
        """The files of a region in the original image, where they can be listed: path -> size in bytes."""
        if not region.kind.startswith("ext"):
            return {}
        folder = self._folder / "list"
        folder.mkdir()
        try:
            return self._names(self._part(built, region, folder), folder)
        finally:
            shutil.rmtree(folder)

    def _names(self, image: Path, folder: Path) -> dict[str, int]:
        try:
            every = ExtImage(image, folder).walk()
            return {one.path: one.size_bytes for one in every if one.kind == REGULAR}
        except UserError:
            return {}  # too many files, or too damaged to be listed: the check reports that

    def _part(self, card: Path, region: Region, folder: Path) -> Path:
        copy = folder / COPY
        with card.open("rb") as f, copy.open("wb") as g:
            g.truncate(region.size_bytes)
            _copy(f.fileno(), region.start_bytes, g.fileno(), region.size_bytes)
        return copy

    def _same(self, region: Region) -> bool:
        """Whether every byte is as in the original; what the image lacks of its card is zeros."""
        with self.path.open("rb") as f, self._built.open("rb") as g:
            for at in range(region.start_bytes, region.start_bytes + region.size_bytes, CHUNK_BYTES):
                count = min(CHUNK_BYTES, region.start_bytes + region.size_bytes - at)
                now, was = os.pread(f.fileno(), count, at), os.pread(g.fileno(), count, at)
                if now.ljust(count, b"\0") != was.ljust(count, b"\0"):
                    return False
        return True
