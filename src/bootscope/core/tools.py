# SPDX-License-Identifier: Apache-2.0
"""The programs we call: which version is installed, which is needed, how to get it.

System packages are named as Debian and Ubuntu name them.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import cache

from bootscope.arch.model import Architecture
from bootscope.arch.registry import ARCHITECTURES
from bootscope.core import hints
from bootscope.core.errors import ToolError
from bootscope.core.process import run, search_path


@dataclass(frozen=True)
class Tool:
    """One program. `version` extracts the version from the output of `arguments`."""

    name: str
    package: str
    purpose: str
    arguments: tuple[str, ...] = ("--version",)
    version: str = r"(\d+(?:\.\d+)+)"
    minimum: tuple[int, ...] = ()


def _made_for(arch: Architecture) -> tuple[Tool, ...]:
    """The tools for an architecture."""
    chain = arch.tools
    return (
        Tool(chain.qemu, chain.qemu_package, "the emulated board", minimum=(10, 0)),
        Tool(chain.tool("gcc"), chain.package("gcc"), "compiles what runs on the board"),
        Tool(chain.tool("ld"), chain.package("binutils"), "links what runs on the board"),
        Tool(chain.tool("strip"), chain.package("binutils"), "removes symbols from programs"),
    )


HOST_TOOLS = {
    tool.name: tool
    for tool in (
        Tool("cc", "gcc", "compiles the QEMU plugin and the build tools of kernel and U-Boot"),
        Tool("make", "make", "builds U-Boot, kernel and BusyBox"),
        Tool("bison", "bison", "builds Kconfig"),
        Tool("flex", "flex", "builds Kconfig"),
        Tool("bc", "bc", "used by the kernel's build"),
        Tool("swig", "swig", "used by U-Boot's build", ("-version",)),
        Tool("mkimage", "u-boot-tools", "wraps U-Boot's boot script", ("-V",)),
        Tool("fdtput", "device-tree-compiler", "edits device trees", ("-V",)),
        Tool("sfdisk", "fdisk", "makes partition tables"),
        Tool("mkfs.vfat", "dosfstools", "makes the boot partition", (), r"mkfs.fat (\d\S+)"),
        Tool("mcopy", "mtools", "fills the boot partition", ("-V",)),
        Tool("mkfs.ext4", "e2fsprogs", "makes the root file system", ("-V",)),
        Tool("mkfs.ext3", "e2fsprogs", "makes the root file system", ("-V",)),
        Tool("mkfs.ext2", "e2fsprogs", "makes the root file system", ("-V",)),
        Tool("debugfs", "e2fsprogs", "fills the root file system without root rights", ("-V",)),
        Tool("e2fsck", "e2fsprogs", "checks a root file system that was changed", ("-V",)),
        Tool("dumpe2fs", "e2fsprogs", "shows the layout of a file system", ("-V",)),
        Tool("tar", "tar", "unpacks sources"),
        Tool("gzip", "gzip", "compresses an initramfs"),
        Tool("xz", "xz-utils", "unpacks sources"),
        Tool("lz4", "lz4", "compresses kernels"),
        Tool("lzop", "lzop", "compresses kernels"),
        Tool("bzip2", "bzip2", "unpacks sources", ("--help",), r"Version (\d\S+),"),
        Tool("apt-get", "apt", "fetches sources from the archive"),
    )
}
"""Needed for all systems."""
TOOLS = {tool.name: tool for arch in ARCHITECTURES.values() for tool in _made_for(arch)} | HOST_TOOLS
OPTIONAL_TOOLS = {
    tool.name: tool
    for tool in (
        Tool("ccache", "ccache", "speeds up changed builds"),
        Tool("mksquashfs", "squashfs-tools", "makes SquashFS roots", ("-version",)),
        Tool("mkfs.erofs", "erofs-utils", "makes EROFS roots", ("-V",), r"mkfs\.erofs [^\d]*(\d\S*)"),
        Tool("dump.erofs", "erofs-utils", "shows the layout of files in EROFS", ("-V",)),
        Tool("mkfs.f2fs", "f2fs-tools", "makes F2FS roots", ("-V",)),
        Tool("sload.f2fs", "f2fs-tools", "fills F2FS roots", ("-V",)),
        Tool("dump.f2fs", "f2fs-tools", "shows the layout of files in F2FS", ("-V",)),
        Tool("mkfs.btrfs", "btrfs-progs", "makes btrfs roots"),
        Tool("btrfs", "btrfs-progs", "shows the layout of files in btrfs"),
        Tool("mkfs.xfs", "xfsprogs", "makes XFS roots", ("-V",)),
        Tool("xfs_db", "xfsprogs", "shows the layout of files in XFS", ("-V",)),
        Tool("grub-mkimage", "grub-common", "puts GRUB together"),
        Tool("zstd", "zstd", "compresses an initramfs"),
        *(
            Tool(arch.tools.qemu_user, "qemu-user", "runs a program of an image that is being made")
            for arch in ARCHITECTURES.values()
        ),
        Tool("dpkg-deb", "dpkg", "unpacks packages"),
        Tool("sigrok-cli", "sigrok-cli", "records pins of real boards with a logic analyser"),
        Tool("unsquashfs", "squashfs-tools", "reads SquashFS images for audit", arguments=("-version",)),
    )
}
"""Needed only by systems that ask for them."""
DEBUGGERS = {
    tool.name: tool
    for tool in (
        Tool("gdb-multiarch", "gdb-multiarch", "looks into a boot that stands still (debug --run)"),
        Tool("gdb", "gdb", "the same, of boards of this computer's architecture"),
    )
}
"""For looking into a machine; only `debug` needs them."""


@dataclass(frozen=True)
class Found:
    """The state of one tool on this machine; `version` is None if it is missing."""

    tool: Tool
    version: str | None

    @property
    def good(self) -> bool:
        """Whether it is installed, and new enough."""
        return self.version is not None and _numbers(self.version) >= self.tool.minimum


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


@cache
def look_up(name: str) -> Found:
    """The state of the tool called `name`, queried once per process."""
    tool = TOOLS.get(name) or OPTIONAL_TOOLS.get(name) or DEBUGGERS[name]
    if not shutil.which(name, path=search_path()):
        return Found(tool, None)
    output = run([name, *tool.arguments], check=False, timeout_s=60).output
    match = re.search(tool.version, output)
    return Found(tool, match[1] if match else "unknown")


def require(*names: str) -> None:
    """Raises ToolError when a tool is missing or too old: which one, what was found, how to get it."""
    for name in names:
        found = look_up(name)
        needed = ".".join(map(str, found.tool.minimum))
        if found.version is None:
            everything = "bootscope doctor names all that is missing"
            hint = f"{how_to_get(found.tool)}; {everything}"
            raise ToolError(f"{name} is missing ({found.tool.purpose})", hint=hint)
        if not found.good:
            raise ToolError(
                f"{name} {found.version} is too old: {needed} or newer is needed",
                hint=how_to_get(found.tool),
            )


def how_to_get(tool: Tool) -> str:
    """A command, or instructions."""
    if tool.minimum:
        return hints.new_qemu(tool.package, ".".join(map(str, tool.minimum)))
    return hints.packages(tool.package)


def versions(*names: str) -> dict[str, str]:
    """Name -> version, 'missing' if there is none."""
    return {name: look_up(name).version or "missing" for name in names}
