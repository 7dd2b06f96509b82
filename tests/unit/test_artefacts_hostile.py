# SPDX-License-Identifier: Apache-2.0
"""Loose files that are damaged, huge, or made to do harm: read as far as they go, or refused in words."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
from itertools import islice
from pathlib import Path

import pytest

from bootscope.artefacts import folder, loader, tree
from bootscope.artefacts import identify as gathering
from bootscope.artefacts.archives import CpioArchive
from bootscope.artefacts.identify import gather
from bootscope.audit.findings import audit
from bootscope.audit.pitfalls.find import find_pitfalls
from bootscope.core.errors import BootscopeError, UserError
from bootscope.core.process import search_path
from bootscope.inventory.loader_script import LoaderScript
from bootscope.readers.unpack import Budget

from . import artefact_builders as made
from .known_builders import inventory_of
from .time_bound import within

TEXTS = (
    made.KERNEL_CONFIG, made.UBOOT_CONFIG, made.BUSYBOX_CONFIG, made.COMMAND_LINE, made.PRINTENV, made.SCRIPT,
    made.EMULATOR, made.DMESG, made.CONSOLE,
)  # fmt: skip
BINARIES = (
    made.cpio_of(), made.stored_environment({"bootcmd": "run a", "a": "run bootcmd", "bootdelay": "2"}),
    made.uimage(made.zimage()), made.boot_scr(made.SCRIPT), made.zimage(tree=made.dtb()), made.dtb(),
)  # fmt: skip
SAMPLES = [*(text.encode() for text in TEXTS), *BINARIES]


def looked_at(path: Path) -> None:
    """All that audit does with a file, which may be refused, in words that a terminal can be given."""
    try:
        known, pieces = gather([str(path)])
        found = find_pitfalls(known, audit(known).findings)
        words = [*(p.told for p in pieces), *found.undecided.values()]
    except BootscopeError as error:
        words = [error.message, error.hint or ""]
        assert error.exit_code in (2, 3)
    assert all(text.isprintable() for text in words)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The data with a few things wrong."""
    made_wrong = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(made_wrong) + 1)
        what = chance.randrange(5)
        if what == 0:
            del made_wrong[at:]
        elif what == 1:
            made_wrong[at:at] = chance.randbytes(chance.randint(1, 40))
        elif what == 2:
            made_wrong[at : at + 4] = chance.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"7fffffff", b"${a}"])
        elif what == 3:
            del made_wrong[at : at + chance.randint(1, 200)]
        else:
            other = chance.choice(SAMPLES)
            start = chance.randrange(len(other))
            made_wrong[at:at] = other[start : start + chance.randint(1, 2000)]
    return bytes(made_wrong)


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_damaged_files_break_nothing(tmp_path: Path, number: int) -> None:
    chance, path = random.Random(number), tmp_path / "file"
    for _ in range(12):
        path.write_bytes(damaged(SAMPLES[number], chance))
        looked_at(path)


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_files_that_break_off_break_nothing(tmp_path: Path, number: int) -> None:
    data, path = SAMPLES[number], tmp_path / "file"
    for at in sorted({1, 3, 5, 40, 63, 64, 65, 111, 120, len(data) // 2, len(data) - 1}):
        path.write_bytes(data[:at])
        looked_at(path)


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"\xff" * 100, b"\n" * 5000, b"=" * 3000, b"CONFIG_A=" + b"y" * 2_000_000,
        b"CONFIG_A=y\n" * 100_000, b"bootcmd=" + b"run a; " * 200_000 + b"\nbootdelay=1\na=run a\n",
        b"console=ttyS0 " + b"root=/dev/x " * 1000, b"'" * 100_000 + b"\nbootz 1\nload a\n",
        b"bootz " + b"${a}" * 50_000 + b"\n", b"[    0.000000] " + b"x" * 1_000_000,
        ("bootcmd=" + "\x1b[31m" * 20 + "\nbootdelay=1\n").encode(), b"\x1f\x8b\x08" + b"\0" * 50,
        b"070701" + b"z" * 200, b"070701" + b"F" * 104 + b"a", b"hsqs" + b"\0" * 200,
        b"\0" * 1080 + b"\x53\xef",
        b"\x27\x05\x19\x56" + b"\xff" * 60, b"\xd0\x0d\xfe\xed" + b"\xff" * 60,
        b"MZ" + b"\0" * 54 + b"ARM\x64",
        b"\x71\xc7" + b"\0" * 100, b"qemu-system-arm " + b"-icount " * 1000,
    ],
    ids=range(22),
)  # fmt: skip
def test_odd_files_break_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    looked_at(path)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "Budget", lambda: Budget(max_bytes=1 << 20))
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(gzip.compress(bytes(4 << 20))))
    with pytest.raises(UserError, match="unpacks to more than 1 MB"):
        gather([str(path)])


