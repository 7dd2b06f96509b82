# SPDX-License-Identifier: Apache-2.0
"""Tasks that no worker is left for: told after a while, not waited for forever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from bootscope.cluster import abilities
from bootscope.cluster.counts import Counts
from bootscope.cluster.orders import BuildOrder
from bootscope.cluster.stock import Stock
from bootscope.cluster.tasks import Patience, Tasks
from bootscope.core.errors import ToolError

ABLE = {f"{abilities.PREFIX}program=1": 1.0}


@dataclass
class Pending:
    """A task that nobody does."""

    cancelled: bool = False

    def add_done_callback(self, called: Callable[[object], None]) -> None: ...

    def cancel(self) -> None:
        self.cancelled = True

    def release(self) -> None: ...


@dataclass
class Workers:
    """The workers that are there, as long as one of them was not asked."""

    there: dict[str, dict[str, float]] = field(default_factory=lambda: {"tcp://one": dict(ABLE)})

    @property
    def workers(self) -> list[str]:
        return list(self.there)

    def offers(self) -> dict[str, dict[str, float]]:
        return self.there

    def refresh(self) -> None: ...


@dataclass
class Client:
    """A client whose workers all die with the first task."""

    stock: Workers
    asked: list[Pending] = field(default_factory=list)
    status: str = "running"

    def submit(self, *_: Any, **__: Any) -> Pending:
        self.stock.there.clear()
        self.asked.append(Pending())
        return self.asked[-1]


def test_a_task_is_not_waited_for_when_all_workers_are_gone() -> None:
    workers, said = Workers(), list[str]()
    client = Client(workers)
    patience = Patience(0.01, 0.01, 0.01, 0.01)
    asking = Tasks(cast("Any", client), cast("Stock", workers), Counts(), said.append, patience)
    order = BuildOrder(token="t", step="busybox", step_id="0" * 64, given=None, ids={}, needs={}, files={})
    with pytest.raises(ToolError, match="the cluster has no workers"):
        asking.ask(lambda token: order, ABLE, (), lambda: None)
    assert [task.cancelled for task in client.asked] == [True]
    assert said == ["  cluster: once more, since all workers that could do it are gone"]
