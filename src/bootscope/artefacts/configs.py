# SPDX-License-Identifier: Apache-2.0
""".config files: of the kernel, of U-Boot, of BusyBox; whole ones, and defconfigs or fragments."""

from __future__ import annotations

import re

from bootscope.artefacts.file_facts import Piece
from bootscope.core.errors import UserError, printable
from bootscope.inventory.inventory import TREE_PARTS
from bootscope.kbuild.kconfig import parse

_HEAD = 65536
_LINE = re.compile(r"^(?:CONFIG_\w+=.*|# CONFIG_\w+ is not set)$", re.MULTILINE)
_OTHER = re.compile(r"^(?!#)(?!CONFIG_\w+=).*\S", re.MULTILINE)
HEADS = {
    "uboot": re.compile(r"^# U-Boot (\S+) Configuration", re.MULTILINE),
    "busybox": re.compile(r"^# Busybox version: (\S+)", re.MULTILINE | re.IGNORECASE),
    "kernel": re.compile(r"^# Linux/\S+ (\S+) Kernel Configuration", re.MULTILINE),
}
"""The first lines of the trees' generated configurations; the group is the version."""
_WHOLE = re.compile(r"^# Automatically generated", re.MULTILINE)
_OF_UBOOT = re.compile(
    r"SPL(?:_\w+)?|TPL(?:_\w+)?|TEXT_BASE|SYS_(?:TEXT_BASE|PROMPT|LOAD_ADDR|MALLOC_LEN)|BOOTDELAY|BOOTCOMMAND"
    r"|BAUDRATE|PREBOOT|ENV_\w+|CMD_\w+|DEFAULT_DEVICE_TREE|DISTRO_DEFAULTS|OF_CONTROL|DM_\w+|SILENT_CONSOLE"
    r"|TARGET_\w+|AUTOBOOT\w*|SILENT_\w+"
)
_OF_BUSYBOX = re.compile(
    r"FEATURE_\w+|ASH\w*|HUSH\w*|BUSYBOX|APPLET\w*|(?:LS|CAT|CP|MV|TAR|SED|GREP|AWK|VI|UDHCPC|TELNETD|MDEV|GETTY)"
    r"|HAVE_DOT_CONFIG|LONG_OPTS|SHOW_USAGE|CROSS_COMPILER_PREFIX"
)
_NAMES = {
    "kernel": "kernel configuration",
    "uboot": "U-Boot configuration",
    "busybox": "BusyBox configuration",
}
_FEW = 3


def is_config(head: str) -> bool:
    """Whether most lines are those of a .config file."""
    lines = len(_LINE.findall(head))
    return lines > 0 and lines >= 2 * len(_OTHER.findall(head))


def read(name: str, text: str) -> Piece:
    """A configuration. Raises UserError when it does not say what it configures."""
    symbols = parse(text)
    tree, title = _tree(name, text[:_HEAD], symbols)
    whole = bool(_WHOLE.search(text[:_HEAD]))
    count = sum(value != "n" for value in symbols.values())
    told = f"{_NAMES[tree]}{title}: {count:,} symbols set"
    notes = () if whole else ("not a generated file: symbols that it does not name are unknown",)
    fields: dict[str, object] = {"configs": {tree: symbols}}
    if not whole:
        fields["partial"] = frozenset({tree})
    return Piece(name, _NAMES[tree], told, fields, frozenset({TREE_PARTS[tree]}), notes)


def _tree(name: str, head: str, symbols: dict[str, str]) -> tuple[str, str]:
    """What this configures, and what its head says about itself."""
    for tree, pattern in HEADS.items():
        match = pattern.search(head)
        if match:
            words = match[0].removeprefix("# ").removesuffix(" Configuration").removesuffix(" Kernel")
            return tree, f" ({printable(words)[:60]})"
    uboot = sum(bool(_OF_UBOOT.fullmatch(symbol)) for symbol in symbols)
    busybox = sum(bool(_OF_BUSYBOX.fullmatch(symbol)) for symbol in symbols)
    if max(uboot, busybox) * 5 >= len(symbols) and uboot != busybox:
        return ("uboot" if uboot > busybox else "busybox"), ""
    if len(symbols) < _FEW:
        raise UserError(
            f"{printable(name)} is a configuration, but does not say of what",
            hint="a generated .config begins with: # Linux/... Kernel Configuration, # U-Boot ...",
        )
    return "kernel", ""
