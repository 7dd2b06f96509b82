# SPDX-License-Identifier: Apache-2.0
"""Writes src/bootscope/cores/accuracy.json, by which `show --core` says how far off a figure may be.

    python tools/accuracy_figures.py

It counts nothing: what tools/accuracy.py has kept and the core profiles of today say it all.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bootscope.cores.accuracy import KEPT
from bootscope.published import decompressors
from bootscope.published.errors import written


def main() -> int:
    KEPT.write_bytes(written(decompressors.kept()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
