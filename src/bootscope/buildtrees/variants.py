# SPDX-License-Identifier: Apache-2.0
"""Variants of an imported tree: without changes or with some, in the form of its build system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bootscope.builder.ids import id_of
from bootscope.buildtrees import place
from bootscope.buildtrees.applying import FILES, WRITERS, target_for
from bootscope.buildtrees.boot_words import in_menu
from bootscope.buildtrees.changeset import ChangeSet, OfRun, change_set
from bootscope.buildtrees.model import BARE, MAKERS, OPENWRT, Tree
from bootscope.buildtrees.output import Output, Target
from bootscope.buildtrees.owner import BASE, changes_folder
from bootscope.buildtrees.subject import values as found
from bootscope.core.errors import UserError, printable
from bootscope.system.changes import Change

NAME = "trial"
"""The name of the changes in the folder that they are written to."""
_README = ("README.md", f"{NAME}.md")


@dataclass(frozen=True)
class Variant:
    """A tree with the changes of some techniques. `key` is their content id, or ``base`` where there are
    none; `notes` name changes that could not be written."""

    specs: tuple[str, ...]
    changes: ChangeSet
    output: Output
    key: str

    @property
    def words(self) -> str:
        """The variant in words."""
        return " + ".join(self.specs) if self.specs else "no changes"

    @property
    def written(self) -> dict[str, str]:
        """The files that it puts into the tree, except the README."""
        return _files(self.output)

    @property
    def content(self) -> str:
        """A hash of all that it puts into the tree: the same changes may be written differently, by another
        version of bootscope or for another recipe."""
        return id_of([self.key, self.written, self.output.links])

    @property
    def notes(self) -> tuple[str, ...]:
        """The parts of the changes that are not in the build."""
        lost = [f"not expressed: {line}" for line in self.output.lost]
        return (*(f"left to your build: {line}" for line in self.output.by_hand), *lost)


class Variants:
    """Makes the variants of one tree, all from the tree's current state."""

    def __init__(self, tree: Tree, of_run: OfRun, values: Mapping[str, str]) -> None:
        """`values` replace placeholders (``@name@``). Raises UserError as `apply` does."""
        self.tree, self._of_run = tree, of_run
        self._values = {**found(tree), **values}
        self._kind = FILES if tree.made_by == BARE else tree.made_by
        # Variants are based on the current tree, so there is nothing of an earlier one to undo.
        whole = target_for(NAME, tree, tree.trial, self._kind, Path(tree.folder))
        self._target: Target = replace(whole, before="")
        self.base = Variant((), ChangeSet((), Change()), self._written(ChangeSet((), Change())), BASE)

    def of(self, specs: Sequence[str]) -> Variant:
        """The tree with techniques (ID or ID=WAY).

        Raises UserError for an unknown technique, for techniques that exclude each other, where nothing of
        them can be written for this build system, and when the tree still contains earlier changes.
        """
        if not specs:
            return self.base
        _check_menu(self.tree, self._target.menu)
        changes = change_set(specs, self._values, self._of_run)
        output = self._written(changes)
        if _files(output) == self.base.written and output.links == self.base.output.links:
            left = [*output.by_hand, *output.lost]
            raise UserError(
                f"nothing of {' + '.join(specs)} can be written for {MAKERS[self.tree.made_by]}",
                hint="; ".join(left) if left else None,
            )
        return Variant(tuple(specs), changes, output, id_of([self._kind, changes.change]))

    def _written(self, changes: ChangeSet) -> Output:
        if self._kind == OPENWRT and not changes.about:
            return Output()
        return WRITERS[self._kind](changes, self._target)

    def put(self, variant: Variant) -> Path:
        """Writes the changes of a variant, and only those, into the tree's folder for them.

        Raises UserError when foreign files are in the way, ToolError when it cannot be written.
        """
        folder = changes_folder(self.tree)
        # All variants begin from the same tree, so nothing is kept of their command lines.
        place.place(folder, replace(variant.output, replaced={}), NAME, force=False)
        return folder


def _check_menu(tree: Tree, menu: str) -> None:
    """Raises UserError when the boot menu differs from the imported one: it may contain earlier changes,
    which the variant would then have, too."""
    path = tree.command_line_from
    if menu and in_menu(Path(path).name, menu) != tree.command_line:
        raise UserError(
            f"{printable(path)} has a different command line since {tree.name} was imported",
            hint="was it built with changes the last time, or changed by hand? "
            f"bootscope build {tree.name} builds it without changes, and reads it again",
        )


def _files(output: Output) -> dict[str, str]:
    return {path: text for path, text in output.files.items() if path not in _README}
