# SPDX-License-Identifier: Apache-2.0
"""Runs on a server, at a URL that fsspec knows: an object store, SFTP, a share.

    URL/runs/RUN.HASH.bsz    the run as save writes it (saved.py); HASH begins its SHA-256
    URL/runs/RUN.json        its entry: hash, length, line of the list, labels, figures. Written last

Archives are never written twice under one name, so two writers cannot mix theirs. An entry is read back after
it is written, to detect a server that loses it, or another writer at the same moment.

History of the schema:
  1  2026-11  first version
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from bootscope import __version__
from bootscope.capture.record import write_whole
from bootscope.capture.saved import RUN_NAME
from bootscope.capture.stored import Summary
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import ToolError, UserError
from bootscope.core.remote_files import MissingFileError, download, listing, read_all, remove, upload

SCHEMA = 1
_CANNOT = {
    "http": "nothing can be written to it",
    "https": "nothing can be written to it",
    "memory": "what it holds ends with the command",
    "data": "nothing can be written to it",
}
_MOST_ENTRY_BYTES = 1 << 20
_HASH = re.compile(r"[0-9a-f]{64}")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A server's entry for a run. `figure` is what `list` shows, as JSON, computed by the program with the id
    `program`; empty for none."""

    kind: Literal["bootscope-run"] = "bootscope-run"
    schema: int = SCHEMA
    bootscope: str = __version__
    run_id: str
    sha256: str
    size_bytes: int
    summary: Summary
    labels: dict[str, str] = {}
    figure: str = ""
    program: str = ""


class _Known(msgspec.Struct, frozen=True):
    """Entries read before: name of the file -> its mark in the listing, and its content."""

    entries: dict[str, tuple[str, Entry]]


def checked_url(url: str) -> str:
    """The URL without a trailing slash. Raises UserError if no runs can be kept at such a URL."""
    kind = url.partition("://")[0]
    if kind in _CANNOT:
        hint = "a folder, or a URL that can be written to: s3://BUCKET/FOLDER, sftp://HOST/FOLDER"
        raise UserError(f"BOOTSCOPE_STORE cannot be a URL of {kind}: {_CANNOT[kind]}", hint=hint)
    return url.rstrip("/")


class Depot:
    """The runs at `url`; `known` is a file on this computer that avoids reading entries again."""

    def __init__(self, url: str, known: Path) -> None:
        self._url, self._file = url, known
        self._known: dict[str, tuple[str, Entry]] = {}
        with contextlib.suppress(OSError, *DAMAGED):
            self._known = msgspec.json.decode(known.read_bytes(), type=_Known).entries

    def known(self) -> dict[str, Entry]:
        """The entries as last read, by run."""
        return {entry.run_id: entry for _, entry in self._known.values()}

    def entries(self) -> tuple[dict[str, Entry], list[str]]:
        """The current entries by run, and the names of those that cannot be read.

        Raises ToolError if the server cannot be read, UserError if a package for it is missing.
        """
        marks = {name: mark for name, mark in listing(f"{self._url}/runs").items() if name.endswith(".json")}
        fresh = [name for name, mark in marks.items() if self._known.get(name, ("",))[0] != mark]
        read = read_all([f"{self._url}/runs/{name}" for name in fresh])
        found = {name: known for name, known in self._known.items() if marks.get(name) == known[0]}
        damaged = []
        for name, data in zip(fresh, read, strict=True):
            entry = _decoded(name, data)
            if entry:
                found[name] = (marks[name], entry)
            elif data is not None:  # None: it was removed after the listing
                damaged.append(name)
        if found != self._known:
            self._known = found
            with contextlib.suppress(OSError):
                write_whole(self._file, msgspec.json.encode(_Known(found)))
        return self.known(), damaged

    def fetch(self, entry: Entry, to: Path) -> None:
        """Fetches the archive of a run. Raises ToolError if it is missing, or differs from what was sent."""
        url = self._archive(entry)
        try:
            download(url, to)
        except MissingFileError as error:
            raise ToolError(f"{error.message}, which the list of runs names", hint=_ASK) from error
        if _sha256(to) != entry.sha256:
            words = f"the archive of {entry.run_id} is not what was sent: its SHA-256 differs"
            raise ToolError(words, hint=_ASK)

    def put(self, entry: Entry, archive: Path | None) -> None:
        """Stores a run, or only its new entry. Raises ToolError if that is refused or lost, or another run of
        that name was written at the same time."""
        if archive:
            upload(archive, self._archive(entry))
        with tempfile.TemporaryDirectory(prefix="bootscope-") as folder:
            path = Path(folder) / "entry"
            path.write_bytes(msgspec.json.encode(entry))
            upload(path, self._entry(entry.run_id))
        (there,) = read_all([self._entry(entry.run_id)])
        if there is None or _decoded(f"{entry.run_id}.json", there) != entry:
            words = f"the entry of {entry.run_id} is not on the server as it was written"
            raise ToolError(
                words, hint="another computer wrote one of this name, or the server loses what it takes"
            )

    def remove(self, entry: Entry) -> None:
        """Removes a run, its entry first. Raises ToolError if that is refused."""
        remove(self._entry(entry.run_id))
        self.remove_archive(entry)

    def remove_archive(self, entry: Entry) -> None:
        """Removes the archive of an entry. Raises ToolError if that is refused."""
        remove(self._archive(entry))

    def _entry(self, run_id: str) -> str:
        return f"{self._url}/runs/{run_id}.json"

    def _archive(self, entry: Entry) -> str:
        return f"{self._url}/runs/{entry.run_id}.{entry.sha256[:16]}.bsz"


_ASK = "who has the run sends it again: bootscope label RUN note=again"


def _decoded(name: str, data: bytes | None) -> Entry | None:
    """The entry in a file of that name; None if it is not one, or has a newer schema."""
    if data is None or len(data) > _MOST_ENTRY_BYTES:
        return None
    try:
        entry = msgspec.json.decode(data, type=Entry)
    except DAMAGED:
        return None
    named = name == f"{entry.run_id}.json" == f"{entry.summary.run_id}.json"
    good = named and RUN_NAME.fullmatch(entry.run_id) and _HASH.fullmatch(entry.sha256)
    return entry if good and entry.schema == SCHEMA else None


def _sha256(path: Path) -> str:
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def entry_of(
    archive: Path, summary: Summary, labels: Mapping[str, str], figure: str = "", program: str = ""
) -> Entry:
    """The entry for a run in an archive on this computer."""
    return Entry(
        run_id=summary.run_id,
        sha256=_sha256(archive),
        size_bytes=archive.stat().st_size,
        summary=summary,
        labels=dict(labels),
        figure=figure,
        program=program,
    )
