# SPDX-License-Identifier: Apache-2.0
"""Kernels in every wrapping, and what they tell of themselves."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.arch.arm import ARM
from bootscope.bootimage import symbols
from bootscope.core.errors import UserError
from bootscope.image import fit, kallsyms, kernel_file, kernel_says, packed, vmlinux
from bootscope.image.kallsyms import Symbol
from bootscope.image.kernel_file import KernelFile
from bootscope.readers.unpack import Budget
from tests.unit.image_builders import (
    BUILD_ID,
    CONFIG,
    SYMBOLS,
    VERSION,
    arm64_image,
    bzimage,
    device_tree,
    program,
    tool,
    zboot,
)

IMAGE = arm64_image()


def kernel(data: bytes) -> KernelFile:
    found = kernel_file.opened("kernel", data)
    assert found
    return found


def packed_by(name: str, data: bytes, folder: Path) -> bytes:
    """Data packed by the program of that name, as kernels are."""
    path = folder / "data"
    path.write_bytes(data)
    commands = {"lz4": ("lz4", "-l", "-c"), "lzo": ("lzop", "-c"), "zstd": ("zstd", "-q", "-c")}
    return tool(*commands[name], path)


def test_an_image_tells_all_of_itself() -> None:
    found = kernel(IMAGE)
    assert (found.forms, found.compressions, found.architecture) == (("Image",), (), "arm64")
    assert found.version == VERSION and found.banner == f"{VERSION} (someone@somewhere) (gcc 14) #1 SMP"
    assert kernel_says.configuration(found) == CONFIG
    assert len(kallsyms.read(found.program, 8)) == SYMBOLS


def test_the_build_id_is_the_kernels_and_not_that_of_the_programs_in_it() -> None:
    assert kernel_says.build_id(kernel(IMAGE)) == BUILD_ID.hex()
    twice = kernel(IMAGE + b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + b"\x77" * 20)
    assert kernel_says.build_id(twice) == BUILD_ID.hex()
    assert kernel_says.build_id(kernel(arm64_image().replace(BUILD_ID, bytes(20)))) == bytes(20).hex()


@pytest.mark.parametrize("name", ["gzip", "xz", "bzip2", "lzma", "lz4", "lzo", "zstd"])
def test_every_compression_is_undone(name: str, tmp_path: Path) -> None:
    ways: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "xz": lzma.compress,
        "bzip2": bz2.compress,
        "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    }
    data = ways[name](IMAGE) if name in ways else packed_by(name, IMAGE, tmp_path)
    found = kernel(data)
    assert found.compressions == (name,) and found.forms == ("Image",)
    assert found.program == IMAGE
    assert found.size_bytes == len(data)


@pytest.mark.parametrize(
    ("data", "forms", "architecture"),
    [
        (bzimage(lzma.compress(program())), ("bzImage",), "x86-64"),
        (zboot(gzip.compress(IMAGE)), ("EFI zboot", "Image"), "arm64"),
        (zboot(gzip.compress(program()), 0x5064), ("EFI zboot",), "riscv64"),
    ],
    ids=["bzImage", "zboot", "zboot of riscv64"],
)
def test_kernels_that_unpack_themselves(data: bytes, forms: tuple[str, ...], architecture: str) -> None:
    found = kernel(data)
    assert (found.forms, found.architecture, found.version) == (forms, architecture, VERSION)


def test_an_arm_kernel_with_a_device_tree_behind_it() -> None:
    head = bytearray(64)
    inner = gzip.compress(bytes(64 << 10) + program())
    struct.pack_into("<III", head, 0x24, 0x016F2818, 0, len(head) + len(inner))
    found = kernel(bytes(head) + inner + device_tree())
    assert (found.forms, found.architecture, found.compressions) == (("zImage",), "arm", ("gzip",))
    assert found.device_tree == device_tree()


def test_what_mkimage_wraps(tmp_path: Path) -> None:
    (tmp_path / "Image.gz").write_bytes(gzip.compress(IMAGE))
    what = ("-A", "arm64", "-O", "linux", "-T", "kernel", "-C", "gzip", "-d", tmp_path / "Image.gz")
    tool("mkimage", *what, tmp_path / "uImage")
    data = (tmp_path / "uImage").read_bytes()
    found = kernel(data)
    assert (found.forms, found.compressions, found.architecture) == (("uImage", "Image"), ("gzip",), "arm64")
    assert kernel(data[:-100]).notes[0].startswith("its header says ")


FIT = """/dts-v1/;
/ { description = "test"; #address-cells = <1>;
  images {
    k { data = /incbin/("Image"); type = "kernel"; arch = "arm64"; os = "linux"; compression = "none";
        load = <0x40000000>; entry = <0x40000000>; hash-1 { algo = "sha256"; }; };
    t { data = /incbin/("tree"); type = "flat_dt"; arch = "arm64"; compression = "none"; hash-1 { algo =
    "crc32"; }; };
  }; configurations { default = "two"; one { kernel = "k"; }; two { kernel = "k"; fdt = "t"; compatible =
  "a,b"; }; };
};
"""


@pytest.mark.parametrize("external", [False, True])
def test_a_fit_tells_its_parts_and_whether_their_hashes_are_right(external: bool, tmp_path: Path) -> None:
    (tmp_path / "Image").write_bytes(IMAGE)
    (tmp_path / "tree").write_bytes(device_tree())
    (tmp_path / "test.its").write_text(FIT)
    tool("mkimage", *(("-E",) if external else ()), "-f", "test.its", "test.itb", cwd=tmp_path)
    data = (tmp_path / "test.itb").read_bytes()
    found = fit.read(data)
    assert found and found.notes == ()
    assert found.parts["k"].data == IMAGE and found.parts["k"].hashes == fit.GOOD
    at = found.parts["k"].at_bytes
    assert data[at : at + len(IMAGE)] == IMAGE
    assert [(c.name, c.default, c.device_trees) for c in found.configurations] == [
        ("one", False, ()),
        ("two", True, ("t",)),
    ]
    damaged = fit.read(data[:at] + b"X" + data[at + 1 :])
    assert damaged and damaged.parts["k"].hashes == fit.BAD
    assert damaged.notes == ("the hash of its part k is wrong",)
    assert fit.read(device_tree()) is None


def fit_of(parts: str, size: int) -> bytes:
    """A FIT with these parts, and bytes behind it that they may name."""
    text = f"/dts-v1/; / {{ images {{ {parts} }}; }};"
    return tool("dtc", "-q", "-O", "dtb", data=text.encode()).ljust(size, b"x")


def test_parts_of_a_fit_that_all_name_the_same_data_cost_nothing() -> None:
    place = f"data-position = <0>; data-size = <{1 << 20}>;"
    data = fit_of("".join(f'p{n} {{ type = "kernel"; {place} }};' for n in range(256)), 1 << 20)
    tracemalloc.start()
    found = fit.read(data)
    most_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most_bytes < 5 << 20
    assert found and [len(part.data) for part in found.parts.values()] == [1 << 20] * 2 + [0] * 254
    assert found.notes[0] == "the data of its part p2 are not read: too many parts share them"


def test_parts_of_a_fit_that_lie_outside_of_it_and_equal_parts() -> None:
    inside = 'data = "same";'
    found = fit.read(fit_of(f"a {{ {inside} }}; b {{ {inside} }}; c {{ data-position = <9>; }};", 1000))
    assert found and found.notes == ("the data of its part c lie outside of the file",)
    first, second, outside = found.parts.values()
    assert (first.data, second.data, outside.at_bytes) == (b"same\0", b"same\0", -1)
    assert first.at_bytes < second.at_bytes


@pytest.mark.parametrize(("count", "told"), [(8, fit.GOOD), (9, fit.UNKNOWN)])
def test_hashes_of_a_fit_are_checked_up_to_a_number(count: int, told: str) -> None:
    checksum = f'algo = "crc32"; value = <{zlib.crc32(b"same" + bytes(1)):#x}>;'
    hashes = "".join(f"hash-{n} {{ {checksum} }};" for n in range(count))
    found = fit.read(fit_of(f'a {{ data = "same"; {hashes} }};', 1000))
    assert found and found.parts["a"].hashes == told


def test_a_kernel_that_is_compressed_twice_is_read_and_told() -> None:
    found = kernel(gzip.compress(lzma.compress(IMAGE)))
    assert found.program == IMAGE
    assert found.notes == ("compressed more than once: gzip, then xz",)


def test_a_kernel_that_is_truncated_is_told() -> None:
    whole = bzimage(lzma.compress(program()))
    assert "could not be unpacked" in kernel(whole[:1060]).notes[0]
    assert kernel(whole[:1060]).version == ""


def test_a_header_without_the_rest_of_it_is_no_kernel() -> None:
    """Found by fuzzing: a bzImage of 563 bytes ended in an error of Python's."""
    for end in range(0x202, 0x260, 7):
        assert kernel_file.opened("x", bzimage(b"")[:end]) is None


def test_what_is_no_kernel() -> None:
    for data in (
        b"",
        b"text",
        bytes(4096),
        gzip.compress(b"text"),
        b"\x7fELF" + bytes(100),
        b"MZ" + bytes(600),
    ):
        assert kernel_file.opened("x", data) is None


def test_symbols_of_a_vmlinux() -> None:
    names = [Symbol(0xC0010000 + 32 * n, "Tt"[n % 2], f"function_{n}") for n in range(200)]
    data = vmlinux.elf(bytes(0x10000), 0xC0008000, [*names, Symbol(0xC0018000, "D", "data")], ARM)
    build_id, found = symbols.read_vmlinux(io.BytesIO(data))
    assert build_id == ""
    assert [(s.address, s.name) for s in found[:200]] == [(s.address, s.name) for s in names]
    for end in range(0, len(data), 997):
        with contextlib.suppress(UserError):
            symbols.read_vmlinux(io.BytesIO(data[:end]))


def test_a_bomb_is_refused() -> None:
    with pytest.raises(UserError, match="unpacks to more than"):
        packed.unpacked("kernel", gzip.compress(bytes(1 << 20)), Budget(1 << 16))
