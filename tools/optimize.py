# SPDX-License-Identifier: Apache-2.0
"""Optimizes a reference system and keeps the result, for docs/optimized.md and similar pages.

    python tools/optimize.py [--system NAME] [OPTION of `bootscope optimize` ...]
    python tools/optimize.py [--system NAME] --page    only writes the page again from the kept result

Takes up to two hours on two cores. A unit test compares the pages with the kept results, so they
cannot become outdated.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "src" / "bootscope" / "techniques"


@dataclass(frozen=True)
class Reference:
    """A system with a page. `ending`: suffix of the names of page and files; `first`: what its own time
    begins with; `about`: the page's text before the figures."""

    system: str
    title: str
    ending: str
    first: str
    about: tuple[str, ...]

    @property
    def kept(self) -> Path:
        """The file with the result of its search."""
        return HERE / f"optimized{self.ending}.json"

    @property
    def alone(self) -> Path:
        """The file with the gain of each technique alone (tools/measure_techniques.py)."""
        return HERE / f"measured{self.ending}.json"

    @property
    def page(self) -> Path:
        """Its page."""
        return ROOT / "docs" / f"optimized{self.ending}.md"


_SEARCH = "[shrink.md](shrink.md) describes the search."
STOCK = Reference(
    "stock",
    "The reference system, optimized",
    "",
    "the SPL's start",
    (
        "It chose among the techniques that earlier searches of all (`make optimize`) kept on 2026-11-21 and",
        "2026-11-22, all ways to compress the kernel, and techniques added later. The emulated",
        f"board is exact, so the same versions give the same figures. {_SEARCH}",
    ),
)
SYSTEMD = Reference(
    "debian-systemd",
    "The reference system with systemd, optimized",
    "-systemd",
    "the first stage's start",
    (
        "Login and network must still come up, and the picture must stay the same. The emulated board is",
        f"exact, so the same versions give the same figures. {_SEARCH}",
    ),
)
ARM64 = Reference(
    "debian-arm64",
    "Debian on virt-arm64, optimized",
    "-arm64",
    "BL1's start",
    (
        "[virt-arm64.md](virt-arm64.md) describes the board, and what its figures leave out.",
        "`app-profile-hot-code` is what it was until 2026-11-27: another program in the application's place.",
        _SEARCH,
    ),
)
RISCV64 = Reference(
    "debian-riscv64",
    "Debian on virt-riscv64, optimized",
    "-riscv64",
    "the SPL's start",
    (
        "[virt-riscv64.md](virt-riscv64.md) describes the board, and what its figures leave out.",
        _SEARCH,
    ),
)
QT = Reference(
    "stock-qt",
    "A Qt application, optimized",
    "-qt",
    "the SPL's start",
    ("The system is that of the story [qt-2009](stories/qt-2009.md), before its first step.", _SEARCH),
)
PLAYER = Reference(
    "stock-player",
    "A video player, optimized",
    "-player",
    "the SPL's start",
    ("ffmpeg shows what a camera sees. The picture must stay the same.", _SEARCH),
)
REFERENCES = {one.system: one for one in (STOCK, SYSTEMD, ARM64, RISCV64, QT, PLAYER)}
_ROM = "rom"


def measure(options: list[str], system: str = STOCK.system) -> dict[str, Any]:
    """Runs the search, with its progress on the terminal; returns its JSON output, and when and how it was
    run."""
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
    """The command without the paths of its files, which are private."""
    at = command.index("-o") if "-o" in command else len(command)
    return command[:at] + command[at + 2 :]


def page(kept: dict[str, Any], reference: Reference = STOCK) -> str:
    """The whole page."""
    return "\n".join(_lines(kept, reference)) + "\n"


def _lines(kept: dict[str, Any], reference: Reference) -> Iterator[str]:
    yield f"# {reference.title}"
    yield ""
    yield f"<!-- made by tools/optimize.py from src/bootscope/techniques/{reference.kept.name} -->"
    yield ""
    yield f"Result of `{kept['command']}` on {kept['date']}, unattended."
    yield from reference.about
    yield "All boots are without a core, where each instruction takes the same time: `BOOTSCOPE_CORE=none`"
    yield "([cores.md](cores.md))."
    yield from _search(kept, reference.first)
    if kept.get("beside"):
        yield from ("", f"# With {', '.join(kept['beside']['keep'])} kept")
        if earlier := kept["beside"].get("command"):
            yield from ("", f"This result is of an earlier search, `{earlier}`")
            yield f"of {kept['beside']['date']}, without the techniques added later."
        yield from _search(kept["beside"], reference.first, second=True)
    if reference is not STOCK and reference.alone.exists():
        yield from _alone(json.loads(reference.alone.read_text()), reference)


