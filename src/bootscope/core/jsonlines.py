# SPDX-License-Identifier: Apache-2.0
"""Append-only files of JSON lines. An incomplete line, after a power cut or a kill, is ignored."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import ToolError

Line = TypeVar("Line", bound=msgspec.Struct)


class JsonLines(Generic[Line]):
    """The file at `path`, with a `kind` in each line."""

    def __init__(self, path: Path, kind: type[Line]) -> None:
        self.path = path
        self._kind = kind

    def read(self) -> list[Line]:
        """All complete lines; empty if there is no file. Raises ToolError when it cannot be read."""
        return self.after(0)[0]

    def after(self, begin: int, most: int = -1) -> tuple[list[Line], int]:
        """The lines from byte `begin` on, in at most `most` bytes, and the byte after the last complete one.

        Raises ToolError like :meth:`read`.
        """
        try:
            with self.path.open("rb") as f:
                f.seek(begin)
                data = f.read(most)
        except FileNotFoundError:
            return [], begin
        except OSError as error:
            raise ToolError(f"cannot read {self.path}: {error.strerror}") from error
        found = []
        for line in data.splitlines():
            try:
                found.append(msgspec.json.decode(line, type=self._kind))
            except DAMAGED:
                continue
        return found, begin + data.rfind(b"\n") + 1

    def add(self, line: Line) -> None:
        """Appends a line and syncs it to disk. Raises ToolError when it cannot be written."""
        data = msgspec.json.encode(line) + b"\n"
        try:
            self.path.parent.mkdir(exist_ok=True)
            with self.path.open("a+b") as f:
                fcntl.flock(f, fcntl.LOCK_EX)
                # The rest of a killed writer's line must not swallow this one.
                if f.seek(0, os.SEEK_END) and not self._ends_whole(f.tell()):
                    data = b"\n" + data
                f.write(data)
                f.flush()
                os.fsync(f.fileno())
        except OSError as error:
            raise ToolError(f"cannot write {self.path}: {error.strerror}") from error

    def _ends_whole(self, size: int) -> bool:
        with self.path.open("rb") as f:
            f.seek(size - 1)
            return f.read(1) == b"\n"
