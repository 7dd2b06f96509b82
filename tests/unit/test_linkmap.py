# SPDX-License-Identifier: Apache-2.0
"""Link maps: which object file lies where in a program."""

from __future__ import annotations

from pathlib import Path

from bootscope.builder import linkmap
from bootscope.builder.linkmap import Objects, Piece

MAP = """
Archive member included to satisfy reference by file (symbol)

libbb/lib.a(xfuncs.o)         coreutils/lib.a(cat.o) (xopen)

Discarded input sections

 .text          0x00000000        0x0 init/main.o
 .exit.text     0x00000000       0x14 drivers/a.o

Memory Configuration

Linker script and memory map

LOAD vmlinux.a
                0xc0008000                        . = 0xc0008000

.text           0xc0100000     0x3000
 *(.text .text.*)
 .text          0xc0100000      0x100 init/main.o
                0xc0100010                start_kernel
 *fill*         0xc0100100        0xc
 .text.a_function_with_a_long_name
                0xc010010c       0x20 drivers/a.o
                0xc010010c                a_function_with_a_long_name
 .text          0xc010012c        0x0 drivers/empty.o
 .text          0xc0100130       0x40 libbb/lib.a(xfuncs.o)

.bss            0xc0200000     0x1000
 .bss           0xc0200000     0x1000 drivers/a.o
 COMMON         0xc0201000        0x4 drivers/a.o

.comment        0x00000000       0x20
 .comment       0x00000000       0x20 init/main.o
 .comment       0x0000001f       0x20 drivers/a.o
 .debug_info    0x00000044      0x999 drivers/a.o
"""


def test_a_map_is_read_without_what_takes_no_memory() -> None:
    assert list(linkmap.pieces(MAP)) == [
        Piece(0xC0100000, 0x100, ".text", "init/main.o"),
        Piece(0xC010010C, 0x20, ".text.a_function_with_a_long_name", "drivers/a.o"),
        Piece(0xC0100130, 0x40, ".text", "libbb/xfuncs.o"),
        Piece(0xC0200000, 0x1000, ".bss", "drivers/a.o"),
        Piece(0xC0201000, 0x4, "COMMON", "drivers/a.o"),
    ]


def test_pieces_are_kept_and_found_again(tmp_path: Path) -> None:
    found = list(linkmap.pieces(MAP))
    linkmap.write(found, tmp_path / "objects.txt")
    kept = linkmap.read((tmp_path / "objects.txt").read_text())
    assert kept == found
    linked = Objects(kept)
    assert [p and p.object for p in map(linked.at, (0xC0100000, 0xC01000FF, 0xC0100100, 0xC010016F))] == [
        "init/main.o", "init/main.o", None, "libbb/xfuncs.o",
    ]  # fmt: skip
    assert linked.at(0) is None
    assert linked.at(0xFFFFFFFF) is None
    assert Objects([]).at(0xC0100000) is None


def test_names_with_blanks_survive_and_other_lines_do_not() -> None:
    assert linkmap.read("10 4 .text linker stubs\nnonsense\n\n") == [Piece(16, 4, ".text", "linker stubs")]
