# SPDX-License-Identifier: Apache-2.0
"""What is known of a boot loader is known in one file: nothing outside `loaders/` has its words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bootscope.boards.profile import Board, load_board, to_json
from bootscope.core.errors import UserError
from bootscope.loaders import console
from bootscope.loaders.model import KERNEL, LOAD, ROM, Hooked, Loader, Stage
from bootscope.loaders.opensbi import UBOOT_OPENSBI
from bootscope.loaders.registry import LOADERS, PHASES, PROGRAMS, hooks, merged, program_of
from bootscope.loaders.tfa import TFA
from bootscope.loaders.uboot import PROPER, SPL, UBOOT

from .builders import ROOT, board

SOURCES = ROOT / "src/bootscope"
WORDS = re.compile(
    r"[uU]-?[bB]oot\b|uboot|UBOOT|U_BOOT|\bSPL\b|SPL_|[\"']spl[\"'.]|bootcmd|bootdelay|BOOTDELAY"
    r"|[fF]alcon|bootstage|[bB]arebox|\bGRUB\b|\bBL1\b|TF-A|AT91Boot"
)
_BUILT = "builds this boot loader: its sources, configuration and images"
_TREE = "a build tree has these names for its products, settings and packages"
_SYSTEM = "a key of files that users have: systems, changes, techniques"
_FORMAT = "a format that only this boot loader writes"
_TYPED = "what a user types: a change of what-if, an option, a technique"
_OWN = "pitfalls of exactly this boot loader and its settings"
_DEVICE = "what this boot loader calls the device and what it needs of it"
_HOST = "what a build of it needs on the host, in Debian's words"
ALLOWED = {
    "builder/": _BUILT,
    "imageboot/firmware.py": _BUILT,
    "buildtrees/": _TREE,
    "system/model.py": _SYSTEM,
    "system/load.py": _SYSTEM,
    "system/nand.py": _SYSTEM,
    "system/named_sources.py": _SYSTEM,
    "system/changes.py": _SYSTEM,
    "changes/change_files.py": _SYSTEM,
    "changes/impossible.py": _SYSTEM,
    "changes/on_image.py": _SYSTEM,
    "cli/named_images.py": _SYSTEM,
    "imageedit/system.py": _SYSTEM,
    "techniques/model.py": _SYSTEM,
    "inventory/planned.py": _SYSTEM,
    "inventory/recorded.py": _SYSTEM,
    "trim/state.py": _SYSTEM,
    "trim/keep.py": "names of its configuration symbols, by why they stay",
    "audit/trials.py": "phases of techniques, as the catalogue has them",
    "readers/formats/bootstage.py": _FORMAT,
    "readers/formats/pmf.py": _FORMAT,
    "readers/firmware_tables.py": _FORMAT,
    "readers/conversions.py": "names a file by the program that takes it",
    "readers/markers.py": "names of milestones, which users type",
    "image/uboot_env.py": _FORMAT,
    "imageedit/wrapped.py": _FORMAT,
    "imageedit/menus.py": "changes menus of the kinds that bootimage/ found",
    "artefacts/loader.py": _FORMAT,
    "bootimage/": "names what it found, and formats that only this boot loader writes",
    "report/bootimage.py": "names a setting of it that was found",
    "artefacts/configs.py": "recognises its configuration by symbols that only it has",
    "artefacts/identify.py": "lists the kinds of files that are recognised",
    "artefacts/logs.py": "a setting that a log tells of",
    "audit/culprits/calls.py": _TYPED,
    "analysis/whatif.py": _TYPED,
    "inventory/log_indicators.py": _TYPED,
    "cli/apply.py": _TYPED,
    "cli/bisect.py": _TYPED,
    "regression/session.py": _TYPED,
    "cli/systems.py": _TYPED,
    "cli/techniques.py": _TYPED,
    "cli/whatif.py": _TYPED,
    "audit/pitfalls/": _OWN,
    "devices/sd_card.py": _DEVICE,
    "devices/sunxi_boot_rom.py": _DEVICE,
    "core/needs.py": _HOST,
    "core/tools.py": _HOST,
}


def sources() -> dict[str, str]:
    """Path below the package -> what is in it."""
    found = {path.relative_to(SOURCES).as_posix(): path for path in sorted(SOURCES.rglob("*.py"))}
    return {name: path.read_text() for name, path in found.items() if not name.startswith("loaders/")}


def test_nothing_else_knows_a_boot_loader() -> None:
    found: list[str] = []
    for name, text in sources().items():
        if not name.startswith(tuple(ALLOWED)):
            lines = enumerate(text.splitlines(), 1)
            found += [f"{name}:{number}: {line.strip()}" for number, line in lines if WORDS.search(line)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("place", ALLOWED)
def test_an_exception_is_still_one(place: str) -> None:
    assert any(WORDS.search(text) for name, text in sources().items() if name.startswith(place))


def test_the_phases_are_as_they_always_were() -> None:
    linux = ("bootloader", "load", "decompress", "kernel", "init", "application")
    assert UBOOT.phases == ("rom", "spl", *linux)
    assert TFA.phases == ("rom", "bl1", "bl2", "bl31", *linux)
    assert UBOOT_OPENSBI.phases == ("rom", "spl", "opensbi", *linux)
    assert ("rom", "firmware", "bl1", "bl2", "bl31", "spl", "opensbi", *linux) == PHASES
    assert hooks(Hooked.DELAY)[:2] == ("spl.delay", "uboot.delay")
    assert hooks(Hooked.START) == (
        "spl.start",
        "uboot.start",
        "bl1.start",
        "bl2.start",
        "bl31.start",
        "opensbi.start",
        "seabios.start",
        "grub.start",
    )
    assert hooks(Hooked.COMMAND) == ("uboot.command",)


@pytest.mark.parametrize("loader", LOADERS.values(), ids=list(LOADERS))
def test_what_is_known_of_one_fits_together(loader: Loader) -> None:
    assert loader.stages[0] is ROM
    # A kernel that the emulator starts was unpacked before, where its file does not unpack itself.
    rest = KERNEL if KERNEL[0] in loader.stages else KERNEL[1:]
    assert rest is KERNEL or loader.by_emulator
    assert loader.stages[-len(rest) :] == rest
    assert len(set(loader.phases)) == len(loader.phases)
    assert not loader.last or LOAD in loader.phases_of(loader.main)
    for program in loader.programs:
        assert program_of(program.hook(Hooked.DELAY)) is program
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)


def firmware() -> Loader:
    """A chain with one program more than that of any board here."""
    secure = replace(SPL, name="secure", title="firmware", phrase="the firmware")
    stages = list(UBOOT.stages)
    stages.insert(2, Stage("firmware", secure.hook(Hooked.START), "firmware", secure))
    return replace(UBOOT, name="with-firmware", stages=tuple(stages))


def test_a_chain_with_one_more_stage_has_one_more_phase() -> None:
    loader = firmware()
    assert loader.phases[:4] == ("rom", "spl", "firmware", "bootloader")
    assert merged([UBOOT.phases, loader.phases]) == loader.phases
    assert loader.phases_of(loader.main) == ("bootloader", "load")
    assert loader.phases_of() == ("spl", "firmware", "bootloader", "load")
    assert loader.programs[1].hook(Hooked.DELAY) == "secure.delay"
    assert (loader.first, loader.main) == (SPL, PROPER)


def test_profiles_stay_as_they_are() -> None:
    found = load_board("cubieboard")
    assert found.boot_loader is UBOOT
    assert found.addresses == {"spl": 0x60, "uboot": 0x4A000000, "kernel": 0x40008000}
    assert b'loader":' not in to_json(found)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("schema = 1\n", 'schema = 1\nloader = "lilo"\n', "loader: expected one of u-boot"),
        ("spl = 0x60 ", "tpl = 0x60 ", "addresses: unknown key `tpl`"),
        ("spl = 0x60 ", "# ", "addresses: missing value for `spl`"),
    ],
)
def test_a_profile_that_names_no_loader_of_ours_is_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = tmp_path / "mine.toml"
    text = (SOURCES / "boards.d/cubieboard.toml").read_text()
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=re.escape(said)):
        load_board(str(path))


def test_a_recording_of_a_loader_that_nobody_described_is_refused() -> None:
    fields = {name: getattr(board(), name) for name in board().__struct_fields__}
    with pytest.raises(UserError, match="lilo"):
        Board(**{**fields, "loader": "lilo"}).boot_loader  # noqa: B018


@pytest.mark.parametrize(
    ("line", "milestone"),
    [
        ("U-Boot TPL 2025.01", "tpl"),
        ("U-Boot SPL 2025.01 (Jan 01 2025)", "spl"),
        ("U-Boot 2025.01 (Jan 01 2025)", "bootloader"),
        ("barebox 2024.05.0 #1", "bootloader"),
        ("GNU GRUB  version 2.06", "grub"),
        ("NOTICE:  BL1: v2.10.0", "bl1"),
    ],
)
def test_each_banner_is_known_by_one_table(line: str, milestone: str) -> None:
    hit = [banner for banner in console.BANNERS if re.match(banner.pattern, line)]
    assert [banner.milestone for banner in hit] == [milestone]
    assert all(banner.text in line for banner in hit)
