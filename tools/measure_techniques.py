# SPDX-License-Identifier: Apache-2.0
"""Tries every technique that bootscope carries out by itself, each alone, and keeps the results.

    python tools/measure_techniques.py [--system stock] [--only ID ...] [--again] [-n 2]
    python tools/measure_techniques.py --system NAME --together ID ... [--own-base]
    python tools/measure_techniques.py --predict

Writes src/bootscope/techniques/measured.json (what `bootscope techniques ID` and docs/techniques.md show; for
another system than stock a file of its own, such as measured-systemd.json, for what stock cannot prove),
after each one, so that it can be stopped at any time; results for the same base are kept unless --again.
Takes some hours if nothing was built before: every recipe of the kernel is a build.

-n N tries N at a time: while one boots, another is built. Boots of the emulated board are exact, so the
figures are the same.

--together tries those that apply in one build, for systems whose kernel takes long to build, and keeps which
of them an audit of that boot no longer proposes. --own-base starts from the systems that the techniques are
known to shorten, as each alone does.

--predict boots nothing: it recomputes the predictions for what was measured, from the recordings without the
techniques, and prints them beside the savings.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bootscope.analysis.timing import core_counted
from bootscope.analysis.views import view
from bootscope.audit.findings import predicted_ns
from bootscope.boards.profile import CORE_VARIABLE
from bootscope.builder.cache import Cache
from bootscope.capture.record import SYSCALL_FILE
from bootscope.capture.store import Store
from bootscope.capture.stored import RECORDED
from bootscope.changes.experiment import check, chosen, title
from bootscope.core.errors import UserError
from bootscope.core.paths import cache_dir, store_dir
from bootscope.cores.choice import NO_CORE
from bootscope.inventory.recorded import Recorded, facts
from bootscope.techniques.errors import error_percent, median_error_percent
from bootscope.techniques.model import MEASURED, Table, techniques

BOOTSCOPE = ROOT / "bin" / "bootscope"


def bootscope(*arguments: str) -> dict[str, Any]:
    """The JSON output of a verb; its message under `error` where it fails."""
    done = subprocess.run(
        [BOOTSCOPE, *arguments, "--json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout)
        return found
    except ValueError:
        return {"error": done.stderr.strip().splitlines()[0].removeprefix("bootscope: ")}


def measure(spec: str, system: str) -> dict[str, Any]:
    """One row of the table: for the technique's own milestone, where it has one."""
    tried = bootscope("try", spec, "--system", system, "--force", "--own-base")
    row: dict[str, Any] = {"technique": spec, "date": datetime.now(UTC).date().isoformat()}
    keys = ("predicted_ns", "works", "faults", "base", "variant", "base_ns", "variant_ns", "saving_ns")
    row |= {key: tried[key] for key in (*keys, "error") if key in tried}
    if early := tried.get("sooner"):
        return {**row, **early, "later_ns": -row["saving_ns"]}
    return row


def measure_together(specs: list[str], system: str, own_base: bool) -> dict[str, Any]:
    """The effect of several techniques in one build, without those that do not apply; and which of them are
    then in place."""
    applying = {f["technique"] for f in bootscope("audit", system).get("techniques", ())}
    if own_base:
        applying |= {
            spec for spec, (_, _, recipe) in zip(specs, check(specs), strict=True) if recipe.base.claims()
        }
    wanted = [spec for spec in specs if spec in applying]
    print(f"do not apply: {' '.join(spec for spec in specs if spec not in applying) or 'none'}", flush=True)
    tried = bootscope("try", *wanted, "--system", system, *(("--own-base",) if own_base else ()))
    keys = ("works", "faults", "base", "variant", "base_ns", "variant_ns", "saving_ns", "error")
    row: dict[str, Any] = {"techniques": wanted, "date": datetime.now(UTC).date().isoformat()}
    row |= {key: tried[key] for key in keys if key in tried}
    if row.get("variant"):
        before, left = (
            {f["technique"] for f in bootscope("audit", row[key]).get("techniques", ())}
            for key in ("base", "variant")
        )
        # If the audit of the base does not propose one, its absence later proves nothing.
        row["in_place"] = [spec for spec in wanted if spec in before - left]
    return row


def predict_again(rows: dict[str, dict[str, Any]]) -> None:
    """Recomputes the predictions; those whose recording no longer exists stay.

    Boots of the emulated board are exact: a missing base is replaced by another one of the same name that
    took the same time to the nanosecond.
    """
    store, cache = Store(store_dir()), Cache(cache_dir())
    measured = {spec: row for spec, row in rows.items() if row.get("base_ns")}
    known = _alike(store, {_boot(row) for row in measured.values()})
    understood: dict[str, Recorded] = {}
    for spec, row in measured.items():
        found = known.get(_boot(row), [])
        run_id = row["base"] if row["base"] in found else next(iter(found), None)
        if run_id is None:
            print(f"{spec}: no recording {row['base']}: prediction unchanged", file=sys.stderr)
            continue
        if run_id not in understood:
            understood[run_id] = facts(store, view(store, store.load(run_id)), cache)
        row["predicted_ns"] = predicted_ns(understood[run_id], [chosen(spec)[2]])


def _alike(store: Store, boots: set[tuple[str, int]]) -> dict[tuple[str, int], list[str]]:
    """(name, ns to its end) of a boot -> its equivalent recordings: those with a core's counts first, then
    those with system calls, since they allow better predictions, and the oldest first among equals."""
    names, found = {name for name, _ in boots}, defaultdict[tuple[str, int], list[str]](list)
    holds: dict[str, tuple[bool, bool]] = {}
    for run_id in store.run_ids():
        if _name(run_id) in names and store.kind(run_id) == RECORDED:
            with contextlib.suppress(UserError):
                v = view(store, store.load(run_id), indexed=True)
                found[_name(run_id), v.timeline.total_ns].append(run_id)
                calls = SYSCALL_FILE in v.run.info.watch.hooks.values()
                holds[run_id] = core_counted(v.run) is not None, calls
    return {key: sorted(ids, key=lambda i: holds[i], reverse=True) for key, ids in found.items()}


