# SPDX-License-Identifier: Apache-2.0
"""Where a worker measures boots of a board in its labgrid farm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bootscope.capture.record import BootInfo
from bootscope.capture.store import Store
from bootscope.cluster.orders import MeasureOrder
from bootscope.core.errors import BoardError
from bootscope.hardware import farm
from bootscope.hardware.ending import end_of
from bootscope.hardware.measuring import Observer, Order, measure_run


@dataclass
class Listening(Observer):
    """Checks whether the boots are still wanted, and keeps what a person should know of them."""

    look: Callable[[], None]
    said: list[str] = field(default_factory=list)

    def boot_begins(self, number: int, total: int) -> None:
        self.look()

    def says(self, text: str) -> None:
        self.said.append(text)
        self.look()

    def heard(self, since_ns: int, data: bytes) -> None:
        self.look()

    def boot_ended(self, info: BootInfo) -> None:
        self.says(f"boot {info.number}: {info.message}")


def measure(order: MeasureOrder, store: Store, observer: Observer) -> None:
    """Measures the ordered boots, as a run in the store; the place is always released.

    Raises BoardError for a place that another user holds, or without power control; UserError, ToolError.
    """
    end = end_of(order.board, order.end)
    with farm.held(order.wish, observer.says) as place:
        place.console()
        if not place.switches:
            raise BoardError(
                f"the place {place.name} has no power control, and on a cluster nobody can switch it",
                hint="record it without --cluster, with --by-hand or --power-on",
            )
        whole = Order(order.board, place, end, order.boots, place.console, place.instead)
        measure_run(store, whole, observer, order.run_id)
