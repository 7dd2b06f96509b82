# SPDX-License-Identifier: Apache-2.0
"""Which requests the server answers at all."""

from __future__ import annotations

import pytest

from bootscope.capture.store import Store
from bootscope.core.errors import ToolError, UserError
from bootscope.serve.app import application
from bootscope.serve.guard import Guard
from bootscope.serve.keys import Keys
from bootscope.serve.place import open_place

from .served import ask

NAMES = frozenset({"localhost", "desk"})


@pytest.fixture
def app(store: Store) -> Guard:
    """A server that this computer only can reach."""
    return application(store, NAMES, None)


@pytest.mark.parametrize("host", ["localhost", "LocalHost:9000", "desk:8734", "127.0.0.1", "[::1]:8734"])
def test_it_answers_to_its_names_and_to_addresses(app: Guard, host: str) -> None:
    assert ask(app, "/", ("host", host)).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example:8734", "", "localhost:8734:1", "a b", "localhost@evil", "[x]"],
)
def test_another_name_is_refused(app: Guard, host: str) -> None:
    """DNS rebinding: a name of somebody else that leads here."""
    answer = ask(app, "/", ("host", host))
    assert answer.status == 421
    assert "refused" in answer.text


def test_two_hosts_are_refused(app: Guard) -> None:
    assert ask(app, "/", ("host", "localhost"), ("host", "evil.example")).status == 421


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_it_only_reads(app: Guard, method: str) -> None:
    answer = ask(app, "/", method=method)
    assert answer.status == 405
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "header",
    [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost:3000"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ],
)
def test_another_origin_is_refused(app: Guard, header: tuple[str, str]) -> None:
    assert ask(app, "/", header).status == 403


@pytest.mark.parametrize("header", [("origin", "http://localhost:8734"), ("sec-fetch-site", "same-origin")])
def test_its_own_pages_may_ask(app: Guard, header: tuple[str, str]) -> None:
    assert ask(app, "/", header).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/run/../../etc/passwd",
        "/run/..",
        "/static/./style.css",
        "/run/%2e%2e/%2e%2e/etc/passwd",
        "/run/..%2f..%2fetc%2fpasswd",
        "/run/a%5cb",
        "/run/a%00b",
        "/run/a%0d%0aSet-Cookie:x",
        "//etc/passwd",
        "/run//x",
        "/run/%ff%fe",
        "/run/%E2%80%AEx",
    ],
)
def test_tricks_with_paths_are_refused(app: Guard, path: str) -> None:
    answer = ask(app, path)
    assert answer.status == 400
    assert "root:" not in answer.text


@pytest.mark.parametrize("path", ["/run/%252e%252e", "/static/app.py", "/etc/passwd", "/run/index.sqlite"])
def test_what_is_no_page_is_not_found(app: Guard, path: str) -> None:
    assert ask(app, path).status == 404


@pytest.mark.parametrize("path", ["/run/" + "x" * 100_000, "/?q=" + "x" * 100_000])
def test_what_is_huge_is_refused(app: Guard, path: str) -> None:
    assert ask(app, path).status == 414


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/style.css", "/run/../x"])
def test_every_answer_has_the_headers(app: Guard, path: str) -> None:
    headers = ask(app, path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


# ---- tokens ----


@pytest.fixture
def codes() -> list[str]:
    return []


@pytest.fixture
def keys(codes: list[str]) -> Keys:
    made = Keys(codes.append)
    made.renew()
    return made


@pytest.fixture
def locked(store: Store, keys: Keys) -> Guard:
    """A server that asks for a token."""
    return application(store, NAMES, keys)


@pytest.mark.parametrize("path", ["/", "/plot", "/static/style.css", "/run/x", "/live/x/events"])
def test_without_a_token_nothing_is_shown(locked: Guard, path: str) -> None:
    answer = ask(locked, path)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_the_token_opens_it(locked: Guard, keys: Keys) -> None:
    assert ask(locked, "/", ("authorization", f"Bearer {keys.token}")).status == 200
    for wrong in ("", "Bearer", "Bearer ", f"Bearer {keys.token}x", f"Basic {keys.token}", "Bearer \u00e9"):
        assert ask(locked, "/", ("authorization", wrong)).status == 401


def test_a_code_works_once_and_gives_a_cookie(locked: Guard, codes: list[str], keys: Keys) -> None:
    first = codes[-1]
    answer = ask(locked, f"/enter/{first}")
    assert answer.status == 200
    told = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict"} <= set(told.split("; "))
    cookie = told.partition(";")[0]
    assert keys.token not in cookie
    assert first not in cookie
    assert ask(locked, "/", ("cookie", cookie)).status == 200
    assert ask(locked, "/", ("cookie", f"{cookie}x")).status == 401
    assert ask(locked, f"/enter/{first}").status == 403
    assert len(codes) == 2
    assert ask(locked, f"/enter/{codes[-1]}").status == 200


@pytest.mark.parametrize(
    "cookie", ["bootscope=", "bootscope", "x=1; bootscope=wrong", 'bootscope="', "\u00e9=1"]
)
def test_a_wrong_cookie_opens_nothing(locked: Guard, cookie: str) -> None:
    assert ask(locked, "/", ("cookie", cookie)).status == 401


def test_what_only_looks_does_not_use_a_code_up(locked: Guard, codes: list[str]) -> None:
    assert ask(locked, f"/enter/{codes[-1]}", method="HEAD").status == 403
    assert ask(locked, f"/enter/{codes[-1]}").status == 200


def test_a_code_may_be_followed_from_elsewhere_but_not_asked_for(locked: Guard, codes: list[str]) -> None:
    cross = ("sec-fetch-site", "cross-site")
    assert ask(locked, f"/enter/{codes[-1]}", cross, ("sec-fetch-mode", "no-cors")).status == 403
    assert ask(locked, f"/enter/{codes[-1]}", cross, ("sec-fetch-mode", "navigate")).status == 200


# ---- where it listens ----


def test_the_loopback_is_local_and_nothing_else() -> None:
    for host, local in (("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)):
        place = open_place(host, 0)
        with place.socket:
            assert place.local == local
            assert place.address.startswith("http://")
            assert "0.0.0.0" not in place.address
            assert "localhost" in place.names


def test_a_port_that_is_taken_or_none_is_told() -> None:
    place = open_place("127.0.0.1", 0)
    with place.socket:
        with pytest.raises(ToolError, match=r"cannot listen at 127\.0\.0\.1"):
            open_place("127.0.0.1", place.socket.getsockname()[1])
        with pytest.raises(UserError, match="not a port"):
            open_place("127.0.0.1", 65536)
        with pytest.raises(UserError, match="not a host"):
            open_place("no such\x1bhost", 0)
        with pytest.raises(ToolError, match=r"cannot listen at 192\.0\.2\.1"):
            open_place("192.0.2.1", 0)