def _alone(table: dict[str, Any], reference: Reference) -> Iterator[str]:
    """The gain of each technique, tried alone on the unchanged system."""
    yield from ("", "# Each technique alone", "")
    yield f"`{table['command']}` ran `bootscope try` for each on `{reference.system}`; times are exact."
    yield from ("", "| technique | saving, ns | predicted, ms | works |", "|---|---:|---:|---|")
    for row in sorted(table["rows"], key=lambda row: -(row.get("saving_ns") or 0)):
        saved = "" if row.get("saving_ns") is None else f"{row['saving_ns']:,}"
        told = row.get("predicted_ns")
        works = "yes" if row.get("works") else table_cell(row.get("error") or "; ".join(row["faults"]))
        yield f"| {row['technique']} | {saved} | {'' if told is None else f'{told / 1e6:,.1f}'} | {works} |"


def _took(found: dict[str, Any], second: bool) -> Iterator[str]:
    """The effort of a search."""
    if second:
        yield f"- {found['host_s'] / 60:.0f} min of host time"
    elif 0 < found["measured"] < (trials := len(found["experiments"])):
        yield f"- {trials} trials; {found['measured']} of their systems built or booted in the last"
        yield f"  {found['host_s'] / 60:.0f} min of host time, the others were already known"
    elif found["measured"]:
        yield f"- {found['measured']} systems built or booted in {found['host_s'] / 60:.0f} min of host time"
    else:
        yield f"- repeated: nothing was built or booted again, it took {found['host_s']:.0f} s of host time"


def _search(found: dict[str, Any], first: str, second: bool = False) -> Iterator[str]:
    before, after = _own(found, "a_ns"), _own(found, "b_ns")
    floor = found["floor"]
    yield ""
    yield f"- {found['until']} after **{_s(found['final_ns'])} s** instead of {_s(found['base_ns'])} s;"
    yield f"  from {first}, without power-up and boot ROM: **{_s(after)} s**"
    yield f"  instead of {_s(before)} s, **{before / after:.1f} times** as fast"
    yield f"- lower bound of this board with these images: {_s(floor['floor_ns'])} s; "
    yield f"  today's boot is {floor['ratio_ppm'] / 1e6:.2f} times as long"
    yield f"- removes: {', '.join(found['loses']) or 'nothing'}"
    yield f"- recordings: {found['base']}, {found['run_id']}; the search ended because {found['ended']}"
    yield from _took(found, second)
    yield from (
        "",
        "## From the first system to the last",
        "",
        "| added | removed | change, ms | after, s |",
        "|---|---|---:|---:|",
    )
    for step in found["steps"]:
        change = (step["after_ns"] - step["before_ns"]) / 1e6
        names = f"{', '.join(step['came'])} | {', '.join(step['went'])}"
        yield f"| {names} | {change:+,.1f} | {_s(step['after_ns'])} |"
    yield from ("", "## By phase", "", "| phase | before, s | after, s |", "|---|---:|---:|")
    yield from (f"| {p['name']} | {_s(p['a_ns'])} | {_s(p['b_ns'])} |" for p in found["phases"])
    yield from ("", "## What was tried", "", "| tried together | saving, ms | verdict |", "|---|---:|---|")
    for tried in found["experiments"]:
        saved = "" if tried["saving_ns"] is None else f"{tried['saving_ns'] / 1e6:,.1f}"
        verdict = "accepted" if tried["accepted"] else table_cell(tried["refusal"])
        yield f"| {', '.join(tried['techniques'])} | {saved} | {verdict} |"
    if found["ablation"]:
        yield from (
            "",
            "## What each technique saves at the end",
            "",
            "| removed | costs, ms |",
            "|---|---:|",
        )
        for row in found["ablation"]:
            worth = table_cell(row["why"]) if row["worth_ns"] is None else f"{row['worth_ns'] / 1e6:,.1f}"
            yield f"| {row['technique']}{' (left out of the result)' if row['dropped'] else ''} | {worth} |"
    yield from ("", "## Time against capabilities", "", "| boot, s | removes | |", "|---:|---|---|")
    for row in found["pareto"]:
        kind = "booted" if row["measured"] else "estimated"
        yield f"| {_s(row['total_ns'])} | {', '.join(row['loses']) or 'nothing'} | {kind} |"


def _own(found: dict[str, Any], key: str) -> int:
    """Board time from the first stage's start."""
    total: int = sum(p[key] for p in found["phases"] if p["name"] != _ROM)
    return total


def _s(ns: int) -> str:
    return f"{ns / 1e9:.3f}"


def table_cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def main() -> int:
    # A search boots hundreds of times, which would take 2.7 times as long with counts.
    os.environ["BOOTSCOPE_CORE"] = "none"
    options, reference = sys.argv[1:], STOCK
    if options[:1] == ["--system"]:
        reference, options = REFERENCES[options[1]], options[2:]
    if options != ["--page"]:
        found = measure(options, reference.system)
        reference.kept.write_text(json.dumps(found, indent=1) + "\n")
    reference.page.write_text(page(json.loads(reference.kept.read_text()), reference))
    return 0


if __name__ == "__main__":
    sys.exit(main())
