# SPDX-License-Identifier: Apache-2.0
"""Changes as a BR2_EXTERNAL tree: fragments, an overlay, and the BR2_ lines that name them."""

from __future__ import annotations

import re
import shlex

import msgspec

from bootscope.buildtrees import output as common
from bootscope.buildtrees.boot_words import with_menu
from bootscope.buildtrees.changeset import ChangeSet
from bootscope.buildtrees.model import Tree
from bootscope.buildtrees.output import CommandLine, Output, Target
from bootscope.buildtrees.parts import symbol
from bootscope.system.changes import Change
from bootscope.system.model import Symbols

_KERNEL_FRAGMENT, _OVERLAY = "linux.fragment", "rootfs-overlay"
_TREES = {
    "kernel": (_KERNEL_FRAGMENT, "BR2_LINUX_KERNEL_CONFIG_FRAGMENT_FILES"),
    "uboot": ("uboot.fragment", "BR2_TARGET_UBOOT_CONFIG_FRAGMENT_FILES"),
    "busybox": ("busybox.fragment", "BR2_PACKAGE_BUSYBOX_CONFIG_FRAGMENT_FILES"),
}
_LISTS = (*(key for _, key in _TREES.values()), "BR2_ROOTFS_OVERLAY", "BR2_ROOTFS_POST_BUILD_SCRIPT")
_QUOTE = '"'
_FILE_SYSTEMS = {
    "ext2": ("EXT2=y", "EXT2_2r1=y"),
    "ext3": ("EXT2=y", "EXT2_3=y"),
    "ext4": ("EXT2=y", "EXT2_4=y"),
    **{kind: (f"{kind.upper()}=y",) for kind in ("squashfs", "erofs", "f2fs", "btrfs", "xfs")},
}
_OPTIONS = {
    ("squashfs", "-comp gzip"): ("SQUASHFS4_GZIP=y",),
    ("squashfs", "-comp lz4"): ("SQUASHFS4_LZ4=y", "SQUASHFS_EXTREME_COMP=n"),
    ("squashfs", "-comp lz4 -Xhc"): ("SQUASHFS4_LZ4=y", "SQUASHFS_EXTREME_COMP=y"),
    ("squashfs", "-comp lzo"): ("SQUASHFS4_LZO=y",),
    ("squashfs", "-comp xz"): ("SQUASHFS4_XZ=y",),
    ("squashfs", "-comp zstd"): ("SQUASHFS4_ZSTD=y",),
    ("squashfs", "-noI -noId -noD -noF -noX"): ("SQUASHFS4_NONE=y",),
    ("erofs", ""): ("EROFS_NONE=y",),
    ("erofs", "-zlz4"): ("EROFS_CUSTOM_COMPRESSION=y", 'EROFS_COMPRESSION_ALGORITHMS="lz4"'),
    ("erofs", "-zlz4hc"): ("EROFS_LZ4HC=y",),
}
_PACKINGS = ("GZIP", "LZ4", "LZMA", "LZO", "XZ", "ZSTD", "UNCOMPRESSED")
"""Kernel compressions that Buildroot sets itself, whatever a fragment says."""
_OWN = {
    "DEVTMPFS": "unless BR2_ROOTFS_DEVICE_CREATION_STATIC is set",
    "DEVTMPFS_MOUNT": "unless BR2_ROOTFS_DEVICE_CREATION_STATIC is set",
    "MODULES": "when a package needs modules",
    "NET": "when devices are made by mdev, or a package needs it",
    "INOTIFY_USER": "when devices are made by eudev",
    "BLK_DEV_INITRD": "when BR2_TARGET_ROOTFS_CPIO is set",
}
"""Kernel symbols that Buildroot enables after all fragments, and when."""


def fragment_of(name: str) -> str:
    """The path of the BR2_ lines."""
    return f"board/{name}/buildroot.fragment"


