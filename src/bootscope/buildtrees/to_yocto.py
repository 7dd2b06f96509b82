# SPDX-License-Identifier: Apache-2.0
"""Changes as a layer for Yocto: fragments by .bbappend, a class for the root file system, and an .inc file
for the configuration."""

from __future__ import annotations

import re

from bootscope.buildtrees import output as common
from bootscope.buildtrees.changeset import ChangeSet
from bootscope.buildtrees.output import CommandLine, Output, Target
from bootscope.core.errors import UserError, printable
from bootscope.system.filesystems import DRIVERS

_SERIES = re.compile(r"[a-z][a-z0-9]{1,30}")
_RECIPE = re.compile(r"[a-z][a-z0-9.+-]{0,60}")
_PLAIN_WORD = re.compile(r"[\w.,:=/@%+-]+")
_FILE_SYSTEMS = DRIVERS.keys() - {"xfs"}  # OpenEmbedded has no image type for it
_SQUASHFS = {
    "-comp lz4": "squashfs-lz4",
    "-comp xz": "squashfs-xz",
    "-comp lzo": "squashfs-lzo",
    "-comp zstd": "squashfs-zst",
}
_EROFS = {"-zlz4": "erofs-lz4", "-zlz4hc": "erofs-lz4hc", "": "erofs"}


def write(changes: ChangeSet, target: Target) -> Output:
    """The layer. Raises UserError when the series is unknown, or a recipe's name is invalid."""
    series = _series(target)
    for recipe in (target.kernel_recipe, target.uboot_recipe):
        if not _RECIPE.fullmatch(recipe):
            raise UserError(f"'{printable(recipe)}' is not a recipe name")
    out, name = Output(), target.name
    _fragments(out, changes, target)
    _root(out, changes, target)
    _configuration(out, changes, target)
    out.files["conf/layer.conf"] = _layer(out, name, series)
    common.options_by_hand(out, changes)
    _use(out, target)
    out.files["README.md"] = common.readme(
        out, changes, target, f"A layer for Yocto ({series}), written by `bootscope apply`."
    )
    return out


def _series(target: Target) -> str:
    told = target.series or (target.tree.versions.get("series", "") if target.tree else "")
    names = told.split()
    if not names or not all(_SERIES.fullmatch(name) for name in names):
        raise UserError(
            f"'{printable(told)}' is not a Yocto series" if told else "which Yocto series is the layer for?",
            hint="--series scarthgap, say; or --system with a tree whose build left *.testdata.json",
        )
    return " ".join(names)


def _layer(out: Output, name: str, series: str) -> str:
    lines = ['BBPATH .= ":${LAYERDIR}"']
    recipes = sorted({path.split("/")[0] for path in out.files if path.startswith("recipes-")})
    if recipes:
        patterns = " ".join(f"${{LAYERDIR}}/{folder}/*/*.bbappend" for folder in recipes)
        lines.append(f'BBFILES += "{patterns}"')
    lines += [
        f'BBFILE_COLLECTIONS += "{name}"',
        f'BBFILE_PATTERN_{name} = "^${{LAYERDIR}}/"',
        f'BBFILE_PRIORITY_{name} = "10"',
        f'LAYERDEPENDS_{name} = "core"',
        f'LAYERSERIES_COMPAT_{name} = "{series}"',
        f'{_variable(name)} := "${{LAYERDIR}}"',
    ]
    return "\n".join(lines) + "\n"


def _variable(name: str) -> str:
    return "BOOTSCOPE_" + re.sub(r"[^A-Z0-9]", "_", name.upper()) + "_DIR"


def _fragments(out: Output, changes: ChangeSet, target: Target) -> None:
    where = {
        "kernel": (f"recipes-kernel/linux/{target.kernel_recipe}", "linux"),
        "uboot": (f"recipes-bsp/u-boot/{target.uboot_recipe}", "u-boot"),
        "busybox": ("recipes-core/busybox/busybox", "busybox"),
    }
    for tree, (recipe, kind) in where.items():
        symbols = changes.change.symbols(tree)
        if not symbols:
            continue
        folder, _, base = recipe.rpartition("/")
        file = f"{target.name}.cfg"
        out.files[f"{folder}/files/{kind}/{file}"] = common.symbols_text(symbols)
        out.files[f"{folder}/{base}_%.bbappend"] = (
            f'FILESEXTRAPATHS:prepend := "${{THISDIR}}/files/{kind}:"\nSRC_URI += "file://{file}"\n'
        )
        if tree == "kernel":
            out.by_hand.append(
                f"the kernel's recipe is assumed to be {base} (--kernel-recipe): only one that inherits "
                "kernel-yocto merges .cfg files; with another, merge it in its do_configure"
            )
        if tree == "uboot" and target.uboot_recipe != "u-boot":
            out.by_hand.append(f"{base} must merge .cfg files as OpenEmbedded's u-boot does")


