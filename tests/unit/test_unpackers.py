# SPDX-License-Identifier: Apache-2.0
"""Images that unpack themselves: another lz4 in the kernel's tree, and what their steps are named by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bootscope.arch.registry import ARCHITECTURES
from bootscope.builder.steps.unpackers import CALLS, FIRST, OLD, TODAY, Unpackers, step, with_first_lz4

DEFINITIONS = """\
#include <asm/byteorder.h>

static inline u16 INIT get_unaligned_le16(const void *p)
{
\treturn le16_to_cpup(p);
}

#define BYTE u8
"""


def test_only_lz4_is_another_and_paths_lead_to_it(tmp_path: Path) -> None:
    tree, xen = tmp_path / "linux", tmp_path / "xen"
    for name in (
        "arch/arm/boot/compressed/decompress.c",
        "lib/lz4/lz4_decompress.c",
        "lib/string.c",
        "Makefile",
    ):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    (xen / "xen/common/lz4").mkdir(parents=True)
    (xen / "xen/common/lz4/decompress.c").write_text("int lz4_decompress;")
    (xen / "xen/common/lz4/defs.h").write_text(DEFINITIONS)
    (tmp_path / "scratch").mkdir()
    made = with_first_lz4(tmp_path / "scratch", xen, tree)
    # As the kernel's own sources name it, from the folder that is compiled.
    lib = made / "arch/arm/boot/compressed" / ".." / ".." / ".." / ".." / "lib"
    assert '#include "decompress.c"' in (lib / "lz4/lz4_decompress.c").read_text()
    assert (lib / "lz4/decompress.c").read_text() == "int lz4_decompress;"
    assert (lib / "lz4/defs.h").read_text() == "#include <asm/byteorder.h>\n\n\n#define BYTE u8\n"
    for name in ("arch/arm/boot/compressed/decompress.c", "lib/string.c", "Makefile"):
        assert (made / name).is_symlink() and (made / name).read_text() == name
    assert (tree / "lib/lz4/lz4_decompress.c").read_text() == "lib/lz4/lz4_decompress.c"


def test_what_goes_in_names_the_step() -> None:
    arch = ARCHITECTURES["arm"]
    one = Unpackers("x", "sunxi_defconfig", {}, (0, 4096))
    others = [
        *(replace(one, lz4=CALLS), replace(one, content=(4096, 4096)), replace(one, defconfig="other")),
        *(replace(one, symbols={"CC_OPTIMIZE_FOR_SIZE": False}), replace(one, compressors=("lz4",))),
    ]
    ids = {name: "0" for name in step(replace(one, lz4=FIRST), arch).needs}
    assert len({step(each, arch).step_id(ids) for each in (one, *others)}) == 6
    needs = {each: OLD in step(replace(one, lz4=each), arch).needs for each in (TODAY, CALLS, FIRST)}
    assert needs == {TODAY: False, CALLS: False, FIRST: True}
