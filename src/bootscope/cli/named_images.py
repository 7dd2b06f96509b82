# SPDX-License-Identifier: Apache-2.0
"""`bootscope system` for prebuilt images: gives them a name, a board and a way to boot."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from bootscope.boards.changed import parted
from bootscope.boards.profile import board_names, load_board
from bootscope.builder.cache import Cache
from bootscope.buildtrees import keep
from bootscope.cli.arguments import option
from bootscope.cli.common import refuse
from bootscope.cli.progress import progress
from bootscope.cli.verb import print_json, terminal
from bootscope.core.errors import UserError, printable
from bootscope.core.paths import cache_dir
from bootscope.imageboot.subject import KERNEL, THROUGH, Ready, name_of, opened
from bootscope.imageedit import record as records
from bootscope.imageedit.record import KIND, SCHEMA, ImageRecord, image_names, is_image, load_image

__all__ = ["image_names", "is_image"]

ALONE = ("append", "through", "until", "until_text", "application", "kernel_config")
"""Options of `system import` for images only, by their names in the result of the parser."""
_TREES_ALONE = (
    "kind", "image", "build", "shell", "deploy", "product", "check", "changes", "series", "kernel_recipe",
    "uboot_recipe",
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for images only."""
    group = parser.add_argument_group("images that are built already (bootscope help your-image)")
    option(group, "--append", "WORDS", "words to append to the kernel command line")
    group.add_argument("--through", choices=THROUGH, help="what starts its boot (default: kernel)")
    option(group, "--until", "MILESTONE", "where its boots end, as for `record` (default: found in it)")
    option(group, "--until-text", "TEXT", "its boots end with this text on the console")
    what = "the product's main program: a path in its root file system"
    option(group, "--application", "PATH", what)
    option(
        group, "--kernel-config", "FILE", "the kernel's configuration, where the image has none", type=Path
    )


def wanted(args: argparse.Namespace) -> bool:
    """Whether an image for an emulated board is to be imported."""
    if args.board and parted(args.board)[0] in board_names():
        return True
    if any(Path(name).is_file() for name in args.of):
        raise UserError(
            f"{printable(args.of[0])} is an image: name the emulated board that it boots on",
            hint="--board virt-arm64",
        )
    return False


def import_image(args: argparse.Namespace) -> int:
    """Gives an image a name; returns the exit code. Raises UserError if it cannot boot on its board."""
    refuse(args, _TREES_ALONE, "is for the folder of a build, tried on a real board")
    name = getattr(args, "as") or name_of(args.of[0])
    keep.check_name(name)
    if name in keep.tree_names():
        raise UserError(f"{name} is the name of an imported build", hint="choose another with --as")
    path = _path(args.o, name)
    made = ImageRecord(
        schema=SCHEMA,
        kind=KIND,
        name=name,
        board=args.board,
        files=tuple(str(Path(file).absolute()) for file in args.of),
        machine=args.machine,
        append=args.append or "",
        through=args.through or KERNEL,
        until=args.until or "",
        until_text=args.until_text or "",
        application=args.application or "",
        kernel_config=str(args.kernel_config.absolute()) if args.kernel_config else "",
    )
    _check(made)
    with _opened(args, made) as ready:
        records.write(made, path)
        _show(made, path, args.json, ready)
    return 0


def _check(made: ImageRecord) -> None:
    if made.application and not made.application.startswith("/"):
        raise UserError("--application: expected a path in the root file system, such as /usr/bin/player")
    if made.kernel_config and not Path(made.kernel_config).is_file():
        raise UserError(f"there is no file {printable(made.kernel_config)}")


def _opened(args: argparse.Namespace, made: ImageRecord) -> AbstractContextManager[Ready]:
    """The image, ready to boot."""
    from bootscope.builder.step import Runner

    board = load_board(made.board)
    make = Runner(Cache(cache_dir()), progress(quiet=args.json), jobs=1, use_ccache=False)
    return opened(made.files, board, made.wish(), make, made.name)


def _path(output: Path | None, name: str) -> Path:
    if output is None:
        return records.folder() / f"{name}.toml"
    if output.is_dir():
        return output / f"{name}.toml"
    if output.suffix != ".toml":
        raise UserError(f"{printable(str(output))}: a record must be named *.toml")
    return output


def show_or_forget(args: argparse.Namespace) -> int:
    """`system show` and `system rm` of an image; returns the exit code."""
    made, path = load_image(args.of)
    if args.what == "rm":
        path.unlink()
        show_forgotten(made.name, f"{made.name} is no longer known; its files have not changed", args.json)
        return 0
    with _opened(args, made) as ready:
        _show(made, path, args.json, ready)
    return 0


def show_forgotten(name: str, words: str, as_json: bool) -> None:
    """Prints that a system is no longer known; `words` are for people."""
    if as_json:
        print_json("system-rm", {"name": name})
    else:
        print(words)


def _show(made: ImageRecord, path: Path, as_json: bool, ready: Ready) -> None:
    if as_json:
        about = {**msgspec.to_builtins(made), "taken": ready.told, "notes": ready.notes, "kind": "system"}
        print_json("system", {"path": str(path), "made_by": "image", **about})
        return
    out = terminal()
    out.print(Text(f"{made.name}: an image for {made.board}"))
    for line in ready.told:
        out.print(Text(printable(line)))
    for note in ready.notes:
        out.print(Text(f"note: {printable(note)}", "yellow"))
    out.print(Text(f"written to {path}", "dim"))
    name = made.name if path.parent == records.folder() else str(path)
    out.print(Text(f"next: bootscope audit {name}", "dim"))


def rows() -> list[dict[str, object]]:
    """All named images, as JSON."""
    made = [load_image(name)[0] for name in image_names()]
    return [{"name": m.name, "made_by": "image", "folder": m.files[0], "build": ()} for m in made]


def listed(out: Console) -> None:
    """Prints all named images."""
    for name in image_names():
        made = load_image(name)[0]
        out.print(Text(f"{made.name}: an image for {made.board}, {printable(', '.join(made.files))}"))
