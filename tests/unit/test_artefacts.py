# SPDX-License-Identifier: Apache-2.0
"""Loose files: what they are recognised as, and what they tell of a system together."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import subprocess
from pathlib import Path

import pytest

from bootscope.artefacts.file_facts import Piece
from bootscope.artefacts.identify import gather
from bootscope.core.errors import UserError
from bootscope.core.process import search_path
from bootscope.inventory.inventory import Image, Inventory, Part, Program

from . import artefact_builders as made
from .test_linters import needed


def one(path: Path, data: bytes | str) -> tuple[Inventory, Piece]:
    """What a file with this content is."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    known, pieces = gather([str(path)])
    assert len(pieces) == 1
    return known, pieces[0]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


# ---- configurations ----


@pytest.mark.parametrize(
    ("text", "tree", "kind"),
    [
        (made.KERNEL_CONFIG, "kernel", Part.KERNEL),
        (made.UBOOT_CONFIG, "uboot", Part.LOADER),
        (made.BUSYBOX_CONFIG, "busybox", Part.BUSYBOX),
    ],
)
def test_a_configuration_is_known_by_its_head(file: Path, text: str, tree: str, kind: Part) -> None:
    known, piece = one(file, text)
    assert piece.kind == kind
    assert known.parts == {kind}
    assert known.symbol(tree, "NOT_IN_IT") == "n"
    assert set(known.configs) == {tree}
    others = {"kernel", "uboot", "busybox"} - {tree}
    assert all(known.symbol(other, "SMP") is None for other in others)


def test_a_fragment_tells_what_it_names_only(file: Path) -> None:
    known, piece = one(file, "CONFIG_SMP=y\nCONFIG_MODULES=y\n# CONFIG_NET is not set\n")
    assert piece.notes
    assert known.symbol("kernel", "SMP") == "y"
    assert known.symbol("kernel", "NET") == "n"
    assert known.symbol("kernel", "USB") is None


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("CONFIG_BOOTDELAY=1\nCONFIG_SPL=y\nCONFIG_CMD_MMC=y\nCONFIG_ARM=y\n", "uboot"),
        ("CONFIG_ASH=y\nCONFIG_FEATURE_EDITING=y\nCONFIG_LS=y\n", "busybox"),
        ('CONFIG_MMU=y\nCONFIG_PRINTK=y\nCONFIG_SMP=y\nCONFIG_CMDLINE=""\n', "kernel"),
    ],
)
def test_a_configuration_without_a_head_is_known_by_its_symbols(file: Path, text: str, tree: str) -> None:
    assert set(one(file, text)[0].configs) == {tree}


def test_proc_config_gz_is_read(file: Path) -> None:
    known, _ = one(file, gzip.compress(made.KERNEL_CONFIG.encode()))
    assert known.on("kernel", "SMP")
    assert known.number("kernel", "LOG_BUF_SHIFT") == 17
    assert known.text("kernel", "INITRAMFS_SOURCE") == ""


# ---- command lines, environments, scripts ----


@pytest.mark.parametrize(
    "text", [made.COMMAND_LINE, "bootargs=console=ttyS0 quiet", "# mine\nroot=/dev/sda1 ro\n"]
)
def test_a_command_line(file: Path, text: str) -> None:
    known, piece = one(file, text)
    assert piece.kind == "kernel command line"
    assert known.parts == {Part.COMMAND_LINE}
    assert known.words == [word for word in text.replace("# mine", "").removeprefix("bootargs=").split()]


def test_what_printenv_prints(file: Path) -> None:
    known, piece = one(file, made.PRINTENV)
    assert piece.told.endswith("8 variables")
    assert known.parts == {Part.ENVIRONMENT}
    assert known.environment["bootdelay"] == "3"
    assert [load.file for load in known.loader.loads] == ["zImage", "board.dtb"]
    assert known.loader.called("bootz", "bootm", "booti") == [["bootz", "0x42000000", "-", "0x43000000"]]
    # What is stored wins over the default that the configuration would tell.
    assert known.symbol("uboot", "BOOTDELAY") == "3"
    assert known.symbol("uboot", "SPL_OS_BOOT") is None


def test_a_value_of_several_lines_stays_whole(file: Path) -> None:
    known, _ = one(file, "bootcmd=run a\nbaudrate=115200\na=echo 1\n  echo 2\nbootdelay=1\n")
    assert known.environment["a"] == "echo 1\n  echo 2"


@pytest.mark.parametrize("flag", [b"", b"\x01"])
def test_a_stored_environment(file: Path, flag: bytes) -> None:
    variables = {"bootcmd": "run a", "bootdelay": "2", "a": "echo"}
    known, piece = one(file, made.stored_environment(variables, flag=flag))
    assert known.environment == variables
    assert piece.notes == ()
    assert ("twice" in piece.told) == bool(flag)


