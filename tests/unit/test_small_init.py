# SPDX-License-Identifier: Apache-2.0
"""A first program in C: what it is made of, and the script whose work it does."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from elftools.elf.elffile import ELFFile

from bootscope.arch.registry import ARCHITECTURES
from bootscope.builder.cache import Cache
from bootscope.builder.plan import steps_of
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context
from bootscope.builder.steps import small_init
from bootscope.buildtrees.changeset import read_folder
from bootscope.buildtrees.output import Output, settings_by_hand
from bootscope.changes.change_files import fragments, write
from bootscope.core.errors import UserError
from bootscope.inventory.first_script import FirstScript, first_script
from bootscope.inventory.inventory import Inventory, Part
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, check_system, load_system
from bootscope.system.small_init import GLIBC, SmallInit, mounts_of

ARM = ARCHITECTURES["arm"]
MOUNTS = """
# what  where  kind  options
proc  /proc  proc
tmpfs  /tmp  tmpfs  nosuid,rw,nofail,size=4m,mode=1777  0  0
"""


def known(script: str, word: str = "init=/start") -> Inventory:
    parts = frozenset({Part.COMMAND_LINE, Part.SCRIPTS})
    return Inventory(parts=parts, command_line=word, scripts={"/start": script})


def compiled(tmp_path: Path, init: SmallInit, *more: str | Path) -> Path:
    """The program for this computer, where it can be run; `more` options and sources."""
    (tmp_path / "plan.h").write_text(small_init.text_of(init))
    options = ["-O2", "-D_FORTIFY_SOURCE=2", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}"]
    options += ["-o", str(tmp_path / "init")]
    subprocess.run(["gcc", *options, small_init.SOURCE, *more], check=True)
    return tmp_path / "init"


def test_the_step_makes_a_static_program_for_the_target(tmp_path: Path) -> None:
    for name in ("scratch", "out"):
        (tmp_path / name).mkdir()
    init = SmallInit(path="/init", command="/bin/true", mounts=MOUNTS, libc=GLIBC)
    (step,) = small_init.steps(msgspec.structs.replace(load_system("stock").system, small_init=init), ARM)
    cache = Cache(tmp_path / "cache")
    step.work(Context({}, tmp_path / "scratch", tmp_path / "out", cache, Progress(), 1, False))
    with (tmp_path / "out" / small_init.PROGRAM).open("rb") as opened:
        elf = ELFFile(opened)
        assert elf["e_machine"] == "EM_ARM"
        assert not list(elf.iter_segments("PT_INTERP"))


def test_options_that_are_flags_are_told_from_the_file_systems_own() -> None:
    proc, tmp = mounts_of(MOUNTS)
    assert (proc.source, proc.target, proc.kind, proc.flags, proc.data) == ("proc", "/proc", "proc", 0, "")
    assert (tmp.flags, tmp.data) == (2, "size=4m,mode=1777")


def test_it_becomes_the_program_with_its_arguments_and_variables(tmp_path: Path) -> None:
    command = r"""/bin/sh -c 'printf "%s|" "$A" "$HOME" "$0"' "a \" \ é ?? b" """
    init = SmallInit(path="/init", command=command, environment='A=1 "2" $x', libc=GLIBC)
    program = compiled(tmp_path, init)
    there = {"A": "0", "HOME": "/", "TERM": "linux"}
    found = subprocess.run([program], capture_output=True, check=True, env=there)
    assert found.stdout.decode() == "A|".replace("A", '1 "2" $x') + '/|a " \\ é ?? b|'


def test_what_it_cannot_mount_or_run_it_says(tmp_path: Path) -> None:
    nowhere = "/nowhere-at-all"
    init = SmallInit(path="/init", command=nowhere, mounts=f"proc {nowhere}/proc proc", libc=GLIBC)
    found = subprocess.run([compiled(tmp_path, init)], capture_output=True, check=False)
    assert found.returncode == 1
    told = [f"small-init: cannot mount {nowhere}/proc", f"small-init: cannot run {nowhere}"]
    assert found.stderr.decode().splitlines() == told


TOLD = r"""
#include <stdio.h>
#include <unistd.h>
ssize_t told(int file, off_t at, size_t bytes)
{
	char first;

	return pread(file, &first, 1, at) == 1 ? dprintf(2, "%c %zu\n", first, bytes) : -1;
}
"""


def test_it_asks_for_parts_of_files_while_the_program_runs(tmp_path: Path) -> None:
    """In their order, no more than the kernel's window at a time; what is not there is gone over."""
    first, second = tmp_path / "a file", tmp_path / "b"
    first.write_bytes(b"x" * 4096 + b"y" * 4096 + b"z" * 300_000)
    second.write_bytes(b"w")
    lines = [f"4096 4096 {first}", f"0 9 {tmp_path}/gone", f"0 4096 {second}", f"8192 {140_000} {first}"]
    init = SmallInit(path="/init", command="/bin/echo runs", read_ahead="\n".join(lines), libc=GLIBC)
    (tmp_path / "told.c").write_text(TOLD)
    program = compiled(tmp_path, init, "-Dreadahead=told", tmp_path / "told.c")
    found = subprocess.run([program], capture_output=True, check=True)
    assert found.stdout == b"runs\n"
    assert found.stderr.decode().splitlines() == ["y 4096", "w 4096", "z 131072", "z 8928"]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("mounts", "proc /proc", "cannot mount this"),
        ("mounts", "proc proc proc", "cannot mount this"),
        ("mounts", "UUID=12-34 /data ext4", "cannot mount this"),
        ("mounts", "/root.img /data ext4 loop", "cannot mount this"),
        ("mounts", "/dev/sda1 /my\\040data ext4", "cannot mount this"),
        ("command", "testcard", "whole path"),
        ("command", "", "whole path"),
        ("command", "/bin/sh 'a", "No closing quotation"),
        ("environment", "A", "NAME=VALUE"),
        ("path", "init", "whole path"),
        ("path", "/", "whole path"),
        ("path", "/../init", "whole path"),
        ("command", "/bin/a\0b", "whole path"),
        ("libc", "musl", "nolibc"),
        ("read_ahead", "0 4096", "OFFSET BYTES PATH"),
        ("read_ahead", "100 4096 /bin/sh", "OFFSET BYTES PATH"),
        ("read_ahead", "0 0 /bin/sh", "OFFSET BYTES PATH"),
        ("read_ahead", "0 4096 bin/sh", "OFFSET BYTES PATH"),
        ("seed", "/dev/mmcblk0", "DEVICE SECTOR"),
        ("seed", "/dev/mmcblk0 0", "DEVICE SECTOR"),
        ("seed", "mmcblk0 5", "DEVICE SECTOR"),
    ],
)
def test_what_cannot_be_made_is_refused_by_its_key(key: str, value: str, told: str) -> None:
    loaded = load_system("stock")
    init = msgspec.structs.replace(SmallInit(path="/init", command="/bin/true"), **{key: value})
    with pytest.raises(UserError, match=rf"small_init\.{key}") as refused:
        check_system(msgspec.structs.replace(loaded.system, small_init=init), loaded.path)
    assert told in str(refused.value)


