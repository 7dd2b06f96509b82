# SPDX-License-Identifier: Apache-2.0
"""Names for the code of user programs, which the stripped files on the target lack."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from bootscope.arch.model import Architecture
from bootscope.builder.step import Context
from bootscope.capture.objects import Program

PROGRAMS, SCRIPTS = "programs.json.gz", "scripts.json.gz"
_LARGEST_SCRIPT_BYTES = 256 * 1024


def program(path: Path, arch: Architecture) -> Program | None:
    """The program in an ELF file; None when it is not an ELF file, or a damaged one."""
    try:
        with path.open("rb") as opened:
            return program_in(opened, arch)
    except OSError:
        return None


def program_in(opened: BinaryIO, arch: Architecture) -> Program | None:
    """The same for an open file, or bytes."""
    try:
        elf = ELFFile(opened)
        segments = [
            (s["p_offset"], s["p_vaddr"], s["p_memsz"])
            for s in elf.iter_segments("PT_LOAD")
            if s["p_flags"] & 1
        ]
        return Program(segments, sorted(set(_functions(elf, arch))))
    except (ELFError, ValueError, KeyError, TypeError, AttributeError):
        return None


def keep_symbols(context: Context, arch: Architecture, linked: Path, whole: str, table: str) -> None:
    """Keeps in the step's folder the program that was linked, without debug information and host paths, as
    `whole`, and its symbol table as the text `table`."""
    context.run([arch.tools.tool("strip"), "--strip-debug", "-o", context.out / whole, linked])
    output = context.run([arch.tools.tool("nm"), "-n", linked]).output
    (context.out / table).write_text(output + "\n")


def _functions(elf: ELFFile, arch: Architecture) -> Iterator[tuple[int, int, str]]:
    for section in elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            for symbol in section.iter_symbols():
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_value"]:
                    yield arch.code_address(symbol["st_value"]), symbol["st_size"], symbol.name


def write(out: Path, files: Mapping[str, Path], with_symbols: Mapping[str, Path], arch: Architecture) -> None:
    """Writes PROGRAMS and SCRIPTS for the files of a root file system (path on the target -> here).

    `with_symbols` has the unstripped files, where there are any.
    """
    found = {name: program(with_symbols.get(name, path), arch) for name, path in sorted(files.items())}
    write_json(out / PROGRAMS, {name: known for name, known in found.items() if known})
    write_json(out / SCRIPTS, dict(_scripts(files)))


def _scripts(files: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    for name, path in sorted(files.items()):
        with path.open("rb") as f:
            is_script = f.read(2) == b"#!" or name == "/etc/inittab"
        if is_script and path.stat().st_size <= _LARGEST_SCRIPT_BYTES:
            yield name, path.read_text(errors="replace")


def write_json(path: Path, value: object) -> None:
    """Writes a value as gzipped JSON."""
    # Without a time stamp, so that the same content gives the same bytes.
    path.write_bytes(gzip.compress(msgspec.json.encode(value), mtime=0))
