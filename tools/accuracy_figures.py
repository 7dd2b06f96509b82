# SPDX-License-Identifier: Apache-2.0
"""Writes src/bootscope/cores/accuracy.json, from which `show --core` reports how far off a figure may be.

    python tools/accuracy_figures.py

It counts nothing: it uses the counts kept by tools/accuracy.py and the current core profiles.
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
