# SPDX-License-Identifier: Apache-2.0
"""What a build keeps for the views: where structures, files and functions lie."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.analysis.kernel_activity import Mapping, Task
from bootscope.analysis.names import UserPrograms
from bootscope.arch.arm import ARM
from bootscope.builder.filesystems import ext, model
from bootscope.builder.filesystems.model import Entry, Order
from bootscope.builder.step import Context
from bootscope.builder.steps import kernel_layout, programs, rootfs
from bootscope.capture.objects import Program
from bootscope.core.errors import ToolError, UserError

from .elf import TEXT, Fn, arm, elf, thumb
from .lab_scenes import stock

Run = Callable[[Sequence[str | Path]], str]


def context(tmp_path: Path, run: Run) -> Context:
    """A step's context in which `run` stands for every program."""

    def called(command: Sequence[str | Path], **_options: object) -> Any:
        return SimpleNamespace(output=run(command))

    for name in ("scratch", "out"):
        (tmp_path / name).mkdir(exist_ok=True)
    made = SimpleNamespace(scratch=tmp_path / "scratch", out=tmp_path / "out", run=called)
    return cast(Context, made)


# ---- the layout of the kernel's structures ----

CALL = (
    "savedcmd_init/main.o := ccache arm-linux-gnueabihf-gcc -Wp,-MMD,init/.main.o.d -nostdinc -I./include "
    "-DKBUILD_MODNAME='\"main\"' -c -o init/main.o ../tree/init/main.c ; ./tools/objtool init/main.o\n"
    "\nsource := x\n"
)


def kernel(tmp_path: Path, call: str = CALL) -> Path:
    (tmp_path / "build" / "init").mkdir(parents=True)
    (tmp_path / "build" / "init" / ".main.o.cmd").write_text(call)
    return tmp_path / "build"


def compiler(offsets: dict[str, int]) -> tuple[Run, list[list[str]]]:
    """A compiler that knows these members, and what it was called with."""
    calls: list[list[str]] = []

    def run(command: Sequence[str | Path]) -> str:
        words = [str(word) for word in command]
        calls.append(words)
        asked = [line.split()[2] for line in Path(words[-1]).read_text().splitlines() if "->bs" in line]
        if any(member not in offsets for member in asked):
            raise ToolError("error: no member")
        text = "".join(f"@->bs {member} #{offsets[member]}\n\tnop\n" for member in asked)
        Path(words[words.index("-o") + 1]).write_text(".text\nbs_layout:\n" + text)
        return ""

    return run, calls


def all_members() -> dict[str, int]:
    structs = kernel_layout.STRUCTS
    names = [f"{struct}.{member}" for struct, members in structs.items() for member in members]
    return {name: 4 * at for at, name in enumerate(names)}


def test_all_members_are_asked_for_with_the_kernels_own_flags(tmp_path: Path) -> None:
    run, calls = compiler(all_members())
    found = kernel_layout.find(context(tmp_path, run), kernel(tmp_path))
    assert found == all_members()
    (call,) = calls
    assert call[:4] == ["ccache", "arm-linux-gnueabihf-gcc", "-nostdinc", "-I./include"]
    assert call[4:6] == ['-DKBUILD_MODNAME="main"', "-S"]


def test_members_that_this_kernel_lacks_are_left_out(tmp_path: Path) -> None:
    there = {name: at for name, at in all_members().items() if not name.startswith("vm_fault")}
    run, _ = compiler(there)
    assert kernel_layout.find(context(tmp_path, run), kernel(tmp_path)) == there


def test_a_kernel_that_cannot_be_asked_is_an_error(tmp_path: Path) -> None:
    run, _ = compiler({})
    with pytest.raises(ToolError, match="layout of the kernel's structures"):
        kernel_layout.find(context(tmp_path, run), kernel(tmp_path))


@pytest.mark.parametrize("call", ["", "nonsense", "cmd_init/main.o := gcc", "cmd_init/main.o := gcc 'a -c x"])
def test_a_build_that_does_not_say_how_it_compiled_is_an_error(tmp_path: Path, call: str) -> None:
    run, _ = compiler(all_members())
    with pytest.raises(ToolError, match=r"does not say how it compiled init/main\.c"):
        kernel_layout.find(context(tmp_path, run), kernel(tmp_path, call))


def test_a_build_without_its_commands_is_an_error(tmp_path: Path) -> None:
    run, _ = compiler(all_members())
    with pytest.raises(ToolError, match="does not say"):
        kernel_layout.find(context(tmp_path, run), tmp_path)


