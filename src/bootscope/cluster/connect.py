# SPDX-License-Identifier: Apache-2.0
"""Connects to a cluster: a running one, processes on this computer, or one that is started by ssh."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bootscope.cluster.kept_up import SETTINGS, kept_up
from bootscope.core.errors import LostClusterError, ToolError, UserError, printable
from bootscope.core.hints import cluster
from bootscope.core.paths import share_url

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S = 15
_MOST_LOCAL = 256
_PAGES = "127.0.0.1:0"
"""Where Dask serves its pages: for this computer only, on any port."""
_WORDS = "an address such as tcp://HOST:8786 or tls://HOST:8786, local:N, local:N:FOLDER, or ssh:HOST,HOST"
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx|inproc)://\S+")


@contextlib.contextmanager
def connected(where: str) -> Iterator[Client]:
    """A client of the cluster that `where` names; whatever was started for it is ended afterwards.

    Raises UserError for an invalid `where`, ToolError where the cluster is not there or has another version.
    """
    start = _starter(where)
    if importlib.util.find_spec("distributed") is None:
        raise UserError("--cluster needs the Python package distributed", hint=cluster())
    _quiet()
    with start() as client:
        _check_versions(client, where)
        yield client


def _quiet() -> None:
    """Dask logs every worker that comes or goes; what matters of that is reported here."""
    importlib.import_module("distributed")
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _starter(where: str) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    kind, _, rest = where.partition(":")
    if kind == "local":
        count, _, caches = rest.partition(":")
        if not count.isascii() or not count.isdigit() or not 0 < int(count) <= _MOST_LOCAL:
            raise UserError(
                f"--cluster {printable(where)}: local:N takes a number of workers, 1 to {_MOST_LOCAL}",
                hint="such as local:4",
            )
        return lambda: _local(int(count), caches)
    if kind == "ssh":
        hosts = [host for host in rest.split(",") if host]
        if not hosts or any(host.startswith("-") for host in hosts):
            raise UserError(f"--cluster {printable(where)} names no hosts", hint="such as ssh:one,two")
        return lambda: _ssh(hosts)
    if not _ADDRESS.fullmatch(where):
        raise UserError(f"--cluster {printable(where)} is not the address of a cluster", hint=_WORDS)
    return lambda: _remote(where)


def _settings() -> dict[str, Any]:
    return {
        # A worker that is cut off is given up after this time, and its tasks go to others.
        "distributed.scheduler.worker-ttl": "60s",
        "distributed.scheduler.allowed-failures": 10,
        # A worker's memory is used by QEMU and the compilers; Dask itself keeps little.
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.pause": False,
        "distributed.admin.tick.limit": "1h",
    }


@contextlib.contextmanager
def _local(count: int, caches: str) -> Iterator[Client]:
    """Processes on this computer, which talk over TLS with a temporary certificate."""
    import dask
    from distributed import Client, LocalCluster
    from distributed.security import Security

    folder = str(Path(caches).absolute()) if caches else ""
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set({**_settings(), **SETTINGS}))
        try:
            started = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=_PAGES,
                security=Security.temporary(),
                protocol="tls://",
                silence_logs=logging.CRITICAL,
            )
            client = stack.enter_context(Client(stack.enter_context(started), timeout=_CONNECT_S))
        except (OSError, TimeoutError, RuntimeError) as error:
            raise ToolError(
                f"a cluster of {count} processes cannot be started: {printable(str(error) or repr(error))}",
                hint="was one of them killed, or has this computer no memory left? Try again, or fewer",
            ) from error
        stack.enter_context(kept_up(started, count))
        _set_up(client, folder)
        yield client


@contextlib.contextmanager
def _ssh(hosts: list[str]) -> Iterator[Client]:
    """A scheduler on the first host and a worker on each, which end with this process. The user's ssh
    configuration says who logs in and with which key."""
    if importlib.util.find_spec("asyncssh") is None:
        raise UserError("--cluster ssh: needs the Python package asyncssh", hint=cluster())
    import dask
    from distributed import Client, SSHCluster

    with dask.config.set(_settings()):
        try:
            with (
                SSHCluster(
                    [hosts[0], *hosts],
                    worker_options={"nthreads": 1},
                    scheduler_options={
                        "protocol": "tls" if _has_certificate() else "tcp",
                        "dashboard_address": _PAGES,
                    },
                ) as started,
                Client(started, timeout=_CONNECT_S) as client,
            ):
                _set_up(client, "")
                try:
                    yield client
                finally:
                    # ssh ends with the connection; a worker behind it ends only when told to.
                    with contextlib.suppress(Exception):
                        client.shutdown()
        except (OSError, RuntimeError, ValueError) as error:
            said = printable(str(error).strip().splitlines()[-1] if str(error).strip() else repr(error))
            raise ToolError(
                f"the cluster on {', '.join(hosts)} cannot be started: {said[:300]}",
                hint=f"does this work, without a question: ssh {hosts[0]} {sys.executable} "
                "-c 'import bootscope, distributed'",
            ) from error


@contextlib.contextmanager
def _remote(address: str) -> Iterator[Client]:
    from distributed import Client
    from distributed.versions import VersionMismatchWarning

    if address.startswith("tls:") and not _has_certificate():
        raise UserError(
            f"{address} needs a certificate, and Dask knows of none here",
            hint="ca-file, and key and cert of the client, in ~/.config/dask/security.yaml "
            "(bootscope help cluster)",
        )
    try:
        # bootscope reports other versions itself.
        warnings.simplefilter("ignore", VersionMismatchWarning)
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        said = str(error).strip() or type(error).__name__
        raise ToolError(
            f"no scheduler answers at {address}: {printable(said)[:200]}",
            hint="is 'dask scheduler' running there, did it print this address, and is its Dask the same "
            "version as this computer's? (bootscope help cluster)",
        ) from error
    with client:
        _set_up(client, "")
        yield client


def _has_certificate() -> bool:
    """Whether Dask's settings name a certificate."""
    import dask

    return bool(dask.config.get("distributed.comm.tls.ca-file", None))


def _set_up(client: Client, caches: str) -> None:
    """Sets the workers up for bootscope; a worker without bootscope stays as it is, and gets no tasks."""
    from bootscope.cluster.home import Home

    with contextlib.suppress(Exception):
        client.register_plugin(Home(caches, share_url()))


def _check_versions(client: Client, where: str) -> None:
    """Raises UserError where the scheduler has another version of Dask, since the two may misunderstand each
    other; LostClusterError where it has gone away again."""
    try:
        found = client.get_versions()
    except (OSError, TimeoutError) as error:
        raise LostClusterError(
            f"the scheduler at {where} went away as soon as it was reached: {printable(str(error))[:200]}",
            hint="does it still run there?",
        ) from error
    ours = found["client"]["packages"]["distributed"]
    theirs = ((found["scheduler"] or {}).get("packages") or {}).get("distributed")
    if theirs != ours:
        raise UserError(
            f"the scheduler at {where} has distributed {theirs}, this computer has {ours}",
            hint="the same version is needed on scheduler, workers and here: "
            f"pip install distributed=={theirs or ours}",
        )