def _boot(row: dict[str, Any]) -> tuple[str, int]:
    """(name of the system, ns to its end) of a row's base."""
    return _name(row["base"]), row["base_ns"]


def _name(run_id: str) -> str:
    return re.sub(r"^\d+-\d+-|-\d+$", "", run_id)


def print_errors(kept: Path) -> None:
    """Prints predictions and measurements, the largest error first."""
    rows = list(msgspec.json.decode(kept.read_bytes(), type=Table).rows)
    print(f"{'technique':32}{'predicted, ms':>14}{'saving, ms':>11}{'error':>9}")
    for row in sorted(rows, key=lambda row: -abs(error_percent(row) or 0)):
        error = error_percent(row)
        cells = ("" if ns is None else f"{ns / 1e6:,.1f}" for ns in (row.predicted_ns, row.saving_ns))
        first, second = cells
        print(f"{row.technique:32}{first:>14}{second:>11}{'' if error is None else f'{error:+.1f} %':>9}")
    found = median_error_percent(rows)
    strict = median_error_percent(rows, strict=True)
    if found and strict:
        print(f"median error of {strict[1]} with an effect, no prediction counts as 100 %: {strict[0]:.1f} %")
        print(f"median error of {found[1]} predictions: {found[0]:.1f} % of the saving")


def main() -> int:
    # Hundreds of boots, which would take 2.7 times as long with counts. All figures are of the same kind.
    os.environ[CORE_VARIABLE] = NO_CORE
    parser = argparse.ArgumentParser(description="Try every technique alone.")
    parser.add_argument("--system", default="stock")
    parser.add_argument("--only", nargs="+", metavar="ID", help="try only these techniques")
    parser.add_argument("--again", action="store_true", help="also try what was measured before")
    parser.add_argument("-n", type=int, default=2, metavar="N", help="tries at the same time (default: 2)")
    parser.add_argument("--together", nargs="+", metavar="ID", help="try these in one build")
    parser.add_argument("--own-base", action="store_true", help="with --together: use the base of each")
    parser.add_argument("--predict", action="store_true", help="only recompute the predictions")
    args = parser.parse_args()
    kept = kept_of(args.system)
    table = json.loads(kept.read_text()) if kept.exists() else {"rows": []}
    rows: dict[str, dict[str, Any]] = {row["technique"]: row for row in table["rows"]}
    if args.predict:
        predict_again(rows)
        kept.write_text(json.dumps(table, indent=1) + "\n")
        print_errors(kept)
        return 0
    if args.together:
        row = measure_together(args.together, args.system, args.own_base)
        print(json.dumps(row), flush=True)
        # A failed boot says nothing about the techniques.
        if not row.get("variant"):
            return 1
        keep_together(row, args.system)
        return 0
    specs = to_measure(args.system, args.only, () if args.again else rows)
    pool = ThreadPoolExecutor(max(1, args.n))
    try:
        for made in as_completed([pool.submit(measure, spec, args.system) for spec in specs]):
            row = made.result()
            if row.get("error") == "interrupted":
                continue  # says nothing about the technique
            print(json.dumps(row), flush=True)
            keep(row, args.system)
    finally:
        # Tasks that have not begun when it is stopped are dropped.
        pool.shutdown(cancel_futures=True)
    return 0


def keep(row: dict[str, Any], system: str) -> None:
    """Puts a row into the current table of a system: another process may write it, too."""
    table = _table(system)
    rows = {each["technique"]: each for each in [*table["rows"], row]}
    _write({**table, "rows": [rows[key] for key in sorted(rows)]})


def keep_together(row: dict[str, Any], system: str) -> None:
    """The same for techniques in one build; the same techniques replace their earlier row."""
    table = _table(system)
    others = [each for each in table.get("together", ()) if each["techniques"] != row["techniques"]]
    _write({**table, "together": [*others, row]})


def _table(system: str) -> dict[str, Any]:
    kept = kept_of(system)
    there: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {"rows": []}
    return {**there, "command": f"python tools/measure_techniques.py --system {system}", "system": system}


def _write(table: dict[str, Any]) -> None:
    first = {key: table[key] for key in ("command", "system", "rows")}
    kept_of(table["system"]).write_text(json.dumps({**first, **table}, indent=1) + "\n")


def kept_of(system: str) -> Path:
    """The file with the figures of a system."""
    short = system.removeprefix("debian-")
    return MEASURED if system == "stock" else MEASURED.with_name(f"measured-{short}.json")


def to_measure(system: str, only: Collection[str], known: Collection[str]) -> list[str]:
    """The recipes to try: all, or those of `only`, without the known ones."""
    # Without a recording nothing is known about the system.
    applying = {f["technique"] for f in bootscope("audit", system).get("techniques", ())}
    specs = []
    for found in techniques().values():
        for name, recipe in found.recipes.items():
            spec = title(found, name)
            # What does not apply is not proposed, so there is nothing to prove, unless it has a base of its
            # own, or is for one milestone or other hardware, which no audit covers.
            other_board = "board" in recipe.change.settings
            applies = spec in applying or recipe.base.claims() or recipe.milestone or other_board
            if applies and (not only or found.id in only) and spec not in known:
                specs.append(spec)
    return specs


if __name__ == "__main__":
    sys.exit(main())
