# SPDX-License-Identifier: Apache-2.0
"""Tries every technique that bootscope carries out by itself, each alone, and keeps what came of it.

    python tools/measure_techniques.py [--system stock] [--only ID ...] [--again]

Writes src/bootscope/techniques/measured.json (what `bootscope techniques ID` and docs/techniques.md show),
after each one, so that it can be stopped at any time; what is there for the same base is not tried again
unless --again. Takes some hours where nothing was built before: every way of the kernel is a build.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bootscope.lab.experiment import title  # noqa: E402
from bootscope.techniques.model import MEASURED, techniques  # noqa: E402

BOOTSCOPE = ROOT / "bin" / "bootscope"


def bootscope(*arguments: str) -> dict[str, Any]:
    """What a verb prints as JSON; its message under `error` where it fails."""
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
    """One row of the table."""
    tried = bootscope("try", spec, "--system", system, "--force", "--own-base")
    row = {"technique": spec, "date": datetime.now(UTC).date().isoformat()}
    keys = ("predicted_ns", "works", "faults", "base", "variant", "base_ns", "variant_ns", "saving_ns")
    return {**row, **{key: tried[key] for key in (*keys, "error") if key in tried}}


def main() -> int:
    parser = argparse.ArgumentParser(description="Tries every technique, each alone.")
    parser.add_argument("--system", default="stock")
    parser.add_argument("--only", nargs="+", metavar="ID", help="only these techniques")
    parser.add_argument("--again", action="store_true", help="also what was measured before")
    args = parser.parse_args()
    table = json.loads(MEASURED.read_text()) if MEASURED.exists() else {"rows": []}
    rows: dict[str, dict[str, Any]] = {row["technique"]: row for row in table["rows"]}
    applying = {f["technique"] for f in bootscope("audit", args.system)["findings"]}
    for found in techniques().values():
        for name, way in found.ways.items():
            spec = title(found, name)
            # What does not apply is not proposed, so there is nothing to prove, unless it brings a base.
            applies = spec in applying or way.base.claims()
            wanted = applies and (not args.only or found.id in args.only)
            if not wanted or (spec in rows and not args.again):
                continue
            rows[spec] = measure(spec, args.system)
            print(json.dumps(rows[spec]), flush=True)
            command = f"python tools/measure_techniques.py --system {args.system}"
            table = {"command": command, "system": args.system, "rows": [rows[key] for key in sorted(rows)]}
            MEASURED.write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
