# SPDX-License-Identifier: Apache-2.0
"""Which worker has what, as far as the client knows; sends what only the client has."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bootscope.builder.cache import Cache
from bootscope.cluster import abilities, goods
from bootscope.cluster.orders import Answer, Held, Made
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import LostClusterError, ToolError

if TYPE_CHECKING:
    from distributed import Client

_ANSWER_S = 60


@dataclass
class Stock:
    """The known content of the workers' caches; `cache` is this computer's."""

    client: Client
    cache: Cache
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Address -> the scheduler's description, for workers that run this program and have room."""
    _everybody: dict[str, dict[str, Any]] = field(default_factory=dict)
    _names: dict[str, set[str]] = field(default_factory=dict)
    """Id -> addresses of the workers that say they have it in their cache."""
    _contents: dict[str, str] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def refresh(self) -> None:
        """Asks the scheduler for its workers, and the new ones for what they have. Raises
        LostClusterError."""
        found = self._identity()["workers"]
        with self._lock:
            ours = {address: worker for address, worker in found.items() if _is_ours(worker)}
            new = [address for address in ours if address not in self.workers]
            self.workers, self._everybody = ours, found
        for address in new:
            answer = self._call(address, op="bootscope_has")
            with self._lock:
                for names in answer.values() if isinstance(answer, dict) else ():
                    for name in names:
                        self._names.setdefault(name, set()).add(address)

    def offers(self) -> dict[str, dict[str, float]]:
        """Address -> the resources of that worker, for all workers."""
        return {a: dict(w.get("resources") or {}) for a, w in self._everybody.items()}

    def hands(self) -> int:
        """How many of our tasks the workers take at a time."""
        return sum(w["nthreads"] for w in self._everybody.values() if _is_ours(w))

    def holders(self, name: str) -> list[str]:
        """The present workers that have it."""
        with self._lock:
            return sorted(a for a in self._names.get(name, ()) if a in self.workers)

    def held(self, name: str) -> Held | None:
        """Its hash and holders; None where the hash is unknown or there are no holders."""
        with self._lock:
            content, there = self._contents.get(name), self.holders(name)
            return Held(content, tuple(there)) if content and there else None

    def given(self, name: str) -> Held | None:
        """The holders of a source or a folder with that hash."""
        there = self.holders(name)
        return Held(name, tuple(there)) if there else None

    def described(self, step_id: str) -> Made | None:
        """The description of a step by a worker that has it; None where no worker has it."""
        for holder in self.holders(step_id):
            answer = self._call(holder, op="bootscope_describe", step_id=step_id)
            with contextlib.suppress(*DAMAGED):
                made = msgspec.json.decode(answer.get("made", b""), type=Made)
                if made.step_id == step_id:
                    with self._lock:
                        self._contents[step_id] = made.content
                    return made
            with self._lock:
                self._names.get(step_id, set()).discard(holder)
        return None

    def learn(self, answer: Answer) -> None:
        """Records what an answer says about the caches."""
        with self._lock:
            for name in answer.fetched:
                self._names.setdefault(name, set()).add(answer.worker)
            if made := answer.made:
                self._names.setdefault(made.step_id, set()).add(answer.worker)
                self._contents[made.step_id] = made.content
            for holder, why in answer.wrong.items():
                for name, there in self._names.items():
                    if name.startswith(why.partition(":")[0]):
                        there.discard(holder)

    def forget(self, names: Iterable[str]) -> None:
        """Records that no worker has these any more."""
        with self._lock:
            for name in names:
                self._names.pop(name, None)

    # ---- sending and fetching ----

    def give(self, kind: str, name: str, content: str, thing: Path) -> None:
        """Sends a step or a source to one worker, unless a worker has it; the others fetch it from there."""
        with self._lock:
            if self.holders(name):
                self._contents.setdefault(name, content)
                return
            self._send(kind, name, content, thing)

    def _send(self, kind: str, name: str, content: str, thing: Path) -> None:
        if not self.workers:
            return
        there = sorted(self.workers)
        address = there[int(name[:8], 16) % len(there)]
        parcel = goods.packed if kind == goods.STEP else goods.wrapped
        token, offset = os.urandom(8).hex(), 0
        with parcel(self.cache, thing) as path:
            size = path.stat().st_size
            while True:
                data = goods.piece(path, offset)
                last = offset + len(data) >= size
                answer = self._call(
                    address, op="bootscope_take", kind=kind, name=name, content=content, token=token,
                    offset=offset, data=data, last=last,
                )  # fmt: skip
                if answer.get("error"):
                    raise ToolError(f"worker {address} does not take {thing.name}: {answer['error']}")
                offset += len(data)
                if last:
                    break
        self._names.setdefault(name, set()).add(address)
        self._contents[name] = content

    def fetch(self, name: str) -> Path:
        """The folder of a step in the cache of this computer, fetched if need be, and checked.

        Raises ToolError where no worker has it undamaged.
        """
        if found := self.cache.find(name):
            return found
        held, why = self.held(name), "nobody has it"
        for holder in held.holders if held else ():
            try:
                with self.cache.workspace() as work:
                    self._receive(holder, name, work / "parcel")
                    assert held
                    return goods.take(self.cache, goods.STEP, name, held.content, work / "parcel")
            except ToolError as error:
                why = error.message
        raise ToolError(f"step {name[:16]} cannot be fetched from the cluster: {why}")

    def _receive(self, holder: str, name: str, to: Path) -> None:
        token, offset = os.urandom(8).hex(), 0
        with to.open("wb") as f:
            while True:
                answer = self._call(
                    holder, op="bootscope_send", kind=goods.STEP, name=name, token=token, offset=offset
                )
                if answer.get("error"):
                    raise ToolError(f"worker {holder}: {answer['error']}")
                f.write(answer["data"])
                offset += len(answer["data"])
                if len(answer["data"]) < goods.PIECE_BYTES:
                    return

    def stop(self, address: str | None, token: str) -> None:
        """Tells a worker, or all workers, to end an order."""
        for one in [address] if address else list(self.workers):
            self._call(one, op="bootscope_stop", token=token)

    def _call(self, address: str, **message: Any) -> dict[str, Any]:
        """The answer of a worker; `error` where it is gone or cannot be reached, which does not affect the
        others."""
        proxy = self.client.scheduler.proxy
        try:
            answer = self.client.sync(proxy, callback_timeout=_ANSWER_S, msg=message, worker=address)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
        return answer if isinstance(answer, dict) else {}

    def _identity(self) -> dict[str, Any]:
        """The scheduler's description of its workers. Raises LostClusterError where it does not answer."""
        identity = self.client.scheduler.identity
        try:
            found: dict[str, Any] = self.client.sync(identity, callback_timeout=_ANSWER_S, n_workers=-1)
        except (OSError, TimeoutError) as error:
            raise LostClusterError(
                "the scheduler of the cluster does not answer", hint="what is known is kept: --resume goes on"
            ) from error
        return found


def _is_ours(worker: Mapping[str, Any]) -> bool:
    """Whether a worker runs this program and has room."""
    amount = (worker.get("resources") or {}).get(abilities.program(), 0)
    return bool(amount)
