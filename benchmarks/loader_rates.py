# SPDX-License-Identifier: Apache-2.0
"""What U-Boot needs to check and move a kernel with a header, from two recorded boots of one system.

    python benchmarks/loader_rates.py RUN RUN_WITH_HEADER

Writes src/bootscope/analysis/loader_rates.toml, from which `bootscope what-if RUN uimage` predicts. The
time is the difference of the CPU times in which the kernel is loaded.
"""

from __future__ import annotations

import argparse
import sys

from bootscope.analysis.views import View
from bootscope.analysis.whatif_image import RATES
from bootscope.capture.store import Store
from bootscope.cli.show import view_of
from bootscope.core.paths import store_dir
from bootscope.devices.model import SECTOR_BYTES
from bootscope.timeline.phases import KERNEL_IMAGE


def loading_ns(view: View) -> int:
    """CPU time of the phase in which the kernel is loaded, without that for writing to the console."""
    phase = next(p for p in view.timeline.phases if p.name == "load")
    lines = (line for line in view.ground.lines if phase.start_ns <= line.start_ns < phase.end_ns)
    return phase.cpu_ns - sum(line.cpu_ns for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure U-Boot's time for a kernel with a header.")
    parser.add_argument("plain", help="recorded boot of a zImage")
    parser.add_argument("headed", help="recorded boot of the same zImage with a header")
    args = parser.parse_args()
    store = Store(store_dir())
    plain, headed = (view_of(store, name) for name in (args.plain, args.headed))
    extents = plain.run.info.system.extents
    size = sum(e.sectors for e in extents if e.name == KERNEL_IMAGE) * SECTOR_BYTES
    taken_ns = loading_ns(headed) - loading_ns(plain)
    told = (
        f"{headed.run.info.run_id} beside {plain.run.info.run_id}: {taken_ns / 1e6:.1f} ms for {size} bytes"
    )
    text = f"""\
# SPDX-License-Identifier: Apache-2.0
# What U-Boot needs to check and move a kernel with a header. Made by
#     python benchmarks/loader_rates.py RUN RUN_WITH_HEADER
schema = 1
checksum_ps = {{ value = {taken_ns * 1000 // size}, source = "{told}" }}
"""
    RATES.write_text(text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
