# SPDX-License-Identifier: Apache-2.0
"""Counters of a program, read from the memory of its process and compared with the file that it writes."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.core.errors import ToolError
from bootscope.debugging import gcov

PROGRAM = r"""
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static int even(int x) { return x % 2 == 0; }
__attribute__((noinline)) static int odd(int x) { return x % 2; }
static int (*const kinds[2])(int) = {even, odd};
static char block[64];

__attribute__((noinline)) static int work(int count, int divisor)
{
	int sum = 0;

	for (int i = 0; i < count; i++) {
		sum += i % 7 == 3 ? i / divisor : i;
		sum += kinds[i % 5 == 0](i);
	}
	memset(block, sum, (size_t)(count % 64));
	return sum + block[count % 3];
}

void hold(void);

int main(void)
{
	int sum = 0;

	atexit(hold);
	for (int i = 1; i < 50; i++)
		sum += work(i * 10, i % 3 ? 4 : 5);
	return sum == 1;
}
"""
HOLD = r"""
#include <stdio.h>

void hold(void)
{
	puts("waiting");
	fflush(stdout);
	getchar();
}
"""
OPTIONS = ("-O2", "-fprofile-generate", "-fno-pie", "-no-pie")


def compiled(folder: Path, *options: str) -> Path:
    (folder / "program.c").write_text(PROGRAM)
    (folder / "hold.c").write_text(HOLD)
    # This one does not count, so that nothing counts while the program is read.
    subprocess.run(["cc", "-c", "hold.c"], cwd=folder, check=True)
    subprocess.run(["cc", *options, "-o", "program", "program.c", "hold.o"], cwd=folder, check=True)
    return folder / "program"


def read_and_written(program: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files as they are read from the running program, and as it writes them at its end."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stdout.readline() == b"waiting\n"
        with Path(f"/proc/{running.pid}/mem").open("rb", buffering=0) as memory:
            read = gcov.profile(program, reader(memory.seek, memory.read))
        running.communicate(b"\n")
    return read, {name: Path(name).read_bytes() for name in read}


def reader(seek: Callable[[int], int], read: Callable[[int], bytes]) -> gcov.Reads:
    def reads(address: int, count: int) -> bytes | None:
        try:
            seek(address)
            return read(count)
        except OSError:
            return None

    return reads


def test_what_is_read_from_memory_is_what_the_program_writes(tmp_path: Path) -> None:
    read, written = read_and_written(compiled(tmp_path, *OPTIONS))
    assert [Path(name).suffix for name in read] == [".gcda"]
    assert read == written


def test_the_compiler_takes_it(tmp_path: Path) -> None:
    read, _ = read_and_written(compiled(tmp_path, *OPTIONS))
    for name, data in read.items():
        Path(name).write_bytes(data)
    use = ("-O2", "-fprofile-use", "-fopt-info", "-Werror=missing-profile", "-Werror=coverage-mismatch")
    said = subprocess.run(
        ["cc", *use, "-o", "program", "program.c", "hold.o"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stderr
    assert "Transformation done" in said


def test_a_program_that_does_not_count_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="does not count"):
        gcov.profile(compiled(tmp_path, "-O2", "-no-pie"), lambda address, count: bytes(count))


def test_memory_of_another_process_is_no_profile(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="not stopped in the application"):
        gcov.profile(compiled(tmp_path, *OPTIONS), lambda address, count: None)


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "program").write_text("no program")
    with pytest.raises(ToolError, match="cannot be read as a program"):
        gcov.profile(tmp_path / "program", lambda address, count: None)


@pytest.mark.parametrize("seed", range(20))
def test_any_memory_ends_in_files_or_in_an_error(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    dice = random.Random(seed)
    folder = tmp_path_factory.getbasetemp() / "counting"
    folder.mkdir(exist_ok=True)
    program = folder / "program"
    if not program.exists():
        compiled(folder, *OPTIONS)

    def reads(address: int, count: int) -> bytes | None:
        # Mostly small numbers, so that counts are plausible and pointers are not.
        return bytes(dice.choice((0, 0, 0, 1, 2, 255)) for _ in range(count)) if dice.random() < 0.9 else None

    try:
        assert isinstance(gcov.profile(program, reads), dict)
    except ToolError as error:
        assert error.message
