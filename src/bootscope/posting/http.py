# SPDX-License-Identifier: Apache-2.0
"""HTTP for sending to servers. No redirect is followed, and no secret is ever shown."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from bootscope.core.errors import ToolError, UserError, printable

TIMEOUT_S = 20.0
MOST_WAIT_S = 60
"""The longest wait that a server may ask for; beyond it the job ends with an error."""
PAUSES_S = (1, 4)
"""The waits before the second and the third attempt, if the server does not say how long."""
_MOST_BYTES = 16 << 20
_SAID = 200
_BUSY = {429, 500, 502, 503, 504}
_FORBIDDEN = 403
_AGENT = "bootscope"
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Secret:
    """A token or key from the environment variable `name`; it is only revealed through `text`."""

    name: str
    text: str = field(repr=False)

    def hidden(self, words: str) -> str:
        """A text from elsewhere without the secret."""
        return words.replace(self.text, f"[{self.name}]") if self.text else words


class StatusError(ToolError):
    """A server answered with an error; `said` is its reason, safe to show."""

    def __init__(self, message: str, status: int, said: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status, self.said = status, said


class BusyError(ToolError):
    """A server that cannot be reached or is busy; `wait_s` is how long it asks to wait, if it says so."""

    def __init__(self, message: str, wait_s: int | None = None, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.wait_s = wait_s


def secret_of(environ: Mapping[str, str], *names: str, hint: str) -> Secret:
    """The first of these variables that is set. Raises UserError if none is, or it cannot be a token."""
    name = next((name for name in names if environ.get(name, "").strip()), "")
    if not name:
        raise UserError(f"{' or '.join(names)} is not set", hint=hint)
    text = environ[name].strip()
    if not re.fullmatch(r"[!-~]{1,4096}", text):
        raise UserError(f"{name} is not a token: it has blanks or control characters", hint=hint)
    return Secret(name, text)


def checked_address(url: str, what: str, *, secret: bool) -> str:
    """An http or https address without a slash at its end; with a `secret` it must be encrypted, or on this
    computer. Raises UserError for any other."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host or not re.fullmatch(r"[!-~]+", url):
        raise UserError(f"{what} is not an address of a server", hint="https://HOST/PATH")
    if parts.username is not None or parts.password is not None:
        raise UserError(
            f"{what} has a user name or password in it", hint="leave out what stands before the @"
        )
    if secret and parts.scheme == "http" and not _loopback(host):
        raise UserError(
            f"{what} is not encrypted: a token sent there could be read on the way",
            hint="an address of https",
        )
    return url.rstrip("/")


def _loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def shown(url: str) -> str:
    """The server of an address only: paths and queries of webhooks are often secrets."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


@dataclass(frozen=True)
class Server:
    """A server with what every request to it carries. `secret` is removed from everything that is shown."""

    name: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    secret: Secret

    def call(self, method: str, path: str, data: bytes | None = None, **more: str) -> bytes:
        """Sends a request; returns the answer's body.

        Raises StatusError for a permanent error, BusyError for a temporary one: limits on the number of
        requests, no answer in time, no connection.
        """
        headers = {"User-Agent": _AGENT, **self.headers, **more}
        asked = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        try:
            return _read(asked)
        except urllib.error.HTTPError as error:
            with error:
                raise self._answered(error) from None
        except TimeoutError:
            raise BusyError(f"{self.name} did not answer within {TIMEOUT_S:.0f} s") from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise BusyError(f"{self.name} did not answer within {TIMEOUT_S:.0f} s") from None
            raise BusyError(f"{self.name} cannot be reached: {self._words(error.reason)}") from None
        except (OSError, http.client.HTTPException) as error:
            words = self._words(error) or type(error).__name__
            raise BusyError(f"the connection to {self.name} broke: {words}") from None

    def _answered(self, error: urllib.error.HTTPError) -> ToolError:
        said = _said(error)
        words = self._words(said)
        told = f"{self.name} answered {error.code}{f': {words}' if words else ''}"
        wait_s = _wait_s(dict(error.headers.items()))
        limited = error.code == _FORBIDDEN and wait_s is not None
        if error.code in _BUSY or limited:
            return BusyError(told, wait_s)
        if 300 <= error.code < 400:
            return StatusError(f"{told}: it has moved", error.code, words, hint="name its new address")
        return StatusError(told, error.code, words)

    def _words(self, said: object) -> str:
        return printable(self.secret.hidden(str(said)))[:_SAID]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A token is for the server that was named, and for no other that this one redirects to."""

    def redirect_request(self, *_args: Any) -> None:
        return None


def _read(asked: urllib.request.Request) -> bytes:
    until = time.monotonic() + TIMEOUT_S
    with urllib.request.build_opener(_NoRedirects).open(asked, timeout=TIMEOUT_S) as answer:
        data = bytearray()
        while part := answer.read1(1 << 16):
            data += part
            if len(data) > _MOST_BYTES:
                raise http.client.HTTPException(f"its answer is longer than {_MOST_BYTES:,} bytes")
            if time.monotonic() > until:
                raise TimeoutError
        return bytes(data)


def _said(error: urllib.error.HTTPError) -> str:
    """The reason in a server's answer: `message` or `error` of its JSON; otherwise empty."""
    import msgspec

    found: object = None
    from bootscope.core.damaged import DAMAGED

    with contextlib.suppress(OSError, http.client.HTTPException, ValueError, *DAMAGED):
        found = msgspec.json.decode(error.read(1 << 16))
    if not isinstance(found, dict):
        return ""
    return str(found.get("message") or found.get("error_description") or found.get("error") or "")


def _wait_s(headers: Mapping[str, str]) -> int | None:
    """How long a server asks to wait: `Retry-After`, or the time at which GitHub resets its count
    (https://docs.github.com/rest, rate limits)."""
    headers = {name.lower(): value for name, value in headers.items()}
    after = headers.get("retry-after", "")
    if re.fullmatch(r"[0-9]{1,9}", after):
        return int(after)
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") == "0":
        return max(1, int(reset) - int(time.time())) if re.fullmatch(r"[0-9]{1,12}", reset) else MOST_WAIT_S
    return None


def patiently(action: Callable[[], _Result]) -> _Result:
    """Calls `action`, up to three times while the server is busy. Raises the error of the last attempt, and
    at once BusyError if the server asks to wait for more than MOST_WAIT_S."""
    for pause_s in (*PAUSES_S, None):
        try:
            return action()
        except BusyError as error:
            if (error.wait_s or 0) > MOST_WAIT_S:
                words = f"{error.message} (it asks to wait {error.wait_s} s)"
                raise BusyError(words, error.wait_s, hint="run the check again later") from None
            if pause_s is None:
                words = f"{error.message} ({1 + len(PAUSES_S)} attempts)"
                raise BusyError(words, error.wait_s, hint="run the check again later") from None
            time.sleep(pause_s if error.wait_s is None else error.wait_s)
    raise AssertionError