def test_a_stored_environment_whose_checksum_is_wrong_is_doubted(file: Path) -> None:
    data = bytearray(made.stored_environment({"bootcmd": "run a", "bootdelay": "2"}))
    data[0] ^= 1
    known, piece = one(file, bytes(data))
    assert known.environment["bootdelay"] == "2"
    assert "checksum" in piece.notes[0]


@pytest.mark.parametrize("packed", [False, True])
def test_a_script_of_u_boot(file: Path, packed: bool) -> None:
    known, piece = one(file, made.boot_scr(made.SCRIPT) if packed else made.SCRIPT)
    assert piece.kind == "U-Boot script"
    assert known.loader.bootargs == "console=ttyS0,115200 root=/dev/mmcblk0p2 rootfstype=ext4"
    # It says what the kernel is given.
    assert known.word("rootfstype") == "ext4"
    assert known.knows(Part.COMMANDS, Part.COMMAND_LINE)


def test_a_qemu_command_line(file: Path) -> None:
    known, _ = one(file, made.EMULATOR)
    assert "throttling.bps-total=10000000" in known.emulator
    assert known.parts == {Part.EMULATOR}


# ---- images ----


def test_a_zimage_tells_what_it_takes_in_memory(file: Path) -> None:
    known, piece = one(file, made.zimage())
    assert known.images == {"file": Image("zImage", 5000, 14_200_000)}
    assert "14.2 MB in memory" in piece.told
    assert one(file, made.zimage(tree=made.dtb()))[0].images["file"].appended


def test_a_uimage_and_what_it_holds(file: Path) -> None:
    known, _ = one(file, made.uimage(made.zimage()))
    assert known.images["file"] == Image("uImage", 5064, 14_200_000, 0x40008000, "zImage")


def test_other_images(file: Path) -> None:
    arm64 = bytes(16) + (1 << 25).to_bytes(8, "little") + bytes(32) + b"ARM\x64" + bytes(200)
    assert one(file, arm64)[0].images["file"] == Image("Image", 260, 1 << 25)
    assert one(file, gzip.compress(arm64))[0].images["file"].kind == "compressed"
    assert one(file, made.dtb(300))[0].images == {"dtb": Image("dtb", 300)}


def test_an_image_of_mkimage_that_is_no_kernel_is_named(file: Path) -> None:
    with pytest.raises(UserError, match="has an mkimage header and is a RAM disk"):
        one(file, made.uimage(b"x" * 100, kind=3))


# ---- root file systems ----

INIT = f"program {hashlib.sha256(made.RCS.encode()).hexdigest()[:16]}"


def check_tree(known: Inventory, program: str = "program") -> None:
    assert known.knows(Part.FILES, Part.SCRIPTS, Part.PROGRAMS)
    assert known.files["/dev"] == "folder"
    assert known.files["/sbin/init"] == "-> /bin/busybox"
    assert known.files["/etc/init.d/rcS"] == INIT
    assert known.files["/bin/busybox"].startswith(program)
    assert known.has_file("/etc/init.d/rcS", made.RCS)
    assert known.scripts["/etc/init.d/rcS"] == made.RCS
    assert known.scripts["/etc/inittab"] == made.INITTAB


def test_a_folder(tmp_path: Path) -> None:
    known, pieces = gather([str(made.made_tree(tmp_path / "root"))])
    check_tree(known)
    assert pieces[0].told.startswith("root file system, folder: 16 entries, 9 scripts")
    assert known.filesystem == ""


def test_a_tar_archive(tmp_path: Path, file: Path) -> None:
    data = made.tar_of(made.made_tree(tmp_path / "root"))
    check_tree(one(file, data)[0])
    check_tree(one(file, lzma.compress(data))[0])


def test_a_cpio_archive(file: Path) -> None:
    known, piece = one(file, made.cpio_of())
    check_tree(known)
    assert known.filesystem == "initramfs"
    assert piece.notes == ()
    check_tree(one(file, gzip.compress(made.cpio_of()))[0])


def test_two_cpio_archives_one_after_the_other_are_one(file: Path) -> None:
    first = made.cpio_of({"/early/a": "1"})
    known, _ = one(file, first + made.cpio_of())
    check_tree(known)
    assert "/early/a" in known.files


def test_devices_in_an_archive(file: Path) -> None:
    console = made.cpio_entry(b"dev/console", 0o020600)
    assert one(file, made.cpio_of(made.TREE, console))[0].files["/dev/console"] == "device"


