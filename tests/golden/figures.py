# SPDX-License-Identifier: Apache-2.0
"""The figures of a recording that are kept: phases, milestones, what takes the time, predictions, savings.

`PYTHONPATH=src python -m tests.golden.figures RUN` prints those of a run of the store: that is stock.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from tests.command import Bootscope

PREDICTED = (
    "quiet", "bootdelay=0", "no-console", "loader-silent", "exact-read", "falcon", "card=2x",
    "rootfs=squashfs-lz4hc", "compression=lz4", "kernel-bytes=-1000000", "memory=256M", "one-shell",
    "console=921600",
)  # fmt: skip
VIEWS = ("initcalls", "functions", "processes", "storage", "console", "waits", "critical-path", "floor")
Ask = Callable[..., dict[str, Any]]
"""Runs bootscope with these words and --json; what it printed."""


def times(value: Any, name: str = "") -> Any:
    """What of a JSON text are times and counts, by their keys, in order."""
    if isinstance(value, dict):
        inside = {key: times(each, key) for key, each in value.items()}
        return {key: each for key, each in inside.items() if each not in (None, {}, [])}
    if isinstance(value, list):
        return [each for each in (times(item, name) for item in value) if each not in (None, {}, [])]
    is_figure = isinstance(value, int) and not isinstance(value, bool)
    return value if is_figure and name.endswith(("_ns", "_bytes", "calls", "count")) else None


def figures(ask: Ask, run: str) -> dict[str, Any]:
    """The figures of a run."""
    shown = ask("show", run)
    audit = ask("audit", run)
    savings = {t["technique"]: t["saving_ns"] for t in audit["techniques"] if t.get("saving_ns") is not None}
    return {
        "milestones": shown["milestones"],
        "phases": {phase["name"]: times(phase) for phase in shown["phases"]},
        "predicted_ns": {name: ask("what-if", run, name)["predicted_ns"] for name in PREDICTED},
        "savings_ns": savings,
        "culprits": [times(culprit) for culprit in audit["findings"]],
        "views": {view: times(ask("show", run, "--view", view, "--top", "5")) for view in VIEWS},
    }


def main(run: str) -> None:
    """Prints the figures of a run of the ordinary store, with the id of what was booted."""
    from bootscope.core.paths import store_dir

    bootscope = Bootscope(store_dir())
    kept = {"build": bootscope.json("show", run)["build_id"], "figures": figures(bootscope.json, run)}
    json.dump(kept, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1])
