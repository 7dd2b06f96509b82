# SPDX-License-Identifier: Apache-2.0
"""The plugin's model of caches, compiled for this computer, beside a small one in Python: on traces of random
accesses both count the same."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bootscope.core.paths import plugin_source_dir
from bootscope.cores.counts import Count

MAIN = r"""
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "branches.h"
#include "hierarchy.h"

static uint64_t number(char **at) { return strtoull(*at, at, 0); }

static bool cache(struct bs_cache *c, char *at)
{
	uint64_t size = number(&at), ways = number(&at), line = number(&at);
	enum bs_policy policy = (enum bs_policy)number(&at);

	return bs_cache_make(c, size, (uint32_t)ways, (uint32_t)line, policy, number(&at));
}

int main(void)
{
	static struct bs_hierarchy h;
	static struct bs_branches b;
	static struct bs_branch ends[64];
	char text[256];

	bs_branches_make(&b, 64, 4, 16, 4);
	while (fgets(text, sizeof(text), stdin)) {
		char *at = text + 1;
		bool taken;

		switch (*text) {
		case 'C': if (!cache(&h.code, at)) return 2; break;
		case 'D': if (!cache(&h.data, at)) return 2; break;
		case 'S': if (!cache(&h.second, at)) return 2; h.has_second = true; break;
		case 'T': if (!cache(&h.data_tlb, at)) return 2; h.one_tlb = true; break;
		case 'g': bs_hierarchy_start(&h, NULL); break;
		case 'x': { uint64_t data = number(&at), code = number(&at);
			bs_hierarchy_switch(&h, data, code, true); break; }
		case 'l': bs_hierarchy_load(&h, number(&at)); break;
		case 's': { uint64_t address = number(&at);
			bs_hierarchy_store(&h, address, number(&at)); break; }
		case 'f': bs_hierarchy_fetch(&h, number(&at)); break;
		case 'p': bs_hierarchy_page(&h, number(&at), false); break;
		case 'b': { uint64_t n = number(&at), address = number(&at), call = number(&at), next = number(&at);
			struct bs_branch *end = &ends[n];
			end->address = address; end->behind = address + 4; end->call = call;
			bool known = bs_branches_went(&b, end, next, &taken);
			printf("%d%d\n", taken, known); break; }
		}
	}
	for (int i = 0; i < BS_COUNTS; i++)
		printf("%" PRIu64 "\n", h.counts[i]);
	return 0;
}
"""
LRU, RANDOM, ROUND_ROBIN = range(3)
SEED = 0x2545F4914F6CDD1D
WORD = (1 << 64) - 1


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as a program that reads accesses, a line each."""
    folder = tmp_path_factory.mktemp("caches")
    (folder / "main.c").write_text(MAIN)
    plugin = plugin_source_dir()
    sources = [plugin / f"{name}.c" for name in ("caches", "hierarchy", "branches")]
    made = folder / "caches"
    flags = ["-std=c17", "-Wall", "-Wextra", "-O1", f"-I{plugin}"]
    subprocess.run(["cc", *flags, "-o", made, folder / "main.c", *sources], check=True)
    return made


def run(program: Path, lines: list[str]) -> list[str]:
    """What the program says of some accesses."""
    done = subprocess.run(
        [program], input="\n".join(lines) + "\n", text=True, capture_output=True, check=True
    )
    return done.stdout.split()


