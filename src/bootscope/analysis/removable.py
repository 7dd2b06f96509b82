# SPDX-License-Identifier: Apache-2.0
"""What a build could do without: symbols, what would go with them, and how much of that ever ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import PurePosixPath

from bootscope.analysis.used_code import Code, Ran
from bootscope.kbuild.graph import Configuration
from bootscope.kbuild.makefiles import Way, Ways

_CLOSE = 2
"""Number of leading folders of a path that show its subject: `drivers/usb`, `net/ipv4`."""


class Kind(IntEnum):
    """What is known of the code that goes with a symbol, the safest to switch off first."""

    NEVER = 0
    SETUP = 1
    START = 2
    BLANK = 3
    PROGRAMS = 4
    APPLICATION = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A symbol that could go: the symbols that go off with it, and the bytes and execution of the object
    files that go. `folder` contains most of those bytes."""

    symbol: str
    goes: frozenset[str]
    image_bytes: int
    ran: Ran
    folder: str
    kind: Kind

    @property
    def weight(self) -> int:
        """An approximate worth, for ordering: a byte counts as much as an instruction."""
        return self.image_bytes + self.ran.total


@dataclass(frozen=True)
class Build:
    """A configured and built tree: its configuration, and its object files with what brought them in."""

    configuration: Configuration
    code: Code
    ways: Mapping[str, Ways]

    @staticmethod
    def of(configuration: Configuration, code: Code, ways: Callable[[str], Ways]) -> Build:
        """Keeps those ways of each object that are open in this configuration."""
        on = configuration.on

        def open_ways(name: str) -> tuple[Way, ...]:
            return tuple(way for way in ways(name) if way <= on)

        return Build(configuration, code, {name: open_ways(name) for name in code})

    def near(self, off: Iterable[str]) -> set[str]:
        """Object files that these symbols help to bring in."""
        return {name for symbol in off for name in self._by_symbol.get(symbol, ())}

    def lost(self, off: Iterable[str]) -> list[str]:
        """Object files that no way brings in any more once these symbols are off."""
        gone = set(off)
        return [name for name in self.near(gone) if all(way & gone for way in self.ways[name])]

    @cached_property
    def _by_symbol(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for name, ways in self.ways.items():
            # An object without an open way came in by an unknown one: it stays.
            for symbol in {s for way in ways for s in way}:
                found[symbol].add(name)
        return found


def candidates(build: Build, without: Iterable[str] = ()) -> list[Candidate]:
    """Every symbol that could go, largest first, except those in `without`."""
    left_out = set(without)
    found = [_candidate(build, name) for name in build.configuration.askable() if name not in left_out]
    return sorted((c for c in found if c), key=lambda c: (-c.weight, c.symbol))


def _candidate(build: Build, symbol: str) -> Candidate | None:
    goes = build.configuration.without([symbol])
    if symbol not in goes:
        # Other symbols hold it; it goes when they do.
        return None
    lost = build.lost(goes)
    size, ran = measure(build.code, lost)
    known = kind(lost, ran)
    if known == Kind.BLANK:
        near = build.near(goes)
        # Code that others bring in as well, but that never ran, is not missed either.
        known = Kind.NEVER if near and not measure(build.code, near)[1].total else Kind.BLANK
    return Candidate(symbol, frozenset(goes), size, ran, _folder(build.code, lost), known)


def measure(code: Code, names: Iterable[str]) -> tuple[int, Ran]:
    """(bytes in the image, execution) of object files."""
    found = [code[name] for name in names]
    return sum(used.image_bytes for used in found), sum((used.ran for used in found), Ran())


def kind(lost: Collection[str], ran: Ran) -> Kind:
    """What the code that goes with a symbol tells about it."""
    if not lost:
        return Kind.BLANK
    known = (ran.application, ran.programs, ran.start, ran.setup)
    kinds = (Kind.APPLICATION, Kind.PROGRAMS, Kind.START, Kind.SETUP)
    return next((kind for executed, kind in zip(known, kinds, strict=True) if executed), Kind.NEVER)


def _folder(code: Code, lost: Iterable[str]) -> str:
    """The folder, cut to the depth that shows its subject, with the most bytes."""
    sizes: dict[str, int] = defaultdict(int)
    for name in lost:
        parts = PurePosixPath(name).parent.parts[:_CLOSE]
        sizes["/".join(parts)] += code[name].image_bytes + 1
    return max(sizes, key=lambda folder: (sizes[folder], folder), default="")


def safe_together(
    build: Build, chosen: list[Candidate], worst: Kind, keep: Container[str] = ()
) -> list[Candidate]:
    """The candidates that can go together without removing code worse than `worst`, or object files of
    `keep`.

    An object file that two symbols bring in goes only when both do; then one of them stays.
    """
    kept = list(chosen)
    while kept:
        gone = build.configuration.without([c.symbol for c in kept])
        bad = [n for n in build.lost(gone) if n in keep or kind([n], build.code[n].ran) > worst]
        if not bad:
            break
        needed = {
            s for name in bad for s in min(build.ways[name], key=lambda way: (len(way & gone), *sorted(way)))
        }
        kept = _without_those_that_take(build, kept, needed & gone)
    return kept


def _without_those_that_take(build: Build, kept: list[Candidate], needed: set[str]) -> list[Candidate]:
    """The candidates that remain so that these symbols stay on."""
    left = [c for c in kept if not c.goes & needed]
    if len(left) < len(kept):
        return left
    # None takes them by itself: they go only with several candidates. The least one stays.
    for candidate in sorted(kept, key=lambda c: c.weight):
        rest = [c for c in kept if c is not candidate]
        if not needed <= build.configuration.without([c.symbol for c in rest]):
            return rest
    return []
