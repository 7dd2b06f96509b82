# SPDX-License-Identifier: Apache-2.0
"""A desk of a user's: a tree that a script of theirs builds, a card, and a board that boots what is on the
card.

The board is the faster the less its image makes it do, so that what is measured is what was built and
deployed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.unit import tree_builders

from .conftest import HELLO, Bootscope, FakeBoard, Make

FAST = "CONFIG_BOOTDELAY=0"
PANICS = "# CONFIG_MODULES is not set"
SLOW = "CONFIG_THUMB2_KERNEL=y"
SPOILS = "# CONFIG_SMP is not set"
"""What an image that boots fast, one that panics, one that is slow, and a build that fails have in them."""
FAST_S, PLAIN_S, SLOW_S = 0.005, 0.05, 0.09
"""Seconds from line to line: far enough apart for a few boots to tell them on a busy computer."""
SAVED_NS = (PLAIN_S - FAST_S) * (len(HELLO.splitlines()) - 1) * 1e9
"""What the fast image saves until the last line."""
PANIC = b"\r\nU-Boot SPL 2025.01 (Nov 21 2026)\r\nKernel panic - not syncing: VFS: no root\r\n"
BUILD = f"""#!/bin/sh
# Puts what is to be changed into the image, as a build of the user's would.
set -e
echo "$BOOTSCOPE_VARIANT" >> builds
[ -d "$BOOTSCOPE_CHANGES" ]
if grep -qs '{SPOILS}' "$BOOTSCOPE_CHANGES/kernel.config"; then
    echo "cc -c init/main.c"
    echo "init/main.c:7: error: 'smp_init' undeclared"
    exit 2
fi
mkdir -p images
{{ cat u-boot/.config; cat "$BOOTSCOPE_CHANGES"/*.config 2>/dev/null || true; }} > images/card.img
"""


@dataclass
class Desk:
    """A user's tree, imported as `mine`, and their board."""

    bootscope: Bootscope
    board: FakeBoard
    tree: Path
    card: Path
    file: Path

    def imported(self, *options: str) -> None:
        """Imports the tree."""
        self.bootscope(
            "system", "import", str(self.tree), "--as", "mine", "--build", str(self.tree / "build.sh"),
            "--deploy", f"cp images/card.img {self.card}", "--board", str(self.file), *options,
        )  # fmt: skip

    def tried(self, *words: str, status: int = 0) -> dict[str, Any]:
        """`try` on it, as JSON."""
        found = self.bootscope("try", *words, "--system", "mine", "--json", status=status)[0]
        document: dict[str, Any] = json.loads(found)
        assert document["kind"] == "try"
        return document

    @property
    def builds(self) -> list[str]:
        """What was built, in order: `base`, or the beginning of the changes' id."""
        return [line[:4] for line in (self.tree / "builds").read_text().split()]

    @property
    def at_base(self) -> bool:
        """Whether card and tree are as they are without changes."""
        plain = (self.tree / "u-boot/.config").read_text()
        changes = self.bootscope.store / "trees/mine.files/changes"
        left = [path.name for path in changes.glob("*.config")]
        return self.card.read_text() == (self.tree / "images/card.img").read_text() == plain and not left


def boots_its_card(card: Path) -> Any:
    """What a board does that boots a card."""

    def plan(board: FakeBoard) -> None:
        image = card.read_text()
        if PANICS in image:
            board.says(PANIC)
        else:
            board.says(HELLO, FAST_S if FAST in image else SLOW_S if SLOW in image else PLAIN_S)

    return plan


def a_tree(folder: Path) -> Path:
    """A user's tree; returns the script that builds it."""
    script = tree_builders.bare(folder) / "build.sh"
    script.write_text(BUILD)
    script.chmod(0o755)
    return script


def desk(bootscope: Bootscope, fake: Make, folder: Path) -> Desk:
    """Sets the desk up; nothing is imported yet."""
    tree = folder / "tree"
    a_tree(tree)
    card = folder / "card"
    board = fake(boots_its_card(card))
    # A shell is there at once; time zero is known no better than this command takes.
    on, off = (["sh", "-c", f'{turn} > "$0"', str(board.on_file)] for turn in ("date +%s.%N", ":"))
    file = folder / "desk.toml"
    file.write_text(
        f'name = "desk"\n[console]\nport = "{board.port}"\n'
        f"[power]\non = {json.dumps(on)}\noff = {json.dumps(off)}\noff_s = 0.02\n"
    )
    return Desk(bootscope, board, tree, card, file)
