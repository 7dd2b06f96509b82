# SPDX-License-Identifier: Apache-2.0
"""Optimizes the reference system, or another of SYSTEMS, and keeps what came of it, for docs/optimized.md.

    python tools/optimize.py [SYSTEM] [OPTION of `bootscope optimize` ...]
    python tools/optimize.py --page        only writes the pages anew from what is kept

Takes up to two hours on two cores. A unit test compares the pages with what is kept, so that they cannot
grow old.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SYSTEMS = {"stock": "", "debian-arm64": "-arm64", "debian-riscv64": "-riscv64"}
"""System -> how the names of its files end."""
_FIRST = {"stock": "the SPL's", "debian-arm64": "BL1's", "debian-riscv64": "the SPL's"}
_ABOUT = {
    "stock": (
        "# The reference system, optimized",
        "`make optimize` searches among all techniques. The emulated board is exact, so that the same",
        "versions give the same figures. [shrink.md](shrink.md) says how the search goes.",
    ),
    "debian-arm64": (
        "# Debian on virt-arm64, optimized",
        "The board is that of [virt-arm64.md](virt-arm64.md), which says what its figures leave out.",
        "[shrink.md](shrink.md) says how the search goes.",
    ),
    "debian-riscv64": (
        "# Debian on virt-riscv64, optimized",
        "The board is that of [virt-riscv64.md](virt-riscv64.md), which says what its figures leave out.",
        "[shrink.md](shrink.md) says how the search goes.",
    ),
}
_ROM = "rom"


def kept_at(system: str) -> Path:
    """The file in which the result of a system's search is kept."""
    return ROOT / "src" / "bootscope" / "techniques" / f"optimized{SYSTEMS[system]}.json"


def page_at(system: str) -> Path:
    """The page about a system's search."""
    return ROOT / "docs" / f"optimized{SYSTEMS[system]}.md"


def measure(system: str, options: list[str]) -> dict[str, Any]:
    """Runs the search, with its progress on the terminal; what it prints as JSON, and when and how."""
    command = ["optimize", system, *options]
    done = subprocess.run(
        [ROOT / "bin" / "bootscope", *command, "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    )
    if not done.stdout:
        sys.exit(done.returncode or 3)
    found: dict[str, Any] = json.loads(done.stdout)
    about = {"date": datetime.now(UTC).date().isoformat(), "command": f"bootscope {' '.join(_told(command))}"}
    return {**about, **found}


def _told(command: list[str]) -> list[str]:
    """The command without where its files go, which is nobody else's business."""
    at = command.index("-o") if "-o" in command else len(command)
    return command[:at] + command[at + 2 :]


def page(system: str, kept: dict[str, Any]) -> str:
    """The whole page."""
    return "\n".join(_lines(system, kept)) + "\n"


def _lines(system: str, kept: dict[str, Any]) -> Iterator[str]:
    title, *about = _ABOUT[system]
    yield title
    yield ""
    yield f"<!-- made by tools/optimize.py from src/bootscope/techniques/{kept_at(system).name} -->"
    yield ""
    yield f"What `{kept['command']}` came to on {kept['date']}, unattended."
    yield from about
    yield from _search(system, kept)
    if kept.get("beside"):
        yield from ("", f"# With {', '.join(kept['beside']['keep'])} kept")
        yield from _search(system, kept["beside"], second=True)


def _search(system: str, found: dict[str, Any], second: bool = False) -> Iterator[str]:
    before, after = _own(found, "a_ns"), _own(found, "b_ns")
    floor = found["floor"]
    yield ""
    yield f"- {found['until']} after **{_s(found['final_ns'])} s** instead of {_s(found['base_ns'])} s;"
    yield f"  from {_FIRST[system]} start, without power-up and boot ROM: **{_s(after)} s**"
    yield f"  instead of {_s(before)} s, **{before / after:.1f} times** as fast"
    yield f"- the floor of this board with these images: {_s(floor['floor_ns'])} s; "
    yield f"  today's boot is {floor['ratio_ppm'] / 1e6:.2f} times as long"
    yield f"- removes: {', '.join(found['loses']) or 'nothing'}"
    yield f"- recordings: {found['base']}, {found['run_id']}; it ended because {found['ended']}"
    if second:
        yield f"- {found['host_s'] / 60:.0f} min of the host time"
    elif found["measured"]:
        yield f"- {found['measured']} systems built or booted in {found['host_s'] / 60:.0f} min of host time"
    else:
        yield f"- asked again: nothing was built or booted anew, it took {found['host_s']:.0f} s of host time"
    yield from (
        "",
        "## From the first system to the last",
        "",
        "| came | went | ms | after, s |",
        "|---|---|---:|---:|",
    )
    for step in found["steps"]:
        change = (step["after_ns"] - step["before_ns"]) / 1e6
        names = f"{', '.join(step['came'])} | {', '.join(step['went'])}"
        yield f"| {names} | {change:+,.1f} | {_s(step['after_ns'])} |"
    yield from ("", "## By phase", "", "| phase | before, s | after, s |", "|---|---:|---:|")
    yield from (f"| {p['name']} | {_s(p['a_ns'])} | {_s(p['b_ns'])} |" for p in found["phases"])
    yield from ("", "## What was tried", "", "| tried together | saves ms | verdict |", "|---|---:|---|")
    for tried in found["experiments"]:
        saved = "" if tried["saving_ns"] is None else f"{tried['saving_ns'] / 1e6:,.1f}"
        verdict = "accepted" if tried["accepted"] else table_cell(tried["refusal"])
        yield f"| {', '.join(tried['techniques'])} | {saved} | {verdict} |"
    if found["ablation"]:
        yield from (
            "",
            "## What each technique saves at the end",
            "",
            "| taken away | costs ms |",
            "|---|---:|",
        )
        for row in found["ablation"]:
            worth = table_cell(row["why"]) if row["worth_ns"] is None else f"{row['worth_ns'] / 1e6:,.1f}"
            yield f"| {row['technique']}{' (taken out)' if row['dropped'] else ''} | {worth} |"
    yield from ("", "## Time against capabilities", "", "| s | removes | |", "|---:|---|---|")
    for row in found["pareto"]:
        kind = "booted" if row["measured"] else "estimated"
        yield f"| {_s(row['total_ns'])} | {', '.join(row['loses']) or 'nothing'} | {kind} |"


def _own(found: dict[str, Any], key: str) -> int:
    """Board time from the SPL's start."""
    total: int = sum(p[key] for p in found["phases"] if p["name"] != _ROM)
    return total


def _s(ns: int) -> str:
    return f"{ns / 1e9:.3f}"


def table_cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def main() -> int:
    options = sys.argv[1:]
    system = options.pop(0) if options and options[0] in SYSTEMS else "stock"
    if options != ["--page"]:
        kept_at(system).write_text(json.dumps(measure(system, options), indent=1) + "\n")
    for name in SYSTEMS:
        if kept_at(name).exists():
            page_at(name).write_text(page(name, json.loads(kept_at(name).read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
