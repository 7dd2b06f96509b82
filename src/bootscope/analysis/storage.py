# SPDX-License-Identifier: Apache-2.0
"""Storage: every read and write with its purpose, its cost, and who waited for it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from bootscope.analysis.blocks import Piece
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import doing
from bootscope.analysis.kernel_activity import Bio
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.devices.model import SECTOR_BYTES, StorageCommand
from bootscope.timeline.costs import transfers_ns, waits_for_transfers

_PAGE_SECTORS = 8
_LARGEST_REQUEST_BYTES = 1 << 26
"""A larger value is no size: it comes from the target's memory, which may hold anything."""
REGISTERS = "card registers"
THINGS = (
    Column("what", "what", "text"),
    Column("cost_ns", "cost ms", "ns"),
    Column("size_bytes", "bytes", "bytes"),
    Column("commands", "reads", "count"),
    Column("again_bytes", "read again", "bytes"),
    Column("unused_bytes", "unused", "bytes"),
    Column("start_ns", "first s", "at"),
    Column("who", "for", "text"),
)
ACCESSES = (
    Column("start_ns", "start s", "at"),
    Column("cost_ns", "cost ms", "ns"),
    Column("sector", "sector", "count"),
    Column("size_bytes", "bytes", "bytes"),
    Column("direction", "", "text"),
    Column("what", "what", "text"),
    Column("who", "for", "text"),
)


@dataclass(frozen=True, slots=True)
class Access:
    """A command of the card, or the part of it that lies in one file or extent.

    `cost_ns`: what the boot waited for it; `took_ns`: how long the card worked, which is more only if the CPU
    did something meanwhile. `again_bytes` had been read before; `unused_bytes` lie in pages of a file that no
    process wanted.
    """

    index: int
    start_ns: int
    cost_ns: int
    took_ns: int
    sector: int | None
    size_bytes: int
    write: bool
    what: str
    who: str
    again_bytes: int
    unused_bytes: int = 0


def accesses(evidence: Evidence) -> list[Access]:
    """All accesses in order of time. Their costs add up to the storage time of the boot."""
    cost_ns = waits_for_transfers(evidence.events, evidence.costs)
    took_ns = transfers_ns(evidence.events, evidence.run.board)
    requests, used, read = _Requests(evidence), _Used(evidence), set[int]()
    commands = (e for e in evidence.events if isinstance(e, StorageCommand))
    return [
        a
        for e in commands
        for a in _access(e, (cost_ns.get(e.index, 0), took_ns[e.index]), requests, used, read)
    ]


