# SPDX-License-Identifier: Apache-2.0
"""Viewing a stored boot on a core that its caches were not counted for: it is booted once more."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from bootscope.analysis.timing import check_architecture, find_timing
from bootscope.analysis.views import View, view
from bootscope.capture.store import Store
from bootscope.cli.stores import open_store
from bootscope.core.errors import UserError
from bootscope.cores.profile import Core
from bootscope.system.load import LoadedSystem, load_system


def on_core(args: argparse.Namespace, before: View, core: Core) -> View:
    """The same boot as `before`, on a core; counts its caches now if that was not done yet.

    Raises UserError if that is not possible here, with what to run instead; ToolError as a build and a
    counting pass do.
    """
    store, run, boot = open_store(), before.run, before.boot
    check_architecture(run, core)
    if find_timing(run, boot, core) is None:
        _count(args, store, before, core)
    return view(store, run, boot.info.number, before.evidence.run.board, core=core)


def _count(args: argparse.Namespace, store: Store, before: View, core: Core) -> None:
    # What builds and boots is loaded only if counts are missing.
    from bootscope.builder.cache import Cache
    from bootscope.cli.common import runner
    from bootscope.cli.observers import observer
    from bootscope.cli.progress import progress
    from bootscope.core.paths import cache_dir
    from bootscope.search.bench import Bench

    files = _files(before.run.info.system.name)
    loaded = system_of(
        before,
        f"was not counted for these caches of {core.name}, and ",
        f"bootscope record {files} --timing --core FILE.toml, of a core with such caches "
        "(bootscope help cores)",
    )
    watcher = progress(quiet=args.json)
    bench = Bench(store, runner(args, Cache(cache_dir()), watcher), watcher, observer(args.json))
    bench.count(before.run, before.boot, loaded, core)


def system_of(before: View, why: str, hint: str) -> LoadedSystem:
    """The system that a run was recorded of. Raises UserError if only its files are known: `why` says what
    the system is needed for."""
    info = before.run.info
    try:
        return load_system(info.system.name)
    except UserError as error:
        raise UserError(
            f"{info.run_id} {why}cannot be booted again by its name, {info.system.name}: {error.message}",
            hint=hint,
        ) from error


def _files(name: str) -> str:
    return shlex.quote(name) if Path(name).exists() else "FILES"
