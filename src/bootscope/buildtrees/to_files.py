# SPDX-License-Identifier: Apache-2.0
"""Changes as plain files, for a build system that bootscope does not know."""

from __future__ import annotations

from bootscope.buildtrees import output as common
from bootscope.buildtrees.changeset import ChangeSet
from bootscope.buildtrees.output import Output, Target
from bootscope.changes.change_files import WORDS
from bootscope.system.changes import TREES

_WHERE = {"kernel": "the kernel's", "uboot": "U-Boot's", "busybox": "BusyBox's"}
_NO_SCRIPT = " (which has no such script: take the kernel's)"


def write(changes: ChangeSet, target: Target) -> Output:
    """Fragments, an overlay, and a script that removes files."""
    out, change = Output(), changes.change
    for tree in TREES:
        symbols = change.symbols(tree)
        if not symbols:
            continue
        out.files[f"{tree}.config"] = common.symbols_text(symbols)
        out.use += [
            f"Into {_WHERE[tree]} configuration, in its folder{_NO_SCRIPT if tree == 'busybox' else ''}:",
            f"    scripts/kconfig/merge_config.sh -m .config DIR/{tree}.config",
            "    make olddefconfig" if tree != "busybox" else "    make oldconfig",
        ]
    if common.overlay(out, change.write, "rootfs"):
        out.use += ["Over the root file system, ROOT being its folder:", "    cp -a DIR/rootfs/. ROOT/"]
    if change.remove or change.link:
        script = '#!/bin/sh\n# Changes a root file system, the folder $1.\nset -e\n[ -d "$1/etc" ]\n'
        script += common.root_changes(change, '"$1"')
        out.files["rootfs.sh"] = script
        out.use += ["Then remove files from it, and make links:", "    DIR/rootfs.sh ROOT"]
    common.look_at_files(out, changes)
    common.keep_command_line(out, changes, target)
    if changes.changes_words:
        words = [*(f"+{word}" for word in change.command_line), *(f"-{w}" for w in change.command_line_drop)]
        out.files[WORDS] = "\n".join(words) + "\n"
        out.use.append(f"Words to add to the command line (+) and to remove from it (-): DIR/{WORDS}")
    out.by_hand += common.words_by_hand(changes, target)
    common.options_by_hand(out, changes)
    common.settings_by_hand(out, dict(change.settings))
    out.files["README.md"] = common.readme(
        out, changes, target, "Changes as plain files, by `bootscope apply`."
    )
    return out
