# SPDX-License-Identifier: Apache-2.0
"""What is taken out of packages: applets of a BusyBox, the SPL of an image, files by patterns."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from bootscope.arch.arm import ARM
from bootscope.builder.cache import Cache
from bootscope.builder.plan import Built, build, steps_of
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Runner
from bootscope.builder.steps.prebuilt import applets
from bootscope.cli.main import main
from bootscope.core.errors import ToolError, UserError
from bootscope.devices import sunxi_boot_rom
from bootscope.devices.model import Media
from bootscope.loaders.uboot import UBOOT
from bootscope.system.load import load_system, system_dir

TABLE = b"\1[\0[[\0ash\0cat\0insmod\0sh\0zcat\0/var/log/wtmp\0"
DEBIAN = (system_dir() / "debian.toml").read_text()
TREE = 'device_tree = "usr/lib/linux-image-*/sun4i-a10-cubieboard.dtb"\n'


def test_applets_are_those_of_the_programs_own_table() -> None:
    assert applets(b"\x7fELF and code" + TABLE) == ["[", "[[", "ash", "cat", "insmod", "sh", "zcat"]


@pytest.mark.parametrize("data", [b"", b"[\0[[\0", b"[\0[[\0cat\0", b"\x7fELF no table", TABLE[:12]])
def test_a_program_without_a_shell_is_no_busybox(data: bytes) -> None:
    with pytest.raises(UserError, match="is it BusyBox"):
        applets(data)


def _system(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """The system debian with sources of the user's own, which hold hardly anything."""
    text = DEBIAN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    for name in ("uboot", "linux", "busybox", "linux-headers", "linux-headers-common"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        start = text.index(f"[sources.{name}]")
        end = text.index("\n\n", start)
        text = text[:start] + f'[sources.{name}]\nversion = "mine"\npath = "{folder}"' + text[end:]
    for name in ("debian/rootfs", "stock/app"):
        text = text.replace(f'"{name}"', f'"{system_dir() / name}"')
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def _built(tmp_path: Path, path: Path) -> None:
    build(load_system(str(path)), Runner(Cache(tmp_path / "cache"), Progress()), Progress())


def test_a_package_without_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"no files that fit usr/lib/u-boot/Cubieboard/.*, expected one"
    ) as caught:
        _built(tmp_path, _system(tmp_path))
    assert "[prebuilt]" in str(caught.value.hint)


def test_a_loader_for_another_soc_is_refused(tmp_path: Path) -> None:
    path = _system(tmp_path)
    image = tmp_path / "uboot/usr/lib/u-boot/Cubieboard/u-boot-sunxi-with-spl.bin"
    image.parent.mkdir(parents=True)
    image.write_bytes(struct.pack("<I", 0xEA000016) + bytes(4096))
    with pytest.raises(UserError, match=r"does not begin with an SPL for an Allwinner SoC"):
        _built(tmp_path, path)


def test_a_board_may_have_boot_loader_and_device_tree_of_its_own(tmp_path: Path) -> None:
    """Then neither is on the card, and QEMU gets the boot loader's image."""
    screen = DEBIAN[DEBIAN.index("[framebuffer]") : DEBIAN.index("[busybox]")]
    off_card = ("loader_sector = 16", "loader_sector = 0")
    loaded = load_system(str(_system(tmp_path, (TREE, ""), (screen, ""), off_card)))
    found = {name: Resolved("", "00", "", "") for name in loaded.system.sources}
    steps = {step.name: step for step in steps_of(loaded, found)}
    assert "device-tree" not in steps
    assert steps["card"].needs == ("uboot", "kernel", "rootfs", "initramfs")
    results = {name: Path(f"/{name}") for name in steps}
    media = Built("", {}, results, {}).media(loaded.system, UBOOT)
    assert media == Media(
        Path("/card/sd.img"), Path("/uboot") / sunxi_boot_rom.IMAGE, Path("/kernel/zImage"),
        Path("/initramfs/initrd"), "console=ttyS0,115200",
    )  # fmt: skip
    assert Built("", {}, results, {}).media(load_system("debian").system, UBOOT).loader is None
    image = tmp_path / "uboot/usr/lib/u-boot/Cubieboard/u-boot-sunxi-with-spl.bin"
    image.parent.mkdir(parents=True)
    image.write_bytes(bytes(4096))
    with pytest.raises(UserError, match="no files that fit usr/bin/busybox"):
        _built(tmp_path, loaded.path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'source = "linux"\n',
            'source = "linux"\nconfig = { FB = true }\n',
            "kernel.config: expected nothing",
        ),
        ('place = "external"', 'place = "built-in"', "initramfs.place: expected 'external'"),
        ('source = "uboot"\n', 'source = "uboot"\nfalcon = true\n', "uboot.falcon: expected false"),
        ('"linux-headers-common"]', '"no-such"]', "prebuilt.headers: expected names under"),
        (TREE, "", "prebuilt.device_tree: expected one to change or append"),
        ("[prebuilt]\n", '[prebuilt]\nmodule_form = "signed"\n', "prebuilt.module_form: expected one of"),
        ("loader_sector = 16", "loader_sector = -1", "card.loader_sector: expected 0 or more, before boot"),
    ],
)
def test_what_a_prebuilt_system_cannot_have(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        load_system(str(_system(tmp_path, (old, new))))


def test_what_is_compiled_needs_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "stock.toml"
    text = (system_dir() / "stock.toml").read_text().replace('defconfig = "sunxi_defconfig"', "")
    for name in ("stock/rootfs", "stock/app"):
        text = text.replace(f'"{name}"', f'"{system_dir() / name}"')
    path.write_text(text)
    with pytest.raises(UserError, match=r"kernel\.defconfig: expected the name of a configuration"):
        load_system(str(path))


def test_headers_of_another_kernel_are_refused(tmp_path: Path) -> None:
    from bootscope.builder.step import Context
    from bootscope.builder.steps import kernel_headers

    tree = tmp_path / "usr/src/linux-headers-6.12.1"
    for name, text in {
        "include/generated/autoconf.h": "",
        "include/linux/sched.h": "",
        "include/config/kernel.release": "6.12.1\n",
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    cache = Cache(tmp_path / "cache")
    context = Context({}, tmp_path, tmp_path, cache, Progress(), 1, False)
    with pytest.raises(ToolError, match=r"the headers are of kernel 6\.12\.1, the kernel is 6\.12\.9"):
        kernel_headers.write(context, ARM, [tmp_path], "6.12.9")


@pytest.mark.parametrize("technique", ["kernel-compression=lz4", "uboot-bootdelay", "kernel-allnoconfig-up"])
def test_a_technique_that_configures_what_is_not_compiled_is_refused_at_once(
    technique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is built or booted."""
    monkeypatch.setenv("BOOTSCOPE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("BOOTSCOPE_CACHE", str(tmp_path / "cache"))
    assert main(["try", technique, "--system", "debian"]) == 2
    said = capsys.readouterr().err
    assert f"{technique} configures " in said and "which debian takes prebuilt" in said
