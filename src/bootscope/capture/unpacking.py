# SPDX-License-Identifier: Apache-2.0
"""Reading a file of saved runs (saved.py), which may be damaged or hostile: none of it is trusted."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bootscope.capture import saved
from bootscope.capture.saved import Contents, SavedFile
from bootscope.core import zstd
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import UserError, printable

_CHUNK = 1 << 20
_MAGIC = b"\x28\xb5\x2f\xfd"
_WINDOW = 27
"""zstd's window, as a power of two: the maximum that its own program accepts by default."""
MOST_TIMES, ALWAYS_BYTES = 1000, 256 << 20
"""Unpacked data may be this many times as large as the file, and in any case this many bytes: recordings
shrink to a half or a tenth, a bomb by more."""


class Archive:
    """An opened file of saved runs: its list, then one file after the other."""

    def __init__(self, path: Path, stream: Any) -> None:
        self.path, self._stream = path, stream
        self._error = zstd.module().ZstdError
        self.contents = self._contents()
        whole = sum(saved.BLOCK + file.size_bytes for file in self.contents.files())
        if whole > max(ALWAYS_BYTES, MOST_TIMES * path.stat().st_size):
            raise self._refused(f"its {path.stat().st_size:,} bytes would unpack to {whole:,}")
        self.size_bytes = whole

    def each(self) -> Iterator[tuple[SavedFile, Iterator[bytes]]]:
        """Every file with its bytes in parts, which must be consumed before the next one.

        Raises UserError if a file differs from the list, in length or hash.
        """
        for file in self.contents.files():
            if self._exactly(saved.BLOCK) != saved.header(file.name, file.size_bytes):
                raise self._refused(f"something else than {file.name} follows")
            yield file, self._parts(file)
            self._zeros(saved.padding(file.size_bytes))
        self._zeros(2 * saved.BLOCK)
        if self._read(1):
            raise self._refused("more follows than its list says")

    def _parts(self, file: SavedFile) -> Iterator[bytes]:
        found, left = hashlib.sha256(), file.size_bytes
        while left:
            part = self._exactly(min(left, _CHUNK))
            found.update(part)
            left -= len(part)
            yield part
        if found.hexdigest() != file.sha256:
            raise self._refused(f"{file.name} is not what was saved (its SHA-256 differs)")

    def _contents(self) -> Contents:
        """The list of files, which comes first. Raises UserError if the archive is not ours, or is newer."""
        first = self._exactly(saved.BLOCK)
        digits = first[124:135]
        size = int(digits, 8) if digits.isdigit() and not set(digits) & set(b"89") else -1
        if not 0 <= size <= saved.MOST_CONTENTS_BYTES or first != saved.header(saved.CONTENTS, size):
            raise UserError(
                f"{self.path} was not written by bootscope save", hint="bootscope save RUN -o FILE.bsz"
            )
        data = self._exactly(size)
        self._zeros(saved.padding(size))
        try:
            schema = msgspec.json.decode(data).get("schema")
            if isinstance(schema, int) and schema > saved.SCHEMA:
                words = f"it has schema {schema}, newer than this bootscope reads ({saved.SCHEMA})"
                raise self._refused(words, hint="a newer bootscope, or save it with an older one")
            return saved.checked(msgspec.json.decode(data, type=Contents))
        except UserError as error:
            raise error if error.hint else self._refused(error.message) from error
        except (AttributeError, *DAMAGED) as error:
            raise self._refused(f"its list of files cannot be read: {printable(str(error))[:200]}") from error

    def _zeros(self, count: int) -> None:
        if any(self._exactly(count)):
            raise self._refused("there is something between its files")

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self._read(count - len(data))
            if not part:
                raise self._refused("it is cut off")
            data += part
        return bytes(data)

    def _read(self, count: int) -> bytes:
        try:
            part: bytes = self._stream.read(count)
        except EOFError as error:
            raise self._refused("it is cut off") from error
        except (self._error, OSError) as error:
            raise self._refused(f"it cannot be unpacked: {printable(str(error))}") from error
        return part

    def _refused(self, why: str, hint: str | None = None) -> UserError:
        return UserError(f"{self.path} is refused: {why}", hint=hint or "nothing of it was loaded")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """The file of saved runs at `path`. Raises UserError if it is none, or cannot be read."""
    known = zstd.module()
    try:
        with path.open("rb") as f:
            if f.read(len(_MAGIC)) != _MAGIC:
                raise UserError(
                    f"{path} was not written by bootscope save", hint="bootscope save RUN -o FILE.bsz"
                )
            f.seek(0)
            limit = {known.DecompressionParameter.window_log_max: _WINDOW}
            with known.ZstdFile(f, "rb", options=limit) as stream:
                yield Archive(path, stream)
    except OSError as error:
        if error.filename is not None and os.fspath(error.filename) != os.fspath(path):
            raise
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
