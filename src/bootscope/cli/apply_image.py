# SPDX-License-Identifier: Apache-2.0
"""`bootscope apply --to image`: a prebuilt image, written as a new one with changes."""

from __future__ import annotations

import argparse
from pathlib import Path

from bootscope.analysis.views import view
from bootscope.changes.change_files import check_new
from bootscope.changes.experiment import variant
from bootscope.cli.named_image import bench, image_of
from bootscope.cli.verb import print_json, terminal
from bootscope.core.errors import UserError, printable
from bootscope.core.paths import store_dir
from bootscope.inventory.recorded import facts
from bootscope.search.of_run import techniques_of_run

KIND = "image"


def apply_to_image(args: argparse.Namespace, folder: Path) -> int:
    """Writes the changed image of `--system` into a new folder; returns the exit code."""
    if args.dry_run:
        raise UserError("--dry-run is for trees: an image is written into a new folder")
    record = image_of([args.system], None) if args.system else None
    if record is None:
        raise UserError(
            "--to image needs an image to change: --system NAME",
            hint="bootscope system import FILE --board B names one",
        )
    check_new(folder)
    args.no_ccache, args.jobs = False, 1
    made = bench(args, record)
    store = made.store
    base = view(store, made.measured(made.loaded))
    if not base.boot.info.complete:
        raise UserError(f"{record.name} itself does not boot: {base.boot.info.message}")
    wanted = variant(made.loaded, facts(store, base, made.cache), _specs(args.what))
    folder.mkdir(parents=True, exist_ok=True)
    out = made.hand_out(wanted, folder)
    files = sorted(path.name for path in folder.iterdir())
    line = out.wish.command_line or ""
    if args.json:
        told = {"to": KIND, "folder": str(folder), "files": files, "command_line": line}
        print_json("apply", {**told, "not_expressed": list(out.notes), "written": True})
        return 0
    for name in files:
        terminal().print(f"written: {printable(str(folder / name))}", markup=False, highlight=False)
    for note in out.notes:
        terminal().print(f"by hand: {printable(note)}; it becomes: {printable(line)}", markup=False)
    return 0


def _specs(what: list[str]) -> list[str]:
    """The techniques named, or those of a named run. Raises UserError for a folder of changes."""
    found: list[str] = []
    for name in what:
        if Path(name).is_dir():
            raise UserError(
                f"{printable(name)} is a folder: name the techniques, or the run of `optimize`",
                hint="`optimize -o` writes the changed image beside its files",
            )
        found += techniques_of_run(store_dir(), name) or [name]
    return found
