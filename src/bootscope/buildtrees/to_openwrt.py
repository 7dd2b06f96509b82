# SPDX-License-Identifier: Apache-2.0
"""Changes for the top folder of OpenWrt: files/, env/kernel-config, and lines for .config."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import msgspec

from bootscope.buildtrees import output as common
from bootscope.buildtrees.changeset import ChangeSet
from bootscope.buildtrees.output import CommandLine, Output, Target
from bootscope.buildtrees.parts import symbol
from bootscope.core.errors import UserError, printable
from bootscope.kbuild.kconfig import fragment
from bootscope.system.changes import with_words

_IN_MEMORY = ("/tmp/", "/var/")
_TAKEN_OUT = ("/boot/",)
_BOOT_WORDS = "CONFIG_GRUB_BOOTOPTS"
_ROOTS = {"squashfs": "TARGET_ROOTFS_SQUASHFS", "ext4": "TARGET_ROOTFS_EXT4FS"}


def lines_of(name: str) -> str:
    """The path of the lines for .config."""
    return f"{name}.config"


def write(changes: ChangeSet, target: Target) -> Output:
    """The content for the top folder of OpenWrt's sources. Raises UserError where there is none."""
    out, change = Output(), changes.change
    lines: list[str] = []
    _kernel(out, changes, target, lines)
    if change.busybox:
        named = {f"BUSYBOX_CONFIG_{name}": value for name, value in change.busybox.items()}
        lines += ["CONFIG_BUSYBOX_CUSTOM=y", *fragment(named)]
    settings: dict[str, object] = dict(change.settings)
    kind = settings.get("rootfs.filesystem")
    if isinstance(kind, str) and kind in _ROOTS:
        settings.pop("rootfs.filesystem")
        lines.append(f"CONFIG_{_ROOTS[kind]}=y")
    _command_line(out, changes, target, lines)
    _files(out, changes, target)
    _uboot(out, changes, target)
    common.settings_by_hand(out, settings)
    common.options_by_hand(out, changes)
    if lines:
        out.files[lines_of(target.name)] = "\n".join(lines) + "\n"
    if not out.files and not out.by_hand and not out.lost:
        raise UserError("OpenWrt can use none of these changes")
    _use(out, target, lines)
    out.files[f"{target.name}.md"] = common.readme(
        out, changes, target, "Changes for OpenWrt, written by `bootscope apply`."
    )
    return out


def _kernel(out: Output, changes: ChangeSet, target: Target, lines: list[str]) -> None:
    """OpenWrt appends the kernel symbols of its own menu after all files, so both must agree."""
    symbols = changes.change.symbols("kernel")
    if not symbols:
        return
    out.files["env/kernel-config"] = common.symbols_text(symbols)
    asked = target.sources.asked
    # `make defconfig` drops symbols that OpenWrt's menu lacks.
    lines += fragment({f"KERNEL_{n}": v for n, v in symbols.items() if asked is None or n in asked})
    out.by_hand.append("packages of kernel modules (kmod-...) override env/kernel-config")


def _command_line(out: Output, changes: ChangeSet, target: Target, lines: list[str]) -> None:
    change, sources = changes.change, target.sources
    boot_words = re.search(rf'^{_BOOT_WORDS}="(.*)"$', sources.config, re.MULTILINE)
    common.keep_command_line(out, changes, target)
    if boot_words and change.command_line and not set("".join(change.command_line)) & set('"\\'):
        known = target.replaced.get(" ".join(boot_words[1].split()))
        old = known.words if known else boot_words[1]
        new = with_words(old.split(), change.command_line, change.command_line_drop)
        lines.append(f'{_BOOT_WORDS}="{new}"')
        if new != old:
            out.replaced[new] = CommandLine(old, _BOOT_WORDS)
        changes = replace(changes, change=msgspec.structs.replace(change, command_line=()))
        if _BOOT_WORDS in target.before and not known:
            out.by_hand.append(
                f"{_BOOT_WORDS} keeps the words of an earlier run: remove those that you do not want"
            )
    out.by_hand += common.words_by_hand(changes, target)
    if changes.changes_words:
        names = ", ".join(sources.command_line)
        where = f"; here {printable(names)} mention it" if names else ""
        out.by_hand.append(
            "OpenWrt has the command line in what U-Boot is given (uEnv, boot script), the device tree "
            f"(bootargs), CONFIG_CMDLINE or {_BOOT_WORDS}{where}"
        )


