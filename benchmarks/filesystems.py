# SPDX-License-Identifier: Apache-2.0
"""What each kind of root file system costs, from recorded boots of one small system.

    python benchmarks/filesystems.py EXT4_RUN RUN ...

The runs differ only in the root file system and its driver. Writes
src/bootscope/analysis/filesystems.toml, from which `bootscope what-if RUN rootfs=KIND` predicts.
docs/explain.md says how the runs were made.
"""

from __future__ import annotations

import argparse
import sys

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.used_code import image_sizes
from bootscope.analysis.whatif_plan import Ground
from bootscope.analysis.whatif_root import KINDS, RootKind, RootReads, lines_of, present_kind, root_reads
from bootscope.builder.linkmap import Objects, read
from bootscope.capture import objects
from bootscope.capture.store import Store
from bootscope.cli.show import view_of
from bootscope.core.paths import store_dir
from bootscope.core.settings import as_toml

HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# What each kind of root file system comes to in one small system. Made by
#     python benchmarks/filesystems.py EXT4_RUN RUN ...
schema = 1
"""


def linked(evidence: Evidence) -> Objects:
    """The object files of a run's kernel."""
    return Objects(read(evidence.load(objects.KERNEL_OBJECTS).decode("utf-8", "replace")))


def code_ns(ground: Ground, files: Objects, names: set[str]) -> tuple[int, int]:
    """(in the kernel's phase, after it) CPU time of samples in the code of some object files."""
    found = [0, 0]
    for index, pc, ns in ground.counters:
        piece = files.at(pc)
        if piece is not None and piece.object in names:
            after = ground.evidence.phase_at(ground.evidence.clock.before(index)) != "kernel"
            found[after] += ns
    return found[0], found[1]


def kind(ground: Ground, mine: set[str], reference: RootReads) -> RootKind:
    """The entry of a run: `mine` are the object files in its kernel for its root file system."""
    evidence = ground.evidence
    files = linked(evidence)
    sizes, reads = image_sizes(files), root_reads(evidence)
    mount_ns, use_ns = code_ns(ground, files, mine)
    return RootKind(
        files_ppm=reads.files_bytes * 1_000_000 // reference.files_bytes,
        commands_ppm=reads.files_commands * 1_000_000 // reference.files_commands,
        own_bytes=reads.own_bytes,
        own_commands=reads.own_commands,
        mount_ns=mount_ns,
        letters=sum(line.bytes for line in lines_of(ground.lines, present_kind(evidence))),
        use_ps=use_ns * 1000 // reference.files_bytes,
        code_bytes=sum(sizes[name] for name in mine),
        source=evidence.run.run_id,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what each kind of root file system costs.")
    parser.add_argument("ext4", help="recorded boot from ext4")
    parser.add_argument("run", nargs="+", help="recorded boots of the same system from other file systems")
    args = parser.parse_args()
    store = Store(store_dir())
    grounds = [view_of(store, name).ground for name in (args.ext4, *args.run)]
    names = [set(image_sizes(linked(ground.evidence))) for ground in grounds]
    every = set.intersection(*names)
    reference = root_reads(grounds[0].evidence)
    text = HEAD
    found = {}
    for ground, those in zip(grounds, names, strict=True):
        found[present_kind(ground.evidence)] = kind(ground, those - every, reference)
    for name in sorted(found):
        text += f"\n[kind.{name}]\n"
        for key in RootKind.__struct_fields__:
            text += f"{key} = {as_toml(getattr(found[name], key))}\n"
    KINDS.write_text(text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
