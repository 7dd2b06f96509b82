# SPDX-License-Identifier: Apache-2.0
"""bootscope system: systems made by another build system, read from where it put them."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from bootscope.boards.physical import real_board
from bootscope.buildtrees import keep
from bootscope.buildtrees.importing import Wish, import_tree, name_for
from bootscope.buildtrees.model import KIND, MAKERS, ROLES, SCHEMA, YOCTO, Tree, Trial
from bootscope.buildtrees.owner import changes_folder
from bootscope.buildtrees.subject import title
from bootscope.cli import included, named_images
from bootscope.cli.apply import YOCTOS
from bootscope.cli.arguments import Parser, flag, option, renamed
from bootscope.cli.common import add_json, refuse
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable
from bootscope.core.text import size
from bootscope.report.tables import make_table
from bootscope.system.load import system_names

_OF_IMPORT = (
    "as", "o", "kind", "machine", "image", "build", "shell", "board", "deploy", "product", "check", "changes",
    *YOCTOS, *named_images.ALONE,
)  # fmt: skip
"""Options of the import, by their names in the result of the parser; `copy` takes the first one, too."""
_NAME = ("NAME", "the name of an imported system")
ACTIONS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "import": (
        "import a system from the folder where Buildroot, Yocto, OpenWrt or make built it; or name an image "
        "that boots on an emulated board",
        (("DIR|FILE", "the folder of the build; or files of an image, as for `image`, with --board"),),
    ),
    "copy": (
        "copy a system that comes with bootscope, to change it",
        (
            ("NAME", "the system, as `bootscope system list` has it"),
            ("FOLDER", "where to: a new folder, or one without these files"),
        ),
    ),
    "list": ("list the imported systems, and those that come with bootscope", ()),
    "show": ("show what is known of a system", (_NAME,)),
    "rm": ("forget an imported system; its folder stays as it is", (_NAME,)),
}
"""Action -> what it does, and its arguments with descriptions."""
_EXAMPLES = {"import": "bootscope system import ~/buildroot/output --as gateway", "copy": included.EXAMPLE}


def import_options(parser: argparse.ArgumentParser) -> None:
    """The options of `system import`; of the other actions only `copy` has one."""
    _name_option(parser)
    option(parser, "-o", "FILE", "write the record to this file or folder, not to the store", type=Path)
    parser.add_argument("--kind", choices=tuple(MAKERS), help="what built it (default: detected)")
    option(parser, "--machine", "M", "the machine, or TARGET/SUBTARGET, if there are several", default="")
    option(parser, "--image", "I", "the image, or profile, if there are several", default="")
    option(parser, "--build", "CMD", "the command that builds it, for `bootscope build`; run without a shell")
    flag(parser, "--shell", "run the commands with /bin/sh")
    group = parser.add_argument_group("for `try` and `optimize` on your board (bootscope help real-boards)")
    option(group, "--board", "B", "the board, as `record --board` takes it")
    option(group, "--deploy", "CMD", "the command that deploys the images to the board")
    option(
        group,
        "--product",
        "PATTERN",
        "files in DIR that are deployed, such as images/sdcard.img; bootscope keeps them "
        "and builds nothing twice (repeatable)",
        action="append",
    )
    option(group, "--check", "CMD", "a command that must exit with status 0 when the board has booted")
    renamed(group, "--works", "check")
    option(group, "--changes", "DIR", "where changes are written, for the build to use", type=Path)
    option(group, "--series", "S", "Yocto series that the layer is for")
    option(group, "--kernel-recipe", "R", "the Yocto recipe of the kernel")
    option(group, "--uboot-recipe", "R", "the Yocto recipe of U-Boot")
    named_images.add_options(parser)


def _name_option(parser: argparse.ArgumentParser) -> None:
    option(parser, "--as", "NAME", "its name (default: the folder's)", dest="as")


def of_action(prog: str, what: str) -> argparse.ArgumentParser:
    """A parser of one action alone, whose help describes that action's argument."""
    summary, takes = ACTIONS[what]
    only = Parser(
        prog=f"{prog} {what}",
        description=f"{summary[:1].upper()}{summary[1:]}.",
        epilog=f"example: {_EXAMPLES[what]}" if what in _EXAMPLES else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for number, (metavar, meaning) in enumerate(takes):
        several_files = "*" if what == "import" else None
        only.add_argument(f"of{number or ''}", metavar=metavar, help=meaning, nargs=several_files)
    if what == "import":
        import_options(only)
    if what == "copy":
        _name_option(only)
    add_json(only)
    return only


class SystemVerb(Verb):
    example = _EXAMPLES["import"]

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "what", choices=tuple(ACTIONS), help="what to do (bootscope system ACTION --help)"
        )
        parser.add_argument(
            "of",
            nargs="*",
            metavar="DIR|FILE|NAME",
            help="import: the folder of a build, or files of an image; copy: the name of a system that comes "
            "with bootscope, and a folder; show, rm: the name of a system",
        )
        import_options(parser)
        if isinstance(parser, Parser):
            parser.of_first_word = {what: partial(of_action, parser.prog, what) for what in ACTIONS}

    def run(self, args: argparse.Namespace) -> int:
        args.of = [args.of] if isinstance(args.of, str) else args.of or []
        if args.what == "copy":
            refuse(args, _OF_IMPORT[1:], *_NOT_HERE)
            return included.copy(args)
        if args.what != "import":
            refuse(args, _OF_IMPORT, *_NOT_HERE)
        if args.what == "list":
            if args.of:
                raise UserError("system list lists all of them", hint=f"bootscope system show {args.of[0]}")
            return _list(args.json)
        if not args.of:
            raise UserError(f"system {args.what} needs {'a folder' if args.what == 'import' else 'a name'}")
        if args.what == "import" and named_images.wanted(args):
            return named_images.import_image(args)
        if len(args.of) > 1:
            raise UserError(f"system {args.what} takes one folder or name, got {len(args.of)}")
        (args.of,) = args.of
        if args.what == "import":
            refuse(args, named_images.ALONE, "is for an image", "bootscope help your-image")
            return _import(args)
        return _show_or_forget(args)


