# SPDX-License-Identifier: Apache-2.0
"""Changes files of an ext2, ext3 or ext4 in place with debugfs, without root: everything else keeps owners,
modes and attributes. e2fsck checks it before and after."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bootscope.artefacts.ext_image import DIRECTORY, SYMLINK, ExtImage, Found
from bootscope.builder.step import BUILD_ENV
from bootscope.core import tools
from bootscope.core.errors import UserError, printable
from bootscope.core.process import build_environment, run
from bootscope.imageedit import names
from bootscope.imageedit.edits import RootEdit
from bootscope.system.changes import matches

_TIMEOUT_S = 300
_INCOMPATIBLE_AT, _TO_RECOVER = 0x460, 0x4
_SAID = re.compile(r"^(?:debugfs |debugfs:|Allocated inode:)")
_FULL = "Could not allocate"


@dataclass(frozen=True)
class ExtPlace:
    """An ext file system that begins `offset_bytes` into a file of ours; `folder` is a scratch folder for
    tools."""

    image: Path
    folder: Path
    offset_bytes: int = 0
    what: str = "the root file system"

    @property
    def device(self) -> str:
        """Its name for e2fsprogs."""
        return f"{self.image}?offset={self.offset_bytes}" if self.offset_bytes else str(self.image)


def edit(place: ExtPlace, wanted: RootEdit) -> list[str]:
    """Changes files; returns the paths that were removed.

    Raises UserError where the file system is damaged or full, or a path cannot be written.
    """
    tools.require("debugfs", "e2fsck")
    _check(place, "before it is changed")
    there = _listed(place)
    gone = _removed(there, wanted)
    sources = {path: text.encode() for path, text in wanted.write.items()}
    made: set[str] = set()
    commands = [*_taken_out(there, gone), *_written(place, there, gone, made, sources)]
    _run(place, [*commands, *_links(there, gone, made, wanted)])
    _check(place, "with the change: it may be full")
    return gone


def put(place: ExtPlace, path: str, data: bytes) -> None:
    """Replaces the content of one file. Raises UserError as :func:`edit` does."""
    tools.require("debugfs", "e2fsck")
    _check(place, "before it is changed")
    there = _listed(place)
    real = _real(there, path)
    old = there.get(real)
    mode = old.mode & 0o7777 if old and old.kind not in (DIRECTORY, SYMLINK) else 0o644
    _run(place, list(_written(place, there, [], set(), {real: data}, mode)))
    _check(place, "with the change: it may be full")


def _listed(place: ExtPlace) -> dict[str, Found]:
    folder = place.folder / f"list-{place.offset_bytes}"
    folder.mkdir(exist_ok=True)
    for left in folder.iterdir():
        left.unlink()
    return {one.path: one for one in ExtImage(place.image, folder, place.offset_bytes).walk()}


def _removed(there: Mapping[str, Found], wanted: RootEdit) -> list[str]:
    named = {*wanted.write, *wanted.link}
    kept = named | {_real(there, path) for path in named}
    # A folder stays where some of its content does.
    kept |= {folder for path in kept for folder in names.above(path)}
    return [path for path in there if matches(path, wanted.remove) and path not in kept]


def _taken_out(there: Mapping[str, Found], gone: list[str]) -> Iterator[str]:
    for path in names.deepest_first(gone):
        yield f'{"rmdir" if there[path].kind == DIRECTORY else "rm"} "{names.checked(path)}"'


def _real(there: Mapping[str, Found], path: str) -> str:
    """A path with links in its folders followed. Raises UserError where a folder is not a folder."""
    found = names.through_links(path, lambda p: there[p].target if _is_link(there, p) else None)
    if wrong := next((p for p in names.above(found) if p in there and there[p].kind != DIRECTORY), None):
        raise UserError(f"'{printable(wrong)}' is no folder: nothing can be written in it")
    return found


def _is_link(there: Mapping[str, Found], path: str) -> bool:
    return path in there and there[path].kind == SYMLINK


def _folders(there: Mapping[str, Found], made: set[str], path: str) -> Iterator[str]:
    """Commands for the folders above a path, except those that are there or `made`; adds them to `made`."""
    for folder in names.above(path):
        if folder not in there and folder not in made:
            made.add(folder)
            yield f'mkdir "{folder}"'
            yield f'set_inode_field "{folder}" mode 040755'


def _written(
    place: ExtPlace,
    there: Mapping[str, Found],
    gone: list[str],
    made: set[str],
    contents: Mapping[str, bytes],
    mode: int | None = None,
) -> Iterator[str]:
    for number, (given, data) in enumerate(sorted(contents.items())):
        path = _real(there, given)
        yield from _replaced(there, gone, path)
        yield from _folders(there, made, path)
        source = place.folder / f"new-{number}"
        source.write_bytes(data)
        yield f'write "{source}" "{path}"'
        bits = mode if mode is not None else 0o755 if data.startswith(b"#!") else 0o644
        yield f'set_inode_field "{path}" mode 0{0o100000 | bits:o}'
        yield from (f'set_inode_field "{path}" {owner} 0' for owner in ("uid", "gid"))


def _links(there: Mapping[str, Found], gone: list[str], made: set[str], wanted: RootEdit) -> Iterator[str]:
    for given, to in sorted(wanted.link.items()):
        path = _real(there, given)
        yield from _replaced(there, gone, path)
        yield from _folders(there, made, path)
        yield f'symlink "{path}" "{names.target(to)}"'


def _replaced(there: Mapping[str, Found], gone: list[str], path: str) -> Iterator[str]:
    old = there.get(path)
    if old is None or path in gone:
        return
    if old.kind == DIRECTORY:
        raise UserError(f"'{printable(path)}' is a folder in the image and would become a file")
    yield f'rm "{path}"'


def _run(place: ExtPlace, commands: list[str]) -> None:
    if not commands:
        return
    script = place.folder / "edit.debugfs"
    script.write_text("".join(f"{line}\n" for line in commands))
    env = build_environment(BUILD_ENV)
    output = run(
        ["debugfs", "-w", "-f", script, place.device], env=env, timeout_s=_TIMEOUT_S, check=False
    ).output
    # debugfs continues after an error and ends with status 0, so its output decides.
    wrong = [line for line in output.splitlines() if line.strip() and not _SAID.match(line)]
    if wrong:
        raise UserError(
            f"{place.what} cannot be changed: {printable(wrong[0])[:200]}",
            hint="it has no room left: make it larger, or take something out first"
            if _FULL in wrong[0] or "No space" in wrong[0]
            else None,
        )


def _check(place: ExtPlace, when: str) -> None:
    """Raises UserError where e2fsck finds errors, or a journal that was not replayed."""
    with place.image.open("rb") as opened:
        opened.seek(place.offset_bytes + _INCOMPATIBLE_AT)
        head = opened.read(4)
    if len(head) == 4 and struct.unpack("<I", head)[0] & _TO_RECOVER:
        raise UserError(
            f"{place.what} was not unmounted: its journal has to be played back first",
            hint="e2fsck -p on a copy of it does so",
        )
    done = run(["e2fsck", "-fn", place.device], timeout_s=_TIMEOUT_S, check=False)
    if done.status:
        lines = [
            line
            for line in done.output.splitlines()
            if line.strip() and not line.startswith(("e2fsck", "Pass"))
        ]
        why = printable(lines[0])[:160] if lines else f"status {done.status}"
        raise UserError(f"e2fsck finds faults in {place.what} {when}: {why}")