@dataclass
class Plain:
    """A cache, as plainly as it can be written: each set is a list of [line, dirty]."""

    size: int
    ways: int
    line: int
    policy: int
    allocates: int
    slots: dict[int, list[list[int] | None]] = field(default_factory=dict)
    turn: dict[int, int] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)
    clock: int = 0
    lot: int = SEED

    @property
    def sets(self) -> int:
        return self.size // self.ways // self.line

    def _set(self, line: int) -> list[list[int] | None]:
        return self.slots.setdefault(line % self.sets, [None] * self.ways)

    def find(self, line: int) -> list[int] | None:
        self.clock += 1
        for held in self._set(line):
            if held and held[0] == line:
                self.used[line] = self.clock
                return held
        return None

    def put(self, line: int, dirty: int) -> int | None:
        """The dirty line that is thrown out, if one is."""
        held = self._set(line)
        at = held.index(None) if None in held else self._victim(line, held)
        old, held[at] = held[at], [line, dirty]
        self.clock += 1
        self.used[line] = self.clock
        return old[0] if old and old[1] else None

    def _victim(self, line: int, held: list[list[int] | None]) -> int:
        if self.policy == LRU:
            return min(range(self.ways), key=lambda way: self.used[(held[way] or [0])[0]])
        if self.policy == ROUND_ROBIN:
            way = self.turn.get(line % self.sets, 0)
            self.turn[line % self.sets] = (way + 1) % self.ways
            return way
        self.lot = (self.lot ^ self.lot << 13) & WORD
        self.lot ^= self.lot >> 7
        self.lot = (self.lot ^ self.lot << 17) & WORD
        return (self.lot >> 32) % self.ways

    def empty(self) -> int:
        dirty = sum(1 for held in self.slots.values() for each in held if each and each[1])
        self.slots.clear()
        return dirty


class Model:
    """Caches one behind the other, by the rules in hierarchy.h."""

    def __init__(self, code: Plain, data: Plain, tlb: Plain, second: Plain | None) -> None:
        self.code, self.data, self.tlb, self.second = code, data, tlb, second
        self.counts = [0] * len(Count)
        self.buffered: list[int] = []
        self.last_read: int | None = None
        self.on = False

    def count(self, kind: Count) -> None:
        self.counts[kind] += 1

    def _behind(self, line: int, of: Plain) -> bool:
        """Whether the second cache has a line of the first; it has from now on."""
        if not self.second or not self.on:
            return False
        number = line * of.line // self.second.line
        if self.second.find(number):
            return True
        if self.second.put(number, 0) is not None:
            self.count(Count.WRITTEN)
        return False

    def _back(self, line: int | None) -> None:
        if line is None:
            return
        if not self.second:
            self.count(Count.WRITTEN)
            return
        number = line * self.data.line // self.second.line
        held = self.second.find(number)
        if held:
            held[1] = 1
        elif self.second.put(number, 1) is not None:
            self.count(Count.WRITTEN)

    def load(self, address: int) -> None:
        line = address // self.data.line
        if self.data.find(line):
            return
        if self._behind(line, self.data):
            self.count(Count.LOAD_L2)
        else:
            self.count(Count.LOAD_MEMORY)
            if self.last_read is not None and line == self.last_read + 1:
                self.count(Count.LOAD_STREAM)
            self.last_read = line
        self._back(self.data.put(line, 0))

    def store(self, address: int, allocates: bool) -> None:
        line = address // self.data.line
        held = self.data.find(line)
        if held:
            held[1] = 1
        elif self.data.allocates and allocates:
            self.count(Count.STORE_L2 if self._behind(line, self.data) else Count.STORE_FILL)
            self._back(self.data.put(line, 1))
        elif line not in self.buffered:
            self.buffered = [*self.buffered, line][-4:]
            self._past(line, allocates)

    def _past(self, line: int, allocates: bool) -> None:
        if not self.second:
            self.count(Count.WRITTEN)
            return
        number = line * self.data.line // self.second.line
        held = self.second.find(number)
        if held:
            held[1] = 1
            self.count(Count.STORE_L2)
        elif self.second.allocates and allocates:
            self.count(Count.STORE_FILL)
            if self.second.put(number, 1) is not None:
                self.count(Count.WRITTEN)
        else:
            self.count(Count.WRITTEN)

    def fetch(self, address: int) -> None:
        line = address // self.code.line
        if not self.code.find(line):
            self.count(Count.FETCH_L2 if self._behind(line, self.code) else Count.FETCH_MEMORY)
            self.code.put(line, 0)

    def page(self, number: int) -> None:
        if not self.tlb.find(number):
            self.count(Count.WALK_DATA)
            self.tlb.put(number, 0)

    def switch(self, on: bool) -> None:
        if self.on and not on:
            dirty = self.data.empty() + (self.second.empty() if self.second else 0)
            self.code.empty()
            self.counts[Count.WRITTEN] += dirty
        self.on = on


