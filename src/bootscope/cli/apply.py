# SPDX-License-Identifier: Apache-2.0
"""bootscope apply: writes changes into a tree of Buildroot, Yocto, OpenWrt, or as plain files."""

from __future__ import annotations

import argparse
import re
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from bootscope.buildtrees import keep, place
from bootscope.buildtrees.applying import WRITERS, name_of, target_for
from bootscope.buildtrees.changeset import change_set
from bootscope.buildtrees.model import YOCTO, Tree, Trial
from bootscope.buildtrees.output import Output
from bootscope.buildtrees.subject import values as found
from bootscope.cli.apply_image import KIND, apply_to_image
from bootscope.cli.arguments import flag, option, several
from bootscope.cli.common import refuse
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.paths import store_dir
from bootscope.search.of_run import techniques_of_run

YOCTOS = ("series", "kernel_recipe", "uboot_recipe")
"""Options for Yocto, by their names in the result of the parser."""


class Apply(Verb):
    example = "bootscope apply kernel-quiet uboot-bootdelay --to buildroot ~/boot-time"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "what",
            nargs="+",
            metavar="CHANGES",
            help="technique (ID, ID=RECIPE), folder of `optimize -o` or `trim -o`, or run that `optimize`"
            " made, or `try` on a board",
        )
        option(
            parser,
            "--to",
            ("KIND", "DIR"),
            f"the target ({', '.join((*WRITERS, KIND))}), and the folder to write, new or existing; {KIND}: "
            "the changed image itself, into a new one",
            nargs=2,
            required=True,
        )
        option(parser, "--system", "S", "the imported system to write for; keeps its list settings")
        option(parser, "--name", "NAME", "its name (default: from the changes)")
        flag(parser, "--force", "overwrite existing files that differ")
        flag(parser, "--dry-run", "write nothing, show a diff")
        several(parser, "--value", "NAME=TEXT", "the value of @NAME@ in a technique")
        option(parser, "--series", "S", "Yocto series that the layer is for", default="")
        option(parser, "--kernel-recipe", "R", "the Yocto recipe of the kernel", default="")
        option(parser, "--uboot-recipe", "R", "the Yocto recipe of U-Boot", default="")

    def run(self, args: argparse.Namespace) -> int:
        kind, folder = args.to[0], Path(args.to[1])
        if kind == KIND:
            refuse(args, (*YOCTOS, "value", "name"), "is for trees, not for an image")
            return apply_to_image(args, folder)
        tree = keep.load_tree(args.system)[0] if args.system else None
        if kind not in WRITERS:
            raise unknown("kind of tree", kind, [*WRITERS, KIND])
        if kind != YOCTO:
            refuse(args, YOCTOS, f"is for yocto, not for {kind}")
        name = args.name or name_of(args.what)
        said = Trial(kernel_recipe=args.kernel_recipe, uboot_recipe=args.uboot_recipe, series=args.series)
        target = target_for(name, tree, said, kind, folder)
        values = values_of(args.value, target.tree)
        changes = change_set(args.what, values, partial(techniques_of_run, store_dir()))
        out = WRITERS[kind](changes, target)
        if args.dry_run:
            found = place.differences(folder, out, name)
        else:
            found = place.place(folder, out, name, args.force)
        if args.json:
            print_json("apply", _json(args, folder, out, found))
        else:
            _print(terminal(), args.dry_run, folder, tree.folder if tree else "", out, found)
        return 0


def values_of(given: list[str], tree: Tree | None = None) -> dict[str, str]:
    """The values of placeholders, from NAME=TEXT. Raises UserError for anything else."""
    values = found(tree) if tree else {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UserError(f"--value: expected NAME=TEXT, got '{printable(text)}'")
        values[name] = value
    return values


def _json(
    args: argparse.Namespace, folder: Path, out: Output, found: list[place.Difference]
) -> dict[str, object]:
    return {
        "to": args.to[0],
        "folder": str(folder),
        "written": not args.dry_run,
        "files": sorted({*out.files, *out.links}),
        "changed": [
            {"path": d.path, "new": not d.exists, "gone": d.new is None, "diff": list(d.lines())}
            for d in found
        ],
        "use": out.use,
        "by_hand": out.by_hand,
        "not_expressed": out.lost,
    }


def _print(
    out: Console, dry: bool, folder: Path, output: str, done: Output, found: list[place.Difference]
) -> None:
    if dry:
        for difference in found:
            for line in difference.lines():
                style = {"+": "green", "-": "red"}.get(line[:1], "")
                out.print(Text(printable(line), style), soft_wrap=True)
    for difference in () if dry else found:
        said = "taken away" if difference.new is None else "overwritten" if difference.exists else "written"
        out.print(Text(f"{said}: {folder / difference.path}"), soft_wrap=True)
    if not found:
        out.print(f"everything is already in {folder}", markup=False)
    for line in done.use:
        line = re.sub(r"\bOUTPUT\b", lambda _: output or "OUTPUT", line)
        out.print(Text(re.sub(r"\bDIR\b", lambda _: str(folder.resolve()), line)), soft_wrap=True)
    for line in done.by_hand:
        out.print(Text.assemble(("by hand: ", "yellow"), line), soft_wrap=True)
    for line in done.lost:
        out.print(Text.assemble(("not expressed: ", "yellow"), line), soft_wrap=True)