def test_nolibc_is_that_of_a_kernel_that_is_compiled() -> None:
    init = SmallInit(path="/init", command="/bin/true")
    debian = msgspec.structs.replace(load_system("debian").system, small_init=init)
    with pytest.raises(UserError, match="the kernel is prebuilt"):
        small_init.steps(debian, ARM)


def test_it_goes_into_the_root_file_system_and_nothing_else_is_made_again() -> None:
    loaded = load_system("stock")
    settings: dict[str, Any] = {
        "small_init.path": "/sbin/small-init",
        "small_init.command": "/usr/bin/testcard",
    }
    changed = LoadedSystem(apply(loaded.system, {"init": Change(settings=settings)}), loaded.path)
    found = {name: Resolved("", "0" * 64, "here", "1") for name in ("uboot", "linux", "busybox")}
    before, after = (
        {step.name: step for step in steps_of(system, dict(found))} for system in (loaded, changed)
    )
    assert after.keys() - before.keys() == {small_init.NAME}
    assert small_init.NAME in after["rootfs"].needs
    for name in before.keys() - {"rootfs", "card"}:
        assert before[name].inputs == after[name].inputs, name


def test_a_script_that_mounts_and_starts_something_is_read() -> None:
    script = """#!/bin/sh
# what the product is for
export LANG=C
echo "Starting; please wait" > /dev/console
mount -t proc proc /proc
mount -o size=4m,noexec -t tmpfs tmpfs /tmp
exec /usr/bin/player -i '/dev/video 0' -t '> /dev/console' > /dev/console 2>&1 # the product
"""
    told = FirstScript(
        "proc /proc proc defaults\ntmpfs /tmp tmpfs size=4m,noexec",
        "LANG=C",
        "/usr/bin/player -i '/dev/video 0' -t '> /dev/console'",
    )
    assert first_script(known(script)) == told
    assert first_script(known(script, "quiet rdinit=/start")) == told


