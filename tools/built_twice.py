# SPDX-License-Identifier: Apache-2.0
"""Builds systems a second time, from scratch in another folder and without a compiler cache, and compares.

    .venv/bin/python tools/built_twice.py [SYSTEM ...] [--share STEP] [--boot-twice] [--json FILE]

The first build is the one in the ordinary cache, made there if necessary; only downloads are shared, and the
results of steps named by --share (a kernel takes 20 minutes on two cores). All files are compared by SHA-256.
Then both builds are recorded, the streams compared, and the milestones printed in ns, for a comparison with
other computers (docs/exactness.md). --boot-twice records the first build twice, with a busy process for every
core while it boots. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SYSTEMS = ("debian-arm64", "debian-riscv64", "debian-amd64", "stock-zynq", "debian-systemd")
UNTIL = {"debian-systemd": ("--until", "login")}
# From this checkout, if it is not installed.
sys.path.insert(0, str(ROOT / "src"))
from bootscope.core.paths import cache_dir


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("systems", nargs="*", default=SYSTEMS, metavar="SYSTEM")
    parser.add_argument("--share", action="append", default=[], metavar="STEP")
    parser.add_argument("--boot-twice", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    asked = parser.parse_args()
    results = {}
    for system in asked.systems:
        with tempfile.TemporaryDirectory(prefix="built-twice-") as folder:
            results[system] = _compare(system, Path(folder), asked.share, twice=asked.boot_twice)
        _tell(system, results[system])
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1) + "\n")
    return int(any(found["different"] or len(found["streams"]) != 1 for found in results.values()))


def _compare(system: str, folder: Path, share: list[str], *, twice: bool) -> dict[str, Any]:
    first = _bootscope("build", system)
    # Deeper than the ordinary one, so that a path that gets into an image changes it.
    cache = folder / "another" / "place" / "for" / "builds"
    (cache / "steps").mkdir(parents=True)
    (cache / "sources").symlink_to(cache_dir() / "sources")
    for name in share:
        taken = Path(first["steps"][name]["path"])
        (cache / "steps" / taken.name).symlink_to(taken)
    second = _bootscope("build", system, "--no-ccache", cache=cache)
    files = [dict(_files(built)) for built in (first, second)]
    different = sorted(name for name in {*files[0], *files[1]} if files[0].get(name) != files[1].get(name))
    until = UNTIL.get(system, ())
    boots = [
        _recorded(folder / "one", system, *until, busy=twice, boots=2 if twice else 1),
        _recorded(folder / "two", system, *until, cache=cache),
    ]
    return {
        "files": len(files[0]),
        "shared": share,
        "different": different,
        "streams": sorted({boot["stream_sha256"] for recorded, _ in boots for boot in recorded["boots"]}),
        "boots": sum(len(recorded["boots"]) for recorded, _ in boots),
        "milestones": boots[0][1],
    }


def _files(built: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, step in built["steps"].items():
        meta = json.loads(Path(step["path"], "meta.json").read_text())
        for file, sha256 in meta["files"].items():
            yield f"{name}/{file}", sha256


def _recorded(
    store: Path, system: str, *until: str, cache: Path | None = None, busy: bool = False, boots: int = 1
) -> tuple[dict[str, Any], dict[str, int]]:
    with _busy() if busy else ExitStack():
        recorded = _bootscope("record", system, *until, "-n", str(boots), cache=cache, store=store)
    shown = _bootscope("show", recorded["run_id"], cache=cache, store=store)
    return recorded, shown["milestones"]


@contextmanager
def _busy() -> Iterator[None]:
    """Runs an endless loop on every core."""
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 2):
            burner = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(burner.kill)
        yield


def _bootscope(*arguments: str, cache: Path | None = None, store: Path | None = None) -> dict[str, Any]:
    env = dict(os.environ)
    env |= {"BOOTSCOPE_CACHE": str(cache)} if cache else {}
    env |= {"BOOTSCOPE_STORE": str(store)} if store else {}
    command = [str(ROOT / "bin" / "bootscope"), *arguments, "--json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"bootscope {' '.join(arguments)}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _tell(system: str, found: dict[str, Any]) -> None:
    shared = f" ({', '.join(found['shared'])} shared)" if found["shared"] else ""
    print(f"{system}: {found['files']} files built twice{shared}, {len(found['different'])} differ")
    for name in found["different"]:
        print(f"  differs: {name}")
    equal = "all equal" if len(found["streams"]) == 1 else f"{len(found['streams'])} different recordings"
    print(f"  {found['boots']} boots, {equal}")
    for name, at_ns in found["milestones"].items():
        print(f"  {name:<18} {at_ns:>14}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