NUMBERS = [(54, b"-0000074"), (14, b"-0000001"), (54, b"+0000000"), (54, b"0000_000"), (54, b"       0")]


@pytest.mark.parametrize(("at", "number"), NUMBERS)
def test_numbers_of_a_cpio_archive_are_digits_only(tmp_path: Path, at: int, number: bytes) -> None:
    """The first leads from a member back to itself, the second is no mode."""
    data = bytearray(made.cpio_of({"a/b": ""}))
    data[at : at + 8] = number
    path = tmp_path / "file"
    path.write_bytes(data)
    with within(10):
        assert [*islice(CpioArchive(bytes(data), 0), 3)] == []
        looked_at(path)


def test_headers_of_mkimage_in_one_another_are_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(made.uimage(b"") * 3000)
    assert gather([str(path)])[0].images["file"].payload == "uImage"


@pytest.mark.parametrize("blanks", ["\n" * 65_000, " " * 65_000, "a;" + " " * 65_000, ";" * 65_000])
def test_scripts_of_blanks_take_no_time(blanks: str) -> None:
    with within(5):
        assert not loader.is_script(f"setenv a b\nsetenv c d\n{blanks}")
        assert loader.is_script(f"setenv a b\nsetenv c d\n{blanks}\n \t  echo a; bootz 1\n")


# ---- what is no file ----


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (made.pipe, "is neither a file nor a folder"),
        (lambda path: path, "No such file or directory"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.mkdir(), "not a root file system"),
        (lambda path: path.symlink_to(path), "cannot read"),
        (
            lambda path: path.write_bytes(b"nothing of this is known\n"),
            "not a file that audit can read: text",
        ),
        (lambda path: path.write_bytes(b"\x00\x01\x02\x03" * 99), "not a file that audit can read: binary"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, make: object, message: str) -> None:
    path = tmp_path / "thing"
    make(path)  # type: ignore[operator]
    with pytest.raises(UserError) as caught:
        gather([str(path)])
    assert message in caught.value.message


def test_an_unknown_file_is_told_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "thing"
    path.write_text("hello\n")
    with pytest.raises(UserError) as caught:
        gather([str(path)])
    for kind in (".config", "command line", "environment", "root file system", "log"):
        assert kind in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["\0", "a\0b", "x" * 5000, "\udcff", "no\x1b[31m"])
def test_odd_names_are_refused(name: str) -> None:
    with pytest.raises(UserError) as caught:
        gather([name])
    assert caught.value.message.isprintable()


# ---- root file systems that reach out ----


def test_links_out_of_a_folder_are_told_and_not_followed(tmp_path: Path) -> None:
    outside = made.made_tree(tmp_path / "outside", {"/secret": "#!/bin/sh\necho secret\n", "/deep/x": "1"})
    root = made.made_tree(tmp_path / "root")
    (root / "etc/init.d/S99secret").symlink_to(outside / "secret")
    (root / "etc/out").symlink_to(outside)
    (root / "etc/loop").symlink_to(".")
    (root / "up").symlink_to("../outside")
    known, _ = gather([str(root)])
    assert known.files["/etc/init.d/S99secret"] == f"-> {outside}/secret"
    assert known.files["/etc/out"] == f"-> {outside}"
    assert not [path for path in known.files if "deep" in path or "loop/" in path]
    assert "secret" not in "".join(known.scripts.values())


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    root = made.made_tree(tmp_path / "root")
    made.pipe(root / "etc/initctl")
    known, _ = gather([str(root)])
    assert known.files["/etc/initctl"] == "device"


def test_a_file_that_becomes_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    assert folder.head(str(tmp_path / "link"), 100) == b""
    assert folder.head(str(made.pipe(tmp_path / "pipe")), 100) == b""


def test_names_in_a_folder_that_are_no_text(tmp_path: Path) -> None:
    root = made.made_tree(tmp_path / "root")
    with open(os.fsencode(root) + b"/etc/\xff\x1b[31m", "wb") as opened:  # noqa: PTH123
        opened.write(b"1")
    known, pieces = gather([str(root)])
    assert "/etc/\\xff\x1b[31m" in known.files
    assert pieces[0].told.isprintable()