@pytest.mark.parametrize(("journal", "kind"), [("^has_journal", "ext2"), ("has_journal", "ext3")])
def test_an_ext_image(tmp_path: Path, journal: str, kind: str) -> None:
    image, tree = tmp_path / "root.img", made.made_tree(tmp_path / "root")
    command = ["mkfs.ext2", "-q", "-O", journal, "-d", str(tree), str(image), "4M"]
    subprocess.run(command, check=True, env={"PATH": search_path()})
    known, pieces = gather([str(image)])
    check_tree(known)
    assert known.filesystem == kind
    assert pieces[0].told.startswith(f"root file system, {kind} image: ")


def test_an_ext4_image_with_odd_names(tmp_path: Path) -> None:
    odd = {"/etc/a b; rm -rf <12>": "1", "/etc/$(id)": "2", '/bin/"': "3", "/etc/ü": "4"}
    tree = made.made_tree(tmp_path / "root", {**made.TREE, **odd})
    image = tmp_path / "root.img"
    subprocess.run(
        ["mkfs.ext4", "-q", "-d", str(tree), str(image), "4M"], check=True, env={"PATH": search_path()}
    )
    known, _ = gather([str(image)])
    check_tree(known)
    assert known.filesystem == "ext4"
    for name, text in odd.items():
        assert known.has_file(name, text)


def test_a_squashfs_image(tmp_path: Path) -> None:
    needed("mksquashfs")
    needed("unsquashfs")
    tree = made.made_tree(tmp_path / "root", {**made.TREE, "/etc/-f a": "1", "/etc/*": "2"})
    image = tmp_path / "root.sqfs"
    subprocess.run(["mksquashfs", tree, image, "-quiet", "-noappend"], check=True, stdout=subprocess.DEVNULL)
    known, _ = gather([str(image)])
    check_tree(known)
    assert known.filesystem == "squashfs"
    assert known.has_file("/etc/-f a", "1")
    assert known.has_file("/etc/*", "2")


def test_programs_are_looked_at(tmp_path: Path) -> None:
    tree = {
        "/etc": None,
        "/bin/glibc": made.elf(mark=b"GLIBC_TUNABLES"),
        "/bin/musl": made.elf(mark=b"MUSL_LOCPATH", wide=True),
        "/bin/dynamic": made.elf(static=False, mark=b"GLIBC_TUNABLES"),
        "/bin/bare": made.elf(static=False, sections=False),
        "/bin/cut": made.elf()[:40],
    }
    known, _ = gather([str(made.made_tree(tmp_path / "root", tree))])
    assert {path: (p.static, p.libc, p.sections) for path, p in known.programs.items()} == {
        "/bin/glibc": (True, "glibc", True),
        "/bin/musl": (True, "musl", True),
        "/bin/dynamic": (False, "", True),
        "/bin/bare": (False, "", False),
    }
    assert known.programs["/bin/glibc"] == Program(True, "glibc", 526, True)


# ---- logs ----


def test_a_kernel_log(file: Path) -> None:
    known, piece = one(file, made.DMESG)
    assert piece.kind == "log"
    assert known.command_line == "console=ttyS0,115200 root=/dev/mmcblk0p2 rw"
    assert known.parts == {Part.LOG, Part.COMMAND_LINE}
    # The banner says so; nothing else of the configuration is known.
    assert known.symbol("kernel", "SMP") == "y"
    assert known.symbol("kernel", "MODULES") is None
    assert known.log
    assert known.log.clock == "kernel"


def test_a_console_log(file: Path) -> None:
    known, _ = one(file, made.CONSOLE)
    assert known.log
    assert known.log.timed
    assert known.symbol("uboot", "BOOTDELAY") == "2"
    assert len(known.log.loader_lines) == 5
    assert len(known.log.kernel_lines) == 40


# ---- together ----


def test_files_of_one_system_are_put_together(tmp_path: Path) -> None:
    texts = {
        "k": made.KERNEL_CONFIG,
        "u": made.UBOOT_CONFIG,
        "e": made.PRINTENV,
        "c": "root=/dev/mmcblk0p2 rootfstype=ext4\n",
        "l": made.DMESG,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    known, pieces = gather([str(tmp_path / name) for name in texts])
    assert len(pieces) == 5
    # The file with the command line is surer than a log, the environment than a default.
    assert known.command_line == "root=/dev/mmcblk0p2 rootfstype=ext4"
    assert known.symbol("uboot", "BOOTDELAY") == "3"
    assert known.symbol("uboot", "NOT_IN_IT") == "n"
    assert known.symbol("kernel", "NOT_IN_IT") == "n"
    assert known.symbol("busybox", "ASH") is None


def test_two_files_of_one_kind_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(made.KERNEL_CONFIG)
    with pytest.raises(UserError, match="are both a kernel configuration"):
        gather([str(tmp_path / "a"), str(tmp_path / "b")])
    assert len(gather([str(tmp_path / "a")] * 2)[1]) == 1
