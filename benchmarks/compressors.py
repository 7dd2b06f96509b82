# SPDX-License-Identifier: Apache-2.0
"""What other kernel compressions cost: sizes of one kernel, times of recorded boots.

    python benchmarks/compressors.py [--vmlinux VMLINUX] [RUN ...]

Writes src/bootscope/analysis/compressors.toml, from which `bootscope what-if RUN compression=NAME`
predicts. Sizes are those of VMLINUX's image, packed as the kernel's own build packs it; the time per
byte is the decompress phase of a run divided by the unpacked bytes. What neither gives stays as it is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from bootscope.analysis.whatif_kernel import COMPRESSORS, compressors, packed_with
from bootscope.capture.store import Store
from bootscope.cli.show import view_of
from bootscope.core.paths import store_dir

COMMANDS = {
    "gzip": ["gzip", "-n", "-f", "-9"],
    "lz4": ["lz4", "-l", "-9", "-", "-"],
    "lzma": ["lzma", "-9"],
    "lzo": ["lzop", "-9"],
    "xz": ["xz", "--check=crc32", "--arm", "--lzma2=dict=32MiB"],
}
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# What packing a kernel comes to: sizes of one kernel, packed as its own build does it; times from the
# decompress phase of recorded boots. Made by
#     python benchmarks/compressors.py --vmlinux VMLINUX RUN ...
# What a run or VMLINUX does not tell stays as it was.
schema = 1
"""


def sizes(vmlinux: Path) -> dict[str, tuple[int, str]]:
    """Compressor -> (size in millionths of the unpacked image, the command)."""
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "Image"
        strip = ["arm-linux-gnueabihf-objcopy", "-O", "binary", "-R", ".comment", "-S"]
        subprocess.run([*strip, vmlinux, image], check=True)
        data = image.read_bytes()
    found = {}
    for name, command in COMMANDS.items():
        packed = subprocess.run(command, input=data, capture_output=True, check=True).stdout
        ppm = len(packed) * 1_000_000 // len(data)
        found[name] = (ppm, f"{' '.join(command)} of a kernel of {len(data)} bytes")
    return found


def cost(store: Store, name: str) -> tuple[str, int, str]:
    """(compressor, picoseconds per byte, the recording) of a run."""
    view = view_of(store, name)
    evidence = view.evidence
    taken_ns = next(p.cpu_ns for p in evidence.timeline.phases if p.name == "decompress")
    size = view.ground.unpacked_bytes
    told = f"{evidence.run.run_id}: {taken_ns / 1e6:.1f} ms for {size} bytes"
    return packed_with(evidence), taken_ns * 1000 // size, told


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what other kernel compressions cost.")
    parser.add_argument("--vmlinux", type=Path, help="kernel whose sizes are measured")
    parser.add_argument("run", nargs="*", help="recorded boots of kernels with different compressions")
    args = parser.parse_args()
    known = compressors()
    packed = {name: (c.packed_ppm.value, c.packed_ppm.source) for name, c in known.items()}
    unpack = {n: (c.unpack_ps.value, c.unpack_ps.source) for n, c in known.items() if c.unpack_ps}
    if args.vmlinux:
        packed |= sizes(args.vmlinux)
    for run in args.run:
        name, ps, told = cost(Store(store_dir()), run)
        unpack[name] = ps, told
    text = HEAD
    for name in sorted(packed):
        text += f"\n[compressor.{name}]\n"
        for key, values in (("packed_ppm", packed), ("unpack_ps", unpack)):
            if name in values:
                value, source = values[name]
                text += f'{key} = {{ value = {value}, source = "{source}" }}\n'
    COMPRESSORS.write_text(text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
