# SPDX-License-Identifier: Apache-2.0
"""How long reading a logic analyser's capture takes: the first time, and with the kept result.

    python benchmarks/pin_reading.py [SECONDS] [SAMPLES_A_SECOND]

The capture is one of a boot of so many seconds with a busy console at 115200 baud on one channel and a pin
that changes every millisecond on another, once as a dump of changes and once as a session of sigrok's.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tests.unit.uart_wave import sampled, sent, session, vcd

from bootscope.capture.imported import Raw
from bootscope.importing.files import READ, read_once

NS = 1_000_000_000
LINE = b"[    1.234567] a driver says what it has found, as drivers do\r\n"


def main(boot_s: int, rate_hz: int) -> None:
    """Prints a line for each kind of file."""
    lines = [(at_ns, LINE) for at_ns in range(0, (boot_s - 1) * NS, NS // 100)]
    channels = {
        "D0": [(n * 1_000_000, n % 2) for n in range(boot_s * 1000)],
        "D2": list(sampled(sent(lines, 115200), rate_hz)),
    }
    values = {"uart": "D2:115200", "pin": "D0=high:app-ready"}
    for kind, data in (
        ("vcd", vcd(channels, boot_s * NS)),
        ("sr", session(channels, boot_s * NS, rate_hz)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            took = []
            for _ in range(3):
                begun = time.monotonic()
                read_once(Raw(f"pins.{kind}", data), values, Path(folder) / READ)
                took.append(time.monotonic() - begun)
            size = sum(path.stat().st_size for path in Path(folder).iterdir())
        print(
            f"{kind}: {len(data) / 1e6:.1f} MB, first {took[0]:.2f} s, then {min(took[1:]):.2f} s; "
            f"what is kept has {size / 1e6:.1f} MB"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10, int(sys.argv[2]) if sys.argv[2:] else 1_000_000)
