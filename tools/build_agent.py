# SPDX-License-Identifier: Apache-2.0
"""Builds the collector for 32-bit ARM targets, statically with musl, and copies it to FILE.

    python tools/build_agent.py [FILE]

The default FILE is bootscope-agent in the current folder.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.builder.steps.agent import AGENT, build_agent
from bootscope.core.errors import BootscopeError
from bootscope.core.paths import cache_dir
from bootscope.system.load import load_system


def main() -> int:
    """Builds and copies; the exit status."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else AGENT)
    try:
        program = build_agent(load_system("stock"), Runner(Cache(cache_dir()), Progress()), Progress())
        shutil.copy(program, target)
    except BootscopeError as error:
        print(f"build_agent: {error.message}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"build_agent: {target}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{target}: {target.stat().st_size:,} bytes, for 32-bit ARM, static")
    return 0


if __name__ == "__main__":
    sys.exit(main())
