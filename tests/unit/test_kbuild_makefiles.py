# SPDX-License-Identifier: Apache-2.0
"""Makefiles: by which symbols an object file gets into a build."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.arch.arm import ARM
from bootscope.kbuild.makefiles import ALWAYS, Makefiles

FILES = {
    "Kbuild": (
        "obj-y += init/\nobj-$(CONFIG_NET)\t+= net/\nobj-y += drivers/ lib/\nobj-y += arch/$(SRCARCH)/\n"
    ),
    "arch/arm/Makefile": "core-$(CONFIG_VFP)\t+= arch/arm/vfp/\n",
    "arch/arm/vfp/Makefile": "obj-y += vfp.o\nvfp-y += vfpmodule.o \\\n\tvfphw.o\n",
    "drivers/Makefile": "obj-$(CONFIG_MMC) += mmc/\nobj-y += usb/ # comment\n",
    "drivers/mmc/Makefile": "obj-$(CONFIG_MMC)\t+= core/\nobj-$(subst m,y,$(CONFIG_MMC)) += host/\n",
    "drivers/mmc/core/Makefile": (
        "obj-$(CONFIG_MMC) += mmc_core.o\nmmc_core-y := core.o bus.o\nmmc_core-$(CONFIG_OF) += pwrseq.o\n"
        "mmc_core-objs += old.o\n"
    ),
    "drivers/mmc/host/Makefile": "obj-$(CONFIG_MMC_SUNXI) += sunxi-mmc.o\nCFLAGS_sunxi-mmc.o := -Wall\n",
    "drivers/usb/Makefile": (
        "ifeq ($(CONFIG_USB),y)\nobj-$(CONFIG_USB_EHCI) += ehci.o\nelse\nobj-y += never.o\nendif\n"
        "ifneq ($(CONFIG_A)$(CONFIG_B),)\nobj-y += either.o\nendif\n"
        "ifdef CONFIG_DEBUG\nobj-y += debug.o\nendif\n"
        "obj-$(CONFIG_HOST)$(CONFIG_DUAL) += host.o\n"
        "obj-$(and $(CONFIG_X),$(CONFIG_Y)) += both.o\n"
        "ifeq ($(CONFIG_P)-$(CONFIG_Q),y-y)\nobj-y += pair.o\nendif\n"
        "ifndef CONFIG_OFF\nobj-y += unless.o\nendif\n"
    ),
    "lib/Makefile": (
        "lib-y := string.o\nobj-$(CONFIG_CRC) += crc.o\nobj-$(CONFIG_OTHER) += crc.o\n"
        "obj-$(CONFIG_ZSTD) += zstd/zstd.o\nobj-$(CONFIG_LOOP) += loop.o\nloop-y := $(loop-y) part.o\n"
    ),
    "net/Makefile": "obj-$(CONFIG_$(PHASE_)INET) += ip.o\nobj-y += $(addprefix $(src)/,odd.o)\n",
}


@pytest.fixture
def made(tmp_path: Path) -> Makefiles:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Makefiles(tmp_path, ARM)


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("drivers/mmc/core/core.o", ["MMC"]),
        ("drivers/mmc/core/old.o", ["MMC"]),
        ("drivers/mmc/core/pwrseq.o", ["MMC OF"]),
        ("drivers/mmc/host/sunxi-mmc.o", ["MMC MMC_SUNXI"]),
        ("drivers/usb/ehci.o", ["USB USB_EHCI"]),
        ("drivers/usb/never.o", [""]),
        ("drivers/usb/either.o", ["A", "B"]),
        ("drivers/usb/debug.o", ["DEBUG"]),
        ("drivers/usb/host.o", ["DUAL", "HOST"]),
        ("drivers/usb/both.o", ["X Y"]),
        ("drivers/usb/pair.o", ["P Q"]),
        ("drivers/usb/unless.o", [""]),
        ("lib/string.o", [""]),
        ("lib/crc.o", ["CRC", "OTHER"]),
        ("lib/zstd/zstd.o", ["ZSTD"]),
        ("lib/part.o", ["LOOP"]),
        ("net/ip.o", ["INET NET"]),
        ("net/unlisted.o", ["NET"]),
        ("arch/arm/vfp/vfphw.o", ["VFP"]),
        ("nowhere/at-all.o", [""]),
    ],
)
def test_ways_into_a_build(made: Makefiles, name: str, ways: list[str]) -> None:
    assert sorted(" ".join(sorted(way)) for way in made.ways(name)) == ways


def test_busybox_keeps_its_rules_in_its_sources(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("libs-y := coreutils/\n")
    folder = tmp_path / "coreutils"
    folder.mkdir()
    (folder / "Kbuild.src").write_text("lib-y:=\n\nINSERT\n")
    (folder / "echo.c").write_text(
        "//kbuild:lib-$(CONFIG_ECHO) += echo.o\n//kbuild:lib-$(CONFIG_ASH_ECHO)  += echo.o\nint x;\n"
    )
    found = Makefiles(tmp_path, ARM).ways("coreutils/echo.o")
    assert set(found) == {frozenset({"ECHO"}), frozenset({"ASH_ECHO"})}


def test_lists_that_name_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("a-y := b.o\nb-y := a.o\n")
    assert Makefiles(tmp_path, ARM).ways("a.o") == ALWAYS
