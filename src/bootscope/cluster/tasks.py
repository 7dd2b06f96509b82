# SPDX-License-Identifier: Apache-2.0
"""One task on the cluster, from order to answer: asked again where the worker, not the work, failed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from bootscope.cluster import abilities
from bootscope.cluster.counts import Counts
from bootscope.cluster.orders import LOST, UNFIT, Answer, Asked, BuildOrder
from bootscope.cluster.stock import Stock
from bootscope.core.errors import LostClusterError, SpaceError, ToolError

if TYPE_CHECKING:
    from distributed import Client, Future

_LOOK_S = 0.1
_CHECK_S = 5.0
_TRIES = 6
_ANSWER = msgspec.json.Decoder(Answer)


class LostThingsError(Exception):
    """What a task needs is with nobody any more; it has to be built again."""


@dataclass
class Tasks:
    """Asks tasks of a cluster; several threads may at once. `look` of a task is called while it is waited
    for, and may raise; the task is ended then."""

    client: Client
    stock: Stock
    counts: Counts
    tell: Callable[[str], None]
    _busy: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(
        self,
        make: Callable[[str], Asked],
        tools: Iterable[str],
        near: Iterable[str],
        look: Callable[[], None],
        booted: str = "",
    ) -> tuple[Answer, bytes]:
        """The answer to an order that `make` makes for a token, by a worker with these tools; best by one
        `near`, which has what is needed.

        Raises LostThingsError where something must be built again; ToolError where no worker has the tools or
        all attempts failed; LostClusterError; SpaceError where all disks are full.
        """
        wanted = abilities.asked(tools)
        why = ""
        for attempt in range(_TRIES):
            if attempt:
                self.counts.repeat()
                self.tell(f"  cluster: once more, since {why}")
                self.stock.refresh()
            self._check(wanted)
            order = make(os.urandom(8).hex())
            answer, run, why = self._once(order, wanted, self._free(near), attempt, look)
            if answer is None:
                continue
            self.stock.learn(answer)
            self.counts.count(answer, booted)
            for holder, what in answer.wrong.items():
                self.tell(f"  cluster: refused what worker {holder} sent: {what}")
            if answer.stopped:
                why = "another search ended it"
            elif failure := answer.failure:
                if failure.kind == LOST:
                    self.stock.forget(failure.lost)
                    raise LostThingsError(failure.message)
                if failure.kind not in (UNFIT, SpaceError.__name__):
                    return answer, run
                why = failure.message
            else:
                return answer, run
        raise ToolError(f"the cluster could not do it in {_TRIES} attempts; the last failed since {why}")

    def _check(self, wanted: dict[str, float]) -> None:
        """Raises ToolError where no worker that is there can do it, nor could."""
        offers = self.stock.offers()
        if any(not abilities.lacking(offer, wanted) for offer in offers.values()):
            return
        if not offers:
            return  # some may come back: Dask waits for them
        lacks = {a: ", ".join(abilities.lacking(offer, wanted)) for a, offer in offers.items()}
        listed = "; ".join(f"{address} lacks {what}" for address, what in sorted(lacks.items())[:5])
        raise ToolError(
            f"no worker of the cluster can do this: {listed}",
            hint="the same bootscope and the same versions of tools are needed on workers and here: "
            "bootscope doctor on both",
        )

    def _free(self, near: Iterable[str]) -> str | None:
        """One of those near to the data, where it has nothing else to do for us."""
        with self._lock:
            return next((a for a in near if not self._busy.get(a)), None)

    def _once(
        self, order: Asked, wanted: dict[str, float], near: str | None, attempt: int, look: Callable[[], None]
    ) -> tuple[Answer | None, bytes, str]:
        """(answer, recording, why there is none)."""
        from bootscope.cluster.home import work

        # The same step has the same name for all clients of a cluster: it is built once.
        name = f"{order.step_id}-{attempt}" if isinstance(order, BuildOrder) else order.token
        how: dict[str, Any] = {"key": f"bootscope-{name}", "resources": wanted, "pure": False, "retries": 0}
        if near:
            how |= {"workers": [near], "allow_other_workers": True}
            self._count(near, 1)
        future = self.client.submit(work, msgspec.json.encode(order), **how)
        try:
            self._wait(future, order.token, look)
            data, run = future.result()
            return _ANSWER.decode(data), run, ""
        except (ToolError, msgspec.MsgspecError):
            raise
        except Exception as error:  # Dask's own: workers that died of it, a lost scheduler
            if self.client.status not in ("running", "connecting"):
                raise LostClusterError(
                    "the scheduler of the cluster is gone", hint="what is known is kept: --resume goes on"
                ) from error
            return None, b"", f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        finally:
            future.release()
            if near:
                self._count(near, -1)

    def _wait(self, future: Future, token: str, look: Callable[[], None]) -> None:
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        checked = time.monotonic()
        try:
            while not done.wait(_LOOK_S):
                look()
                if time.monotonic() - checked > _CHECK_S:
                    checked = time.monotonic()
                    self.stock.refresh()
        except BaseException:
            # Whoever works on it is told; Dask itself can only forget what has not begun.
            self._stop(future, token)
            raise

    def _stop(self, future: Future, token: str) -> None:
        try:
            future.cancel()
            self.stock.stop(None, token)
        except Exception as error:
            self.tell(f"  cluster: a task could not be ended: {error}")

    def _count(self, address: str, more: int) -> None:
        with self._lock:
            self._busy[address] = self._busy.get(address, 0) + more
