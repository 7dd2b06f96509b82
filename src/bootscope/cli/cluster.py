# SPDX-License-Identifier: Apache-2.0
"""--cluster: whether this process or the workers of a cluster build and boot for a verb."""

from __future__ import annotations

import argparse
import contextlib
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from bootscope.boards.physical import RealBoard
from bootscope.builder.cache import Cache
from bootscope.capture.store import Store
from bootscope.cli import board_options
from bootscope.cli.arguments import option
from bootscope.cli.board_options import FARM
from bootscope.cli.common import refuse
from bootscope.cli.progress import teller
from bootscope.core.errors import UserError
from bootscope.core.paths import cache_dir
from bootscope.emulator.executor import Executor, Here
from bootscope.hardware.ending import end_of

if TYPE_CHECKING:
    from distributed import Client

_HERE_ONLY = ("labgrid_client", "labgrid_env", "labgrid_state", "power_on", "power_off", "by_hand")
"""Options of a real board that name programs and files of this computer."""


def add_cluster_option(parser: argparse.ArgumentParser) -> None:
    """The option, for verbs that build and boot on the emulated board."""
    option(
        parser,
        "--cluster",
        "WHERE",
        "build and boot on a Dask cluster: the address of its scheduler (tcp://HOST:8786), local:N for N "
        "processes here (local:N:FOLDER: each with a cache of its own in FOLDER), or ssh:HOST,HOST "
        "(bootscope help cluster)",
    )


def measure(args: argparse.Namespace, store: Store, board: RealBoard) -> str:
    """Measures a farm's board with the workers of the cluster that reach it; returns the id of the run.

    Raises UserError for options that work on this computer only, and as :meth:`FarmBoards.measure` does.
    """
    if board.console.kind != FARM:
        raise UserError(
            "--cluster takes a board of a labgrid farm: its workers do not have the ports of this computer",
            hint="--board labgrid:PLACE, or leave --cluster out",
        )
    refuse(args, _HERE_ONLY, "works only on this computer: leave it out, or leave out --cluster")
    if board.power.on or board.power.by_hand or board.pins:
        raise UserError(
            f"{board.name} is switched or watched by this computer, and cannot be measured by a cluster",
            hint="leave [power] on and off, by_hand and [pins] out of its file: labgrid switches the place",
        )
    board = board_options.told(board, args)
    wish, end = board_options.wish(board, args), board_options.end_wish(args)
    end_of(board, end)
    from bootscope.cluster.connect import connected
    from bootscope.cluster.farm_boards import FarmBoards

    tell = teller()
    with connected(args.cluster) as client:
        _warn(client, tell)
        boards = FarmBoards(client, Cache(cache_dir()), tell)
        return boards.measure(store, board, wish, end, args.n or board_options.MOST_BOOTS)


@contextlib.contextmanager
def executor_of(args: argparse.Namespace) -> Iterator[Executor]:
    """Who builds and boots. At the end, a cluster that was started for this is ended, and its work reported.

    Raises as :func:`bootscope.cluster.connect.connected` does.
    """
    if not args.cluster:
        yield Here()
        return
    # Dask takes a second to load.
    from bootscope.cluster.connect import connected
    from bootscope.cluster.executor import ClusterExecutor

    tell = teller()
    with connected(args.cluster) as client:
        use_ccache = not args.no_ccache and shutil.which("ccache") is not None
        executor = ClusterExecutor(client, Cache(cache_dir()), tell, args.jobs or 0, use_ccache)
        tell(f"cluster: {executor.hands} tasks at a time")
        _warn(client, tell)
        try:
            yield executor
        finally:
            tell(executor.counts.line())


def _warn(client: Client, tell: Callable[[str], None]) -> None:
    if client.scheduler.address.startswith("tcp:"):
        tell("cluster: not encrypted: anyone who reaches it can run programs there and here: help cluster")