def test_a_folder_that_cannot_be_read_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made.made_tree(tmp_path / "root")
    real = os.scandir

    def scandir(path: object) -> object:
        if str(path).endswith("init.d"):
            raise PermissionError(13, "Permission denied")
        return real(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", scandir)
    _, pieces = gather([str(root)])
    assert pieces[0].notes == ("could not be read: /etc/init.d",)


def test_paths_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    odd = {"/etc/inittab": "x", "/bin/a": "1", "../../../etc/evil": "2", "/./bin//b": "3", "/..": None}
    path = tmp_path / "file"
    path.write_bytes(made.cpio_of(odd))
    before = sorted(tmp_path.rglob("*"))
    known, _ = gather([str(path)])
    assert known.files["/../../../etc/evil"]
    assert known.files["/bin/b"]
    assert sorted(tmp_path.rglob("*")) == before


def test_more_files_than_a_root_file_system_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MOST_ENTRIES", 5)
    with pytest.raises(UserError, match="more than 5 files"):
        gather([str(made.made_tree(tmp_path / "root"))])


def test_nothing_of_a_root_file_system_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    text = f"#!/bin/sh\ntouch {mark}\n"
    programs = {f"/bin/{name}": text for name in ("sh", "debugfs", "file")}
    root = made.made_tree(tmp_path / "root", {**made.TREE, **programs, "/init": text})
    gather([str(root)])
    assert not mark.exists()


def ext_image(folder: Path) -> Path:
    image = folder / "root.img"
    root = made.made_tree(folder / "root", {**made.TREE, "/a/b/c": "1"})
    command = ["mkfs.ext4", "-q", "-O", "^metadata_csum", "-d", str(root), str(image), "2M"]
    subprocess.run(command, check=True, env={"PATH": search_path()})
    return image


def test_damaged_ext_images_break_nothing(tmp_path: Path) -> None:
    image, chance = ext_image(tmp_path), random.Random(5)
    whole = image.read_bytes()
    for _ in range(6):
        data = bytearray(whole)
        for _ in range(200):
            data[chance.randrange(1200, len(data) // 2)] = chance.randrange(256)
        image.write_bytes(data)
        looked_at(image)
    for size in (1082, 2048, 100_000):
        image.write_bytes(whole[:size])
        looked_at(image)


def test_a_folder_of_an_image_that_holds_itself_is_walked_once(tmp_path: Path) -> None:
    image = ext_image(tmp_path)
    commands = "cd /a/b\nln /a /a/b/loop\n"
    subprocess.run(
        ["debugfs", "-w", image], input=commands, text=True, check=True, capture_output=True,
        env={"PATH": search_path()},
    )  # fmt: skip
    known, _ = gather([str(image)])
    assert known.files["/a/b/loop"] == "folder"
    assert not [path for path in known.files if path.startswith("/a/b/loop/")]


def test_a_link_of_a_squashfs_cannot_pretend_to_be_a_device_that_is_a_file(tmp_path: Path) -> None:
    root, image = made.made_tree(tmp_path / "root"), tmp_path / "root.sqfs"
    forged = ("8, 1", "9" * 3000)
    for number, size in enumerate(forged):
        target = f"x\n-rwxr-xr-x 0/0 {size} 2020-01-01 00:00 squashfs-root/forged\n"
        (root / f"link{number}").symlink_to(target)
    subprocess.run(["mksquashfs", root, image, "-quiet", "-noappend"], check=True, stdout=subprocess.DEVNULL)
    known, _ = gather([str(image)])
    assert known.files["/link0"] == "-> x"
    assert "/forged" not in known.files


# ---- scripts of a boot loader that never end ----


@pytest.mark.parametrize(
    "environment",
    [
        {"bootcmd": "run bootcmd"},
        {"bootcmd": "run a b", "a": "run b; run b; run b", "b": "run a; run a; run a"},
        {f"s{n}": f"run s{n + 1}; run s{n + 1}" for n in range(60)} | {"bootcmd": "run s0"},
        {"bootcmd": "setenv a '${a}${a}'; " * 50 + "run ${a}", "a": "x" * 100},
        {"bootcmd": "run b${x}", **{f"b{n}": "run b${x}" for n in range(300)}},
        {"bootcmd": "'" * 5001 + '"' * 5001 + "\\" * 5001},
    ],
    ids=range(6),
)
def test_scripts_without_an_end_come_to_one(environment: dict[str, str]) -> None:
    script = LoaderScript(environment)
    assert len(script.commands) <= 5000
    assert len(script.deepest()) <= 500
    find_pitfalls(inventory_of(environment=environment))