def _access(
    event: StorageCommand, times_ns: tuple[int, int], requests: _Requests, used: _Used, read: set[int]
) -> Iterator[Access]:
    """The accesses of a command; `times_ns`: what the boot waited for it, and how long the card worked."""
    cost_ns, took_ns = times_ns
    evidence = requests.evidence
    now = evidence.clock.before(event.index)
    who, path = requests.behind(event)
    if event.sector is None:
        size = event.size_bytes
        yield Access(event.index, now, cost_ns, took_ns, None, size, event.write, REGISTERS, who, 0)
        return
    sectors = max(1, -(-event.size_bytes // SECTOR_BYTES))
    left = event.size_bytes
    pieces = list(evidence.blocks.split(event.sector, sectors))
    shares = zip(pieces, _share(pieces, cost_ns), _share(pieces, took_ns), strict=True)
    for piece, part_ns, took_part_ns in shares:
        again = unused = 0
        if not event.write:
            unused = used.unused_bytes(piece)
            wanted = range(piece.sector, piece.sector + piece.sectors)
            again = min(sum(s in read for s in wanted) * SECTOR_BYTES, event.size_bytes)
            read.update(wanted)
        # Memory is read by words, not by sectors.
        size = min(piece.sectors * SECTOR_BYTES, left)
        left -= size
        what = path if path and piece.name == "root file system" else piece.name
        times_ns = part_ns, took_part_ns
        yield Access(event.index, now, *times_ns, piece.sector, size, event.write, what, who, again, unused)


def _share(pieces: list[Piece], cost_ns: int) -> list[int]:
    """Splits a cost by sectors; the first piece takes the rounding remainder."""
    whole = sum(p.sectors for p in pieces) or 1
    parts = [cost_ns * p.sectors // whole for p in pieces]
    parts[0] += cost_ns - sum(parts)
    return parts


def wanted_pages(evidence: Evidence) -> dict[str, set[int]]:
    """The pages of files that a process wanted, by path, if that was recorded: pages that were only read
    ahead are not included."""
    pages, bios = evidence.scene.pages, evidence.scene.bios
    return {bio.path: pages[bio.inode] for bio in bios if bio.path and bio.inode in pages}


class _Used:
    """Which bytes of files a process wanted, by page."""

    def __init__(self, evidence: Evidence) -> None:
        self._pages = wanted_pages(evidence)

    def unused_bytes(self, piece: Piece) -> int:
        """Bytes of a run of sectors that no process wanted; 0 if it is no file or that was not recorded."""
        pages = self._pages.get(piece.name)
        if pages is None:
            return 0
        sectors = range(piece.file_sector, piece.file_sector + piece.sectors)
        return sum(sector // _PAGE_SECTORS not in pages for sector in sectors) * SECTOR_BYTES


class _Requests:
    """Finds who caused a command: the task that requested those sectors from the block layer."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._of_sector: dict[int, list[Bio]] = defaultdict(list)
        for bio in evidence.scene.bios:
            for sector in range(bio.sector & ~1, _end(bio), 2):
                self._of_sector[sector].append(bio)

    def behind(self, event: StorageCommand) -> tuple[str, str]:
        """(who waited, path of the requested file)."""
        evidence = self.evidence
        now = evidence.clock.before(event.index)
        if event.sector is not None:
            bios = self._of_sector.get(event.sector & ~1, [])
            at = bisect_right(bios, event.index, key=lambda b: b.index)
            for bio in reversed(bios[:at]):
                if bio.sector <= event.sector < _end(bio):
                    return evidence.who(bio.task, bio.at_ns), bio.path
        return doing(evidence, evidence.slice_at(now).task, event.index, now), ""


def _end(bio: Bio) -> int:
    """The first sector after a request."""
    return bio.sector + max(1, min(bio.size_bytes, _LARGEST_REQUEST_BYTES) // SECTOR_BYTES)


def view(evidence: Evidence, phase: str | None = None) -> tuple[Rows, Rows]:
    """(what was read, each with its cost; every access in order of time), of one phase if named."""
    found = [a for a in accesses(evidence) if phase in (None, evidence.phase_at(a.start_ns))]
    sums = {
        "storage_ns": sum(a.cost_ns for a in found),
        "named_ns": sum(a.cost_ns for a in found if a.what),
        "read_bytes": sum(a.size_bytes for a in found if not a.write),
        "again_bytes": sum(a.again_bytes for a in found),
        "unused_bytes": sum(a.unused_bytes for a in found),
        "commands": len({a.index for a in found}),
    }
    things = sorted(_things(found, evidence), key=lambda r: -int(r["cost_ns"] or 0))
    rows = tuple(_row(a, evidence) for a in found)
    return (
        Rows(
            "storage", "What was read from storage", THINGS, tuple(things), "most expensive first", (), sums
        ),
        Rows("accesses", "Every access to storage", ACCESSES, rows, "in order of time", (), sums),
    )


def _things(found: list[Access], evidence: Evidence) -> Iterator[dict[str, Cell]]:
    groups: dict[tuple[str, bool], list[Access]] = defaultdict(list)
    for access in found:
        groups[access.what, access.write].append(access)
    for (what, write), group in groups.items():
        yield {
            "what": f"{what} (written)" if write else what,
            "phase": evidence.phase_at(group[0].start_ns),
            "cost_ns": sum(a.cost_ns for a in group),
            "size_bytes": sum(a.size_bytes for a in group),
            "commands": len({a.index for a in group}),
            "again_bytes": sum(a.again_bytes for a in group),
            "unused_bytes": sum(a.unused_bytes for a in group),
            "start_ns": group[0].start_ns,
            "who": group[0].who,
        }


def _row(a: Access, evidence: Evidence) -> dict[str, Cell]:
    return {
        "start_ns": a.start_ns,
        "phase": evidence.phase_at(a.start_ns),
        "cost_ns": a.cost_ns,
        "sector": a.sector,
        "size_bytes": a.size_bytes,
        "direction": "write" if a.write else "read",
        "what": a.what,
        "who": a.who,
        "again_bytes": a.again_bytes,
        "unused_bytes": a.unused_bytes,
    }
