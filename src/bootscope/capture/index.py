# SPDX-License-Identifier: Apache-2.0
"""Results computed from a recorded boot, kept beside it: computing them takes seconds.

    runs/RUN/boots/001/index/NAME   the entry's key, a hash of what follows, and the result as MessagePack

The recording is authoritative. An entry is valid only for the very bytes and the very program that it was
made from and by; a stale, damaged or too large one is ignored, and all of them may be deleted. If the
recording's folder is not writable, they are kept in the cache, for the boots used last.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from bootscope.capture import record
from bootscope.capture.program import program_id
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.core.paths import cache_dir

T = TypeVar("T")

FOLDER = "index"
_HASH_BYTES = hashlib.sha256().digest_size
MOST_BYTES = 32 << 20
"""Of one entry; the largest entries of the reference system have a hundredth of that."""
MOST_BOOTS = 32
"""Boots with entries in the cache."""


class Index:
    """Results kept for one boot. Names are chosen by the caller: letters, digits and `-`.

    `seen_as` states how the boot is looked at, if not as it was recorded: each such look has its own entries.
    """

    def __init__(self, run: StoredRun, boot: StoredBoot, seen_as: bytes = b"") -> None:
        self._run, self._boot = run, boot
        self._ending = f"-{hashlib.sha256(seen_as).hexdigest()[:16]}" if seen_as else ""

    def get(self, name: str, kind: type[T], make: Callable[[], T], also: str = "") -> T:
        """The entry `name`, of type `kind`: the kept one, else the result of `make`.

        `make` may depend only on the recording, and on what `also` states about everything else.
        """
        if not self._made_from:
            return make()
        name += self._ending
        key = hashlib.sha256(b"\0".join([self._made_from, name.encode(), also.encode()])).digest()
        for folder in (self._boot.path / FOLDER, self._elsewhere):
            with contextlib.suppress(OSError, msgspec.MsgspecError, ValueError):
                return _decoded((folder / name).read_bytes(), key, kind)
        made = make()
        self._keep(name, key, made, kind)
        return made

    @cached_property
    def _made_from(self) -> bytes:
        """A hash of the recording and of the program; empty if there can be no index."""
        parts = [program_id()]
        files = (self._run.path / record.RUN, self._boot.path / record.BOOT, self._boot.path / record.STREAM)
        with contextlib.suppress(OSError):
            parts += [hashlib.sha256(path.read_bytes()).digest() for path in files]
        whole = len(parts) == 1 + len(files) and all(parts)
        return hashlib.sha256(b"".join(parts)).digest() if whole else b""

    @property
    def _elsewhere(self) -> Path:
        return cache_dir() / FOLDER / self._made_from.hex()[:32]

    def _keep(self, name: str, key: bytes, made: T, kind: type[T]) -> None:
        with contextlib.suppress(OSError, msgspec.MsgspecError, ValueError, TypeError, OverflowError):
            data = msgspec.msgpack.encode(made)
            # A result that does not survive encoding is not kept.
            if len(data) > MOST_BYTES or msgspec.msgpack.decode(data, type=kind) != made:
                return
            folder = self._boot.path / FOLDER
            if not os.access(self._boot.path, os.W_OK):
                folder = self._elsewhere
                _make_room(folder)
            folder.mkdir(parents=True, exist_ok=True)
            record.write_whole(folder / name, key + hashlib.sha256(data).digest() + data)


def _decoded(data: bytes, key: bytes, kind: type[T]) -> T:
    """The content of an entry. Raises ValueError when it is another one, or damaged."""
    body = memoryview(data)[2 * _HASH_BYTES :]
    if data[: 2 * _HASH_BYTES] != key + hashlib.sha256(body).digest():
        raise ValueError
    return msgspec.msgpack.decode(body, type=kind)


def _make_room(wanted: Path) -> None:
    """Removes the entries of the boots used longest ago, to make room for one more boot."""
    if not wanted.exists() and wanted.parent.exists():
        found = sorted(wanted.parent.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in found[: max(0, len(found) - MOST_BOOTS + 1)]:
            shutil.rmtree(path, ignore_errors=True)
