# SPDX-License-Identifier: Apache-2.0
"""Several files of one boot on one clock, with what that rests on and its error."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bootscope.core.errors import UserError, printable
from bootscope.readers.base import Boot, Reading
from bootscope.readers.fit import Map
from bootscope.readers.link import BESIDE, TOLD, Link, Refusal, Side, extent, link
from bootscope.readers.match import Moments

MAX_BOOTS = 100
"""Of all files together that are compared with each other."""
# Whose clock the boot is shown on: the one that ran from the start, seen from outside, first.
_REFERENCE = ("host", "wall", "sample", "counter", "kernel", "userspace", "none")
# A clock that counts in steps longer than this is no reference for a finer one: every time of a dmesg would
# get the error of the journal's whole seconds.
_COARSE_NS = 10_000_000

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class File:
    """What a file gave: its name, the name of its format, and its reading."""

    name: str
    reader: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class Member:
    """A boot of a file (both from 0) as part of a joined boot: `map` leads to the joined clock, to
    within `error_ns`."""

    file: int
    boot: int
    map: Map
    error_ns: int


@dataclass(frozen=True, slots=True)
class Group:
    """A boot, seen by one or more files; the first member's clock is the clock of all."""

    members: tuple[Member, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """All boots that the files hold, and why those that are apart are so: the best reason for each two."""

    groups: tuple[Group, ...]
    refusals: tuple[Refusal, ...]


def join(
    files: Sequence[File],
    offsets: Mapping[str, int],
    given: Sequence[Link] = (),
    reference: int | None = None,
) -> Joined:
    """Joins the boots of several files.

    `offsets` holds, by the name of a file, how many ns after the zero of the first file's clock its own
    zero lies; `given` are links that are known already; a boot is shown on the clock of file `reference`
    when that saw it. Raises UserError when an offset is told for a file with several boots.
    """
    sides = [
        Side(f, b, file.reader, Moments(boot))
        for f, file in enumerate(files)
        for b, boot in enumerate(file.reading.boots)
    ]
    told = _told(files, sides, offsets)
    links, refusals = _all_links(sides)
    links, doubts = _unambiguous(links)
    best_first = sorted([*told, *links, *given], key=lambda x: (x.how, x.error_ns, -x.used))
    trees = _trees(sides, best_first, {frozenset((r.a, r.b)) for r in refusals if r.certain})
    trees = _figures_beside(sides, trees)
    groups = [_group(members, tree, reference) for members, tree in trees]
    groups.sort(key=lambda g: min((m.file, m.boot) for m in g.members))
    home = {(m.file, m.boot): i for i, g in enumerate(groups) for m in g.members}
    apart: dict[frozenset[int], Refusal] = {}
    for refusal in sorted((*refusals, *doubts), key=lambda r: not r.certain):
        if home[refusal.a] != home[refusal.b]:
            apart.setdefault(frozenset((home[refusal.a], home[refusal.b])), refusal)
    return Joined(tuple(groups), tuple(apart.values()))


def _told(files: Sequence[File], sides: Sequence[Side], offsets: Mapping[str, int]) -> list[Link]:
    """Links that the user told."""
    if not offsets:
        return []
    free = [s for s in sides if files[s.file].name not in offsets]
    if not free:
        raise UserError("--offset must be against another file", hint="leave out the offset of one file")
    first = _only_boot(files, sides, free[0].file)
    found = []
    for f, file in enumerate(files):
        if file.name in offsets:
            b = _only_boot(files, sides, f)
            found.append(Link(first.key, b.key, TOLD, Map(_zero(b), _zero(first) + offsets[file.name]), 0))
    return found


def _zero(side: Side) -> int:
    """The moment that --offset counts from: the clock's zero, or the first stamp of a calendar."""
    return extent(side.data)[0] if side.data.clock.name == "wall" else 0


def _only_boot(files: Sequence[File], sides: Sequence[Side], file: int) -> Side:
    found = [s for s in sides if s.file == file]
    if len(found) != 1:
        name = printable(files[file].name)
        raise UserError(
            f"{name} holds {len(found)} boots: --offset cannot say which", hint="cut the file in two"
        )
    return found[0]


def _all_links(sides: Sequence[Side]) -> tuple[list[Link], list[Refusal]]:
    links: list[Link] = []
    refusals: list[Refusal] = []
    for i, a in enumerate(sides[:MAX_BOOTS]):
        for b in sides[i + 1 : MAX_BOOTS]:
            found = link(a, b) if a.file != b.file else None
            if isinstance(found, Link):
                links.append(found)
            elif found:
                refusals.append(found)
    left = [
        Refusal(s.key, sides[0].key, f"only the first {MAX_BOOTS} boots are compared")
        for s in sides[MAX_BOOTS:]
    ]
    return links, [*refusals, *left]


def _unambiguous(links: Sequence[Link]) -> tuple[list[Link], list[Refusal]]:
    """The links without those that assume and could as well be with another boot of the same file."""
    rivals: dict[tuple[Key, int], list[Link]] = defaultdict(list)
    for found in links:
        rivals[found.a, found.b[0]].append(found)
        rivals[found.b, found.a[0]].append(found)
    kept: list[Link] = []
    doubts: list[Refusal] = []
    for found in links:
        others = [*rivals[found.a, found.b[0]], *rivals[found.b, found.a[0]]]
        if found.proven or all(other is found for other in others):
            kept.append(found)
        elif not any(other.proven for other in others):
            doubts.append(Refusal(found.a, found.b, "it matches several boots in the other file"))
    return kept, doubts


Tree = tuple[list[Side], list[Link]]


def _trees(sides: Sequence[Side], links: Sequence[Link], two: set[frozenset[Key]]) -> list[Tree]:
    """Boots that belong together, best links first; never two boots of one file, nor two of which it is
    known that they are `two` (also when a third file would fit both)."""
    home: dict[Key, Tree] = {s.key: ([s], []) for s in sides}
    for found in links:
        left, right = home[found.a], home[found.b]
        files = [s.file for s in (*left[0], *right[0])]
        if left is right or len(set(files)) < len(files):
            continue
        if found.how != TOLD and any(frozenset((a.key, b.key)) in two for a in left[0] for b in right[0]):
            continue
        merged = ([*left[0], *right[0]], [*left[1], *right[1], found])
        home.update({s.key: merged for s in merged[0]})
    return list({id(tree): tree for tree in home.values()}.values())


def _figures_beside(sides: Sequence[Side], trees: list[Tree]) -> list[Tree]:
    """What has no stamps (totals, call stacks) belongs to the boot when there is only one."""
    without = [t for t in trees if all(s.data.clock.name == "none" for s in t[0])]
    timed = [t for t in trees if t not in without]
    target = timed[:1] if len(timed) == 1 else without[:1] if not timed else []
    if not target:
        return trees
    home = target[0]
    result = [t for t in trees if t in timed or t is home]
    for tree in without:
        if tree is home:
            continue
        files = {s.file for s in home[0]}
        if any(s.file in files for s in tree[0]):
            result.append(tree)
            continue
        home[1].extend(Link(home[0][0].key, s.key, BESIDE, Map(), 0) for s in tree[0])
        home[0].extend(tree[0])
    return result


def _group(members: Sequence[Side], links: Sequence[Link], reference: int | None) -> Group:
    """Leads every member to the clock of the best."""
    best = min(members, key=lambda s: (s.file != reference, *_worth(s.data), s.key))
    found: dict[Key, Member] = {best.key: Member(best.file, best.boot, Map(), 0)}
    todo = [best.key]
    while todo:
        here = found[todo.pop()]
        key = (here.file, here.boot)
        for each in links:
            other = each.b if each.a == key else each.a if each.b == key else None
            if other is None or other in found:
                continue
            step = each.map if each.a == key else each.map.inverse()
            found[other] = Member(*other, step.then(here.map), here.error_ns + each.error_ns)
            todo.append(other)
    rest = sorted((m for k, m in found.items() if k != best.key), key=lambda m: (m.file, m.boot))
    return Group((found[best.key], *rest), tuple(links))


def _worth(boot: Boot) -> tuple[bool, int, int]:
    """How good a reference a boot's clock is: not coarse, then seen from outside, then of most lines."""
    clock = boot.clock.name
    rank = _REFERENCE.index(clock) if clock in _REFERENCE else len(_REFERENCE)
    return clock == "none" or boot.clock.resolution_ns > _COARSE_NS, rank, -len(boot.log)
