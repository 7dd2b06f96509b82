# SPDX-License-Identifier: Apache-2.0
"""Compares a core's model with published times of decompressors, and writes docs/accuracy.md.

    python tools/accuracy.py            build the images, count, keep the counts, write the page
    python tools/accuracy.py --page     write the page from the kept counts

The images are built from the sources of the system `stock`, whose kernel they unpack a piece of: five for
each table. The emulated board starts each of them without a boot loader: caches and MMU are off, as a boot
loader leaves them. A pass counts from the image's first instruction to that of the unpacked kernel.

The kept file, src/bootscope/published/decompressors.json, has only counts, no times of a core, so figures of
cores can be changed without counting again. A unit test compares the page with it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bootscope.boards.profile import Board, load_board
from bootscope.builder import sources
from bootscope.builder.cache import Cache
from bootscope.builder.plan import build, unpacked
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Wanted
from bootscope.builder.step import Runner
from bootscope.builder.steps import plugin, unpack, unpackers
from bootscope.capture import stream
from bootscope.capture.counted import CountedInfo, parse
from bootscope.core.paths import cache_dir
from bootscope.cores.profile import Core, load_core
from bootscope.emulator import timing_pass
from bootscope.published import decompressors as published
from bootscope.published import held_out
from bootscope.published.alternatives import ABOUT, ALTERNATIVES, compared
from bootscope.system.load import load_system
from bootscope.system.source import Archive, Source

PAGE = ROOT / "docs" / "accuracy.md"
BOARD, SYSTEM = "cubieboard", "stock"
OLD_SOURCE = Source(
    version="4.14.6",
    sha256="6365e5435b9a18dbce3433ec27e5409d2b1a421d5f6aacfb06833f15d3d9aedd",
    archive=Archive(suite="bullseye", source="xen", file="xen_4.14.6.orig.tar.xz"),
)
"""Xen, which has the lz4 of kernels before 4.10."""
START = """
.arm
mov r0, #0
mvn r1, #0
ldr r2, =0x48000000
ldr pc, =%#x
"""
STUB_AT, DEVICE_TREE_AT, KERNEL_AT = 0x4F000000, 0x48000000, 0x40008000


@dataclass(frozen=True)
class Job:
    """One image on one core, at one address."""

    image: Path
    core: Core
    address: int
    allocates: bool = False


def watch(board: Board, job: Job, counts: Path) -> str:
    """The watch file: the two ends of decompression, and the caches."""
    registers = board.arch.registers
    jump = board.arch.kernel.unpacker_jumps_by
    lines = [f"tick {board.tick_ns}", f"word {board.arch.word_bytes} {board.arch.mode_bit}"]
    lines += [f"register pc {registers.counter}", f"register stack {registers.stack}"]
    lines += [f"hook 1 {job.address:#x} once", f"hook 2 {KERNEL_AT:#x} once if {jump} {KERNEL_AT:#x}"]
    lines += [f"call {o.size} {o.mask:#x} {o.value:#x}" for o in board.qemu.calls]
    lines += timing_pass.lines(board, job.core, counts, [0], [])
    if job.allocates:
        lines.remove(timing_pass.FLAT_PASSES)
    return "\n".join([*lines, "limit 600000000000", "stop hook 2"]) + "\n"


def count(board: Board, job: Job, library: Path, device_tree: Path, folder: Path) -> published.Counted:
    """Boots one image and returns the counts of its decompression."""
    source, stub = folder / "start.s", folder / "start.bin"
    source.write_text(START % job.address)
    tool = board.arch.tools.tool
    subprocess.run([tool("as"), "-o", folder / "start.o", source], check=True)
    subprocess.run([tool("objcopy"), "-O", "binary", folder / "start.o", stub], check=True)
    counts, records, told = folder / "counts.bin", folder / "stream.bin", folder / "watch.txt"
    told.write_text(watch(board, job, counts))
    q = board.qemu
    loads = ((stub, STUB_AT), (job.image, job.address), (device_tree, DEVICE_TREE_AT))
    devices = [f"loader,file={path},addr={at:#x},force-raw=on" for path, at in loads]
    devices.append(f"loader,addr={STUB_AT:#x},cpu-num=0")
    command = [board.arch.tools.qemu, "-M", q.machine, "-m", q.memory, "-display", "none", "-monitor", "none"]
    command += ["-serial", "null", "-nic", "none", "-no-reboot"]
    command += [word for device in devices for word in ("-device", device)]
    command += ["-icount", f"shift={q.icount_shift.value},sleep=off", "-rtc", f"base={q.rtc},clock=vm"]
    command += ["-plugin", f"{library},watch={told},out={records}"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    begin, end = (r for r in stream.read(records) if isinstance(r, stream.Hook))
    phases = ("", "decompress")
    size = job.image.stat().st_size
    info = CountedInfo(core="", geometry={}, stream_sha256="", phases=phases, size_bytes=0, host_ms=0)
    blocks = parse(counts.read_bytes(), info).parts[1]
    sums = tuple(sum(column) for column in zip(*(block.counts for block in blocks), strict=True))
    return published.Counted(size, (end.time_ns - begin.time_ns) // board.tick_ns, sums)


def images(progress: Progress, runner: Runner) -> tuple[dict[str, Path], Path]:
    """The folder of each table's images, and the board's device tree."""
    loaded = load_system(SYSTEM)
    built = build(loaded, runner, progress)
    first, source = unpacked(loaded, "kernel", runner, progress)
    old = unpack.step("xen", sources.fetch(Wanted("xen", OLD_SOURCE, ROOT), runner.cache, progress))
    ids = {unpackers.KERNEL: built.ids[unpackers.KERNEL], unpackers.SOURCE: first.step_id({})}
    ids[unpackers.OLD] = old.step_id({})
    results = {unpackers.KERNEL: built.results[unpackers.KERNEL], unpackers.SOURCE: source}
    results[unpackers.OLD] = runner.run(old, ids[unpackers.OLD], {})
    wanted = [t.images for t in published.TABLES] + [a.images for a in ALTERNATIVES if a.images]
    found = {}
    for each in wanted:
        step = unpackers.step(each, load_board(BOARD).arch)
        needed = {name: results[name] for name in step.needs}
        found[each.name] = runner.run(step, step.step_id(ids), needed)
    return found, results[unpackers.KERNEL] / "unchanged.dtb"


def measure() -> published.Measured:
    """Counts everything that the published tables, and the alternatives beside them, need."""
    progress = Progress()
    board, step, runner = load_board(BOARD), plugin.step(), Runner(Cache(cache_dir()), progress)
    library = runner.run(step, step.step_id({}), {}) / plugin.PLUGIN
    folders, device_tree = images(progress, runner)

    def counted(what: str, job: Job) -> published.Counted:
        with tempfile.TemporaryDirectory() as folder:
            found = count(board, job, library, device_tree, Path(folder))
        print(f"{what}, {job.image.name}: {found.instructions:,} instructions", flush=True)
        return found

    tables: dict[str, dict[str, published.Counted]] = {}
    for table in published.TABLES:
        path, core = folders[table.images.name], load_core(table.core)
        jobs = {n: Job(path / unpackers.image(n), core, table.address) for n in unpackers.COMPRESSORS}
        tables[table.id] = {name: counted(table.id, job) for name, job in jobs.items()}
    others: dict[str, dict[str, published.Counted]] = {}
    for one in (a for a in ALTERNATIVES if a.counted):
        path, address = folders[(one.images or one.table.images).name], one.table.address
        jobs = {n: Job(path / unpackers.image(n), one.core, address, one.allocates) for n in one.names}
        others[one.id] = {name: counted(one.id, job) for name, job in jobs.items()}
    return published.Measured(tables, others)


def page(measured: published.Measured) -> Iterator[str]:
    """The lines of docs/accuracy.md."""
    yield "# How true are the figures of a core's model?"
    yield ""
    yield "<!-- made by tools/accuracy.py from src/bootscope/published/decompressors.py; change it there -->"
    yield ""
    yield from published.INTRODUCTION.strip().splitlines()
    for table in published.TABLES:
        about = table.about.replace("CONSTANT", f"{table.constant_ms:,.0f}")
        yield from ("", f"## {table.title}", "", *about.strip().splitlines(), "")
        yield (
            "| | published image, bytes | here, bytes | published, ms | here, ms | ratio | issue, ms | "
            "memory, ms | ratio at 2 ns an instruction |"
        )
        yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
        for row in published.rows(table, measured):
            image = measured.counted[table.id][row.name].image_bytes
            yield (
                f"| {row.name} | {published.image_bytes(table, row.name):,} | {image:,} | "
                f"{row.published_ms:,.0f} | {row.ours_ms:,.0f} | {row.ratio:.2f} | "
                f"{row.issue_ms:,.0f} | {row.memory_ms:,.0f} | {row.flat_ratio:.2f} |"
            )
        yield from ("", published.summary(table, measured))
    yield from _held_out(measured)
    yield from _otherwise(measured)


def _held_out(measured: published.Measured) -> Iterator[str]:
    yield from ("", "## Held out", "", *held_out.ABOUT.strip().splitlines(), "")
    yield "| fitted to | cycles per instruction | error of fit | predicted | error | ratio of each row |"
    yield "|---|---:|---:|---|---:|---|"
    for one in held_out.outcomes(published.TABLES, measured):
        there, error = one.medians
        rows = ", ".join(f"{name} {ratio:.2f}" for name, ratio in one.errors[1].items())
        yield (
            f"| {one.fitted.title} | {one.instruction_millicycles / 1000:.2f} | {there:.1%} | "
            f"{one.predicted.title} | {error:.1%} | {rows} |"
        )


def _otherwise(measured: published.Measured) -> Iterator[str]:
    yield from ("", "## What matters", "", *ABOUT.strip().splitlines(), "")
    yield "| change | table | row | ratio above | ratio with the change |"
    yield "|---|---|---|---:|---:|"
    for one in compared(measured):
        yield f"| {one.title} | {one.table.title} | {one.name} | {one.ratio:.2f} | {one.otherwise:.2f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare a core model with published decompressors.")
    parser.add_argument("--page", action="store_true", help="only write the page, count nothing")
    args = parser.parse_args()
    if not args.page:
        published.KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(measure()), indent=1) + b"\n")
    PAGE.write_text("\n".join(page(published.kept())) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
