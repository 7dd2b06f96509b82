# SPDX-License-Identifier: Apache-2.0
"""The record of a named image: its files, its board, how it boots. A TOML file in the store."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bootscope.capture.record import write_whole
from bootscope.core.errors import ToolError, UserError, unknown
from bootscope.core.paths import store_dir
from bootscope.core.settings import Setting, as_toml, load, names_in

if TYPE_CHECKING:
    from bootscope.imageboot.subject import Wish

SCHEMA, KIND = 1, "image"


class ImageRecord(Setting, frozen=True, omit_defaults=True):
    """A named image. `files` are absolute paths, as `bootscope image` takes them; `board`, `machine`,
    `append`, `through`, `until` and `until_text` are as for `record`. `application`: the path in the root
    file system of the product's main program; `kernel_config`: a file with the kernel's configuration, where
    the image has none."""

    schema: int
    kind: str
    name: str
    board: str
    files: tuple[str, ...]
    machine: str = ""
    append: str = ""
    through: str = "kernel"
    until: str = ""
    until_text: str = ""
    application: str = ""
    kernel_config: str = ""

    def wish(self) -> Wish:
        """How it boots, in the form that recording takes."""
        # Imported here: most verbs only ask whether a name is that of an image.
        from bootscope.imageboot.subject import Wish

        return Wish(self.append, self.until, self.until_text, self.machine, self.through)


def folder() -> Path:
    """The folder of the records that have no path of their own."""
    return store_dir() / "images"


def image_names() -> list[str]:
    """The names of the recorded images."""
    return names_in(folder())


def is_image(name: str) -> bool:
    """Whether a name, or the path of a .toml, refers to an image."""
    if not name.endswith(".toml"):
        return name in image_names()
    try:
        return tomllib.loads(Path(name).read_text()).get("kind") == KIND
    except (OSError, ValueError, RecursionError):
        return False


def load_image(name: str) -> tuple[ImageRecord, Path]:
    """The image of that name, or of that file when it ends in .toml, and the file.

    Raises UserError when there is none, or the file contradicts itself.
    """
    if not name.endswith(".toml") and name not in image_names():
        raise unknown("image", name, image_names())
    path = Path(name) if name.endswith(".toml") else folder() / f"{name}.toml"
    found = load(path, ImageRecord)
    if (found.schema, found.kind) != (SCHEMA, KIND):
        raise UserError(f"{path}: expected schema {SCHEMA} and kind '{KIND}'")
    if not found.files or not all(name.startswith("/") for name in found.files):
        raise UserError(f"{path}: files: expected absolute paths, one or more")
    return found, path


def write(record: ImageRecord, path: Path) -> None:
    """Writes a record. Raises ToolError when it cannot be written."""
    table = msgspec.to_builtins(record)
    text = "".join(f"{key} = {as_toml(value)}\n" for key, value in table.items())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, f"# An image that is built already, with a name.\n{text}".encode())
    except OSError as error:
        raise ToolError(f"cannot write {path}: {error.strerror}") from error
