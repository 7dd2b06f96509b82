# SPDX-License-Identifier: Apache-2.0
"""OpenWrt's results: the folder of a target with its images, and the build folders as long as they exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bootscope.artefacts.folder import head
from bootscope.buildtrees import parts as common
from bootscope.buildtrees.look import Look, text
from bootscope.buildtrees.parts import Parts
from bootscope.core.errors import UserError, printable

LOOKED_FOR = "bin/targets/TARGET/SUBTARGET, or profiles.json with *.manifest or *.buildinfo"


def _is_target(look: Look, at: str) -> bool:
    return bool(look.all(f"{at}profiles.json") or look.all(f"{at}version.buildinfo"))


def root_of(folder: Path) -> Path | None:
    """The folder to search: the top folder of a build, or the folder of a target."""
    look = Look(folder)
    if _is_target(look, "") or _targets(look):
        return folder
    config = folder / ".config"
    openwrt = config.is_file() and b"OpenWrt" in head(config, 4096, follow=True)
    return folder if openwrt or (folder / "feeds.conf.default").is_file() else None


def _targets(look: Look) -> list[Path]:
    return [p for p in look.all("bin/targets/*/*", folder=True) if _is_target(look, f"{look.relative(p)}/")]


def collect(parts: Parts) -> None:
    """Searches for everything. The machine is TARGET/SUBTARGET, the image a profile (a device).

    Raises UserError when there are several and none was chosen.
    """
    look = parts.look
    here = _is_target(look, "")
    at, target = ("", "") if here else _target(look, parts.wants_machine)
    told = parts.variables(look.first([f"{at}profiles.json"]), "profiles.json") if here or at else {}
    target = str(told.get("target", "")) or target
    config = look.first([".config", f"{at}config.buildinfo"])
    target = target or _configured(text(config) if config else "")
    parts.machine = printable(target)
    if told.get("version_number"):
        parts.versions["openwrt"] = printable(
            f"{told['version_number']} {told.get('version_code', '')}".strip()
        )[:80]
    parts.put_or_lack("build-config", config, f".config, {at}config.buildinfo")
    _images(parts, at, told, parts.wants_image)
    parts.want("packages", [f"{at}*.manifest"])
    _built(parts, target)


def _configured(config: str) -> str:
    """TARGET/SUBTARGET from the configuration, where nothing is built yet; empty where it does not say."""
    board, subtarget = (common.symbol(config, f"CONFIG_TARGET_{name}") for name in ("BOARD", "SUBTARGET"))
    return f"{board}/{subtarget}" if board and subtarget else ""


def _target(look: Look, wanted: str) -> tuple[str, str]:
    found = {"/".join(p.parts[-2:]): p for p in _targets(look)}
    one = common.chosen(found, wanted, "there is no target", "targets")
    return (f"{look.relative(one[1])}/", one[0]) if one else ("", "")


def _images(parts: Parts, at: str, told: dict[str, Any], wanted: str) -> None:
    profiles = told.get("profiles")
    profiles = profiles if isinstance(profiles, dict) else {}
    if wanted and wanted not in profiles:
        known = ", ".join(list(map(str, profiles))[:20])
        raise UserError(f"there is no profile {printable(wanted)}", hint=f"there are: {printable(known)}")
    if len(profiles) > 1 and not wanted:
        names = ", ".join(list(map(str, profiles))[:5])
        parts.look.note(f"{len(profiles)} profiles ({printable(names)} ...): choose one with --image")
    elif profiles:
        parts.image = wanted or str(next(iter(profiles)))
        _of_profile(parts, at, profiles[parts.image])
    parts.want(
        "kernel-image", [f"{at}*-{name}" for name in ("kernel.bin", "Image", "zImage", "uImage", "vmlinuz")]
    )
    plain = [f"{at}*-rootfs", f"{at}*rootfs", f"{at}*-squashfs-rootfs", f"{at}*-ext4-rootfs"]
    for pattern in (f"{at}*-squashfs-rootfs.img*", f"{at}*-ext4-rootfs.img*"):
        for path in parts.look.all(pattern)[:1]:
            parts.put("rootfs-image", path)
    common.root_images(parts, plain)
    parts.take("initramfs", [f"{at}*-initramfs{end}" for end in ("-kernel.bin", "*.bin", "*.itb")])


def _of_profile(parts: Parts, at: str, profile: object) -> None:
    images = profile.get("images") if isinstance(profile, dict) else None
    for image in images if isinstance(images, list) else []:
        name, kind = (image.get("name"), image.get("type")) if isinstance(image, dict) else (None, None)
        # The names come from a file: one with a slash could lead out of the folder.
        if not isinstance(name, str) or not re.fullmatch(r"[\w.+~-]+", name) or name.startswith("."):
            continue
        role = {"kernel": "kernel-image", "rootfs": "rootfs-image"}.get(str(kind), "disk-image")
        for path in parts.look.all(f"{at}{name}")[:1]:
            parts.put(role, path)


def _built(parts: Parts, target: str) -> None:
    look = parts.look
    if not look.all("build_dir", folder=True):
        parts.lack_build("build_dir (give the top of the build, not only the folder of the target)")
        return
    name = target.replace("/", "_") if re.fullmatch(r"[\w/-]+", target) else "*"
    linux = f"build_dir/target-*/linux-{name}/"
    common.kernel_tree(
        parts, common.config(parts, "kernel", [f"{linux}linux-*/.config"]), "kernel-image" not in parts.paths
    )
    common.config(
        parts,
        "busybox",
        ["build_dir/target-*/busybox-*/busybox-*/.config", "build_dir/target-*/busybox-*/.config"],
    )
    uboots = ["build_dir/target-*/u-boot-*/u-boot-*/.config", "build_dir/target-*/u-boot-*/.config"]
    if any(look.all(pattern) for pattern in uboots):
        common.uboot_tree(parts, common.config(parts, "uboot", uboots))
    roots = [p for x in ("root-*", "root.orig-*") for p in look.all(f"build_dir/target-*/{x}", folder=True)]
    parts.put_or_lack("rootfs-folder", next(iter(roots), None), "build_dir/target-*/root-*")
    compilers = look.all("staging_dir/toolchain-*/bin/*-openwrt-linux-*gcc") or look.all(
        "staging_dir/toolchain-*/bin/*-gcc"
    )
    if compilers:
        parts.toolchain_prefix = look.relative(compilers[0]).removesuffix("gcc")
