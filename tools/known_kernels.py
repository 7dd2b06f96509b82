# SPDX-License-Identifier: Apache-2.0
"""Writes tests/lab/known_kernels.json: the files of the reference kernel as built on this computer.

    .venv/bin/python tools/known_kernels.py

Builds the stock system first if necessary. Tests on other computers compare their kernel with these files if
sources and tools are the same (the id of the build step stands for them).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KNOWN = ROOT / "tests" / "lab" / "known_kernels.json"
MADE_BY = "python tools/known_kernels.py"


def main() -> int:
    command = [str(ROOT / "bin" / "bootscope"), "build", "stock", "--json"]
    built = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    kernel = Path(built["steps"]["kernel"]["path"])
    meta = json.loads((kernel / "meta.json").read_text())
    known = {"made_by": MADE_BY, "kernels": {kernel.name: meta["files"]}}
    KNOWN.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    print(f"{len(meta['files'])} files of {kernel.name[:12]} -> {KNOWN.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