def write(changes: ChangeSet, target: Target) -> Output:
    """The external tree."""
    out, name = Output(), target.name
    variable = "BOOTSCOPE_" + re.sub(r"[^A-Z0-9]", "_", name.upper())
    board = f"board/{name}"
    at = f"$(BR2_EXTERNAL_{variable}_PATH)/{board}"
    out.files["external.desc"] = f"name: {variable}\ndesc: changes by bootscope, {name}\n"
    out.files["Config.in"] = "# No packages.\n"
    out.files["external.mk"] = "# No packages.\n"
    lines: list[str] = []
    settings: dict[str, object] = dict(changes.change.settings)
    _command_line(out, changes, target, board)
    for tree, (file, key) in _TREES.items():
        symbols = changes.change.symbols(tree)
        if tree == "kernel":
            _own_decisions(out, symbols, lines)
        if f"{board}/{file}" in out.files or symbols:
            own = out.files.get(f"{board}/{file}", "")
            out.files[f"{board}/{file}"] = (common.symbols_text(symbols) if symbols else "") + own
            lines.append(_added(target, key, f"{at}/{file}"))
    change = _merged_usr(changes.change, target)
    common.overlay(out, change.write, f"{board}/{_OVERLAY}")
    if any(path.startswith(f"{board}/{_OVERLAY}/") for path in out.files):
        lines.append(_added(target, "BR2_ROOTFS_OVERLAY", f"{at}/{_OVERLAY}"))
    if change.remove or change.link:
        script = "#!/bin/sh\n# Runs when all files are in place, before the images are made.\nset -e\n"
        script += common.root_changes(change, '"$TARGET_DIR"')
        out.files[f"{board}/post-build.sh"] = script
        lines.append(_added(target, "BR2_ROOTFS_POST_BUILD_SCRIPT", f"{at}/post-build.sh"))
    common.look_at_files(out, changes)
    _settings(out, settings, lines)
    common.options_by_hand(out, changes)
    lines += _taken_back(out, target, lines, variable)
    out.files[fragment_of(name)] = "\n".join(lines) + "\n"
    _use(out, target, board, variable)
    out.files["README.md"] = common.readme(
        out, changes, target, "A BR2_EXTERNAL tree for Buildroot, written by `bootscope apply`."
    )
    return out


def _merged_usr(change: Change, target: Target) -> Change:
    """The change with its paths below /usr, where /bin, /sbin and /lib of the tree are links to there."""
    if symbol(target.config, "BR2_ROOTFS_MERGED_USR") != "y":
        return change

    def moved(path: str) -> str:
        return f"/usr{path}" if path.startswith(("/bin/", "/sbin/", "/lib/")) else path

    return msgspec.structs.replace(
        change,
        write={moved(path): text for path, text in change.write.items()},
        link={moved(path): to for path, to in change.link.items()},
        remove=tuple(map(moved, change.remove)),
    )


def _own_decisions(out: Output, symbols: Symbols, lines: list[str]) -> None:
    """What Buildroot sets itself, so that it needs BR2_ lines or a person."""
    chosen = [p for p in _PACKINGS if symbols.get(f"KERNEL_{p}") is True]
    lines += [f"BR2_LINUX_KERNEL_{p}=y" for p in chosen[:1]]
    for name, when in _OWN.items():
        if symbols.get(name) is False:
            out.by_hand.append(f"CONFIG_{name}: Buildroot switches it on after all fragments, {when}")


def _taken_back(out: Output, target: Target, lines: list[str], variable: str) -> list[str]:
    """Lines that undo what an earlier run set and this one does not: it is still in .config."""
    keys = {line.removeprefix("# ").partition("=")[0].partition(" ")[0] for line in lines}
    found: list[str] = []
    for line in target.before.splitlines():
        key, _, value = line.partition("=")
        if not re.fullmatch(r"BR2_\w+", key) or key in keys:
            continue
        if key in _LISTS:
            own = f"$(BR2_EXTERNAL_{variable}_PATH)"
            rest = [word for word in value.strip(_QUOTE).split() if own not in word]
            found.append(f'{key}="{" ".join(rest)}"')
        else:
            out.by_hand.append(f"an earlier run set {line}, this one does not: restore your own value")
    return found


def _added(target: Target, key: str, value: str) -> str:
    """A line that adds to a list that the tree may already have."""
    before = [word for word in symbol(target.config, key).split() if word != value]
    return f'{key}="{" ".join([*before, value])}"'


def _command_line(out: Output, changes: ChangeSet, target: Target, board: str) -> None:
    tree = target.tree
    common.keep_command_line(out, changes, target)
    inside = _inside_target(tree) if tree else ""
    if changes.changes_words and tree and _compiled_in(tree):
        words: Symbols = {"CMDLINE": changes.new_command_line(target.command_line)}
        out.files[f"{board}/{_KERNEL_FRAGMENT}"] = common.symbols_text(words)
    elif tree and target.menu and inside and (changes.changes_words or target.menu_differs):
        # What an earlier run put into the root file system stays there until something else is in its place.
        out.files[f"{board}/{_OVERLAY}/{inside}"] = _menu(out, changes, target, tree)
    else:
        out.by_hand += common.words_by_hand(changes, target)


def _menu(out: Output, changes: ChangeSet, target: Target, tree: Tree) -> str:
    """The boot menu with the changes."""
    if not changes.changes_words:
        return target.menu

    def new(old: str) -> str:
        made = changes.new_command_line(old)
        out.replaced[made] = CommandLine(old, tree.command_line_from)
        return made

    menu = with_menu(target.menu, new)
    out.replaced[" ".join(menu.split())] = CommandLine(target.menu, tree.command_line_from)
    return menu


