# SPDX-License-Identifier: Apache-2.0
"""The results of a Yocto (OpenEmbedded) build: its deploy folder, and the work folders as long as they
exist."""

from __future__ import annotations

import configparser
import re
from collections.abc import Mapping
from pathlib import Path

from bootscope.buildtrees import parts as common
from bootscope.buildtrees.look import Look, text
from bootscope.buildtrees.parts import Parts, plain, prefix
from bootscope.core.errors import UserError, printable

LOOKED_FOR = (
    "conf/local.conf with tmp*/deploy/images, or *.testdata.json, *.qemuboot.conf, *.manifest beside images"
)
_DEPLOY = ("tmp*/deploy/images/*", "deploy/images/*", "images/*", "build*/tmp*/deploy/images/*")
_MARKS = ("*.testdata.json", "*.qemuboot.conf", "*.rootfs.manifest")
_MOST_NAMED = 8


def _is_deploy(look: Look, at: str) -> bool:
    return any(look.all(f"{at}{mark}") for mark in _MARKS)


def root_of(folder: Path) -> Path | None:
    """The folder to search: the given one, when it is a build folder, its tmp, or a deploy folder."""
    look = Look(folder)
    if _is_deploy(look, "") or _machines(look):
        return folder
    built = all((folder / "conf" / name).is_file() for name in ("local.conf", "bblayers.conf"))
    return folder if built else None


def _machines(look: Look) -> list[Path]:
    found = [p for pattern in _DEPLOY for p in look.all(pattern, folder=True)]
    return [p for p in dict.fromkeys(found) if _is_deploy(look, prefix(look, p))]


def collect(parts: Parts) -> None:
    """Searches for everything. Raises UserError when there are several machines and none was chosen."""
    look = parts.look
    parts.take("build-config", ["conf/local.conf"])
    deploy = look.root if _is_deploy(look, "") else _machine(look, parts.wants_machine)
    if deploy is None:
        for role in ("kernel-image", "rootfs-image", "packages", "variables"):
            parts.lack(role, "tmp*/deploy/images/MACHINE")
    else:
        parts.machine = deploy.name if deploy != look.root else ""
        _deployed(parts, prefix(look, deploy))
    _work(parts)


def _machine(look: Look, wanted: str) -> Path | None:
    found = {p.name: p for p in reversed(_machines(look))}
    one = common.chosen(found, wanted, "nothing was deployed for the machine", "machines")
    return one[1] if one else None


def _deployed(parts: Parts, at: str) -> None:
    look = parts.look
    stem = _image(parts, at, parts.wants_image)
    parts.image = stem
    variables = _variables(parts, look.first([f"{at}{plain(stem)}.testdata.json"]) if stem else None)
    parts.machine = variables.get("MACHINE", parts.machine)
    named = plain(stem) if stem else "*.rootfs"
    parts.want("packages", [f"{at}{named}.manifest"])
    common.root_images(parts, [f"{at}{named}"])
    _initramfs(parts, at, variables)
    parts.take("disk-image", [f"{at}{named}.wic{end}" for end in ("", ".gz", ".xz", ".zst")])
    kind = variables.get("KERNEL_IMAGETYPE", "")
    kinds = [kind] if re.fullmatch(r"[\w.]+", kind) else []
    names = [*kinds, *common.KERNEL_IMAGES]
    parts.want("kernel-image", [f"{at}{name}" for name in dict.fromkeys(names)])
    wanted = variables.get("KERNEL_DEVICETREE", "").split()
    common.device_trees(
        parts, [f"{at}*.dtb", f"{at}devicetree/*.dtb"], Path(wanted[0]).stem if wanted else ""
    )
    if look.all(f"{at}u-boot*"):
        parts.want("uboot-image", [f"{at}u-boot.{x}" for x in ("itb", "img", "bin")] + [f"{at}u-boot*.bin"])
        parts.want("uboot-elf", [f"{at}u-boot.elf", f"{at}u-boot-*.elf"])
    common.boot_files(parts, at, (*common.MENUS, "bootfiles/cmdline.txt"))
    parts.want(
        "kernel-config", [f"{at}config", f"{at}config-*", f"{at}kernel-config*"], common.is_config("kernel")
    )
    _boot_recipe(parts, look.first([f"{at}{named}.qemuboot.conf"]))


def _initramfs(parts: Parts, at: str, variables: Mapping[str, str]) -> None:
    """The initramfs image; a bundled one is part of the kernel image."""
    name = variables.get("INITRAMFS_IMAGE", "")
    if name and variables.get("INITRAMFS_IMAGE_BUNDLE") != "1" and "initramfs" not in parts.paths:
        stem = plain(f"{name}-{parts.machine}")
        found = [f"{at}{stem}{end}.cpio*" for end in ("", ".rootfs")]
        parts.take("initramfs", found)


