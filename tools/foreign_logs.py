# SPDX-License-Identifier: Apache-2.0
"""Compares bootscope with the known facts of boot logs that other people published.

    python tools/foreign_logs.py FOLDER [NAME ...] [--fetch] [--plain] [--list FILE]

FOLDER holds the logs of foreign_logs.toml as NAME.log, each with the sha256 that the list gives; --fetch gets
missing ones from GitHub. Each log is imported with `bootscope import --json` into a store that is deleted
afterwards. A log is right if the number of boots, and the stages and times of the first boot are right, and
no milestone has a time where the log holds none. The exit code is 0 only if 95 % of the logs are right, no
log gets a time that it does not hold, and no import took 3 s.

--plain checks how the list was made: what foreign_lines.py reads must match the list, except where a person
corrected it (`by_hand`).

--list reads another list of the same form, such as one of logs that bootscope has never seen.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import tomllib
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import foreign_bootscope
import foreign_lines
from foreign_bootscope import Said

LIST = Path(__file__).with_suffix(".toml")
RIGHT_OF_100 = 95
LIMIT_S = 3.0
FETCH_S = 30
MOST_BYTES = 4_000_000
LOADERS = ("u-boot", "barebox", "cfe", "lk", "depthcharge", "tegra-bootloader", "eva", "realtek")
"""bootscope calls each of these a boot loader."""
FIGURES = ("kernel", "init", "end")
MISSING = Said(fault="the file is missing, or its sha256 is not that of the list; --fetch gets it")


@dataclass(frozen=True, slots=True)
class Foreign:
    """A log of the list: its origin and its facts; times as in foreign_logs.toml."""

    name: str
    kind: str
    source: str
    sha256: str
    stages: tuple[str, ...]
    kernel: str
    init: str
    end: str
    boots: int = 1
    lines: str = ""
    by_hand: str = ""

    def raw(self, folder: Path) -> bytes | None:
        """Its content; None if the file is missing or differs from the listed one."""
        path = folder / f"{self.name}.log"
        raw = path.read_bytes() if path.is_file() else b""
        return raw if hashlib.sha256(raw).hexdigest() == self.sha256 else None


def listed(path: Path = LIST) -> list[Foreign]:
    """The logs of the list."""
    rows: list[dict[str, Any]] = tomllib.loads(path.read_text())["log"]
    return [_foreign(row) for row in rows]


def _foreign(row: dict[str, Any]) -> Foreign:
    times = {name: str(row[f"{name}_ns"]) for name in FIGURES}
    rest = {key: value for key, value in row.items() if not key.endswith("_ns")}
    return Foreign(**{**rest, **times, "stages": tuple(row["stages"])})


def wrong(log: Foreign, said: Said) -> list[str]:
    """The differences from the list: field, reported value and correct value."""
    if said.fault:
        return [said.fault]
    fields: list[tuple[str, object, object]] = [("boots", said.boots, log.boots)]
    fields.append(("stages", " ".join(_words(said.stages)), " ".join(_words(log.stages))))
    fields += [(name, getattr(said, name), getattr(log, name)) for name in FIGURES]
    found = [f"{name} {was}, right is {right}" for name, was, right in fields if was != right]
    return [*found, *_invented(log, said)]


def _invented(log: Foreign, said: Said) -> list[str]:
    """The milestones with a time where the log holds no time of the first boot."""
    if not said.dated or any(getattr(log, name) != "unknown" for name in FIGURES):
        return []
    return [f"times that the log does not hold: {', '.join(said.dated)}"]


def _words(stages: tuple[str, ...]) -> Iterator[str]:
    return ("bootloader" if stage in LOADERS else stage for stage in stages)


def fetch(log: Foreign, folder: Path) -> str:
    """Gets a log from GitHub; returns why that failed, or an empty text."""
    repository, _, rest = log.source.partition("@")
    commit, _, path = rest.partition(":")
    url = f"https://raw.githubusercontent.com/{repository}/{commit}/{urllib.parse.quote(path)}"
    try:
        with urllib.request.urlopen(url, timeout=FETCH_S) as answer:
            raw = answer.read(MOST_BYTES + 1)
    except OSError as error:
        return f"{url}: {error}"
    if log.lines:
        first, _, last = log.lines.partition("-")
        raw = b"\n".join(raw.split(b"\n")[int(first) - 1 : int(last)]) + b"\n"
    if hashlib.sha256(raw).hexdigest() != log.sha256:
        return f"{url}: its sha256 is not that of the list"
    (folder / f"{log.name}.log").write_bytes(raw)
    return ""


def check(logs: list[Foreign], folder: Path) -> bool:
    """Compares bootscope with each log and prints the table; returns whether the result is good enough."""
    right = slow = invented = 0
    with tempfile.TemporaryDirectory() as store:
        for log in logs:
            there = log.raw(folder) is not None
            said = foreign_bootscope.said_of(folder / f"{log.name}.log", Path(store)) if there else MISSING
            faults = wrong(log, said)
            right += not faults
            slow += said.seconds >= LIMIT_S
            invented += bool(_invented(log, said))
            print(f"{'WRONG' if faults else 'right'}  {said.seconds:5.2f} s  {log.name:28}  {log.kind}")
            print("".join(f"         {fault}\n" for fault in faults), end="")
    chips = len({log.kind.partition(";")[0] for log in logs})
    print(f"{right} of {len(logs)} logs right; {chips} chips, {len({log.kind for log in logs})} kinds")
    print(f"{invented} with a time that the log does not hold; {slow} took {LIMIT_S:.0f} s or more")
    return bool(logs) and right * 100 >= RIGHT_OF_100 * len(logs) and not slow and not invented


def check_plain(logs: list[Foreign], folder: Path) -> bool:
    """Compares the list with plain expressions; returns whether they differ only where a reader corrected
    them."""
    unexplained = 0
    for log in logs:
        raw = log.raw(folder)
        told = foreign_lines.read(raw or b"")
        said = Said(told.boots, tuple(told.stages), told.kernel, told.init, told.end)
        faults = wrong(log, said if raw is not None else MISSING)
        unexplained += bool(faults) and not log.by_hand
        for fault in faults:
            print(f"{log.name}: {fault}; by hand: {log.by_hand or 'NOT EXPLAINED'}")
    corrected = sum(bool(log.by_hand) for log in logs)
    print(f"{len(logs)} logs: {corrected} corrected by hand, {unexplained} differ without a reason")
    return bool(logs) and not unexplained


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare bootscope with logs that others published.")
    parser.add_argument("folder", type=Path, help="folder with the logs, as NAME.log")
    parser.add_argument("names", nargs="*", help="only these logs of the list (default: all)")
    parser.add_argument("--fetch", action="store_true", help="get missing logs from GitHub first")
    parser.add_argument("--plain", action="store_true", help="compare the plain expressions, not bootscope")
    parser.add_argument("--list", type=Path, default=LIST, metavar="FILE", help="another list like it")
    asked = parser.parse_args()
    logs = [log for log in listed(asked.list) if not asked.names or log.name in asked.names]
    if unknown := set(asked.names) - {log.name for log in logs}:
        parser.error(f"not in {asked.list.name}: {', '.join(sorted(unknown))}")
    if asked.fetch:
        asked.folder.mkdir(parents=True, exist_ok=True)
        for log in logs:
            if log.raw(asked.folder) is None and (why := fetch(log, asked.folder)):
                print(f"not fetched: {log.name}: {why}", file=sys.stderr)
    compare = check_plain if asked.plain else check
    return 0 if compare(logs, asked.folder) else 1


if __name__ == "__main__":
    sys.exit(main())