def test_the_layout_is_kept_as_sorted_json(tmp_path: Path) -> None:
    run, _ = compiler(all_members())
    made = context(tmp_path, run)
    kernel_layout.write(made, kernel_layout.find(made, kernel(tmp_path)))
    text = (made.out / kernel_layout.LAYOUT).read_text()
    assert json.loads(text) == all_members()
    assert text.splitlines()[1:-1] == sorted(text.splitlines()[1:-1])


# ---- what lies in which sectors ----


@given(st.lists(st.integers(0, 12), max_size=30))
def test_runs_cover_every_block_once_and_no_hole(blocks: list[int]) -> None:
    found = [(first + n, place + n) for first, count, place in ext.runs(blocks) for n in range(count)]
    assert found == [(block, place) for place, block in enumerate(blocks) if block]
    assert all(count > 0 for _, count, _ in ext.runs(blocks))


def test_neighbours_are_one_run() -> None:
    assert list(ext.runs([5, 6, 7, 0, 0, 8, 9, 3, 0, 1])) == [(5, 3, 0), (8, 2, 5), (3, 1, 7), (1, 1, 9)]


DUMPE2FS = """\
Block size:               1024
Group 0: (Blocks 1-8192)
  Primary superblock at 1, Group descriptors at 2-2
  Reserved GDT blocks at 3-258
  Block bitmap at 259 (+258)
  Inode bitmap at 275 (+274)
  Inode table at 291-802 (+290)
"""
DEBUGFS = """\
debugfs: blocks "<8>"
900 901 902
debugfs: blocks "/"
803
debugfs: blocks "/bin/a b"
0 1000 1001 1003
debugfs: blocks "/bin/empty"

debugfs: blocks "/bin/gone"
/bin/gone: File not found by ext2_lookup
"""


def ext_order(made: Context, *files: str) -> Order:
    """An ext4 image with these files in it."""
    entries = {PurePosixPath(name): Entry(PurePosixPath(name)) for name in files}
    return Order(made, stock().system.rootfs, entries, Path("root.img"), 0)


def test_a_block_map_names_files_and_the_file_systems_own_data(tmp_path: Path) -> None:
    def run(command: Sequence[str | Path]) -> str:
        return DUMPE2FS if command[0] == "dumpe2fs" else DEBUGFS

    order = ext_order(context(tmp_path, run), "bin/a b", "bin/empty")
    made = order.context
    model.write_map(made.out, ext.pieces(order))
    assert (made.out / model.BLOCK_MAP).read_text().splitlines() == [
        "2\t2\text4 superblock\t0",
        "4\t2\text4 group descriptors\t0",
        "6\t512\text4 reserved gdt blocks\t0",
        "518\t2\text4 block bitmap\t0",
        "550\t2\text4 inode bitmap\t0",
        "582\t1024\text4 inode table\t0",
        "1606\t2\t/\t0",
        "1800\t6\text4 journal\t0",
        "2000\t4\t/bin/a b\t2",
        "2006\t2\t/bin/a b\t6",
    ]
    asked = (made.scratch / "blocks.debugfs").read_text().splitlines()
    assert asked == ['blocks "<8>"', 'blocks "/"', 'blocks "/bin/a b"', 'blocks "/bin/empty"']


def test_a_file_system_that_does_not_tell_its_block_size_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"block size of root\.img"):
        list(ext.pieces(ext_order(context(tmp_path, lambda _: "nothing"))))


@pytest.mark.parametrize("name", ['a"b', "a\nrm b", "a\rb", "a\tb"])
def test_a_name_that_debugfs_would_take_for_commands_is_not_asked_for(tmp_path: Path, name: str) -> None:
    made = context(tmp_path, lambda command: DUMPE2FS if command[0] == "dumpe2fs" else "")
    list(ext.pieces(ext_order(made, name, "ok")))
    assert (made.scratch / "blocks.debugfs").read_text().splitlines()[2:] == ['blocks "/ok"']


