# SPDX-License-Identifier: Apache-2.0
"""Compares `bootscope audit` with what a person found in boots of product-like systems.

    python tools/audit_foreign.py FOLDER [NAME ...] [--page docs/audited-logs.md]

FOLDER holds the logs as tools/foreign_logs.py keeps them (NAME.log; `foreign_logs.py FOLDER --fetch` gets
them); our own logs are in the checkout. audit_foreign.toml lists the largest costs of each. An audit is right
if each of these causes is in its first five rows, and no row is about what the system cannot use. The exit
code is 0 only if all audits are right. --page writes the table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import foreign_logs

LIST = Path(__file__).with_suffix(".toml")
ROOT = Path(__file__).resolve().parent.parent
FIRST, SHOWN, LIMIT_S = 5, 10, 120
WHERE = 70
"""Characters shown of a location."""
_MS, _S = 1_000_000, 1_000_000_000
HEAD = """# Audits of product-like boots

The largest costs in boots that other people published, and in one of our own. On the left is what a person
found by reading the largest steps of the log and the lines in them, on the right are the first five rows of
`bootscope audit FILE`. Logs are named as repository@commit:path; they are not part of this project. `python
tools/audit_foreign.py FOLDER` compares the two and fails if a cause is not in the first five rows, or a row
is about something that the system cannot use; `--page` wrote this page. All figures of an audit are upper
bounds.
"""


@dataclass(frozen=True, slots=True)
class Boot:
    """A boot of the list; `path` is its log, `source` the log's origin."""

    name: str
    kind: str
    path: Path
    source: str
    causes: tuple[tuple[str, str], ...]
    never: tuple[str, ...]


def listed(folder: Path) -> list[Boot]:
    """The boots of the list. Raises KeyError for a log that is not in foreign_logs.toml."""
    known = {log.name: log for log in foreign_logs.listed()}
    return [_boot(row, folder, known) for row in tomllib.loads(LIST.read_text())["boot"]]


def _boot(row: Mapping[str, Any], folder: Path, known: Mapping[str, foreign_logs.Foreign]) -> Boot:
    name = row["log"]
    ours = name.startswith("tests/")
    path = ROOT / name if ours else folder / f"{name}.log"
    source = name if ours else known[name].source
    causes = tuple((cause["what"], cause["row"]) for cause in row["causes"])
    return Boot(name, row["kind"], path, source, causes, tuple(row["never"]))


def audited(path: Path) -> list[dict[str, Any]]:
    """The rows of a log's audit, the largest gain first."""
    with tempfile.TemporaryDirectory() as store:
        done = subprocess.run(
            [str(ROOT / "bin" / "bootscope"), "audit", str(path), "--json"],
            env={**os.environ, "BOOTSCOPE_STORE": store},
            capture_output=True,
            timeout=LIMIT_S,
            check=True,
        )
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return rows


def faults(boot: Boot, rows: list[dict[str, Any]]) -> Iterator[str]:
    """The errors of an audit, in words."""
    said = [f"{row['what']} {row['where']}" for row in rows]
    for what, expression in boot.causes:
        found = next((place for place, words in enumerate(said) if re.search(expression, words)), None)
        if found is None:
            yield f"not reported: {what}"
        elif found >= FIRST:
            yield f"reported only in row {found + 1}: {what}"
    for technique in (name for row in rows[:SHOWN] for name in _named(row)):
        yield from (f"impossible: {technique}" for never in boot.never if re.search(never, technique))


def _named(row: Mapping[str, Any]) -> list[str]:
    """The techniques of a row: the recipe to try, and all that may help."""
    return list(dict.fromkeys([*([row["technique"]] if row["technique"] else []), *row["techniques"]]))


def shown(row: Mapping[str, Any]) -> str:
    """A row as a cell of the page."""
    ns = row["cost_ns"]
    cost = f"{ns / _S:.1f} s" if ns >= _S else f"{ns // _MS} ms"
    where = f" ({row['where'][:WHERE]} ...)" if row["what"].endswith("systemd starts units") else ""
    return f"{cost}: {row['what']}{where}".replace("|", "/")


def section(boot: Boot, rows: list[dict[str, Any]]) -> str:
    """The table of a boot for the page."""
    cells = [f"| {_cause(boot, row)} | {shown(row)} |" for row in rows[:FIRST]]
    head = f"\n## {boot.name.removeprefix('tests/fixtures/readers/')}\n\n{boot.kind}. `{boot.source}`\n"
    command = f"`bootscope audit {boot.path.name}`"
    return "\n".join([head, f"| found by reading | {command} |", "|---|---|", *cells, ""])


def _cause(boot: Boot, row: Mapping[str, Any]) -> str:
    words = f"{row['what']} {row['where']}"
    return "; ".join(what for what, expression in boot.causes if re.search(expression, words))


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare audits with what a person found in the logs.")
    parser.add_argument("folder", type=Path, help="folder with the logs, as NAME.log")
    parser.add_argument("names", nargs="*", help="only these boots of the list (default: all)")
    parser.add_argument("--page", type=Path, help="write the table to this page")
    asked = parser.parse_args()
    page, right = [HEAD], 0
    boots = [boot for boot in listed(asked.folder) if not asked.names or boot.name in asked.names]
    for boot in boots:
        rows = audited(boot.path) if boot.path.is_file() else []
        found = list(faults(boot, rows)) if rows else ["the log is missing; foreign_logs.py --fetch gets it"]
        right += not found
        print(f"{'WRONG' if found else 'right'}  {boot.name:44}  {boot.kind}")
        print("".join(f"       {fault}\n" for fault in found), end="")
        page.append(section(boot, rows))
    print(f"{right} of {len(boots)} audits right")
    if asked.page:
        asked.page.write_text("".join(page))
    return 0 if boots and right == len(boots) else 1


if __name__ == "__main__":
    sys.exit(main())
