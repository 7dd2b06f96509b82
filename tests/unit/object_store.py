# SPDX-License-Identifier: Apache-2.0
"""An object store that runs here (moto's server), and what goes wrong with one."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import fsspec
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

ANY = 10**9


class ObjectStore:
    """An object store on the loopback; one that is `losing` answers that it has taken what it drops
    (with `losing_only`: of what ends so), and methods that are `refused` are answered with 403."""

    def __init__(self) -> None:
        self.losing, self.losing_only, self.refused = False, "", set[str]()
        self.asked: list[tuple[str, str]] = []
        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self, threaded=True)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.asked.append((method, path))
        if method in self.refused:
            start("403 Forbidden", [("Content-Length", "0")])
            return [b""]
        if self.losing and method == "PUT" and path.endswith(self.losing_only):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start("200 OK", [("ETag", '"0"'), ("Content-Length", "0")])
            return [b""]
        found: Iterable[bytes] = self._app(environ, start)
        return found

    def tell(self, what: str, data: bytes = b"") -> None:
        """Calls one of moto's own."""
        kind = {"Content-Type": "text/plain"}
        asked = urllib.request.Request(f"{self.address}/moto-api/{what}", data, kind)
        urllib.request.urlopen(asked).close()

    def let_in(self, count: int) -> None:
        """After so many requests only known keys are let in, and none is known."""
        self.tell("reset-auth", str(count).encode())

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def object_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """A store with the bucket `boots`, to which the environment leads."""
    store = ObjectStore()
    given = {
        "AWS_ENDPOINT_URL": store.address,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "no_proxy": "127.0.0.1",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    kind = fsspec.get_filesystem_class("s3")
    kind.clear_instance_cache()
    fsspec.filesystem("s3").makedirs("boots", exist_ok=True)
    yield store
    kind.clear_instance_cache()
    store.refused = set()
    store.let_in(ANY)
    store.tell("reset")
    store.close()
