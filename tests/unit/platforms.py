# SPDX-License-Identifier: Apache-2.0
"""Servers on the loopback that answer like the APIs of GitHub and GitLab, and a receiver of webhooks."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN, APP_TOKEN, READER, STRANGER = "tok-0123456789", "app-0123456789", "read-0123456789", "other-0123456789"


@dataclass
class Fault:
    """What a server does instead of its work, for the next `times` requests of `method` (empty: any)."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    method: str = ""
    times: int = 1
    after_work: bool = False
    slow_s: float = 0.0


@dataclass
class Platform:
    """What a server has and has seen; `kind` is `github`, `gitlab` or `hook`."""

    kind: str
    address: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    received: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)

    def add(self, author: dict[str, Any], body: str) -> dict[str, Any]:
        """A comment of somebody."""
        comment = {"id": 100 + len(self.comments), "body": body, "system": False}
        comment["user" if self.kind == "github" else "author"] = author
        self.comments.append(comment)
        return comment

    def next_fault(self, method: str) -> Fault | None:
        """The fault that this request meets."""
        for fault in self.faults:
            if fault.times and fault.method in ("", method):
                fault.times -= 1
                return fault
        return None


USERS = {
    TOKEN: {"login": "ci-user", "id": 7, "type": "User"},
    APP_TOKEN: {"login": "github-actions[bot]", "id": 8, "type": "Bot"},
    READER: {"login": "reader", "id": 9, "type": "User"},
}
SOMEBODY = {"login": "somebody", "id": 1, "type": "User"}
_GITHUB = r"/repos/acme/gateway/issues/(?:7/comments|comments/(\d+))"
_GITLAB = r"/projects/acme%2Fgateway/merge_requests/7/notes(?:/(\d+))?"
_CHANGE = {"github": "PATCH", "gitlab": "PUT"}


class _Handler(BaseHTTPRequestHandler):
    platform: Platform

    def log_message(self, *_args: Any) -> None:
        pass

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.platform.asked.append((self.command, self.path))
        fault = self.platform.next_fault(self.command)
        if fault and not fault.after_work:
            self._fail(fault)
            return
        status, found = self._work(body)
        if fault:
            self._fail(fault)
        else:
            self._send(status, {}, json.dumps(found))

    do_GET = do_POST = do_PATCH = do_PUT = _answer  # noqa: N815

    def _fail(self, fault: Fault) -> None:
        time.sleep(fault.slow_s)
        if fault.status == 0:  # hangs up
            self.close_connection = True
            return
        self._send(fault.status, fault.headers, fault.body)

    def _send(self, status: int, headers: Mapping[str, str], body: str) -> None:
        data = body.encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _work(self, body: bytes) -> tuple[int, object]:
        platform = self.platform
        if platform.kind == "hook":
            platform.received.append((dict(self.headers.items()), body))
            return 200, {}
        given = self.headers.get("PRIVATE-TOKEN") or self.headers.get("Authorization") or ""
        token = given.removeprefix("Bearer ")
        if token not in USERS:
            return 401, {"message": f"Bad credentials {token}"}
        return self._api(token, body)

    def _api(self, token: str, body: bytes) -> tuple[int, object]:
        path, _, query = self.path.partition("?")
        if path == "/user":
            forbidden = token == APP_TOKEN and self.platform.kind == "github"
            return (
                (403, {"message": "Resource not accessible by integration"})
                if forbidden
                else (200, USERS[token])
            )
        match = re.fullmatch(_GITHUB if self.platform.kind == "github" else _GITLAB, path)
        if not match:
            return 404, {"message": "Not Found"}
        if self.command == "GET":
            page, size = (int(re.findall(rf"(?:^|&){name}=(\d+)", query)[0]) for name in ("page", "per_page"))
            return 200, self.platform.comments[(page - 1) * size : page * size]
        if token == READER:
            return 403, {"message": "403 Forbidden"}
        return self._write(token, match[1], json.loads(body)["body"])

    def _write(self, token: str, number: str | None, text: str) -> tuple[int, object]:
        if self.command == "POST":
            return 201, self.platform.add(USERS[token], text)
        assert self.command == _CHANGE[self.platform.kind]
        for comment in self.platform.comments:
            if comment["id"] == int(number or 0):
                comment["body"] = text
                return 200, comment
        return 404, {"message": "Not Found"}


@contextmanager
def serving(kind: str) -> Iterator[Platform]:
    """A server of that kind, while it runs."""
    platform = Platform(kind)
    handler = type("Handler", (_Handler,), {"platform": platform})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    platform.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield platform
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