def _root(out: Output, changes: ChangeSet, target: Target) -> None:
    change, name = changes.change, target.name
    there = common.overlay(out, change.write, "rootfs-overlay")
    if not (there or change.remove or change.link):
        return
    if any("${" in text or "\n" in text for text in (*change.remove, *change.link, *change.link.values())):
        raise UserError("a path with ${ in it would be a variable of bitbake")
    function = re.sub(r"[^a-z0-9]", "_", name) + "_rootfs"
    body = common.root_changes(change, "${IMAGE_ROOTFS}")
    if there:
        overlay = f"${{{_variable(name)}}}/rootfs-overlay/."
        body += f"cp -R --no-dereference --preserve=mode,links {overlay} ${{IMAGE_ROOTFS}}/\n"
    common.look_at_files(out, changes)
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    out.files[f"classes/{name}-rootfs.bbclass"] = (
        "# Files of packages are changed when all of them are in place, so that no package is in the way.\n"
        f'ROOTFS_POSTPROCESS_COMMAND += "{function}"\n\n{function} () {{\n{lines}}}\n'
        + (f'\ndo_rootfs[file-checksums] += "${{{_variable(name)}}}/rootfs-overlay:True"\n' if there else "")
    )


def _configuration(out: Output, changes: ChangeSet, target: Target) -> None:
    lines: list[str] = []
    name, change = target.name, changes.change
    if f"classes/{name}-rootfs.bbclass" in out.files:
        lines.append(f'IMAGE_CLASSES += "{name}-rootfs"')
    words = [w for w in change.command_line if _PLAIN_WORD.fullmatch(w)]
    common.keep_command_line(out, changes, target)
    if words and target.tree and target.command_line:
        # The variables only add words.
        made = " ".join([*target.command_line.split(), *words])
        out.replaced[made] = CommandLine(target.command_line, target.tree.command_line_from)
    if words:
        lines.append("# Each boot loader has a variable of its own: unused ones do no harm.")
    for key in ("APPEND", "UBOOT_EXTLINUX_KERNEL_ARGS", "QB_KERNEL_CMDLINE_APPEND"):
        lines += [f'{key}:append = " {" ".join(words)}"'] if words else []
    if words and words == list(change.command_line):
        out.by_hand.append(
            f"where U-Boot itself sets bootargs, in a script or its environment, add there: {' '.join(words)}"
        )
        if change.command_line_drop:
            out.by_hand.append(f"remove from the kernel's command line: {' '.join(change.command_line_drop)}")
    else:
        out.by_hand += common.words_by_hand(changes, target)
    settings: dict[str, object] = dict(change.settings)
    _settings(out, settings, lines)
    common.settings_by_hand(out, settings)
    # Written even if empty: local.conf may require it since an earlier run.
    out.files[f"conf/{name}.inc"] = "\n".join(lines or ["# Nothing to set."]) + "\n"


def _settings(out: Output, settings: dict[str, object], lines: list[str]) -> None:
    image = settings.get("kernel.image")
    if image in ("Image", "zImage"):
        settings.pop("kernel.image")
        lines.append(f'KERNEL_IMAGETYPE = "{image}"')
    kind = settings.get("rootfs.filesystem")
    if kind in _FILE_SYSTEMS:
        settings.pop("rootfs.filesystem")
        given = settings.pop("rootfs.options", ())
        options = " ".join(given) if isinstance(given, tuple) else str(given)
        table = {"squashfs": _SQUASHFS, "erofs": _EROFS}.get(str(kind), {})
        known = max((o for o in table if f"{options} ".startswith(f"{o} ") or not o), key=len, default="")
        lines.append(f'IMAGE_FSTYPES += "{table.get(known, kind)}"')
        rest = options.removeprefix(known).strip()
        if rest:
            out.by_hand.append(f"give mkfs of {table.get(known, kind)} also: {rest} (EXTRA_IMAGECMD)")
        out.by_hand.append(f"use the {kind} image in what you flash (.wks), and name it on the command line")
    block = settings.get("rootfs.block_bytes")
    if isinstance(block, int):
        settings.pop("rootfs.block_bytes")
        out.by_hand.append(f"give mksquashfs also: -b {block} (EXTRA_IMAGECMD)")
    if settings.get("kernel.modules") is True:
        settings.pop("kernel.modules")


def _use(out: Output, target: Target) -> None:
    out.use += ["From the folder of the build, DIR being this folder:", "    bitbake-layers add-layer DIR"]
    where = "And in conf/local.conf, or in your distribution's own file:"
    out.use += [where, f"    require conf/{target.name}.inc"]
