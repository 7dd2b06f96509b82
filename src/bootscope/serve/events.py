# SPDX-License-Identifier: Apache-2.0
"""Server-sent events: a follower's news, sent to a page that stays open
(https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from bootscope.core.errors import BootscopeError
from bootscope.core.text import visible

LOOK_S = 0.3
_ALIVE_S = 10.0
"""How often something is sent when nothing happens, in s: this detects closed pages."""
MOST = 24
"""How many pages are followed at a time: each one costs reading its files again and again."""

Look = Callable[[], dict[str, Any]]


class Events:
    """The streams of a server; they end when it is `stopping`."""

    def __init__(self, stopping: Callable[[], bool]) -> None:
        self._stopping = stopping
        self._open = 0

    def stream(self, look: Look, every_s: float = LOOK_S) -> Response:
        """A response that sends the result of `look` whenever it is new, until it contains `over`."""
        if self._open >= MOST:
            return PlainTextResponse(f"{MOST} pages are being followed already\n", 503)
        return StreamingResponse(self._events(look, every_s), media_type="text/event-stream")

    async def _events(self, look: Look, every_s: float) -> AsyncIterator[str]:
        self._open += 1
        before, quiet_s = b"", 0.0
        try:
            while not self._stopping():
                found = await run_in_threadpool(_looked, look)
                data = msgspec.json.encode(found)
                if data != before:
                    before, quiet_s = data, 0.0
                    yield f"data: {data.decode()}\n\n"
                elif quiet_s >= _ALIVE_S:
                    quiet_s = 0.0
                    yield ": alive\n\n"
                if found.get("over"):
                    return
                await asyncio.sleep(every_s)
                quiet_s += every_s
        finally:
            self._open -= 1


def _looked(look: Look) -> dict[str, Any]:
    try:
        return look()
    except BootscopeError as error:
        return {"trouble": visible(error.message, 200), "over": True}
    except FileNotFoundError:  # deleted between two looks
        return {"gone": True, "over": True}
