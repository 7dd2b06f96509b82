# SPDX-License-Identifier: Apache-2.0
"""Functions of boot loaders that do not lie at one place: GRUB's modules, what SeaBIOS moves, and the code
that unpacks a kernel for PCs."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from bootscope.analysis.names import Names
from bootscope.analysis.pieces import table
from bootscope.arch.x86_64 import X86_64
from bootscope.builder.steps.grub_symbols import read
from bootscope.builder.steps.kernel import moved
from bootscope.capture.objects import Piece, Pieces, Told
from bootscope.capture.stream import Hook
from bootscope.core.errors import ToolError, UserError
from bootscope.emulator.loader_probes import add_places
from bootscope.emulator.probes import Hooks
from bootscope.image.symbols import Symbols
from bootscope.loaders.grub import GRUB

FAT = Piece("fat", 0x1000, [(0, 0x10, "fat_open"), (0x20, 0x10, "fat_read")])
KNOWN = Pieces(
    [(0x9000, 0x20, "start"), (0x9020, 0x10, "memmove")], [FAT], Told(0xA4B5, "rax+0:0", "rax+40", "rax+44")
)


def told(place: int, size: int, name: bytes) -> Hook:
    return Hook(0, 1, (place, size), name)


def test_a_module_has_names_where_the_recording_saw_it() -> None:
    found = table(KNOWN, [told(0x3FF00000, 0x1000, b"fat")])
    names = {
        at: found.name_at(at) for at in (0x8FFF, 0x9000, 0x902F, 0x9030, 0x3FF00000, 0x3FF00010, 0x3FF0002F)
    }
    assert names == {
        0x8FFF: None,
        0x9000: "start",
        0x902F: "memmove",
        0x9030: None,
        0x3FF00000: "fat_open",
        0x3FF00010: None,
        0x3FF0002F: "fat_read",
    }


@pytest.mark.parametrize(
    "hook", [told(0x100000, 0xFFC, b"fat"), told(0x100000, 0x1000, b"ext2"), told(0, 0x1000, b"fat")]
)
def test_a_module_of_another_build_or_place_has_none(hook: Hook) -> None:
    assert table(KNOWN, [hook]).name_at(0x100000) is None
    assert table(KNOWN, [hook]).name_at(0) is None


def test_how_the_plugin_is_told_of_it() -> None:
    hooks = Hooks()
    add_places(hooks, GRUB, {"grub": KNOWN})
    assert hooks.lines == ["hook 1 0xa4b5 every int rax+40 int rax+44 str rax+0:0"]
    assert hooks.names == {1: "grub.place"}
    says = Pieces([], [], Told(0xEBBFB, "rsp+4:0", "rsp+12", "rsp+16", "to %p\n"))
    add_places(hooks, GRUB, {"seabios": says})
    assert hooks.lines[1] == "hook 2 0xebbfb every int rsp+12 int rsp+16 str rsp+4:0 is 746f2025700a"


def test_what_a_bios_has_moved_has_no_name_after_it() -> None:
    """Its memory is free then, and a module of GRUB's may lie there."""
    bios = Pieces(
        [(0xF0000, 0x10, "handle_13"), (0xE0000, 0x10, "init")], [Piece("moved", 0x10, [(0, 0x10, "init")])]
    )
    seabios = table(bios, [told(0x3FF00000, 0x10, b"moved")])
    grub = table(KNOWN, [told(0x3FF00000, 0x1000, b"fat")])
    names = Names(X86_64, {"seabios": seabios, "grub": grub}, GRUB, 0)
    assert names.name("firmware", 0x3FF00000) == "SeaBIOS init"
    assert names.name("firmware", 0xE0000) == "SeaBIOS init"
    assert names.name("load", 0x3FF00000) == "GRUB fat_open"
    assert names.name("load", 0xF000F) == "SeaBIOS handle_13"
    assert names.name("load", 0xF0010) == "SeaBIOS code without a symbol"


KERNEL = """
struct grub_dl { char *name; int references; void *base; unsigned long sz; };
struct grub_dl *head;
void grub_dl_add(struct grub_dl *mod) { head = mod; }
"""
MODULE = 'static int count; int fat_read(int n) { return count += n; } const char license[] = "GPL";'


def programs(folder: Path, module: str = MODULE) -> tuple[Path, Path]:
    """A kernel and a module as GRUB's package with symbols has them, and stripped."""
    whole, stripped = folder / "whole", folder / "stripped"
    for one in (whole, stripped):
        one.mkdir()
    for name, text, image in (("kernel.exec", KERNEL, "kernel.img"), ("fat.module", module, "fat.mod")):
        subprocess.run(
            ["cc", "-g", "-O1", "-c", "-xc", "-", "-o", whole / name], input=text, text=True, check=True
        )
        subprocess.run(["strip", "--strip-unneeded", "-o", stripped / image, whole / name], check=True)
    return whole, stripped


def test_programs_of_grub_tell_their_functions_and_who_knows_their_places(tmp_path: Path) -> None:
    found = read(*programs(tmp_path))
    assert [name for _, _, name in found.functions] == ["grub_dl_add"]
    (fat,) = found.pieces
    assert (fat.name, [name for _, _, name in fat.functions]) == ("fat", ["fat_read"])
    assert fat.size > fat.functions[0][1] > 0
    assert found.told == Told(found.functions[0][0], "rax+0:0", "rax+16", "rax+24")


def test_symbols_of_another_build_are_refused(tmp_path: Path) -> None:
    whole, stripped = programs(tmp_path)
    for one in ("a", "b"):
        (tmp_path / one).mkdir()
    other, _ = programs(tmp_path / "a", MODULE.replace("+= n", "-= 7 * n"))
    with pytest.raises(UserError, match=r"fat\.module is of another build"):
        read(other, stripped)
    (whole / "kernel.exec").write_bytes(b"\x7fELF")
    with pytest.raises(UserError, match="not GRUB programs"):
        read(whole, stripped)


def test_a_kernel_for_pcs_is_unpacked_by_code_at_the_end_of_its_memory() -> None:
    image = bytearray(0x300)
    struct.pack_into("<I", image, 0x260, 0x500000)
    linked = "0000000000000000 T startup_32\n0000000000001000 t inflate\n0000000000008000 B _end\n"
    found = Symbols.parse(linked + moved(linked, bytes(image), X86_64), X86_64)
    assert [found.name_at(at) for at in (0, 0x1004, 0x4F8000, 0x4F9004)] == ["startup_32", "inflate"] * 2
    with pytest.raises(ToolError, match="_end"):
        moved("0000000000000000 T startup_32\n", bytes(image), X86_64)