_NOT_HERE = ("is for import", "bootscope system import --help")


def _show_or_forget(args: argparse.Namespace) -> int:
    """`show` and `rm`; returns the exit code."""
    if named_images.is_image(args.of):
        return named_images.show_or_forget(args)
    if args.of in system_names():
        if args.what == "show":
            return included.show(args.of, args.json)
        raise UserError(
            f"{args.of} comes with bootscope: it is no imported system", hint="bootscope system list"
        )
    tree, path = keep.load_tree(args.of)
    if args.what == "rm":
        path.unlink()
        words = f"{tree.name} is no longer imported; nothing in {printable(tree.folder)} has changed"
        named_images.show_forgotten(tree.name, words, args.json)
        return 0
    show(tree, path, args.json)
    return 0


def _import(args: argparse.Namespace) -> int:
    name = getattr(args, "as") or name_for(args.of, system_names())
    keep.check_name(name)
    path = _path(args.o, name)
    before = keep.load_tree(str(path))[0] if path.exists() else None
    tree = import_tree(name, args.of, _wish(args, before))
    if tree.made_by != YOCTO:
        refuse(args, YOCTOS, f"is for yocto; {printable(args.of)} was built by {MAKERS[tree.made_by]}")
    if before and before.folder != tree.folder:
        raise UserError(
            f"{name} is already the name of the system imported from {printable(before.folder)}",
            hint=f"choose another with --as, or first: bootscope system rm {name}",
        )
    keep.write(tree, path)
    show(tree, path, args.json)
    return 0


def _path(output: Path | None, name: str) -> Path:
    if output is None:
        return keep.folder() / f"{name}.toml"
    if output.is_dir():
        return output / f"{name}.toml"
    if output.suffix != ".toml":
        raise UserError(f"{printable(str(output))}: a record must be named *.toml")
    return output


def _wish(args: argparse.Namespace, before: Tree | None) -> Wish:
    """What the user asked for; earlier answers about this tree still hold."""
    old = before or _NOTHING
    given = {name: getattr(args, name) for name in ("build", "deploy", "check")}
    anew = {name: text for name, text in given.items() if text is not None}
    if args.shell and not anew:
        raise UserError("--shell is for the commands of --build, --deploy and --check")
    kept = {"build": old.build, "deploy": old.trial.deploy, "check": old.trial.works}
    shell = args.shell if anew else old.shell
    left = [name for name, words in kept.items() if words and name not in anew]
    if shell != old.shell and left:
        names = " and ".join(f"--{name}" for name in left)
        raise UserError(f"--shell applies to all commands: repeat {names}")
    words = {**kept, **{name: command(name, text, shell) for name, text in anew.items()}}
    trial = _trial(args, old.trial, words)
    return Wish(args.kind or "", args.machine, args.image, words["build"], shell, trial)


