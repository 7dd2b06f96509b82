# SPDX-License-Identifier: Apache-2.0
"""A cache that several computers share: in a folder, and in an object store that runs here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.share import Share
from bootscope.builder.step import Context, Runner, Step
from bootscope.core.errors import ToolError, UserError
from bootscope.core.remote_files import MissingFileError, download, upload

from .object_store import ObjectStore, object_store

ABOUT = "about"


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    with object_store(monkeypatch) as store:
        yield store


@pytest.fixture(params=["folder", "objects"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return f"file://{tmp_path}/share"
    request.getfixturevalue("objects")
    return "s3://boots/share"


def runner(cache: Cache, share: Share | None, made: list[str]) -> Callable[[], Path]:
    """Builds a step in a cache; `made` gets its name each time it is really built."""

    def work(context: Context) -> None:
        made.append(context.cache.root.name)
        (context.out / "image").write_bytes(b"image" * 1000)
        (context.out / ABOUT).symlink_to("image")

    step = Step("step", "a step", 1, work)
    return lambda: Runner(cache, Progress(), share=share).run(step, step.step_id({}), {})


def test_what_one_computer_has_built_another_takes(url: str, tmp_path: Path) -> None:
    told, made = list[str](), list[str]()
    for name in ("one", "two"):
        path = runner(Cache(tmp_path / name), Share(url, told.append), made)()
        assert (path / ABOUT).read_bytes() == b"image" * 1000
    assert made == ["one"]
    assert told == []


def test_what_is_damaged_is_built_here_and_put_there_anew(tmp_path: Path) -> None:
    told, made = list[str](), list[str]()
    url = f"file://{tmp_path}/share"
    runner(Cache(tmp_path / "one"), Share(url, told.append), made)()
    (path,) = (tmp_path / "share" / "steps").glob("*.parcel")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    runner(Cache(tmp_path / "two"), Share(url, told.append), made)()
    assert made == ["one", "two"]
    assert "is not what was put there; it is built here" in told[0]
    runner(Cache(tmp_path / "three"), Share(url, told.append), made)()
    assert made == ["one", "two"]


def test_a_parcel_without_its_description_is_not_there(tmp_path: Path) -> None:
    told, made = list[str](), list[str]()
    url = f"file://{tmp_path}/share"
    runner(Cache(tmp_path / "one"), Share(url, told.append), made)()
    (path,) = (tmp_path / "share" / "steps").glob("*.json")
    path.unlink()
    runner(Cache(tmp_path / "two"), Share(url, told.append), made)()
    assert made == ["one", "two"]
    assert told == []


def test_a_store_that_refuses_is_said_once_and_work_goes_on(objects: ObjectStore, tmp_path: Path) -> None:
    told, made = list[str](), list[str]()
    objects.let_in(0)
    share = Share("s3://boots/share", told.append)
    for name in ("one", "two"):
        assert (runner(Cache(tmp_path / name), share, made)() / "image").exists()
    assert made == ["one", "two"]
    assert len(told) == 2
    assert all("credentials" in text and "going on without it" in text for text in told)
    assert "cannot be read" in told[0]
    assert "cannot be written" in told[1]


def test_a_write_that_is_lost_is_noticed(objects: ObjectStore, tmp_path: Path) -> None:
    told, made = list[str](), list[str]()
    objects.losing = True
    share = Share("s3://boots/share", told.append)
    assert (runner(Cache(tmp_path / "one"), share, made)() / "image").exists()
    assert len(told) == 1
    assert "was sent and is not there (the server loses what it takes" in told[0]
    objects.losing = False
    runner(Cache(tmp_path / "two"), share, made)()
    assert made == ["one", "two"]


def test_a_file_comes_back_as_it_went(url: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(range(256)))
    upload(tmp_path / "a", f"{url}/a")
    download(f"{url}/a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == bytes(range(256))
    with pytest.raises(MissingFileError):
        download(f"{url}/none", tmp_path / "c")


def test_an_unknown_kind_of_url_names_what_is_missing() -> None:
    with pytest.raises((UserError, ToolError), match="nosuch"):
        download("nosuch://place/a", Path("b"))


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as told:
        download("http://me:secret@127.0.0.1:9/a", tmp_path / "a")
    assert "secret" not in str(told.value)
