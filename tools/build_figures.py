# SPDX-License-Identifier: Apache-2.0
"""Writes how long a first build of the reference system takes: src/bootscope/builder/figures.json.

    bootscope build stock --no-ccache     # with an empty cache, on an otherwise idle computer
    .venv/bin/python tools/build_figures.py

The times come from the cache (BOOTSCOPE_CACHE), which keeps those of the last build; steps that the cache
does not know keep their time. The time of a step is the CPU time of its processes, spread over the cores
where it compiles: other programs that ran meanwhile do not count.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.builder.history import FIGURES, Figures, Took, last, shipped
from bootscope.core.paths import cache_dir

STEPS = ("unpack-uboot", "unpack-linux", "unpack-busybox", "uboot", "busybox", "kernel")
MADE_BY = "python tools/build_figures.py"


def main() -> int:
    steps = dict(shipped().steps)
    for name in STEPS:
        took = last(cache_dir(), name)
        if took:
            steps[name] = alone(took)
        print(f"{name}: {steps.get(name, 'not in the cache')}")
    figures = Figures(MADE_BY, {name: steps[name] for name in STEPS if name in steps})
    FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=1) + b"\n")
    return 0


def alone(took: Took) -> Took:
    """The time on a computer that does nothing else; compiling keeps all cores busy."""
    return msgspec.structs.replace(took, time_ns=took.cpu_ns // (took.cores if took.units else 1))


if __name__ == "__main__":
    sys.exit(main())
