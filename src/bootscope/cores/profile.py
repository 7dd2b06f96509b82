# SPDX-License-Identifier: Apache-2.0
"""The description of a processor core and its memory: geometry of caches, and all costs.

One TOML file a core, in ``cores.d/`` or anywhere the user keeps it. See docs/cores.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bootscope.arch.registry import ARCHITECTURES
from bootscope.core.paths import package_dir
from bootscope.core.settings import Setting, Sourced, expected, find, load, names_in

SCHEMA = 1
SWITCHED = "switched"
"""The prefix of geometry parts for one phase; the phase follows."""
POLICIES = ("lru", "random", "round-robin")
_LARGEST = 1 << 30
_MOST_ENTRIES = 1 << 16
_MOST_RETURNS = 64
"""The plugin keeps no more."""
ALONE = ("branches", "split")
"""Parts of a core's geometry that are not caches."""
PAGE_HINTS = "page-hints"
_LARGEST_BOUNDARY = 4096
COUNTING = 2
"""Raised when the plugin counts more, or differently, so that older counts are not used."""


class Chosen(Setting, frozen=True):
    """A word and its source."""

    value: str
    source: str


class Switched(Setting, frozen=True):
    """Yes or no, and its source."""

    value: bool
    source: str


class Cache(Setting, frozen=True):
    """A cache. `write_allocate`: whether a store allocates a line; not for code."""

    size_bytes: Sourced
    ways: Sourced
    line_bytes: Sourced
    policy: Chosen
    write_allocate: Switched | msgspec.UnsetType = msgspec.UNSET

    @property
    def allocates(self) -> bool:
        """Whether a store allocates a line."""
        return isinstance(self.write_allocate, Switched) and self.write_allocate.value


class Caches(Setting, frozen=True):
    """The caches of a core. `second` is for code and data. `page_hints`: for caches that allocate on stores,
    whether page tables decide where; without it they do."""

    code: Cache
    data: Cache
    second: Cache | msgspec.UnsetType = msgspec.UNSET
    page_hints: Switched | msgspec.UnsetType = msgspec.UNSET

    @property
    def heeds_pages(self) -> bool:
        """Whether page tables decide where stores allocate lines."""
        return not isinstance(self.page_hints, Switched) or self.page_hints.value


class Tlb(Setting, frozen=True):
    """Cached address translations."""

    entries: Sourced
    ways: Sourced
    policy: Chosen


class Tlbs(Setting, frozen=True):
    """Without its own, code uses that of data."""

    data: Tlb
    code: Tlb | msgspec.UnsetType = msgspec.UNSET


class Branches(Setting, frozen=True):
    """Branch prediction: two-bit counters, looked up by the branch and the last `history_bits` directions;
    targets; return addresses. 0 counters: nothing is predicted."""

    counters: Sourced
    history_bits: Sourced
    targets: Sourced
    returns: Sourced


class Costs(Setting, frozen=True):
    """The cost of each event. A thousandth of a cycle is a `millicycle`; a line is one of the data cache."""

    clock_hz: Sourced
    instruction_millicycles: Sourced
    taken_branch_millicycles: Sourced
    mispredicted_cycles: Sourced
    walk_cycles: Sourced
    read_ns: Sourced
    stream_read_ns: Sourced
    written_line_ns: Sourced
    store_fill_ns: Sourced
    uncached_load_ns: Sourced
    uncached_store_ns: Sourced
    uncached_fetch_ns: Sourced
    sram_ns: Sourced
    device_load_ns: Sourced
    device_store_ns: Sourced
    second_hit_cycles: Sourced | msgspec.UnsetType = msgspec.UNSET


class Unaligned(Setting, frozen=True):
    """The cost of accesses that cross a multiple of so many bytes; 0 bytes: none is crossed."""

    load_bytes: Sourced
    load_cycles: Sourced
    store_bytes: Sourced
    store_cycles: Sourced


class Classes(Setting, frozen=True):
    """The additional time of classes of instructions: a multiplication, a division, a shift by a register, a
    load or store at a shifted register, each register beyond the first that one instruction moves, a word
    used by the next instruction, each of the two instructions that come too early for a byte or half word."""

    multiply_millicycles: Sourced
    divide_millicycles: Sourced
    shift_millicycles: Sourced
    scaled_millicycles: Sourced
    register_millicycles: Sourced
    load_use_millicycles: Sourced
    narrow_use_millicycles: Sourced


