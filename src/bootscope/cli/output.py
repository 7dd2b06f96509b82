# SPDX-License-Identifier: Apache-2.0
"""Files that verbs write: their format by the file's name, and writing them atomically."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from bootscope.core.errors import UserError, printable

HTML, MARKDOWN = "html", "md"
FORMS = ("svg", "png", "pdf", MARKDOWN)
"""The formats beside HTML, by the suffix of a file's name."""
_OTHERS = ("jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "eps", "ps", "docx", "pptx")


def write_file(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all; anything else (a pipe, /dev/stdout) is written to directly.

    Raises UserError when it cannot be written.
    """
    writable(path)
    part = path.with_name(path.name + ".part")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def writable(path: Path) -> None:
    """Raises UserError if a file of that name can never be written: for verbs that work long before that.

    In other programs `-` is standard output; here it would be a file that is overlooked, so it is refused."""
    if str(path) == "-":
        raise UserError("cannot write -: standard output is not supported here", hint="/dev/stdout, or ./-")
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder")
    if not path.parent.is_dir():
        folder = printable(str(path.parent))
        raise UserError(f"cannot write {path}: there is no folder {folder}", hint=f"mkdir -p {quote(folder)}")


def form_of(path: Path) -> str:
    """The format to write, by the suffix of a file's name. Raises UserError for unsupported formats."""
    ending = path.suffix.lower().removeprefix(".")
    if ending in _OTHERS:
        raise UserError(f"cannot write .{ending}", hint="FILE.html, .svg, .png, .pdf or .md")
    return {"markdown": MARKDOWN}.get(ending, ending) if ending in (*FORMS, "markdown") else HTML