_NOTHING = Tree(schema=SCHEMA, kind=KIND, name="", made_by="", folder="")


def _trial(args: argparse.Namespace, old: Trial, words: dict[str, tuple[str, ...]]) -> Trial:
    """How changes are tried, from earlier answers and the present ones."""
    found = {name: getattr(args, name) for name in ("series", "kernel_recipe", "uboot_recipe")}
    if args.board is not None:
        board = real_board(args.board)
        is_file = board.console.kind != "labgrid" and args.board.endswith(".toml")
        found["board"] = str(Path(args.board).absolute()) if is_file else args.board
    if args.changes is not None:
        found["changes"] = str(args.changes.absolute())
    if args.product is not None:
        found["products"] = tuple(args.product)
    told = {name: value for name, value in found.items() if value is not None}
    return msgspec.structs.replace(old, deploy=words["deploy"], works=words["check"], **told)


def command(name: str, given: str, shell: bool) -> tuple[str, ...]:
    """A command as its words; for the shell it is a single word. Raises UserError when it is invalid."""
    try:
        words = [given] if shell else shlex.split(given)
    except ValueError as error:
        raise UserError(f"--{name}: {error}: {printable(given)}") from error
    if not any(word.strip() for word in words) or "\0" in given:
        raise UserError(f"--{name}: expected a command")
    return tuple(words)


def show(tree: Tree, path: Path, as_json: bool) -> None:
    """Prints a tree."""
    if as_json:
        print_json("system", {"path": str(path), **msgspec.to_builtins(tree), "kind": "system"})
        return
    out = terminal()
    out.print(Text(title(tree)))
    table = make_table("=what", ">size", "where", "what it is", header_style="bold")
    for a in tree.artefacts:
        told = a.told.removeprefix(f"{ROLES[a.role]} ").removeprefix(f"{ROLES[a.role]}: ")
        table.add_row(
            ROLES[a.role], size(a.size_bytes) if a.size_bytes else "", Text(printable(a.path)), Text(told)
        )
    out.print(table)
    _words(out, tree)
    for what, where in tree.missing.items():
        out.print(Text(f"not found: {what} (looked for {printable(where)})", "yellow"))
    for note in tree.notes:
        out.print(Text(f"note: {note}", "yellow"))
    out.print(Text(f"written to {path}", "dim"))
    out.print(Text(f"next: bootscope audit {tree.name if path.parent == keep.folder() else path}", "dim"))


def _words(out: Console, tree: Tree) -> None:
    if tree.command_line:
        out.print(Text(f"command line: {printable(tree.command_line)}"))
        out.print(Text(f"  from {printable(tree.command_line_from)}", "dim"))
    for what, version in tree.versions.items():
        out.print(Text(f"{what}: {printable(version)}"))
    if tree.toolchain_prefix:
        out.print(Text(f"compiler: {printable(tree.toolchain_prefix)}gcc"))
    if not tree.build:
        out.print(Text("build command: none; set it with --build CMD, for `bootscope build`", "dim"))
    said = {"built by": tree.build, "deployed by": tree.trial.deploy, "works when": tree.trial.works}
    for what, given in said.items():
        words = given[0] if tree.shell and given else shlex.join(given)
        if given:
            out.print(Text(f"{what}: {printable(words)}{' (with the shell)' if tree.shell else ''}"))
    if tree.trial.board:
        out.print(Text(f"tried on: {printable(tree.trial.board)}"))
        out.print(Text(f"changes go to: {printable(str(changes_folder(tree)))}"))
    if tree.trial.products:
        out.print(Text(f"deployed to the board: {printable(', '.join(tree.trial.products))}"))


def _list(as_json: bool) -> int:
    trees = [keep.load_tree(name)[0] for name in keep.tree_names()]
    if as_json:
        rows: list[dict[str, object]] = [
            {"name": t.name, "made_by": t.made_by, "folder": t.folder, "build": t.build} for t in trees
        ]
        rows += named_images.rows()
        print_json("systems", {"systems": rows, "included": included.rows()})
        return 0
    out = terminal()
    for tree in trees:
        out.print(Text(f"{title(tree)} from {printable(tree.folder)}"))
    named_images.listed(out)
    if not trees and not named_images.image_names():
        out.print("no imported systems; import one: bootscope system import DIR", style="dim")
    out.print()
    included.listed(out)
    return 0
