# SPDX-License-Identifier: Apache-2.0
"""What bootscope reports about a log, by its own commands, in the terms of foreign_logs.toml."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 120
CONSOLE, BY_SYSTEMD = "Phases, by console lines", "Phases, by systemd"
UNTIMED = "Without a time, in the order of the log"
KERNEL = ("decompress", "early-kernel", "kernel")
LINUX = ("kernel", "initramfs", "init")
LEFT_OUT = ("earlier", "load", "application", "login", "console-ready", "systemd-finished", "default-target")
WORDS = {
    "kernel-done": "init",
    "init-seen": "init",
    "switch-root": "initramfs",
    "root-mounted": "kernel",
    # systemd's own words.
    "initrd": "initramfs",
    "userspace": "init",
}
ENDS = ("login", "console-ready", "systemd-finished")


@dataclass(slots=True)
class Said:
    """Boots, the stages of the first in order, times as in the list; `seconds`: how long the import took.

    `dated`: milestones with a time, whatever their names. `fault`: why there is no more.
    """

    boots: int = 0
    stages: tuple[str, ...] = ()
    kernel: str = "unknown"
    init: str = "unknown"
    end: str = "unknown"
    seconds: float = 0.0
    fault: str = ""
    dated: tuple[str, ...] = ()


def said_of(log: Path, store: Path) -> Said:
    """Imports a log into `store` and shows its first boot."""
    began = time.perf_counter()
    imported, fault = _run(["import", str(log), "--json"], store)
    seconds = time.perf_counter() - began
    if imported is None:
        return Said(seconds=seconds, fault=fault)
    shown, fault = _run(["show", f"{imported['run_id']}/1", "--json"], store)
    if shown is None:
        return Said(seconds=seconds, fault=fault)
    boots = sum(len(file["boots"]) for file in imported["files"])
    return Said(boots, _stages(shown), *_times(shown), seconds, dated=tuple(shown["milestones"]))


def _run(words: list[str], store: Path) -> tuple[Any, str]:
    environment = {**os.environ, "BOOTSCOPE_STORE": str(store)}
    command = [str(ROOT / "bin" / "bootscope"), *words]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return None, f"not done after {LIMIT_S} s"
    if done.returncode:
        return None, done.stderr.decode("utf-8", "replace").strip()[:200]
    return json.loads(done.stdout), ""


def _stages(shown: Any) -> tuple[str, ...]:
    """The stages without a time, then the phases; a second start of a stage counts as the first."""
    rows = [row[0] for table in shown["tables"] if table["title"] == UNTIMED for row in table["rows"]]
    tracks = {phase["track"] for phase in shown["phases"]}
    # systemd's own account repeats what the lines say, unless they say nothing.
    track = CONSOLE if CONSOLE in tracks else BY_SYSTEMD
    others = tracks - {CONSOLE, BY_SYSTEMD}
    names = [phase["name"] for phase in shown["phases"] if phase["track"] in (track, *others)]
    # A combined phase is two stages: kernel+initramfs.
    phases = [
        part for name in names for part in (("kernel", "initramfs") if "+initramfs" in name else (name,))
    ]
    timed = {_word(name) for name in phases}
    # A line without a time may belong to a phase with times from systemd.
    names = [*(name for name in rows if _word(name) not in timed), *phases]
    words = [word for name in names if (word := _word(name))]
    # U-Boot also prints "Starting kernel ..." for an OpenSBI with the kernel behind it.
    last = max((i for i, word in enumerate(words) if word not in LINUX), default=-1)
    words = [word for i, word in enumerate(words) if i >= last or word not in LINUX]
    return tuple(_first_programs([name for name, _ in groupby(words)]))


def _word(name: str) -> str:
    if name in LEFT_OUT:
        return ""
    stage, _, number = name.rpartition("-")
    name = WORDS.get(name, stage if number.isdigit() and stage else name)
    return "kernel" if name.startswith(KERNEL) else name


def _first_programs(found: list[str]) -> list[str]:
    """Without a clock, the switch to the root comes after init: the first init was the initramfs's."""
    if "initramfs" in found and "init" in found and found.index("init") < found.index("initramfs"):
        rest = [name for name in found if name not in ("init", "initramfs")]
        return [*rest, "initramfs", "init"]
    return found


def _times(shown: Any) -> tuple[str, str, str]:
    milestones, later = shown["milestones"], set(shown["milestones_or_later"])

    def of(name: str) -> str:
        return f"{'>=' if name in later else ''}{milestones[name]}"

    init = next((of(name) for name in ("init", "kernel-done") if name in milestones), "unknown")
    kernel = of("kernel-entry") if "kernel-entry" in milestones else "unknown"
    ends = [name for name in ENDS if name in milestones]
    if ends:
        return kernel, init, of(max(ends, key=lambda name: milestones[name]))
    if "default-target" in milestones:
        return kernel, init, of("default-target")
    cut = any(note.startswith("the boot ended at") for note in shown["notes"])
    return kernel, init, str(shown["total_ns"]) if cut and shown["total_ns"] is not None else "unknown"