SHAPES = {
    "cortex-a8, small": ((1024, 4, 64, RANDOM, 0), (1024, 4, 64, RANDOM, 0), (8192, 8, 64, RANDOM, 1)),
    "lines that differ": ((512, 2, 32, LRU, 0), (1024, 2, 64, LRU, 1), (4096, 16, 64, RANDOM, 1)),
    "no second cache": ((512, 4, 32, ROUND_ROBIN, 0), (512, 4, 32, ROUND_ROBIN, 0), None),
    "no second cache, allocating": ((512, 1, 32, LRU, 0), (2048, 32, 32, ROUND_ROBIN, 1), None),
}


def _trace(random_: random.Random, number: int) -> list[tuple[str, int]]:
    """Accesses near to one another, as programs make them, with runs through memory."""
    found, base = [], 0
    for _ in range(number):
        if random_.random() < 0.02:
            base = random_.randrange(1 << 16)
        base += random_.choice((0, 4, 4, 8, 64)) if random_.random() < 0.7 else random_.randrange(-512, 512)
        base %= 1 << 18
        found.append((random_.choice("lllsfp"), base))
        if random_.random() < 0.0005:
            found += [("x", 0), ("x", 1)]
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_are_those_of_the_plain_model(program: Path, shape: str) -> None:
    code, data, second = SHAPES[shape]
    tlb = (16, 4, 1, RANDOM, 0)
    model = Model(Plain(*code), Plain(*data), Plain(*tlb), Plain(*second) if second else None)
    lines = [
        f"{name} {' '.join(map(str, words))}" for name, words in zip("CDT", (code, data, tlb), strict=True)
    ]
    lines += [f"S {' '.join(map(str, second))}"] if second else []
    lines += ["g", "x 1 1"]
    model.switch(True)
    does = {"l": model.load, "f": model.fetch, "p": model.page}
    # Boot loaders map memory so that stores bring nothing in, kernels do not.
    maps = random.Random(shape + "s")
    for what, where in _trace(random.Random(shape), 20_000):
        if what == "x":
            model.switch(bool(where))
            lines.append(f"x {where} {where}")
        else:
            number = where // 512 if what == "p" else where
            if what == "s":
                allocates = maps.random() < 0.7
                model.store(number, allocates)
                lines.append(f"s {number} {int(allocates)}")
            else:
                does[what](number)
                lines.append(f"{what} {number}")
    assert [int(word) for word in run(program, lines)] == model.counts
    assert model.counts[Count.LOAD_MEMORY] > 100 and model.counts[Count.WALK_DATA] > 100
    assert model.counts[Count.WRITTEN] > 100


def test_a_loop_is_foreseen_and_a_coin_is_not(program: Path) -> None:
    coin = random.Random(1)
    loop = [f"b 0 {0x1000} 0 {0x1004 if turn % 8 == 7 else 0x0F00}" for turn in range(800)]
    tossed = [f"b 1 {0x2000} 0 {coin.choice((0x2004, 0x3000))}" for _ in range(800)]
    loops, tosses = (run(program, ["D 512 4 32 0 0", *lines])[:800] for lines in (loop, tossed))
    missed = [sum(1 for word in words if word.endswith("0")) for words in (loops, tosses)]
    assert missed[0] < 200 < 300 < missed[1]


def test_a_return_goes_where_the_call_came_from(program: Path) -> None:
    lines = []
    for _ in range(50):
        for caller in (0x1000, 0x5004, 0x9008):
            lines += [f"b {caller >> 12} {caller} 1 {0x8000}", f"b 10 {0x8010} 0 {caller + 4}"]
    words = run(program, ["D 512 4 32 0 0", *lines])[: len(lines)]
    assert all(word == "11" for word in words[6:])


def test_a_size_that_ways_cannot_make_is_refused(program: Path) -> None:
    for words in ("1000 4 32 0 0", "1024 3 32 0 0", "1024 0 32 0 0", "0 4 32 0 0", "1024 4 33 0 0"):
        assert subprocess.run([program], input=f"D {words}\n", text=True, check=False).returncode == 2, words
