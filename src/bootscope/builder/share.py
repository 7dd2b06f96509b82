# SPDX-License-Identifier: Apache-2.0
"""A cache that several computers share, at a URL: finished steps by their ids, checked by hash on arrival.

    URL/steps/ID.parcel     the folder of a step (parcel.py)
    URL/steps/ID.json       its hashes; written last, so that the parcel is there

A share is optional: a failure to read or write it is reported once, and work goes on without it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bootscope.builder import parcel
from bootscope.builder.cache import Cache
from bootscope.builder.ids import file_sha256, tree_id
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import SpaceError, ToolError, UserError
from bootscope.core.remote_files import MissingFileError, download, upload

SCHEMA = 1


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """A share's record of a step: the SHA-256 of the parcel, and the tree id of the folder in it."""

    schema: int = SCHEMA
    step_id: str
    sha256: str
    content: str


@dataclass
class Share:
    """The share at `url`; failures are reported to `tell`. Several threads may use it."""

    url: str
    tell: Callable[[str], None]
    _told: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, cache: Cache, step_id: str) -> Path | None:
        """A step's folder in the cache, taken from the share; None where the share has no valid one.

        The caller holds the step's lock. Raises SpaceError where the disk is full.
        """
        try:
            with cache.workspace() as work:
                return self._got(cache, step_id, work)
        except MissingFileError:
            return None
        except SpaceError:
            raise
        except (ToolError, UserError, OSError) as error:
            self._say("read", error)
            return None

    def _got(self, cache: Cache, step_id: str, work: Path) -> Path:
        download(self._name(step_id, "json"), work / "json")
        try:
            said = msgspec.json.decode((work / "json").read_bytes(), type=Shared)
        except DAMAGED as error:
            raise ToolError(f"{self._name(step_id, 'json')} is damaged: {error}") from error
        download(self._name(step_id, "parcel"), work / "parcel")
        if said.schema != SCHEMA or said.step_id != step_id or file_sha256(work / "parcel") != said.sha256:
            raise ToolError(f"{self._name(step_id, 'parcel')} is not what was put there; it is built here")
        new = work / "new"
        new.mkdir()
        with (work / "parcel").open("rb") as f:
            parcel.unpack(f, new)
        if tree_id(new) != said.content:
            raise ToolError(f"{self._name(step_id, 'parcel')} holds another folder; it is built here")
        return cache.commit(new, cache.steps / step_id)

    def put(self, cache: Cache, step_id: str) -> None:
        """Copies a finished step to the share."""
        try:
            with cache.workspace() as work:
                folder, packed = cache.steps / step_id, work / "parcel"
                with packed.open("wb") as f:
                    parcel.pack(folder, f)
                said = Shared(step_id=step_id, sha256=file_sha256(packed), content=tree_id(folder))
                (work / "json").write_bytes(msgspec.json.encode(said))
                upload(packed, self._name(step_id, "parcel"))
                upload(work / "json", self._name(step_id, "json"))
        except (ToolError, UserError, OSError) as error:
            self._say("written", error)

    def _name(self, step_id: str, kind: str) -> str:
        return f"{self.url.rstrip('/')}/steps/{step_id}.{kind}"

    def _say(self, what: str, error: Exception) -> None:
        with self._lock:
            if what in self._told:
                return
            self._told.add(what)
        hint = getattr(error, "hint", None)
        self.tell(f"share: {error}{f' ({hint})' if hint else ''}; going on without it")