def _compiled_in(tree: Tree) -> bool:
    return tree.command_line_from.startswith("CONFIG_CMDLINE")


def _inside_target(tree: Tree) -> str:
    """The path, in the root file system, of the file with the tree's command line; empty if it is in none."""
    before, _, inside = tree.command_line_from.partition("target/")
    return inside if before in ("", "output/") else ""


def _settings(out: Output, settings: dict[str, object], lines: list[str]) -> None:
    """BR2_ lines for settings of a system; removes the settings that were understood."""
    kind = settings.get("rootfs.filesystem")
    given = settings.get("rootfs.options")
    options = " ".join(given) if isinstance(given, tuple) else None
    if isinstance(kind, str) and kind in _FILE_SYSTEMS:
        settings.pop("rootfs.filesystem")
        prefix = "BR2_TARGET_ROOTFS_"
        lines += [_line(f"{prefix}{line}") for line in _FILE_SYSTEMS[kind]]
        known = _OPTIONS.get((kind, options)) if options is not None else ()
        if known is not None:
            lines += [_line(f"{prefix}{line}") for line in known]
            settings.pop("rootfs.options", None)
        elif options == "":
            settings.pop("rootfs.options")
        out.by_hand.append(f"flash the {kind} image, and name it on the command line (rootfstype=)")
    block = settings.get("rootfs.block_bytes")
    if isinstance(block, int) and block % 1024 == 0:
        settings.pop("rootfs.block_bytes")
        lines.append(_line(f"BR2_TARGET_ROOTFS_SQUASHFS_BS_{block // 1024}K=y"))
    if settings.get("kernel.image") == "Image":
        settings.pop("kernel.image")
        lines.append("BR2_LINUX_KERNEL_IMAGE=y")
        out.by_hand.append(
            "U-Boot starts an uncompressed kernel with booti (64 bit), or as a uImage with bootm"
        )
    if settings.get("kernel.append_device_tree") is True:
        settings.pop("kernel.append_device_tree")
        lines.append("BR2_LINUX_KERNEL_APPENDED_ZIMAGE=y")
    address = settings.get("kernel.uimage_address")
    if isinstance(address, int) and not isinstance(address, bool):
        settings.pop("kernel.uimage_address")
        if address:
            lines += ["BR2_LINUX_KERNEL_UIMAGE=y", f'BR2_LINUX_KERNEL_UIMAGE_LOADADDR="{address:#x}"']
    if settings.get("kernel.modules") is True:
        settings.pop("kernel.modules")  # Buildroot installs modules whenever there are any
    common.settings_by_hand(out, settings)


def _line(setting: str) -> str:
    """A line of a configuration; an unset symbol has a form of its own."""
    return f"# {setting.removesuffix('=n')} is not set" if setting.endswith("=n") else setting


def _use(out: Output, target: Target, board: str, variable: str) -> None:
    """The steps, with OUTPUT for Buildroot's output folder and DIR for the written folder."""
    own = target.tree is not None and target.inside
    make = "make" if own else "make O=OUTPUT"
    named = re.findall(r'^BR2_EXTERNAL_(\w+)_PATH="([^"\n]+)"$', target.config, re.MULTILINE)
    others = [path for name, path in named if name != variable]
    trees = ":".join([*(shlex.quote(path) for path in others), "DIR"])
    parts = ("linux", "uboot", "busybox")
    there = f"(BR2_EXTERNAL_{variable}_PATH)/{board}"
    # A part is configured again also when an earlier run had a fragment for it, and this one has none.
    again = [
        f"{part}-reconfigure"
        for part in parts
        if f"{board}/{part}.fragment" in out.files or f"{there}/{part}.fragment" in target.before
    ]
    out.use += [
        "Once, from the folder of Buildroot's sources; OUTPUT is where you build, DIR is this folder:",
        "    CONFIG_=BR2_ support/kconfig/merge_config.sh -m -O OUTPUT OUTPUT/.config "
        f"DIR/{board}/buildroot.fragment",
        f"    {make} BR2_EXTERNAL={trees} olddefconfig",
        "Configure again what is already built, so that it uses its fragment:" if again else "Then build:",
        f"    {' '.join([make, *again, 'all'])}",
    ]
    if not target.tree:
        out.by_hand.append(
            "lists that you already set (BR2_ROOTFS_OVERLAY and the like) are replaced by the fragment: add "
            "yours in front, or let bootscope do it with --system; the same holds for BR2_EXTERNAL"
        )
