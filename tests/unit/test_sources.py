# SPDX-License-Identifier: Apache-2.0
"""Fetching sources: the user's own first, downloads checked, what is wrong refused."""

from __future__ import annotations

import hashlib
import io
import urllib.request
from collections.abc import Callable
from email.message import Message
from http.client import BadStatusLine
from pathlib import Path
from urllib.response import addinfourl

import pytest

from bootscope.builder import archive
from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved, Wanted, fetch, resolved
from bootscope.core.errors import BootscopeError, ToolError, UserError
from bootscope.system.source import Archive, Source

CONTENT = b"a tarball, nearly"
GOOD = hashlib.sha256(CONTENT).hexdigest()
BAD = hashlib.sha256(b"something else").hexdigest()
ARCHIVE = Archive(suite="trixie", source="thing", file="thing.tar.xz")


@pytest.fixture
def tarball(tmp_path: Path) -> Path:
    path = tmp_path / "thing-1.0.tar"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture(autouse=True)
def no_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing here may reach a network: without programs there is no apt."""
    (tmp_path / "no-programs").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))


def wanted(
    base: Path,
    path: str | None = None,
    url: str | None = None,
    sha256: str | None = None,
    from_archive: Archive | None = None,
) -> Wanted:
    return Wanted(
        "thing", Source(version="1.0", path=path, url=url, sha256=sha256, archive=from_archive), base
    )


def get(want: Wanted, cache: Cache) -> Resolved:
    return fetch(want, cache, Progress())


# ---- the user's own ----


def test_a_tarball_of_the_users_is_used_where_it_is(cache: Cache, tarball: Path, tmp_path: Path) -> None:
    for sha256 in (None, GOOD):
        found = get(wanted(tmp_path, path=tarball.name, sha256=sha256), cache)
        assert found == Resolved(str(tarball), GOOD, "your own tarball", "1.0")
        assert not found.is_tree
    assert list(cache.sources.iterdir()) == []


def test_a_tarball_of_the_users_with_another_hash_is_refused(
    cache: Cache, tarball: Path, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match=r"does not match sources\.thing") as caught:
        get(wanted(tmp_path, path=str(tarball), sha256=BAD), cache)
    assert caught.value.hint == f"expected sha256 {BAD}, found {GOOD}"
    assert tarball.exists()


def test_a_tree_of_the_users_is_used_where_it_is_and_followed(cache: Cache, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    want = wanted(tmp_path / "sub", path="../tree")
    before = get(want, cache)
    assert (before.path, before.origin, before.is_tree) == (str(tmp_path / "tree"), "your own tree", True)
    (tmp_path / "tree" / "new").touch()
    assert get(want, cache).sha256 != before.sha256


def test_what_the_user_does_not_have_is_said(cache: Cache, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"sources\.thing\.path: .*/gone does not exist"):
        get(wanted(tmp_path, path="gone"), cache)


def test_the_users_own_goes_before_a_download(cache: Cache, tarball: Path, tmp_path: Path) -> None:
    want = wanted(tmp_path, path=str(tarball), url="file:///nowhere/thing.tar", sha256=GOOD)
    assert get(want, cache).origin == "your own tarball"


# ---- downloads ----


def test_a_download_with_the_right_hash_is_kept(cache: Cache, tarball: Path, tmp_path: Path) -> None:
    want = wanted(tmp_path, url=tarball.as_uri(), sha256=GOOD)
    assert resolved(want, cache) is None
    found = get(want, cache)
    assert (found.sha256, found.origin, found.version) == (GOOD, "upstream", "1.0")
    assert Path(found.path).read_bytes() == CONTENT
    assert Path(found.path).parent == cache.sources / want.key
    assert resolved(want, cache) == found
    assert list((cache.root / "tmp").iterdir()) == []


def test_what_was_fetched_is_not_fetched_again(cache: Cache, tarball: Path, tmp_path: Path) -> None:
    want = wanted(tmp_path, url=tarball.as_uri(), sha256=GOOD)
    first = get(want, cache)
    tarball.unlink()
    assert get(want, cache) == first


@pytest.mark.parametrize("damage", ["{", "", '{"path": 1}'])
def test_a_damaged_note_of_a_source_means_fetching_again(
    cache: Cache, tarball: Path, tmp_path: Path, damage: str
) -> None:
    want = wanted(tmp_path, url=tarball.as_uri(), sha256=GOOD)
    first = get(want, cache)
    (cache.sources / want.key / "resolved.json").write_text(damage)
    assert resolved(want, cache) is None
    assert get(want, cache) == first


def test_a_changed_source_has_another_place(tmp_path: Path) -> None:
    keys = {wanted(tmp_path, url=f"file:///{name}", sha256=GOOD).key for name in ("a", "b")}
    assert len(keys | {wanted(tmp_path, url="file:///a", sha256=BAD).key}) == 3


def test_a_download_with_another_hash_is_refused_kept_aside_and_nothing_else_is_tried(
    cache: Cache, tarball: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Archive] = []
    monkeypatch.setattr(archive.Archives, "fetch", lambda _self, what: tried.append(what))
    want = wanted(tmp_path, url=tarball.as_uri(), sha256=BAD, from_archive=ARCHIVE)
    with pytest.raises(ToolError, match="the source of thing has the wrong hash") as caught:
        get(want, cache)
    assert BAD in caught.value.message
    assert GOOD in caught.value.message
    (aside,) = cache.refused.iterdir()
    assert aside.read_bytes() == CONTENT
    assert str(aside) in (caught.value.hint or "")
    assert tried == []
    assert list(cache.sources.iterdir()) == list((cache.root / "tmp").iterdir()) == []


def test_a_file_of_the_archive_with_another_hash_is_refused_too(
    cache: Cache, tarball: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive.Archives, "fetch", lambda _self, _what: archive.Fetched(tarball, "1.0-1"))
    want = wanted(tmp_path, url="file:///nowhere/thing.tar", sha256=BAD, from_archive=ARCHIVE)
    with pytest.raises(ToolError, match="the source of thing has the wrong hash"):
        get(want, cache)
    assert [path.read_bytes() for path in cache.refused.iterdir()] == [CONTENT]


def test_the_archive_is_asked_when_upstream_cannot_be_reached(
    cache: Cache, tarball: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive.Archives, "fetch", lambda _self, _what: archive.Fetched(tarball, "1.0-1"))
    want = wanted(tmp_path, url="file:///nowhere/thing.tar", sha256=GOOD, from_archive=ARCHIVE)
    found = get(want, cache)
    assert (found.origin, found.version, found.sha256) == ("Debian's archive", "1.0-1", GOOD)


def broken_off(url: str, **_options: object) -> addinfourl:
    """The answer of a server that promised more than it sent, as urllib gives it."""
    headers = Message()
    headers["Content-Length"] = str(len(CONTENT))
    return addinfourl(io.BytesIO(CONTENT[:5]), headers, url)


def no_http(_url: str, **_options: object) -> addinfourl:
    raise BadStatusLine("SSH-2.0-OpenSSH")


@pytest.mark.parametrize("answer", [broken_off, no_http])
def test_a_connection_that_fails_half_way_is_no_wrong_hash_and_no_bug(
    cache: Cache,
    tarball: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[..., object],
) -> None:
    """Nobody has changed the file: it is to be asked for elsewhere, and nothing is kept aside."""
    monkeypatch.setattr(urllib.request, "urlopen", answer)
    monkeypatch.setattr(archive.Archives, "fetch", lambda _self, _what: archive.Fetched(tarball, "1.0-1"))
    want = wanted(tmp_path, url="http://x.invalid/thing.tar", sha256=GOOD, from_archive=ARCHIVE)
    assert get(want, cache).origin == "Debian's archive"
    assert not cache.refused.exists()


def test_when_nothing_can_be_reached_every_place_is_named(cache: Cache, tmp_path: Path) -> None:
    want = wanted(tmp_path, url="file:///nowhere/thing.tar", sha256=GOOD, from_archive=ARCHIVE)
    with pytest.raises(ToolError, match="cannot fetch the source of thing") as caught:
        get(want, cache)
    assert "upstream: " in caught.value.message
    assert "/nowhere/thing.tar" in caught.value.message
    assert "archive: " in caught.value.message
    assert "sources.thing.path" in (caught.value.hint or "")
    assert list(cache.sources.iterdir()) == list((cache.root / "tmp").iterdir()) == []


@pytest.mark.parametrize("url", ["not a url", "ftp.example/thing.tar", "no-such-scheme://x/y", "file:///"])
def test_an_address_that_is_none_is_an_error_and_no_bug(cache: Cache, tmp_path: Path, url: str) -> None:
    with pytest.raises(BootscopeError, match="thing"):
        get(wanted(tmp_path, url=url, sha256=GOOD), cache)


def test_a_hash_may_be_written_in_capitals(cache: Cache, tarball: Path, tmp_path: Path) -> None:
    assert get(wanted(tmp_path, url=tarball.as_uri(), sha256=GOOD.upper()), cache).sha256 == GOOD
