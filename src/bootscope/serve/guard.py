# SPDX-License-Identifier: Apache-2.0
"""Runs before every page: decides which requests are answered at all, and sets the headers of every answer.

A server on the loopback can be reached by every page that a user has open in a browser. So a request is
answered only if

- it reads (GET, HEAD);
- its `Host` is a name of this server or an IP address: a page of another name that was redirected to our
  address (DNS rebinding) sends its own name;
- it comes from our own pages or from the address bar: by `Origin`, and by `Sec-Fetch-Site`, which browsers
  send to the loopback and over https (https://www.w3.org/TR/fetch-metadata/);
- its path is plain: no `..`, no encoded slash, no control character;
- it has the token, or a cookie that was obtained with one (keys.py), if the server requires a token.

Nothing here makes an answer readable for other origins (CORS).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bootscope.serve.keys import Keys

COOKIE = "bootscope"
ENTER = "/enter/"
"""The path at which a code is exchanged for a cookie; the code follows."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_READS = ("GET", "HEAD")
_LONGEST = 2048
"""Bytes of a path, and of a query."""
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::\d{1,5})?", re.IGNORECASE)
_HIDDEN = re.compile(rb"%(?:2f|5c|2e|00)", re.IGNORECASE)
"""A slash, a backslash, a dot and a NUL: no page of ours needs them encoded."""


@dataclass(frozen=True)
class Refusal:
    """Why a request is not answered, with the HTTP status."""

    status: int
    why: str


class Guard:
    """Passes requests on to `app`, or refuses them. `names` are the host names of this server; `keys` is None
    if no token is required."""

    def __init__(self, app: ASGIApp, names: frozenset[str], keys: Keys | None) -> None:
        self._app, self._names, self._keys = app, names, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self.refusal(scope)
        if refused:
            more = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else None
            answer = PlainTextResponse(f"refused: {refused.why}\n", refused.status, more)
            await answer(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    def refusal(self, scope: Scope) -> Refusal | None:
        """Why a request is refused; None if it is not."""
        headers = Headers(scope=scope)
        return (
            _of_method(scope["method"])
            or self._of_host(headers)
            or _of_path(scope)
            or _of_origin(headers, scope["path"])
            or self._of_key(headers, scope["path"])
        )

    def _of_host(self, headers: Headers) -> Refusal | None:
        hosts = headers.getlist("host")
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if found and (
            _is_address(found["six"] or found["name"]) or (found["name"] or "").lower() in self._names
        ):
            return None
        return Refusal(421, "the request is for another host; start the server with --host NAME")

    def _of_key(self, headers: Headers, path: str) -> Refusal | None:
        if self._keys is None or path.startswith(ENTER):
            return None
        if self._keys.fits(headers.get("authorization", "")) or self._keys.knows(_cookie(headers)):
            return None
        return Refusal(401, "open the address that bootscope serve printed last, or send its token")


def _of_method(method: str) -> Refusal | None:
    return None if method in _READS else Refusal(405, "this server only reads")


def _of_path(scope: Scope) -> Refusal | None:
    raw, path = scope.get("raw_path") or scope["path"].encode(), scope["path"]
    if len(raw) > _LONGEST or len(scope["query_string"]) > _LONGEST:
        return Refusal(414, "the address is too long")
    parts = path.split("/")
    if (
        not path.startswith("/")
        or not path.isprintable()
        or "\\" in path
        or "�" in path
        or _HIDDEN.search(raw)
        or any(part in (".", "..") for part in parts)
        or "" in parts[1:-1]
    ):
        return Refusal(400, "the path is not plain")
    return None


def _of_origin(headers: Headers, path: str) -> Refusal | None:
    host, origins = headers.get("host", ""), headers.getlist("origin")
    if any(origin not in (f"http://{host}", f"https://{host}") for origin in origins):
        return Refusal(403, "the request is from another origin")
    site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode", "")
    # A code is sent by mail or chat, so its link may be followed from a page of another site.
    if site in ("none", "same-origin") or (path.startswith(ENTER) and mode == "navigate"):
        return None
    return Refusal(403, "the request is from a page of another site; type the address into a new tab")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""
