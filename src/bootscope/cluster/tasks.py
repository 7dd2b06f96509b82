# SPDX-License-Identifier: Apache-2.0
"""One task on the cluster, from order to answer: repeated where the worker failed, not the work."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from bootscope.cluster import abilities
from bootscope.cluster.counts import Counts
from bootscope.cluster.orders import LOST, UNFIT, Answer, Asked, BuildOrder
from bootscope.cluster.stock import Stock
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import LostClusterError, SpaceError, ToolError

if TYPE_CHECKING:
    from distributed import Client, Future

_TRIES = 6
_SAME = (
    "the same bootscope and the same tools are needed on workers and here: bootscope doctor on both, or all "
    "of it in the tools container (bootscope help cluster)"
)
_ANSWER = msgspec.json.Decoder(Answer)


@dataclass(frozen=True)
class Patience:
    """In seconds: the interval of calls of `look`, and of checks of the workers; how long a worker may take
    to appear or to report what it can do; how long a task waits while no worker can do it."""

    look_s: float = 0.1
    check_s: float = 5.0
    coming_s: float = 30.0
    alone_s: float = 120.0


class LostThingsError(Exception):
    """No worker has what a task needs any more; it must be built again."""


def _by_value() -> Callable[[bytes], tuple[bytes, bytes]]:
    """The task as a function that is pickled by value: the scheduler, which unpickles it to forward it, need
    not have bootscope."""

    def work(order: bytes) -> tuple[bytes, bytes]:
        from bootscope.cluster.home import work

        return work(order)

    # Functions of the main program cannot be pickled by name.
    work.__module__, work.__qualname__ = "__main__", "bootscope_task"
    return work


@dataclass
class Tasks:
    """Sends tasks to a cluster; several threads may do so at once. A task's `look` is called while the task
    is waited for, and may raise, which ends the task."""

    client: Client
    stock: Stock
    counts: Counts
    tell: Callable[[str], None]
    patience: Patience = field(default_factory=Patience)
    _busy: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(
        self,
        make: Callable[[str], Asked],
        wanted: Mapping[str, float],
        near: Iterable[str],
        look: Callable[[], None],
        booted: str = "",
        hint: str = _SAME,
    ) -> tuple[Answer, bytes]:
        """The answer to an order, which `make` makes for a token, by a worker with the resources `wanted`;
        preferably by one of `near`, which have what is needed.

        Raises LostThingsError where something must be built again; ToolError, with the `hint`, where no
        worker has the resources, or all attempts failed; LostClusterError; SpaceError where disks are full.
        """
        why = ""
        for attempt in range(_TRIES):
            if attempt:
                self.counts.repeat()
                self.tell(f"  cluster: once more, since {why}")
                self.stock.refresh()
            self.check(wanted, look, hint)
            order = make(os.urandom(8).hex())
            answer, run, why = self._once(order, wanted, self._free(near, wanted), attempt, look)
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

    def check(
        self, wanted: Iterable[str], look: Callable[[], None] = lambda: None, hint: str = _SAME
    ) -> None:
        """Raises ToolError where no worker has had these resources for a while: a new or returned one does
        not report at once what it can do."""
        wanted, until = list(wanted), time.monotonic() + self.patience.coming_s
        while not self._someone(wanted):
            if time.monotonic() > until:
                raise self._nobody(wanted, hint)
            look()
            time.sleep(self.patience.look_s)
            self.stock.refresh()

    def _nobody(self, wanted: list[str], hint: str) -> ToolError:
        offers = self.stock.offers()
        if not offers:
            return ToolError("the cluster has no workers", hint="dask worker ADDRESS starts one")
        lacks = {a: ", ".join(abilities.lacking(offer, wanted)) for a, offer in offers.items()}
        listed = "; ".join(f"{address} lacks {what}" for address, what in sorted(lacks.items())[:5])
        return ToolError(f"no worker of the cluster can do this: {listed}", hint=hint)

    def _free(self, near: Iterable[str], wanted: Iterable[str]) -> str | None:
        """A worker of `near` that can do it and has no other task of ours."""
        offers = self.stock.offers()
        able = [a for a in near if a in offers and not abilities.lacking(offers[a], wanted)]
        with self._lock:
            return next((a for a in able if not self._busy.get(a)), None)

    def _once(
        self,
        order: Asked,
        wanted: Mapping[str, float],
        near: str | None,
        attempt: int,
        look: Callable[[], None],
    ) -> tuple[Answer | None, bytes, str]:
        """(answer, recording, why there is no answer)."""
        # The same step has the same key for all clients of a cluster: it is built once.
        name = f"{order.step_id}-{attempt}" if isinstance(order, BuildOrder) else order.token
        how: dict[str, Any] = {
            "key": f"bootscope-{name}",
            "resources": dict(wanted),
            "pure": False,
            "retries": 0,
        }
        if near:
            # Not `allow_other_workers`: the scheduler would choose one without the resources.
            how |= {"workers": [near]}
            self._count(near, 1)
        future = self.client.submit(_by_value(), msgspec.json.encode(order), **how)
        try:
            if why := self._wait(future, order.token, look, near, wanted):
                return None, b"", why
            data, run = future.result()
            return _ANSWER.decode(data), run, ""
        except (ToolError, *DAMAGED):
            raise
        except Exception as error:  # Dask's own: the task killed its workers, or the scheduler is lost
            if self.client.status not in ("running", "connecting"):
                raise LostClusterError(
                    "the scheduler of the cluster is gone", hint="what is known is kept: --resume goes on"
                ) from error
            return None, b"", f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        finally:
            future.release()
            if near:
                self._count(near, -1)

    def _wait(
        self, future: Future, token: str, look: Callable[[], None], near: str | None, wanted: Iterable[str]
    ) -> str:
        """Waits for a task; returns why not to wait for it any longer, where no worker is left that could do
        it."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        checked = able = time.monotonic()
        try:
            while not done.wait(self.patience.look_s):
                look()
                if time.monotonic() - checked <= self.patience.check_s:
                    continue
                checked = time.monotonic()
                self.stock.refresh()
                if self._someone(wanted):
                    able = checked
                gone = f"worker {near} is" if near and near not in self.stock.workers else ""
                if checked - able > self.patience.alone_s:
                    gone = "all workers that could do it are"
                if gone and not done.is_set():
                    future.cancel()
                    return f"{gone} gone"
        except BaseException:
            # The worker that runs it is told; Dask itself can only cancel what has not begun.
            self._stop(future, token)
            raise
        return ""

    def _someone(self, wanted: Iterable[str]) -> bool:
        """Whether a worker with these resources is there."""
        return any(not abilities.lacking(offer, wanted) for offer in self.stock.offers().values())

    def _stop(self, future: Future, token: str) -> None:
        try:
            future.cancel()
            self.stock.stop(None, token)
        except Exception as error:
            self.tell(f"  cluster: a task could not be ended: {error}")

    def _count(self, address: str, more: int) -> None:
        with self._lock:
            self._busy[address] = self._busy.get(address, 0) + more