@pytest.mark.parametrize("name", ['a"b', "a\nrm b", "caf\udce9"])
def test_such_a_name_is_refused_for_an_image(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(UserError, match="image cannot have") as caught:
        list(rootfs.overlay_entries(tmp_path))
    assert caught.value.message.isprintable()


def test_so_is_such_a_target_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to('x" "/etc')
    with pytest.raises(UserError, match="image cannot have"):
        list(rootfs.overlay_entries(tmp_path))


def test_odd_but_harmless_names_are_taken(tmp_path: Path) -> None:
    (tmp_path / "caf\u00e9 #1; $(x)").write_text("")
    assert [str(entry.path) for entry in rootfs.overlay_entries(tmp_path)] == ["caf\u00e9 #1; $(x)"]


# ---- names of user programs ----

PROGRAM = elf(Fn("first", arm(0, 0xE12FFF1E)), Fn("second", thumb(0xBF00, 0x4770), thumb=True))


def test_a_program_tells_its_segments_and_functions(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(PROGRAM)
    found = programs.program(tmp_path / "p", ARM)
    assert found
    assert found.segments == [(84, TEXT, 12)]
    assert found.functions == [(TEXT, 8, "first"), (TEXT + 8, 4, "second")]


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no compiler")
def test_a_real_program_tells_its_functions(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(
        "int helper(int x) { return x * 3; }\nint main(void) { return helper(2); }\n"
    )
    subprocess.run(["gcc", "-O0", "-o", tmp_path / "p", tmp_path / "p.c"], check=True)
    found = programs.program(tmp_path / "p", ARM)
    assert found
    functions = {name: (address, size) for address, size, name in found.functions}
    address, size = functions["helper"]
    assert size > 0
    assert any(start <= address < start + length for _, start, length in found.segments)
    assert functions["main"][0] > address


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", b"\x7fELF", PROGRAM[:100], b"\x7fELF" + bytes(200)])
def test_what_is_no_program_tells_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "p").write_bytes(data)
    assert programs.program(tmp_path / "p", ARM) is None


@given(st.lists(st.tuples(st.integers(0, len(PROGRAM) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_damaged_program_does_not_stop_the_build(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(PROGRAM)
    for at, value in changes:
        data[at] = value
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(data)
    found = programs.program(path, ARM)
    assert found is None or UserPrograms({"/p": found}).name(running("/p"), TEXT, 0) is not None


def test_programs_and_scripts_of_a_root_file_system_are_kept(tmp_path: Path) -> None:
    (tmp_path / "stripped").write_bytes(elf())
    (tmp_path / "whole").write_bytes(PROGRAM)
    (tmp_path / "rc").write_bytes(b"#!/bin/sh\necho \xff\n")
    (tmp_path / "inittab").write_text("::sysinit:/etc/rc\n")
    (tmp_path / "large").write_bytes(b"#!" + bytes(1 << 19))
    (tmp_path / "empty").write_bytes(b"")
    files = {
        "/bin/p": tmp_path / "stripped", "/etc/rc": tmp_path / "rc", "/etc/inittab": tmp_path / "inittab",
        "/etc/large": tmp_path / "large", "/etc/empty": tmp_path / "empty",
    }  # fmt: skip
    programs.write(tmp_path, files, {"/bin/p": tmp_path / "whole"}, ARM)
    kept = msgspec.json.decode(
        gzip.decompress((tmp_path / programs.PROGRAMS).read_bytes()), type=dict[str, Program]
    )
    assert kept == {"/bin/p": programs.program(tmp_path / "whole", ARM)}
    scripts = json.loads(gzip.decompress((tmp_path / programs.SCRIPTS).read_bytes()))
    assert scripts == {"/etc/inittab": "::sysinit:/etc/rc\n", "/etc/rc": "#!/bin/sh\necho \ufffd\n"}
    before = (tmp_path / programs.PROGRAMS).read_bytes()
    programs.write(tmp_path, files, {"/bin/p": tmp_path / "whole"}, ARM)
    assert (tmp_path / programs.PROGRAMS).read_bytes() == before


# ---- and their use ----


def running(path: str, address: int = TEXT, offset: int = 84) -> Task:
    """A task with a file mapped at an address."""
    maps = [Mapping(0, path, address, 0x1000, offset)]
    return Task(1, 1, "p", False, 0, maps=maps)


def test_code_of_a_process_is_named_by_the_file_mapped_there() -> None:
    known = Program([(84, TEXT, 12)], [(TEXT, 8, "first"), (TEXT + 8, 2, "second")])
    users = UserPrograms({"/bin/p": known})
    task = running("/bin/p", 0xB6F00000)
    assert users.name(task, 0xB6F00004, 0) == "p first"
    assert users.name(task, 0xB6F00008, 0) == "p second"
    assert users.name(task, 0xB6F0000A, 0) == "p code without a symbol"
    assert users.name(task, 0xB6F00800, 0) == "p code without a symbol"
    assert users.name(task, 0xB6F01000, 0) is None
    assert users.name(running("/lib/unknown.so"), TEXT, 0) == "unknown.so code without a symbol"


def test_the_latest_mapping_at_an_address_counts() -> None:
    known = Program([(0, 0, 64)], [(0, 0, "only")])
    users = UserPrograms({"/old": known, "/new": known})
    task = running("/old", TEXT, 0)
    task.maps.append(Mapping(5, "/new", TEXT, 0x1000, 0))
    assert users.name(task, TEXT, 9) == "new only"
