# SPDX-License-Identifier: Apache-2.0
"""Lines of the sources: of programs that a compiler has made, with counts of blocks; written as lcov does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bootscope.analysis.line_counts import files_of, same_code
from bootscope.capture.usage import Block
from bootscope.cli.source_lines import source_lines
from bootscope.core.errors import UserError
from bootscope.export import lcov
from bootscope.export.base import SourceLines, Subject
from bootscope.image.code import Code
from bootscope.image.line_table import rows
from bootscope.image.sizes import sizes
from bootscope.timeline.trace import Trace

SOURCE = """\
int table[100] = {1};
int cleared[50];

__attribute__((noinline)) int twice(int x)
{
    return x + table[x];
}

int never(int x)
{
    return x ^ 1;
}

void _start(void)
{
    cleared[0] = twice(3);
}
"""
PREFIX = "arm-linux-gnueabihf-"


def compiled(folder: Path, *options: str) -> Path:
    """The program, by the compiler for 32-bit ARM."""
    (folder / "small.c").write_text(SOURCE)
    made = folder / "small.elf"
    words = [f"{PREFIX}gcc", "-nostdlib", "-static", "-O1", *options, "-o", str(made), "small.c"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return made


@pytest.fixture(scope="module", params=["-marm", "-mthumb"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("c"), "-g", request.param)


@pytest.mark.parametrize("version", ["-gdwarf-4", "-gdwarf-5"])
def test_lines_are_where_binutils_says(version: str, tmp_path: Path) -> None:
    made = compiled(tmp_path, "-g", version)
    said = subprocess.run(
        [f"{PREFIX}objdump", "--dwarf=decodedline", str(made)], check=True, capture_output=True, text=True
    ).stdout
    statements = re.findall(r"^small\.c +(\d+) +0x([0-9a-f]+).* x$", said, re.MULTILINE)
    found = rows(made.read_bytes())
    assert {row.file for row in found} == {str(tmp_path / "small.c")}
    assert {(row.line, row.address) for row in found} == {(int(n), int(at, 16)) for n, at in statements}
    assert len(found) > 5


def test_a_line_ran_as_often_as_its_blocks(program: Path) -> None:
    """Blocks as QEMU makes them: `_start` up to its call, `twice`, and the last line of `_start`, which is in
    two blocks."""
    data = program.read_bytes()
    code = Code(data)
    twice, start = code.function("twice"), code.function("_start")
    assert twice and start
    last = max(rows(data), key=lambda row: row.address)
    blocks = [
        (start.address, Block(0xDEAD, 1, 0, (1, 2))),
        (twice.address, Block(0xDEAD, 3, 0, (5,))),
        (last.address, Block(0xDEAD, 1, 0, (4,))),
        (last.address, Block(0xDEAD, 1, 7, (2,))),
    ]
    (found,) = files_of(data, iter(blocks))
    assert {name: times for _, name, times in found.functions} == {"_start": 3, "twice": 5, "never": 0}
    assert found.lines[5] == 5
    assert found.lines[last.line] == 6 and found.lines[11] == 0
    assert (5, "twice", 5) in found.functions


def test_a_program_without_debug_information_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no debug information"):
        rows(compiled(tmp_path).read_bytes())


def test_tables_for_unwinding_alone_are_no_debug_information(tmp_path: Path) -> None:
    source, program = tmp_path / "one.c", tmp_path / "one"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-fasynchronous-unwind-tables", "-o", program, source], check=True)
    with pytest.raises(UserError, match="no debug information"):
        rows(program.read_bytes())


def test_the_same_code_is_known_whatever_else_there_is(program: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    subprocess.run([f"{PREFIX}strip", "--strip-debug", "-o", str(stripped), str(program)], check=True)
    one, other = Code(program.read_bytes()), Code(stripped.read_bytes())
    assert same_code(one, other)
    assert not same_code(one, Code(compiled(tmp_path, "-O2").read_bytes()))
    assert not same_code(one, None)


def test_sizes_are_those_of_nm(program: Path) -> None:
    said = subprocess.run(
        [f"{PREFIX}nm", "-S", "--defined-only", str(program)], check=True, capture_output=True, text=True
    ).stdout
    known = {
        name: int(size, 16)
        for _, size, _, name in (line.split() for line in said.splitlines() if line.count(" ") == 3)
    }
    sections, symbols = sizes(program.read_bytes())
    assert {s.name: s.size_bytes for s in symbols} == known
    assert {s.name: (s.kind, s.in_image, s.section) for s in symbols if s.kind == "data"} == {
        "table": ("data", True, ".data"),
        "cleared": ("data", False, ".bss"),
    }
    assert {".text", ".data", ".bss"} <= {s.name for s in sections}


def test_a_tracefile_has_what_genhtml_wants() -> None:
    lines = SourceLines("kernel", "/src/a.c", {5: 2, 3: 0}, ((3, "one", 0), (5, "two", 2)))
    text = lcov.make(Subject(Trace("boot", "", 0), lines=(lines,))).decode()
    assert text.splitlines() == [
        *("TN:kernel", "SF:/src/a.c", "FN:3,one", "FN:5,two", "FNDA:0,one", "FNDA:2,two", "FNF:2", "FNH:1"),
        *("DA:3,0", "DA:5,2", "LF:2", "LH:1", "end_of_record"),
    ]
    with pytest.raises(UserError, match="the boot was imported"):
        source_lines(Trace("boot", "", 0), ["vmlinux"])
