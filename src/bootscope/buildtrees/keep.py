# SPDX-License-Identifier: Apache-2.0
"""Records of imported trees as TOML files: in the store by name, or where the user wants them."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from bootscope.buildtrees.model import KIND, SCHEMA, Tree
from bootscope.capture.record import write_whole
from bootscope.core.errors import ToolError, UserError, printable, unknown
from bootscope.core.paths import store_dir
from bootscope.core.settings import as_toml, load, names_in
from bootscope.system.load import is_tree_file, system_names

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,79}")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def folder() -> Path:
    """The folder of the records that have no path of their own."""
    return store_dir() / "trees"


def tree_names() -> list[str]:
    """The names of the imported trees."""
    return names_in(folder())


def check_name(name: str) -> None:
    """Raises UserError when this is not a valid name for a tree."""
    if not _NAME.fullmatch(name) or name.endswith(".toml"):
        raise UserError(
            f"'{printable(name)}' is not a valid name", hint="small letters, digits, '-', '_' and '.'"
        )
    if name in system_names() or name == "last":
        raise UserError(f"'{name}' is the name of a built-in system", hint="choose another with --as")


def is_tree(name: str) -> bool:
    """Whether a name, or the path of a file, refers to an imported tree."""
    return name in tree_names() or is_tree_file(Path(name))


def load_tree(name: str) -> tuple[Tree, Path]:
    """The tree of that name, or of that file when it ends in .toml, and the file.

    Raises UserError when there is none, or the file contradicts itself.
    """
    if not name.endswith(".toml") and name not in tree_names():
        raise unknown("imported system", name, tree_names())
    path = Path(name) if name.endswith(".toml") else folder() / f"{name}.toml"
    found = load(path, Tree)
    if (found.schema, found.kind) != (SCHEMA, KIND):
        raise UserError(f"{path}: expected schema {SCHEMA} and kind '{KIND}'")
    for artefact in found.artefacts:
        if artefact.path.startswith("/") or ".." in artefact.path.split("/"):
            raise UserError(f"{path}: {printable(artefact.path)} leads out of the tree's folder")
    if not found.folder.startswith("/"):
        raise UserError(f"{path}: folder: expected an absolute path")
    return found, path


def write(tree: Tree, path: Path) -> None:
    """Writes a record. Raises ToolError when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text(tree).encode())
    except OSError as error:
        raise ToolError(f"cannot write {path}: {error.strerror}") from error


def text(tree: Tree) -> str:
    """A record as TOML."""
    table = msgspec.to_builtins(tree)
    lines = [
        "# What another build system built, as `bootscope system import` found it. `bootscope build` with",
        "# its name runs `build` and looks again; all else here is then written anew.",
    ]
    artefacts = table.pop("artefacts")
    lines += (f"{key} = {as_toml(value)}" for key, value in table.items() if not isinstance(value, dict))
    tables = [(f"[{key}]", value) for key, value in table.items() if isinstance(value, dict)]
    for head, values in (*tables, *(("[[artefacts]]", artefact) for artefact in artefacts)):
        lines += ["", head]
        lines += (f"{k if _PLAIN_KEY.fullmatch(k) else as_toml(k)} = {as_toml(v)}" for k, v in values.items())
    return "\n".join(lines) + "\n"
