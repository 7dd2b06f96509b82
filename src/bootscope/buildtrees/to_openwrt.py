# SPDX-License-Identifier: Apache-2.0
"""Changes as the top folder of OpenWrt takes them: files/, env/kernel-config, and lines for .config."""

from __future__ import annotations

from bootscope.build.kconfig import fragment
from bootscope.buildtrees import output as common
from bootscope.buildtrees.changeset import ChangeSet
from bootscope.buildtrees.output import Output, Target
from bootscope.errors import UserError

_IN_MEMORY = ("/tmp/", "/var/")


def write(changes: ChangeSet, target: Target) -> Output:
    """What goes into the top folder of OpenWrt's sources. Raises UserError where nothing would."""
    out, change = Output(), changes.change
    symbols = {**change.kernel_wishes, **change.kernel}
    if symbols:
        out.files["env/kernel-config"] = common.symbols_text(symbols)
        out.by_hand.append(
            "what .config itself says of the kernel (CONFIG_KERNEL_...) and what kmod packages ask for wins "
            "over env/kernel-config"
        )
    lines: list[str] = []
    if change.busybox:
        lines += ["CONFIG_BUSYBOX_CUSTOM=y", *_busybox(changes)]
    _root_filesystem(out, changes, lines)
    if lines:
        out.files[f"{target.name}.config"] = "\n".join(lines) + "\n"
        out.use += [
            "In the top folder of OpenWrt, which these files are in now:",
            f"    cat {target.name}.config >> .config",
            "    make defconfig",
        ]
    write = {path: text for path, text in change.write.items() if not path.startswith(_IN_MEMORY)}
    link = {path: to for path, to in change.link.items() if not path.startswith(_IN_MEMORY)}
    common.overlay(out, write, "files")
    out.links |= {f"files{path}": to for path, to in link.items()}
    lost = sorted({*change.write, *change.link} - write.keys() - link.keys())
    out.lost += [f"{path}: OpenWrt makes /tmp and /var anew in memory at each boot" for path in lost]
    common.look_at_files(out, changes)
    if change.remove:
        out.by_hand.append(
            "OpenWrt takes nothing out of the root file system by pattern: deselect the packages that bring "
            + ", ".join(change.remove)
        )
    if change.uboot:
        text = ", ".join(fragment(change.uboot))
        out.by_hand.append(
            f"U-Boot's configuration is in a patch or UBOOT_CUSTOMIZE_CONFIG of package/boot: {text}"
        )
    out.by_hand += common.words_by_hand(changes, target)
    if changes.changes_words:
        out.by_hand.append(
            "OpenWrt has the command line in the device tree (bootargs), CONFIG_CMDLINE or grub"
        )
    common.options_by_hand(out, changes)
    if not out.files and not out.by_hand and not out.lost:
        raise UserError("there is nothing in these changes that OpenWrt could take")
    out.use.append("    make")
    out.files[f"{target.name}.md"] = common.readme(
        out, changes, target, "Changes for OpenWrt, written by `bootscope apply`."
    )
    return out


def _busybox(changes: ChangeSet) -> list[str]:
    """BusyBox's symbols as OpenWrt's .config has them."""
    named = {f"BUSYBOX_CONFIG_{name}": value for name, value in changes.change.busybox.items()}
    return fragment(named)


def _root_filesystem(out: Output, changes: ChangeSet, lines: list[str]) -> None:
    settings: dict[str, object] = dict(changes.change.settings)
    kind = settings.get("rootfs.filesystem")
    known = {"squashfs": "TARGET_ROOTFS_SQUASHFS", "ext4": "TARGET_ROOTFS_EXT4FS"}
    if isinstance(kind, str) and kind in known:
        settings.pop("rootfs.filesystem")
        lines.append(f"CONFIG_{known[kind]}=y")
    common.settings_by_hand(out, settings)
