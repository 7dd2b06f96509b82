# SPDX-License-Identifier: Apache-2.0
"""Checks that two checkouts of bootscope print the same about the same recordings, byte for byte.

    python tools/same_outputs.py OLD NEW [RUN...]

OLD and NEW are folders with a checkout; a RUN is a recording in the store (default: the newest of `stock`).
Both checkouts show, view, audit, predict from, report and export it in every format. Differences are named,
and the exit status is 1 then. This is for changes that must not change any figure.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

VIEWS = ("initcalls", "functions", "processes", "storage", "console", "waits", "critical-path", "floor")
FORMATS = (
    "perfetto", "chrome", "speedscope", "collapsed", "svg", "boots", "csv", "grabserial", "markdown",
    "openmetrics", "junit",
)  # fmt: skip
PREDICTED = (
    "quiet", "bootdelay=0", "no-console", "falcon", "card=2x", "rootfs=squashfs-lz4hc", "compression=lz4",
    "kernel-bytes=-1000000", "one-shell", "memory=256M", "loader-silent", "exact-read", "bootz",
    "console=921600",
)  # fmt: skip
SHOWN_LINES = 12


def commands(run: str) -> Iterator[list[str]]:
    """The commands about a run; `{file}` is a file to write."""
    for more in ([], ["--json"]):
        yield ["show", run, *more]
        yield ["audit", run, *more]
        yield from (["show", run, "--view", view, *more] for view in VIEWS)
        yield from (["what-if", run, change, *more] for change in PREDICTED)
    yield from (["export", run, "--format", form, "-o", "{file}"] for form in FORMATS)
    yield ["report", run, "-o", "{file}.html"]
    yield ["compare", run, f"{run}~1"]


def general() -> Iterator[list[str]]:
    """The commands without a run."""
    for more in ([], ["--json"]):
        yield ["techniques", *more]
        yield ["pitfalls", *more]
        yield ["build", "stock", "--plan", *more]
    yield ["--help"]


def told(checkout: Path, words: Sequence[str], folder: Path) -> bytes:
    """The output and files of a command, with its exit status."""
    folder.mkdir(exist_ok=True)
    file = folder / "out"
    env = {**os.environ, "PYTHONPATH": str(checkout / "src"), "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-m", "bootscope", *(word.replace("{file}", str(file)) for word in words)],
        env=env,
        capture_output=True,
        check=False,
    )
    written = b"".join(path.read_bytes() for path in sorted(folder.glob("out*")))
    for path in folder.glob("out*"):
        path.unlink()
    said = b"%d\n%s\n%s\n" % (done.returncode, done.stdout, done.stderr)
    return said.replace(bytes(folder), b"FOLDER").replace(bytes(checkout), b"CHECKOUT") + written


def main(arguments: Sequence[str]) -> int:
    """Compares; returns the exit status."""
    if len(arguments) < 2:
        print(__doc__)
        return 2
    old, new, *runs = arguments
    asked = [*general(), *(words for run in runs or ["stock"] for words in commands(run))]
    different = 0
    with tempfile.TemporaryDirectory() as work:
        for words in asked:
            a = told(Path(old).resolve(), words, Path(work, "a"))
            b = told(Path(new).resolve(), words, Path(work, "b"))
            if a != b:
                different += 1
                print(f"different: {' '.join(words)}")
                old_lines, new_lines = (text.decode("utf-8", "replace").splitlines() for text in (a, b))
                changes = difflib.unified_diff(old_lines, new_lines, lineterm="", n=0)
                for line in [*changes][2 : 2 + SHOWN_LINES]:
                    print(f"    {line[:160]}")
    print(f"{len(asked) - different} of {len(asked)} outputs are the same, byte for byte")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