class InPhase(Setting, frozen=True):
    """Caches that are on or off in a phase whatever the software does; the others as it sets them."""

    data: Switched | msgspec.UnsetType = msgspec.UNSET
    code: Switched | msgspec.UnsetType = msgspec.UNSET

    @property
    def words(self) -> list[int | str]:
        """Data and code as the plugin's watch file says it."""
        sides = (self.data, self.code)
        return [("off", "on")[side.value] if isinstance(side, Switched) else "as-is" for side in sides]


class Core(Setting, frozen=True):
    """A core profile. `not_modelled`: known omissions for this core. `switched` is by phase."""

    schema: int
    name: str
    title: str
    architecture: str
    caches: Caches
    tlb: Tlbs
    branches: Branches
    costs: Costs
    unaligned: Unaligned | msgspec.UnsetType = msgspec.UNSET
    classes: Classes | msgspec.UnsetType = msgspec.UNSET
    not_modelled: str = ""
    switched: dict[str, InPhase] = {}

    @property
    def geometry(self) -> dict[str, list[int | str]]:
        """All that counts depend on, as words of the plugin's watch file by the name of the part."""
        found: dict[str, list[int | str]] = {}
        for name, cache in _caches(self):
            shape = [cache.size_bytes.value, cache.ways.value, cache.line_bytes.value]
            found[name] = [*shape, cache.policy.value, int(cache.allocates)]
        for name, tlb in _tlbs(self):
            found[f"{name}-tlb"] = [tlb.entries.value, tlb.ways.value, 1, tlb.policy.value, 0]
        if not self.caches.heeds_pages:
            found[PAGE_HINTS] = [0]
        b = self.branches
        if isinstance(self.unaligned, Unaligned):
            found["split"] = [self.unaligned.load_bytes.value, self.unaligned.store_bytes.value]
        found["branches"] = [b.counters.value, b.history_bits.value, b.targets.value, b.returns.value]
        for phase, switches in sorted(self.switched.items()):
            found[f"{SWITCHED} {phase}"] = switches.words
        return found

    @property
    def geometry_id(self) -> str:
        """An id of the geometry: cores with the same one share their counts."""
        what = {"counting": COUNTING, **self.geometry}
        return hashlib.sha256(msgspec.json.encode(what, order="sorted")).hexdigest()[:16]


def without_second(core: Core) -> Core:
    """The same core with its second cache switched off; as it is where it has none."""
    caches = msgspec.structs.replace(core.caches, second=msgspec.UNSET)
    costs = msgspec.structs.replace(core.costs, second_hit_cycles=msgspec.UNSET)
    return msgspec.structs.replace(core, caches=caches, costs=costs)


def core_dir() -> Path:
    """The folder of the profiles that come with bootscope."""
    return package_dir() / "cores.d"


def core_names() -> list[str]:
    """The names of the profiles that come with bootscope."""
    return names_in(core_dir())


def load_core(name: str) -> Core:
    """The core called `name`, or the one described in the file `name` when that ends in .toml.

    Raises UserError for an unknown name, or a file that does not describe a core; it names a figure without a
    source, and caches of an impossible geometry.
    """
    path = find("core", name, core_dir())
    core = load(path, Core)
    _check(core, path)
    return core


def check(core: Core, where: str) -> None:
    """Raises UserError for an impossible core; `where` it comes from begins the message."""
    _check(core, Path(where))


def _caches(core: Core) -> Iterator[tuple[str, Cache]]:
    yield "code", core.caches.code
    yield "data", core.caches.data
    if isinstance(core.caches.second, Cache):
        yield "second", core.caches.second


def _tlbs(core: Core) -> Iterator[tuple[str, Tlb]]:
    if isinstance(core.tlb.code, Tlb):
        yield "code", core.tlb.code
    yield "data", core.tlb.data


def _check(core: Core, path: Path) -> None:
    if core.schema != SCHEMA:
        raise expected(path, "schema", f"{SCHEMA}, got {core.schema}")
    if core.architecture not in ARCHITECTURES:
        raise expected(path, "architecture", f"one of {', '.join(ARCHITECTURES)}")
    for key, what in _told(core, ""):
        if not what.source.strip():
            raise expected(path, f"{key}.source", "where the figure is from")
        if isinstance(what, Sourced) and what.value < 0:
            raise expected(path, f"{key}.value", "0 or more")
    for name, cache in _caches(core):
        _check_cache(cache, path, f"caches.{name}")
    for name, tlb in _tlbs(core):
        _check_tlb(tlb, path, f"tlb.{name}")
    _check_levels(core, path)
    _check_branches(core.branches, path)
    if isinstance(core.unaligned, Unaligned):
        _check_unaligned(core.unaligned, path)
    if not core.costs.clock_hz.value:
        raise expected(path, "costs.clock_hz.value", "a number above 0")


