# SPDX-License-Identifier: Apache-2.0
"""--cluster: who builds and boots for a verb, this process or the workers of a cluster."""

from __future__ import annotations

import argparse
import contextlib
import shutil
from collections.abc import Iterator

from bootscope.builder.cache import Cache
from bootscope.cli.arguments import option
from bootscope.cli.progress import teller
from bootscope.core.paths import cache_dir
from bootscope.emulator.executor import Executor, Here


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


@contextlib.contextmanager
def executor_of(args: argparse.Namespace) -> Iterator[Executor]:
    """Who builds and boots; a cluster that was started for it is ended, and what it did is told.

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
        if client.scheduler.address.startswith("tcp:"):
            tell("cluster: not encrypted: who reaches it can run programs there and here: help cluster")
        try:
            yield executor
        finally:
            tell(executor.counts.line())
