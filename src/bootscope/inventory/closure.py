# SPDX-License-Identifier: Apache-2.0
"""What leaves a recorded kernel when symbols are switched off: its object files, and their bytes.

Determined from the sources' Kconfig files and Makefiles and from what the kernel was linked from; nothing is
configured or built. Reading a kernel's sources takes some seconds, so the results are kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import msgspec

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.removable import Build
from bootscope.analysis.used_code import Ran, Used, image_sizes
from bootscope.builder.cache import Cache
from bootscope.builder.ids import id_of
from bootscope.builder.linkmap import Objects, read
from bootscope.builder.sources import Resolved
from bootscope.builder.steps import unpack
from bootscope.capture import objects
from bootscope.capture.record import RunInfo, write_whole
from bootscope.capture.store import Store
from bootscope.capture.stored import RECORDED
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import UserError
from bootscope.kbuild import symbols as kconfig
from bootscope.kbuild.graph import Configuration
from bootscope.kbuild.kconfig import parse
from bootscope.kbuild.makefiles import Makefiles
from bootscope.kbuild.symbols import TOP

_FORMAT = 5
"""Raised when the same question may get another answer."""
_FOLDER = "closures"
_TABLES = {"KALLSYMS": (".tmp_vmlinux", Fraction(146, 100)), "MODULES": (".vmlinux.export", Fraction(1))}
"""By purpose: name prefix of object files that the build makes from the symbols of all others, and how many
bytes of code weigh as much in the packed kernel as one of theirs. Names are packed already: gzip -9 leaves
0.55 of them, and 0.38 of a whole kernel 6.12 as stock's defconfig makes it."""


class Lost(msgspec.Struct, frozen=True):
    """What leaves the kernel: `symbols` with all that need them, `objects` by name, and their bytes in the
    image, including their part of the tables of names, weighted by what these add to the packed kernel."""

    symbols: tuple[str, ...]
    objects: tuple[str, ...]
    image_bytes: int


@dataclass(frozen=True)
class Closures:
    """Answers for the kernel of one recording."""

    store: Store
    cache: Cache
    evidence: Evidence

    def lost(self, off: Iterable[str], only: Collection[str] | None = None) -> Lost:
        """What goes with `off`; with `only`, what goes when these alone stay of the symbols with a prompt.

        Raises UserError when sources, configuration or list of object files are missing.
        """
        asked = {"off": sorted(off), "only": sorted(only) if only is not None else None}
        run = self.evidence.run
        source = run.sources.get(run.system.kernel_source)
        key = id_of([_FORMAT, source.sha256 if source else "", self._config, self._linked, asked])
        path = self.cache.root / _FOLDER / f"{key}.json"
        with contextlib.suppress(OSError, *DAMAGED):
            return msgspec.json.decode(path.read_bytes(), type=Lost)
        found = self._find(set(asked["off"] or ()), only)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, msgspec.json.encode(found))
        return found

    @cached_property
    def linked(self) -> Objects:
        """The object files of the kernel, by address. Raises UserError when they were not kept."""
        if not self._linked:
            raise UserError(
                "no recording of this kernel shows what it was linked from", hint="record the system again"
            )
        return Objects(read(self._linked))

    def _find(self, off: set[str], only: Collection[str] | None) -> Lost:
        configuration, makefiles = self._tree
        sizes = image_sizes(self.linked)
        if only is not None:
            off = off | (set(configuration.askable()) - set(only))
        gone = configuration.without(off)
        code = {name: Used(name, size, Ran()) for name, size in sizes.items()}
        objects_gone = Build.of(configuration, code, makefiles.ways).lost(gone)
        size = gone_bytes = sum(sizes[name] for name in objects_gone)
        tables = {
            name: (symbol, int(table * weight))
            for name, table in sizes.items()
            for symbol, (begin, weight) in _TABLES.items()
            if name.startswith(begin)
        }
        whole = sum(table for name, table in sizes.items() if name not in tables)
        for symbol, table in tables.values():
            # The table does not exist at all, or the removed names are no longer in it.
            size += table if symbol in gone else table * gone_bytes // max(1, whole)
        return Lost(tuple(sorted(gone)), tuple(sorted(objects_gone)), size)

    @cached_property
    def _tree(self) -> tuple[Configuration, Makefiles]:
        if not self._config:
            raise UserError("this recording does not keep the configuration of its kernel")
        source = source_of(self.evidence.run, self.cache)
        symbols = kconfig.read(source, self.evidence.arch, TOP["kernel"])
        return Configuration(symbols, parse(self._config)), Makefiles(source, self.evidence.arch)

    @cached_property
    def _config(self) -> str:
        return self.evidence.load(objects.KERNEL_CONFIG).decode("utf-8", "replace")

    @cached_property
    def _linked(self) -> str:
        """The list of object files, from this recording or another one of the same kernel."""
        text = self.evidence.load(objects.KERNEL_OBJECTS)
        if not text and (other := _of_another(self.store, self.evidence.run)):
            text = objects.unpacked(self.store.object(other))
        return text.decode("utf-8", "replace")


def _of_another(store: Store, run: RunInfo) -> str:
    """The store's name for the object list of another recording of a run's kernel; empty for none."""
    kept = run.system.symbols
    if objects.KERNEL_SYMBOLS not in kept:
        return ""
    for summary in reversed(store.summaries()):
        if summary.kind != RECORDED:
            continue
        with contextlib.suppress(UserError):
            other = store.load(summary.run_id).info.system.symbols
            same = other.get(objects.KERNEL_SYMBOLS) == kept[objects.KERNEL_SYMBOLS]
            if same and objects.KERNEL_OBJECTS in other:
                return other[objects.KERNEL_OBJECTS]
    return ""


def depends_on(store: Store, cache: Cache, run: RunInfo) -> str:
    """What the answers for a run's kernel depend on in addition to its recording: while this text is the
    same, so are they."""
    linked = "" if objects.KERNEL_OBJECTS in run.system.symbols else _of_another(store, run)
    try:
        source_of(run, cache)
        return f"sources, {linked}"
    except UserError:
        # Answers kept while the sources were there may still be available.
        names = sorted(path.name for path in (cache.root / _FOLDER).glob("*.json"))
        return f"no sources, {linked}, {id_of(names)}"


def source_of(run: RunInfo, cache: Cache) -> Path:
    """The unpacked sources that a run's kernel was built from. Raises UserError when they are missing."""
    name = run.system.kernel_source
    fact = run.sources.get(name)
    own = run.system.settings.get(f"sources.{name}.path", "None")
    if fact and own == "None":
        # A tarball, whose path is not part of the step's id.
        source = Resolved(f"{name}.tar", fact.sha256, fact.origin, fact.version)
        found = cache.find(unpack.step(name, source).step_id({}))
        if found:
            return (found / unpack.TREE).resolve()
    raise UserError(
        "the sources of this kernel are not unpacked in the cache", hint="bootscope build unpacks them"
    )
