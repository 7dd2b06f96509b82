# SPDX-License-Identifier: Apache-2.0
"""bootscope report for formats other than HTML: pictures, a page, a text with a picture."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bootscope.capture.store import Store
from bootscope.cli.common import refuse
from bootscope.cli.core_options import call_paths, core_of
from bootscope.cli.output import MARKDOWN, write_file
from bootscope.cli.verb import print_json, terminal
from bootscope.core.errors import UserError
from bootscope.core.text import size
from bootscope.pictures import markdown, raster
from bootscope.pictures.draw import Picture, picture
from bootscope.pictures.onepage import page
from bootscope.pictures.stored import findings, subject_of
from bootscope.pictures.subject import Subject
from bootscope.pictures.theme import DARK, LIGHT, theme_of


def write(store: Store, names: Sequence[str], form: str, args: argparse.Namespace) -> int:
    """Writes these runs as `form` (svg, png, pdf, md), and prints what was written.

    Raises UserError for options that do not fit the format, and if there is nothing to draw.
    """
    _agree(form, args)
    if form in ("png", "pdf"):
        raster.check()
    subject = subject_of(store, names, core_of(args))
    if args.stalls:
        boots = [replace(boot, trace=call_paths(boot.trace, True)) for boot in subject.boots]
        subject = replace(subject, boots=boots)
    if form == MARKDOWN:
        done = _text(store, subject, args)
    elif form == "pdf" and not args.view:
        done = {"": page(subject, findings(store, subject))}
    else:
        done = {
            "": _drawn(picture(subject, theme_of(args.theme or "light"), args.view, args.width), form, args)
        }
    paths = {str(path): data for path, data in _paths(args.output, done).items()}
    for path, data in paths.items():
        write_file(Path(path), data)
    _say(args, form, subject, paths)
    return 0


def _agree(form: str, args: argparse.Namespace) -> None:
    """Raises UserError for options that the format does not use."""
    if form != "png":
        refuse(args, ("scale",), "is for PNG", "-o FILE.png")
    if form != MARKDOWN:
        refuse(args, ("picture",), "is for Markdown", "-o FILE.md")
    if form == MARKDOWN:
        refuse(args, ("theme",), "is for one picture; Markdown gets a light and a dark one")
    if form == "pdf" and not args.view:
        refuse(
            args,
            ("width", "theme"),
            "is for pictures; the page has a size of its own",
            "--view V for a picture",
        )


def _drawn(found: Picture, form: str, args: argparse.Namespace) -> bytes:
    if form == "png":
        return raster.png(found.svg, found.title, args.scale or 1)
    return raster.pdf(found.svg, found.title) if form == "pdf" else found.svg.encode()


def _text(store: Store, subject: Subject, args: argparse.Namespace) -> dict[str, bytes]:
    """The text, and its picture in light and in dark colours; the key "" is the text."""
    light = args.picture or args.output.with_suffix(".svg")
    if light.suffix.lower() != ".svg":
        raise UserError(f"the picture of a text is SVG: {light}", hint="--picture FILE.svg")
    dark = light.with_name(f"{light.stem}-dark.svg")
    found = [picture(subject, theme, args.view, args.width) for theme in (LIGHT, DARK)]
    beside = [os.path.relpath(path, args.output.parent) for path in (light, dark)]
    first = findings(store, subject) if len(subject.boots) == 1 else []
    words = markdown.text(subject, found[0].title, beside[0], beside[1], first)
    return {str(light): found[0].svg.encode(), str(dark): found[1].svg.encode(), "": words}


def _paths(output: Path, done: dict[str, bytes]) -> dict[Path, bytes]:
    return {Path(name) if name else output: data for name, data in done.items()}


def _say(args: argparse.Namespace, form: str, subject: Subject, paths: dict[str, bytes]) -> None:
    written = [{"path": path, "bytes": len(data)} for path, data in paths.items()]
    boots = [boot.boot_id for boot in subject.boots]
    if args.json:
        main = next(file for file in written if file["path"] == str(args.output))
        print_json("report", {**main, "boots": boots, "format": form, "files": written})
        return
    out = terminal()
    fonts = f"; text in {raster.font()}" if form in ("png", "pdf") else ""
    for path, data in paths.items():
        out.print(f"wrote {path} ({size(len(data))}{fonts})", markup=False)