def _files(out: Output, changes: ChangeSet, target: Target) -> None:
    change = changes.change
    persists = symbol(target.sources.config, "CONFIG_TARGET_ROOTFS_PERSIST_VAR") == "y"
    in_memory = _IN_MEMORY[:1] if persists else _IN_MEMORY
    common.overlay(out, {p: text for p, text in change.write.items() if not _is_lost(p, in_memory)}, "files")
    out.links |= {f"files{p}": to for p, to in change.link.items() if not _is_lost(p, in_memory)}
    for path in sorted({*change.write, *change.link}):
        if path.startswith(_TAKEN_OUT):
            out.lost.append(f"{path}: OpenWrt removes /boot from the root file system")
        elif _is_lost(path, in_memory):
            out.lost.append(f"{path}: OpenWrt creates /tmp and /var in memory at each boot")
    common.look_at_files(out, changes)
    if any(path.startswith(("/etc/init.d/", "/etc/inittab", "/etc/fstab")) for path in change.write):
        out.by_hand.append(
            "OpenWrt starts what /etc/rc.d links to, made from scripts in /etc/init.d that begin with "
            "`#!/bin/sh /etc/rc.common` and have START=; it runs no /etc/init.d/rcS, and mounts by "
            "/etc/config/fstab"
        )
    if change.remove:
        out.by_hand.append(
            "OpenWrt cannot remove files by pattern: deselect the packages that bring "
            + ", ".join(change.remove)
        )


def _is_lost(path: str, in_memory: tuple[str, ...]) -> bool:
    return path.startswith((*in_memory, *_TAKEN_OUT))


def _uboot(out: Output, changes: ChangeSet, target: Target) -> None:
    if not changes.change.uboot:
        return
    options = " ".join(_option(name, value) for name, value in changes.change.uboot.items())
    package = target.sources.uboot or "package/boot/uboot-..."
    out.by_hand.append(
        f"U-Boot's configuration is in its package; before the last line of {package}/Makefile: "
        f"UBOOT_CUSTOMIZE_CONFIG += {options}"
    )


def _option(name: str, value: str | int | bool) -> str:
    """A symbol in the form of OpenWrt's U-Boot makefiles: arguments for its program scripts/config."""
    if isinstance(value, bool):
        return f"--{'enable' if value else 'disable'} {name}"
    if isinstance(value, int):
        return f"--set-val {name} {value}"
    in_make = shlex.quote(value).replace("$", "$$").replace("#", r"\#")
    return f"--set-str {name} {in_make}"


def _use(out: Output, target: Target, lines: list[str]) -> None:
    own = lines_of(target.name)
    taken_back = _taken_back(target.before, lines)
    if taken_back:
        # In set and unset symbols, one of these follows the name.
        forget = f"/^(# )?CONFIG_({'|'.join(taken_back)})[= ]/d"
        out.use += [
            "An earlier run put lines into .config that are no longer wanted; this restores OpenWrt's own "
            "values (set yours again if you had any):",
            f"    sed -i -E '{forget}' .config",
        ]
    if lines or taken_back:
        out.use.append("In the top folder of OpenWrt, which these files are in now:")
        out.use += [f"    cat {own} >> .config"] if lines else []
        out.use.append("    make defconfig")
    if lines:
        out.use += [
            "This prints what OpenWrt did not accept (nothing if it accepted all):",
            f"    grep -vxFf .config {own}",
        ]
    out.use += ["Then build:", "    make"]


def _taken_back(before: str, lines: list[str]) -> list[str]:
    """Symbols that an earlier run's lines set, and these do not."""
    pattern = re.compile(r"(?:# )?CONFIG_(\w+)(?:=.*| is not set)")
    earlier, now = (
        [match[1] for line in text if (match := pattern.fullmatch(line))]
        for text in (before.splitlines(), lines)
    )
    return [name for name in dict.fromkeys(earlier) if name not in now]
