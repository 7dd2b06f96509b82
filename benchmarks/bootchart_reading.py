# SPDX-License-Identifier: Apache-2.0
"""Reading bootchart archives, beside pybootchartgui's parser on the same bytes.

    .venv/bin/python benchmarks/bootchart_reading.py [--peer FOLDER] [ARCHIVE...]

FOLDER is a checkout of github.com/xrmx/bootchart; without it only our own figures are printed. Without
archives the fixtures are read, and one of them made a hundred times longer. Times are the best of five
readings, in ms of CPU time, from the packed file to processes with their parents; the peer's time includes
its process tree, ours the tracks, tables, kernel log and the count of lines understood. In taskstats
the peer counts a process again whenever it starts another program.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.readers.base import Options, Reading
from bootscope.readers.formats.bootchart import READERS
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures" / "readers" / "bootchart"
TRIES = 5
LONGER = 100
_HEAD = re.compile(rb"^\s*(\d+)\n", re.MULTILINE)


def best_ms(work: Callable[[], Any]) -> tuple[float, Any]:
    """The least CPU time in ms of several tries, and the last result."""
    times = []
    result = None
    for _ in range(TRIES):
        before = time.process_time()
        result = work()
        times.append((time.process_time() - before) * 1000)
    return min(times), result


def ours(path: Path) -> Reading:
    """Our reading of an archive."""
    source = opened(path.name, path.read_bytes(), Budget()).source
    return READERS[0].read(source, Options())


class Quiet:
    """Swallows pybootchartgui's remarks."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


def theirs(path: Path) -> Any:
    """The peer's reading: its Trace, or its exception."""
    from pybootchartgui import parsing  # type: ignore[import-not-found]

    options = SimpleNamespace(crop_after=None, annotate=None, prune=False)
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            return parsing.Trace(Quiet(), [str(path)], options)
        except Exception as error:  # any exception belongs in the table
            return error


def longer(path: Path, target: Path) -> None:
    """Writes the archive at `path` with all its samples repeated many times, at increasing times."""
    with tarfile.open(path) as old, tarfile.open(target, "w:gz") as new:
        for member in old.getmembers():
            data = old.extractfile(member).read()  # type: ignore[union-attr]
            if member.name.endswith(".log"):
                data = b"".join(shifted(data, n * 1000) for n in range(LONGER))
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))


def shifted(log: bytes, ticks: int) -> bytes:
    """A log with `ticks` (1/100 s) added to the time of every block."""
    blocks = log.split(b"\n\n")
    return b"\n\n".join(_HEAD.sub(lambda m: b"%d\n" % (int(m[1]) + ticks), b, count=1) for b in blocks)


def row(path: Path, peer: bool) -> list[str]:
    """Size, time, processes and lines of one archive, by us and by the peer."""
    mine_ms, reading = best_ms(lambda: ours(path))
    found = sum(t.kind == "process" for t in reading.boots[0].tracks)
    share = 100 * reading.lines_understood / max(1, reading.lines_total - reading.lines_empty)
    cells = [path.name, f"{reading.lines_total:,}", f"{share:.1f} %", str(found), f"{mine_ms:.1f}"]
    if peer:
        their_ms, trace = best_ms(lambda: theirs(path))
        if isinstance(trace, Exception):
            cells += [f"{type(trace).__name__}: {trace}"[:60], "", ""]
        else:
            cells += [str(len(trace.ps_stats.process_map)), f"{their_ms:.1f}", f"{their_ms / mine_ms:.1f}"]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--peer", type=Path, help="a checkout of github.com/xrmx/bootchart")
    parser.add_argument("archives", nargs="*", type=Path)
    arguments = parser.parse_args()
    if arguments.peer:
        sys.path.insert(0, str(arguments.peer))
    titles = ["archive", "lines", "understood", "processes", "ms"]
    print("\t".join(titles + (["peer's processes", "peer's ms", "peer / ours"] if arguments.peer else [])))
    with tempfile.TemporaryDirectory() as folder:
        archives = arguments.archives
        if not archives:
            long = Path(folder) / f"busybox-x{LONGER}.tgz"
            longer(FIXTURES / "busybox.tgz", long)
            archives = [*sorted(FIXTURES.glob("*.tgz")), long]
        for path in archives:
            print("\t".join(row(path, bool(arguments.peer))))


if __name__ == "__main__":
    main()
