# SPDX-License-Identifier: Apache-2.0
"""Replaces workers of a local cluster that die, even while they start.

Dask restarts a worker that ended, but gives its place up for good if the new one ends before it has reached
the scheduler, or reaches it late: on a busy computer a search would be left without workers, and wait.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import LocalCluster

_LOOK_MS = 2000

SETTINGS = {"distributed.deploy.lost-worker-timeout": "10m"}
"""How long a worker that ended may take to come back before Dask gives its place up."""


@contextlib.contextmanager
def kept_up(cluster: LocalCluster, count: int) -> Iterator[None]:
    """Inside the block the cluster gets back to `count` workers some time after workers have ended."""
    from distributed.core import Status
    from tornado.ioloop import PeriodicCallback

    def look() -> None:
        # Dask keeps the places of ended workers until somebody removes them.
        ended = (Status.closed, Status.failed)
        for name in [name for name, worker in cluster.workers.items() if worker.status in ended]:
            del cluster.workers[name]
        if len(cluster.workers) < count:
            cluster.scale(count)

    watch = PeriodicCallback(look, _LOOK_MS)
    cluster.loop.add_callback(watch.start)
    try:
        yield
    finally:
        cluster.loop.add_callback(watch.stop)
