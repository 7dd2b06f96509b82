# SPDX-License-Identifier: Apache-2.0
"""How long steps took: the last time on this computer, and for the reference system on another one.

    last/STEP.json         in the cache; only complete builds, none that continued an earlier one

builder/figures.json comes with bootscope; tools/build_figures.py makes it.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

import msgspec

from bootscope.core.damaged import DAMAGED

FIGURES = Path(__file__).with_name("figures.json")


class Took(msgspec.Struct, frozen=True):
    """One run of a step: objects compiled (0: none that can be counted), elapsed time on `cores` cores, and
    the CPU time of all its processes together."""

    units: int
    time_ns: int
    cpu_ns: int
    cores: int

    def on(self, cores: int) -> int:
        """How many ns it takes on `cores` cores; steps that compile use all of them."""
        return self.time_ns * self.cores // cores if self.units else self.time_ns


class Figures(msgspec.Struct, frozen=True):
    """figures.json: the steps of the reference system, and how they were measured."""

    made_by: str
    steps: dict[str, Took]


@functools.cache
def shipped() -> Figures:
    """The figures that come with bootscope."""
    return msgspec.json.decode(FIGURES.read_bytes(), type=Figures)


def cores_for(jobs: int) -> int:
    """How many cores `jobs` jobs keep busy on this computer."""
    return max(1, min(jobs, len(os.sched_getaffinity(0))))


def last(root: Path, step: str) -> Took | None:
    """The last run of this step with the cache at `root`, if known."""
    try:
        return msgspec.json.decode(_path(root, step).read_bytes(), type=Took)
    except (OSError, *DAMAGED):
        return None


def keep(root: Path, step: str, took: Took) -> None:
    """Keeps a run for the next estimate. Raises OSError where it cannot be written."""
    path = _path(root, step)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(msgspec.json.encode(took))


def _path(root: Path, step: str) -> Path:
    return root / "last" / f"{re.sub(r'[^a-z0-9-]', '-', step)}.json"
