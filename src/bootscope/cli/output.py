# SPDX-License-Identifier: Apache-2.0
"""Files that verbs write: what kind their name asks for, and writing them whole."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from bootscope.core.errors import UserError, printable

HTML, MARKDOWN = "html", "md"
FORMS = ("svg", "png", "pdf", MARKDOWN)
"""What is written beside HTML, as a file's name ends."""
_OTHERS = ("jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "eps", "ps", "docx", "pptx")


def write_file(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all; what is no ordinary file (a pipe, /dev/stdout) is written to.

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
    """Raises UserError where a file of that name can never be written: for verbs that work long before it is.

    A file called - is taken for standard output by whoever knows other programs, and overlooked by others."""
    if str(path) == "-":
        raise UserError("cannot write -: standard output is not supported here", hint="/dev/stdout, or ./-")
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder")
    if not path.parent.is_dir():
        folder = printable(str(path.parent))
        raise UserError(f"cannot write {path}: there is no folder {folder}", hint=f"mkdir -p {quote(folder)}")


def form_of(path: Path) -> str:
    """What is to be written, by the end of a file's name. Raises UserError for pictures that nobody makes."""
    ending = path.suffix.lower().removeprefix(".")
    if ending in _OTHERS:
        raise UserError(f"cannot write .{ending}", hint="FILE.html, .svg, .png, .pdf or .md")
    return {"markdown": MARKDOWN}.get(ending, ending) if ending in (*FORMS, "markdown") else HTML
