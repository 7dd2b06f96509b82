# SPDX-License-Identifier: Apache-2.0
"""Asking the server's application, as its server does, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

from starlette.types import ASGIApp

T = TypeVar("T")
HOST = ("host", "localhost:8734")


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str


def ask(app: ASGIApp, target: str, *headers: tuple[str, str], method: str = "GET") -> Answer:
    """Asks for a path with a query; `headers` have a right `Host` unless they have one."""
    raw, _, query = target.partition("?")
    sent = headers if any(name == "host" for name, _ in headers) else (HOST, *headers)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw),
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in sent],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8734),
    }
    told: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        told.append(message)

    waited(run(app, scope, receive, send))
    begin = next(message for message in told if message["type"] == "http.response.start")
    body = b"".join(message.get("body", b"") for message in told)
    return Answer(begin["status"], {k.decode(): v.decode() for k, v in begin["headers"]}, body.decode())


def waited(work: Coroutine[Any, Any, T]) -> T:
    """What some work comes to, in a thread of its own: tests in a browser leave a loop in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


async def run(app: ASGIApp, scope: Any, receive: Any, send: Any) -> None:
    await app(scope, receive, send)