def _told(value: msgspec.Struct, key: str) -> Iterator[tuple[str, Sourced | Chosen | Switched]]:
    """All figures of a structure, with their dotted names."""
    for field in value.__struct_fields__:
        inner = getattr(value, field)
        name = f"{key}.{field}".lstrip(".")
        if isinstance(inner, Sourced | Chosen | Switched):
            yield name, inner
        elif isinstance(inner, msgspec.Struct):
            yield from _told(inner, name)
        elif isinstance(inner, dict):
            for key_, each in inner.items():
                yield from _told(each, f"{name}.{key_}")


def _is_power(number: int) -> bool:
    return number > 0 and not number & (number - 1)


def _check_cache(cache: Cache, path: Path, key: str) -> None:
    size, ways, line = cache.size_bytes.value, cache.ways.value, cache.line_bytes.value
    if cache.policy.value not in POLICIES:
        raise expected(path, f"{key}.policy.value", f"one of {', '.join(POLICIES)}")
    if not _is_power(line) or not 8 <= line <= 256:
        raise expected(path, f"{key}.line_bytes.value", "a power of 2 from 8 to 256")
    if not 0 < ways <= 128:
        raise expected(path, f"{key}.ways.value", "a number from 1 to 128")
    if not 0 < size <= _LARGEST or size % (ways * line) or not _is_power(size // ways // line):
        sets = "a power of 2 of sets"
        raise expected(path, f"{key}.size_bytes.value", f"{ways} ways of {sets} of lines of {line} bytes")


def _check_tlb(tlb: Tlb, path: Path, key: str) -> None:
    entries, ways = tlb.entries.value, tlb.ways.value
    if tlb.policy.value not in POLICIES:
        raise expected(path, f"{key}.policy.value", f"one of {', '.join(POLICIES)}")
    whole = 0 < ways <= entries <= _MOST_ENTRIES and not entries % ways
    if not whole or not _is_power(entries // ways):
        raise expected(path, f"{key}.entries.value", f"a power of 2 of sets of {ways} entries")


def _check_levels(core: Core, path: Path) -> None:
    second = core.caches.second
    has_cost = isinstance(core.costs.second_hit_cycles, Sourced)
    if isinstance(core.caches.code.write_allocate, Switched):
        raise expected(path, "caches.code", "no write_allocate: nothing stores to it")
    if not isinstance(second, Cache):
        if has_cost:
            raise expected(path, "costs.second_hit_cycles", "a cache `second`, or no such cost")
        return
    if not has_cost:
        raise expected(path, "costs", "second_hit_cycles, for the cache `second`")
    lines = core.caches.code.line_bytes.value, core.caches.data.line_bytes.value
    if second.line_bytes.value < max(lines):
        raise expected(path, "caches.second.line_bytes.value", f"{max(lines)} or more")
    if second.size_bytes.value < core.caches.data.size_bytes.value:
        raise expected(path, "caches.second.size_bytes.value", "no less than the first cache has")


def _check_branches(branches: Branches, path: Path) -> None:
    if not branches.counters.value:
        return
    for name in ("counters", "targets"):
        number = getattr(branches, name).value
        if not _is_power(number) or number > 1 << 20:
            raise expected(path, f"branches.{name}.value", "a power of 2 up to 1048576")
    if branches.history_bits.value > 20:
        raise expected(path, "branches.history_bits.value", "a number from 0 to 20")
    if branches.returns.value > _MOST_RETURNS:
        raise expected(path, "branches.returns.value", f"a number from 0 to {_MOST_RETURNS}")


def _check_unaligned(unaligned: Unaligned, path: Path) -> None:
    for name in ("load_bytes", "store_bytes"):
        number = getattr(unaligned, name).value
        if number and (not _is_power(number) or number > _LARGEST_BOUNDARY):
            raise expected(path, f"unaligned.{name}.value", f"0, or a power of 2 up to {_LARGEST_BOUNDARY}")
