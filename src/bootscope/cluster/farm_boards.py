# SPDX-License-Identifier: Apache-2.0
"""Boards of a labgrid farm, measured by the workers of a cluster that can reach it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bootscope.boards.physical import RealBoard
from bootscope.builder.cache import Cache
from bootscope.capture.store import Store
from bootscope.cluster import places
from bootscope.cluster.counts import Counts
from bootscope.cluster.orders import MeasureOrder, error_of
from bootscope.cluster.recordings import reserved, take
from bootscope.cluster.stock import Stock
from bootscope.cluster.tasks import Tasks
from bootscope.hardware import farm
from bootscope.hardware.ending import EndWish

if TYPE_CHECKING:
    from distributed import Client

_HINT = "a worker offers the places of the farm that its LG_COORDINATOR names: bootscope help cluster"


class FarmBoards:
    """Measures boards on a cluster. `cache` is this computer's; `tell` is called with what a person should
    know."""

    def __init__(self, client: Client, cache: Cache, tell: Callable[[str], None]) -> None:
        self.counts, self._cache, self._tell = Counts(), cache, tell
        self._tasks = Tasks(client, Stock(client, cache), self.counts, tell)

    def measure(self, store: Store, board: RealBoard, wish: farm.Wish, end: EndWish, boots: int) -> str:
        """Measures boots of a place; returns the id of the run, which is in the store.

        Raises UserError, BoardError where another user holds the place, and ToolError where no worker can
        reach it.
        """
        wanted = places.asked(wish)
        with reserved(store, board.name) as run_id:

            def make(token: str) -> MeasureOrder:
                return MeasureOrder(token=token, run_id=run_id, board=board, wish=wish, end=end, boots=boots)

            answer, run = self._tasks.ask(make, wanted, (), lambda: None, hint=_HINT)
            for text in answer.said:
                self._tell(f"{answer.worker}: {text}")
            if run:
                # Includes the boots before one that failed.
                take(store, self._cache, run_id, run)
            if answer.failure:
                raise error_of(answer.failure)
        return run_id