@pytest.mark.parametrize(
    "line",
    [
        "mount -a",
        "mount /proc",
        "mount -n -t proc proc /proc",
        "mount -t proc $what /proc",
        "mount -t proc proc /proc &",
        "if true; then",
        "ifup eth0",
        "cd /tmp",
        "/sbin/mdev -s",
        "/bin/sleep 1",
        "LANG=C",
        "mount -t ext4 UUID=12-34 /data",
        "mount -t ext4 -o loop /root.img /data",
        "mount -t ext4 /dev/sda1 data",
        'echo "unclosed',
    ],
)
def test_a_script_that_does_something_else_is_not(line: str) -> None:
    assert first_script(known(f"#!/bin/sh\n{line}\n/usr/bin/player\n")) is None


def test_options_that_are_given_one_by_one_are_all_kept() -> None:
    found = first_script(
        known("#!/bin/sh\nmount -o ro -t ext4 -o noatime /dev/sda1 /data\n/usr/bin/player\n")
    )
    assert found and found.mounts == "/dev/sda1 /data ext4 ro,noatime"


def test_what_an_application_is_followed_by_does_not_count() -> None:
    script = "#!/bin/sh\nmount -t proc proc /proc\n/usr/bin/player\npoweroff\n"
    assert first_script(known(script)) is None
    there = replace(known(script), settings={"application.path": "/usr/bin/player"})
    found = first_script(there)
    assert found and found.command == "/usr/bin/player"


def test_who_builds_it_is_given_its_sources(tmp_path: Path) -> None:
    """In the folder of a search, and in what is written for a build system, where it comes first by hand."""
    settings: dict[str, Any] = {
        "small_init.path": "/sbin/small-init",
        "small_init.command": "/usr/bin/testcard",
        "small_init.mounts": MOUNTS,
    }
    change = Change(command_line=("init=/sbin/small-init",), settings=settings)
    system = apply(load_system("stock").system, {"it": change})
    texts = fragments(system, [change])
    assert '"/usr/bin/testcard"' in texts["small-init/plan.h"]
    assert texts["small-init/small_init.c"] == small_init.SOURCE.read_text()
    write(tmp_path / "changes", system, {"app-mount-in-c": change})
    read, _, _ = read_folder(tmp_path / "changes")
    assert read.settings["small_init.command"] == "/usr/bin/testcard"
    out = Output()
    settings_by_hand(out, dict(read.settings))
    assert out.files["small-init/plan.h"] == texts["small-init/plan.h"]
    assert "without it the board does not boot" in out.by_hand[0]
    assert out.lost == []


def test_what_is_no_script_is_none() -> None:
    assert first_script(known("#!/usr/bin/python3\nprint()\n")) is None
    assert first_script(known("#!/bin/sh\n/bin/true\n", "init=/other")) is None
    with pytest.raises(UserError):
        first_script(Inventory(parts=frozenset()))
