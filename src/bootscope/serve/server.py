# SPDX-License-Identifier: Apache-2.0
"""Runs the server until it is told to end."""

from __future__ import annotations

import uvicorn

from bootscope.capture.store import Store
from bootscope.serve.app import application
from bootscope.serve.keys import Keys
from bootscope.serve.place import Place

_AT_A_TIME = 100
_HEAD_BYTES = 16 << 10
_GOODBYE_S = 1


def serve(store: Store, place: Place, keys: Keys | None) -> None:
    """Serves until Ctrl-C or a plain `kill`, which raises KeyboardInterrupt."""
    running: list[uvicorn.Server] = []
    app = application(store, place.names, keys, lambda: running[0].should_exit)
    running.append(
        uvicorn.Server(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=_AT_A_TIME,
                h11_max_incomplete_event_size=_HEAD_BYTES,
                timeout_graceful_shutdown=_GOODBYE_S,
            )
        )
    )
    with place.socket:
        running[0].run(sockets=[place.socket])
