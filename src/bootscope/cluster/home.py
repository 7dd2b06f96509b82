# SPDX-License-Identifier: Apache-2.0
"""The plugin that makes a Dask worker usable: it reports what the worker can do, and sends and receives
things in pieces.

Dask loads it by name on every present and future worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from distributed import WorkerPlugin, get_worker
from distributed.utils import sync

from bootscope.builder.cache import Cache
from bootscope.builder.share import Share
from bootscope.cluster import abilities, goods, places
from bootscope.cluster.desk import Desk, made
from bootscope.core import structs
from bootscope.core.errors import BootscopeError, ToolError, to_stderr
from bootscope.core.paths import cache_dir

NAME = "bootscope"
_OUT_OF_DATE_S = 600
_TAKEN = "taken-"
_REST_S = 300
"""How long a worker whose disk is full gets no tasks."""


@dataclass
class _Parcel:
    path: Path
    stack: contextlib.ExitStack
    asked_s: float = field(default_factory=time.monotonic)


class Home(WorkerPlugin):  # type: ignore[misc]
    """Set up on each worker. `caches`: a folder in which each worker has a cache by its name; empty: the
    usual cache of the user that runs the worker. `share`: the URL of the client's share."""

    name = NAME

    def __init__(self, caches: str = "", share: str = "") -> None:
        self.caches, self.share = caches, share

    async def setup(self, worker: Any) -> None:
        """Opens the worker's cache, and reports what the worker can do."""
        structs.ready()
        self._worker = worker
        root = Path(self.caches) / str(worker.name) if self.caches else cache_dir()
        cache = Cache(root)
        cores = max(1, (os.cpu_count() or 1) // max(1, worker.state.nthreads))
        share = Share(self.share, to_stderr) if self.share else None
        self.desk = Desk(cache, worker.address, self._fetch, cores, self._rest, share)
        self._out: dict[str, _Parcel] = {}
        worker.handlers |= {
            "bootscope_has": self.has,
            "bootscope_describe": self.describe,
            "bootscope_stop": self.stop,
            "bootscope_send": self.send,
            "bootscope_take": self.take,
        }
        loop = asyncio.get_running_loop()
        offers = await asyncio.gather(
            loop.run_in_executor(None, abilities.offered), loop.run_in_executor(None, places.offered)
        )
        await worker.set_resources(**offers[0], **offers[1])

    def teardown(self, worker: Any) -> None:
        """Removes parcels that were being sent."""
        for parcel in self._out.values():
            parcel.stack.close()

    # ---- what others request ----

    async def has(self) -> dict[str, list[str]]:
        """What its cache contains."""
        return goods.names(self.desk.cache)

    async def describe(self, step_id: str) -> dict[str, Any]:
        """Describes a finished step in its cache."""
        return await asyncio.get_running_loop().run_in_executor(None, self._described, step_id)

    def _described(self, step_id: str) -> dict[str, Any]:
        try:
            path = self.desk.cache.find(step_id) if goods.is_name(step_id) else None
            return {"made": msgspec.json.encode(made(path, built=False))} if path else {}
        except (BootscopeError, OSError) as error:
            return {"error": str(error)}

    async def stop(self, token: str) -> None:
        """Ends an order."""
        self.desk.stop(token)

    async def send(self, kind: str, name: str, token: str, offset: int) -> dict[str, Any]:
        """A piece of a parcel; empty after the last one. `token` is the receiver's."""
        return await asyncio.get_running_loop().run_in_executor(None, self._piece, kind, name, token, offset)

    async def take(
        self, kind: str, name: str, content: str, token: str, offset: int, data: bytes, last: bool
    ) -> dict[str, Any]:
        """Takes a piece of a parcel; after the last one the whole is checked and put into the cache."""
        given = (kind, name, content, token, offset, data, last)
        return await asyncio.get_running_loop().run_in_executor(None, self._take, *given)

    def _piece(self, kind: str, name: str, token: str, offset: int) -> dict[str, Any]:
        key = f"{name}-{token}"
        try:
            if key not in self._out:
                self._tidy()
                folder = goods.find(self.desk.cache, kind, name) if goods.is_name(name) else None
                if folder is None or kind not in (goods.STEP, goods.GIVEN):
                    return {"error": "it is not there"}
                stack = contextlib.ExitStack()
                stack.enter_context(self.desk.cache.use([name]))
                self._out[key] = _Parcel(stack.enter_context(goods.packed(self.desk.cache, folder)), stack)
            parcel = self._out[key]
            parcel.asked_s = time.monotonic()
            data = goods.piece(parcel.path, offset)
        except (BootscopeError, OSError) as error:
            return {"error": str(error)}
        if len(data) < goods.PIECE_BYTES:
            self._out.pop(key).stack.close()
        return {"data": data}

    def _take(
        self, kind: str, name: str, content: str, token: str, offset: int, data: bytes, last: bool
    ) -> dict[str, Any]:
        if kind not in (goods.STEP, goods.GIVEN) or not (goods.is_name(name) and token.isalnum()):
            return {"error": "no such thing can be taken"}
        path = self.desk.cache.root / "tmp" / f"{_TAKEN}{token}"
        try:
            with path.open("r+b" if offset else "wb") as f:
                f.seek(offset)
                f.write(data)
            if last:
                goods.take(self.desk.cache, kind, name, content, path)
        except (BootscopeError, OSError) as error:
            path.unlink(missing_ok=True)
            return {"error": str(error)}
        if last:
            path.unlink()
        return {}

    def _tidy(self) -> None:
        """Removes parcels, received and sent, that nobody has continued for long: the other end was
        killed."""
        for path in (self.desk.cache.root / "tmp").glob(f"{_TAKEN}*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _OUT_OF_DATE_S:
                    path.unlink()
        for key, parcel in list(self._out.items()):
            if time.monotonic() - parcel.asked_s > _OUT_OF_DATE_S:
                self._out.pop(key).stack.close()

    # ---- what it requests from others ----

    def _fetch(self, holder: str, kind: str, name: str, to: Path) -> None:
        token, offset = os.urandom(8).hex(), 0
        with to.open("wb") as f:
            while True:
                answer = sync(self._worker.loop, self._ask, holder, kind, name, token, offset)
                if "error" in answer:
                    raise ToolError(answer["error"])
                f.write(answer["data"])
                offset += len(answer["data"])
                if len(answer["data"]) < goods.PIECE_BYTES:
                    return

    async def _ask(self, holder: str, kind: str, name: str, token: str, offset: int) -> dict[str, Any]:
        rpc = self._worker.rpc(holder)
        try:
            answer: dict[str, Any] = await rpc.bootscope_send(
                kind=kind, name=name, token=token, offset=offset
            )
        except Exception as error:  # whatever happened to the other worker
            return {"error": f"{type(error).__name__}: {error}"}
        return answer

    def _rest(self) -> None:
        """The disk is full: takes no tasks for a while."""
        loop = self._worker.loop
        loop.add_callback(self._offer, 0.0)
        loop.add_callback(loop.call_later, _REST_S, loop.add_callback, self._offer, abilities.PLENTY)

    async def _offer(self, amount: float) -> None:
        await self._worker.set_resources(**{abilities.program(): amount})


def work(order: bytes) -> tuple[bytes, bytes]:
    """A task: the worker's desk answers an order."""
    desk: Desk = get_worker().plugins[NAME].desk
    return desk.answer(order)