def _image(parts: Parts, at: str, wanted: str) -> str:
    """The name of the wanted or the newest image, without its last suffix."""
    endings = tuple(mark.removeprefix("*") for mark in _MARKS)
    found = [
        (path, path.name.removesuffix(mark if mark != ".rootfs.manifest" else ".manifest"))
        for mark in endings
        for path in parts.look.all(f"{at}*{mark}")
    ]
    # Names are those of the links; their targets contain a date.
    links = [stem for path, stem in found if path.is_symlink()] or [stem for _, stem in found]
    stems = list(dict.fromkeys(links))
    if wanted:
        of = [s for s in stems if s == wanted or s.startswith(f"{wanted}-") or s.startswith(f"{wanted}.")]
        if not of:
            known = ", ".join(stems[:_MOST_NAMED])
            raise UserError(f"there is no image {printable(wanted)}", hint=f"there are: {printable(known)}")
        return of[0]
    if len(stems) > 1:
        parts.look.note(
            f"took the newest image, {printable(stems[0])}; there is also {printable(', '.join(stems[1:4]))} "
            "(--image chooses)"
        )
    return stems[0] if stems else ""


def _variables(parts: Parts, path: Path | None) -> dict[str, str]:
    """The variables that a build left; texts only."""
    told = parts.variables(path, "IMAGE.testdata.json")
    found = {k: v for k, v in told.items() if isinstance(v, str)}
    for name, value in (
        ("distribution", found.get("DISTRO")),
        ("distribution version", found.get("DISTRO_VERSION")),
        # The first names one series; the list may also contain the one before.
        ("series", found.get("LAYERSERIES_COMPAT_core") or found.get("LAYERSERIES_CORENAMES")),
        ("kernel recipe", found.get("PREFERRED_PROVIDER_virtual/kernel")),
    ):
        if value:
            parts.versions[name] = printable(value)[:60]
    parts.toolchain_prefix = printable(found.get("TARGET_PREFIX", ""))
    if found.get("APPEND"):
        parts.command_lines.append((found["APPEND"], "APPEND of the build's variables"))
    return found


def _boot_recipe(parts: Parts, path: Path | None) -> None:
    if path is None:
        return
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text(path))
        words = parser.get("config_bsp", "qb_kernel_cmdline_append", fallback="")
        root = parser.get("config_bsp", "qb_kernel_root", fallback="")
    except configparser.Error as error:
        parts.not_understood(path, error)
        return
    parts.put("emulator", path)
    words = f"root={root} {words}".strip() if root else words
    if words.strip():
        parts.command_lines.append((words, f"{parts.look.relative(path)}; runqemu adds root= and ip= to it"))


def _work(parts: Parts) -> None:
    """Work folders: there unless the build removes them (rm_work)."""
    look, machine = parts.look, parts.machine
    top = next((f for f in ("tmp*/", "build*/tmp*/", "") if look.all(f"{f}work", folder=True)), None)
    if top is None:
        build = bool(look.all("conf/local.conf"))
        why = "give the build folder, not the deploy folder"
        why = "nothing was built here, or rm_work removed it" if build else why
        parts.lack_build(f"tmp*/work: {why}")
        return
    system = f"{plain(machine.replace('-', '_'))}-*" if machine else "*"
    work = f"{top}work/{system}/"
    shared = f"{top}work-shared/{plain(machine) or '*'}/kernel-build-artifacts/"
    kernels = [f"{work}linux-*/*/*build/.config", f"{work}linux-*/*/*/.config", f"{work}*/*/*/.config"]
    kernel = parts.paths.pop("kernel-config", [])
    folder = common.config(parts, "kernel", [*kernels, f"{shared}.config"])
    for path in kernel if not folder else []:
        parts.put("kernel-config", path)
    common.kernel_tree(parts, folder, images=False)
    if "kernel-symbols" not in parts.paths:
        parts.want("kernel-symbols", [f"{shared}System.map*"])
    uboots = [f"{work}u-boot*/*/build/.config", f"{work}u-boot*/*/*/.config", f"{work}u-boot*/*/*/*/.config"]
    if "uboot-image" in parts.paths or any(look.all(p) for p in uboots):
        common.uboot_tree(parts, common.config(parts, "uboot", uboots))
    common.config(
        parts, "busybox", [f"{top}work/*/busybox/*/*/.config", f"{top}work/*/busybox/*/*/.config.orig"]
    )
    image = re.sub(rf"-{re.escape(machine)}.*$", "", parts.image) if machine else ""
    pattern = f"{work}{plain(image) or '*'}/*/rootfs"
    parts.put_or_lack("rootfs-folder", next(iter(look.all(pattern, folder=True)), None), pattern)
