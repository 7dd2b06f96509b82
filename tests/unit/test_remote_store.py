# SPDX-License-Identifier: Apache-2.0
"""A store on a server: what one computer records another one lists, shows and labels; nothing is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from bootscope.capture.depot import Depot
from bootscope.capture.remote_store import RemoteStore
from bootscope.capture.store import Store
from bootscope.core.errors import ToolError, UserError
from bootscope.core.paths import store_dir
from bootscope.core.remote_files import upload
from bootscope.serve.app import application

from ..fixtures.stock_boot import unpack
from .boot_noise import MS
from .conftest import Command, Done
from .object_store import ObjectStore, object_store
from .served import ask
from .test_boot_samples import imported
from .test_cli_verbs import json_of

URL = "s3://boots/team"
On = Callable[..., Done]
BOOTS = [5000 * MS, 5001 * MS, 5002 * MS]


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    with object_store(monkeypatch) as store:
        yield store


@pytest.fixture
def on(main_here: Command, objects: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> On:
    """Runs the command on the computer of that name; all have the same store on the server."""
    assert objects
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("BOOTSCOPE_STORE", URL)

    def run(computer: str, *arguments: str | Path) -> Done:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / computer))
        return main_here(*arguments)

    return run


def add(on: On, tmp_path: Path, computer: str, name: str, boots: list[int]) -> str:
    return imported(lambda *words: on(computer, *words), tmp_path, name, boots)


def ids(done: Done) -> list[str]:
    return [run["run_id"] for run in json_of(done, "list")["runs"]]


def test_what_one_computer_imports_another_one_shows_to_the_nanosecond(
    on: On, tmp_path: Path, objects: ObjectStore
) -> None:
    run_id = add(on, tmp_path, "one", "gw", BOOTS)
    assert on("one", "label", run_id, "product=gw").returncode == 0
    listed = json_of(on("two", "list", "--label", "product=gw", "--json"), "list")["runs"]
    assert [(run["run_id"], run["labels"]) for run in listed] == [(run_id, {"product": "gw"})]
    assert listed == json_of(on("one", "list", "--json"), "list")["runs"]
    assert not [path for method, path in objects.asked if method == "GET" and path.endswith(".bsz")]
    one, two = (json.loads(on(computer, "show", "--json").stdout) for computer in ("one", "two"))
    assert one == two
    assert [path for method, path in objects.asked if method == "GET" and path.endswith(".bsz")]
    before = len(objects.asked)
    assert on("two", "show").returncode == 0
    assert not [path for _, path in objects.asked[before:] if path.endswith(".bsz")]


def test_a_recording_with_its_symbols_travels(on: On, objects: ObjectStore, tmp_path: Path) -> None:
    on("one", "list")
    run_id = unpack(Store(store_dir()))
    assert f"sent {run_id}" in on("one", "list").stderr
    assert on("one", "list").stderr == ""
    first = on("one", "show", "--view", "functions").stdout
    assert on("two", "show", "--view", "functions").stdout == first
    assert "first-frame" in first or run_id in on("two", "list").stdout


def test_labels_go_both_ways(on: On, tmp_path: Path) -> None:
    run_id = add(on, tmp_path, "one", "gw", BOOTS)
    assert on("two", "label", run_id, "branch=main", "note=a b").returncode == 0
    assert json.loads(on("one", "label", run_id, "--json").stdout)["labels"] == {
        "branch": "main",
        "note": "a b",
    }
    assert on("one", "label", run_id, "note=").returncode == 0
    assert json.loads(on("two", "label", run_id, "--json").stdout)["labels"] == {"branch": "main"}
    assert ids(on("three", "list", "--label", "branch=main", "--json")) == [run_id]


def test_milestones_that_are_added_later_reach_those_who_have_the_run(on: On, tmp_path: Path) -> None:
    run_id = add(on, tmp_path, "one", "gw", BOOTS)
    assert on("two", "show", run_id).returncode == 0
    done = on("one", "import", "--run", run_id, "--milestone", "up=app: ready")
    assert done.returncode == 0, done.stderr
    assert "up" in on("two", "show", run_id).stdout


def test_a_history_and_a_check_are_of_what_all_recorded(on: On, tmp_path: Path) -> None:
    for computer in ("one", "two", "one"):
        add(on, tmp_path, computer, "gw", BOOTS)
    found = json_of(on("three", "history", "--json"), "history")
    assert len(found["points"]) == 3
    (tmp_path / "bootscope-check.toml").write_text('[history]\nmax_regression = "1 %"\n')
    assert on("three", "check").returncode == 0


def test_a_run_that_is_removed_is_gone_from_the_server(on: On, tmp_path: Path, objects: ObjectStore) -> None:
    run_id = add(on, tmp_path, "one", "gw", BOOTS)
    assert on("two", "rm", run_id).returncode == 0
    assert ids(on("three", "list", "--json")) == []
    # Whoever has it keeps it, and does not send it again.
    done = on("one", "list", "--json")
    assert (ids(done), "sent" in done.stderr) == ([run_id], False)
    objects.refused = {"DELETE", "POST"}
    other = add(on, tmp_path, "one", "gw", BOOTS)
    assert "cannot be removed" in on("one", "rm", other).stderr
    assert other in ids(on("one", "list", "--json"))


def test_what_cannot_be_sent_stays_and_goes_with_the_next_command(
    on: On, tmp_path: Path, objects: ObjectStore
) -> None:
    (tmp_path / "a.log").write_text("[    0.000000] Linux version 6.1.0\n")
    for refused, losing in (({"PUT"}, False), (set(), True)):
        objects.refused, objects.losing = refused, losing
        done = on("one", "import", "a.log", "--json")
        run_id = json.loads(done.stdout)["run_id"]
        assert done.returncode == 3
        assert f"{run_id} is in {store_dir()} and was not sent" in done.stderr
        assert "the next command sends it again" in done.stderr
        assert ("credentials" if refused else "was sent and is not there") in done.stderr
        assert on("one", "show", run_id).returncode == 3  # shown, and not sent again
        objects.refused, objects.losing = set(), False
        assert ids(on("two", "list", "--json")) == []
        assert f"sent {run_id}" in on("one", "list").stderr
        assert ids(on("two", "list", "--json")) == [run_id]
        assert on("two", "rm", run_id).returncode == 0
        assert on("one", "rm", run_id).returncode == 0


def test_an_entry_that_is_lost_is_noticed(on: On, tmp_path: Path, objects: ObjectStore) -> None:
    objects.losing, objects.losing_only = True, ".json"
    (tmp_path / "a.log").write_text("[    0.000000] Linux version 6.1.0\n")
    assert "was sent and is not there" in on("one", "import", "a.log").stderr
    objects.losing = False
    assert "sent" in on("one", "list").stderr


def test_a_server_that_cannot_be_read_is_told_and_what_is_here_is_shown(
    on: On, tmp_path: Path, objects: ObjectStore
) -> None:
    here = add(on, tmp_path, "one", "gw", BOOTS)
    there = add(on, tmp_path, "two", "camera", BOOTS)
    both = sorted([here, there])
    assert ids(on("one", "list", "--json")) == both
    objects.refused = {"GET", "HEAD"}
    done = on("one", "list", "--json")
    assert ids(done) == both
    assert "its list is as it was read last" in done.stderr
    assert "credentials" in done.stderr
    assert on("one", "show", here).returncode == 0
    done = on("one", "show", there)
    assert (done.returncode, "cannot be read" in done.stderr) == (3, True)


def test_an_archive_that_is_damaged_or_gone_is_refused(on: On, tmp_path: Path, objects: ObjectStore) -> None:
    run_id = add(on, tmp_path, "one", "gw", BOOTS)
    (path,) = {path for method, path in objects.asked if method == "PUT" and path.endswith(".bsz")}
    (tmp_path / "x").write_bytes(b"x" * 1000)
    upload(tmp_path / "x", f"s3:/{path}")
    done = on("two", "show", run_id)
    assert (done.returncode, "is not what was sent: its SHA-256 differs" in done.stderr) == (3, True)
    assert not (store_dir() / "runs" / run_id).exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"run_id": "../x"}', "{}"])
def test_an_entry_that_is_none_hides_no_other(
    on: On, tmp_path: Path, objects: ObjectStore, text: str
) -> None:
    run_id = add(on, tmp_path, "one", "gw", BOOTS)
    (tmp_path / "x").write_text(text)
    upload(tmp_path / "x", f"{URL}/runs/20260101-000000-x.json")
    done = on("two", "list", "--json")
    assert ids(done) == [run_id]
    assert "unreadable entries: 20260101-000000-x.json" in done.stderr


def test_an_entry_under_another_name_is_none(on: On, tmp_path: Path) -> None:
    run_id = add(on, tmp_path, "one", "gw", BOOTS)
    entry = Depot(URL, tmp_path / "known").entries()[0][run_id]
    (tmp_path / "x").write_bytes(msgspec.json.encode(entry))
    upload(tmp_path / "x", f"{URL}/runs/20260101-000000-x.json")
    assert ids(on("two", "list", "--json")) == [run_id]


def test_two_runs_of_one_name_are_both_kept(on: On, tmp_path: Path) -> None:
    """As when a copy of a store was moved to another computer, and both went on."""
    run_id = add(on, tmp_path, "one", "gw", BOOTS)
    path = store_dir() / "runs" / run_id
    on("two", "list")
    shutil.copytree(path, store_dir() / "runs" / run_id)
    described = store_dir() / "runs" / run_id / "import.json"
    described.write_bytes(described.read_bytes().replace(b"gw", b"xx", 1))
    done = on("two", "list")
    assert done.returncode == 3
    assert f"the server has another run {run_id}; neither was changed" in done.stderr
    assert "bootscope save" in done.stderr
    assert ids(on("three", "list", "--json")) == [run_id]


def test_the_pages_of_the_server_list_and_show_what_others_recorded(on: On, tmp_path: Path) -> None:
    run_id = add(on, tmp_path, "one", "gw", BOOTS)
    assert on("one", "label", run_id, "product=gw").returncode == 0
    app = application(RemoteStore(tmp_path / "served", URL), frozenset({"localhost"}), None)
    assert "product=gw" in ask(app, "/").text
    assert not (tmp_path / "served" / "runs" / run_id).exists()
    assert ask(app, f"/run/{run_id}").status == 200
    assert (tmp_path / "served" / "runs" / run_id).is_dir()
    while (answer := ask(app, "/history")).status == 503:
        assert "1 of 1 runs are being worked out" in answer.text
    assert answer.status == 200


def test_names_do_not_meet(tmp_path: Path, objects: ObjectStore) -> None:
    stores = [RemoteStore(tmp_path / name, URL, says=lambda _: None) for name in ("one", "two")]
    assert len({store.new_run("stock").name for store in stores for _ in range(5)}) == 10


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://example.org/boots", "cannot be a URL of https: nothing can be written to it"),
        ("memory://boots", "cannot be a URL of memory"),
        ("nosuch://boots", "nosuch"),
        ("s3:/boots", "is neither a folder nor a URL"),
        ("file://boots", "is neither a folder nor a URL"),
    ],
)
def test_a_url_that_cannot_hold_a_store_is_refused(
    main_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, words: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("BOOTSCOPE_STORE", url)
    done = main_here("list")
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_a_file_url_is_a_folder(main_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOTSCOPE_STORE", f"file://{tmp_path}/share")
    run_id = imported(main_here, tmp_path, "gw", BOOTS)
    assert (tmp_path / "share" / "runs" / run_id).is_dir()


def test_a_password_in_the_url_is_not_shown(
    main_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("BOOTSCOPE_STORE", "ftp://me:hidden@127.0.0.1:9/boots")
    done = main_here("list")
    assert "hidden" not in done.stderr + done.stdout
    assert "cannot be read" in done.stderr


def test_a_lost_bucket_is_told(tmp_path: Path, objects: ObjectStore) -> None:
    store = RemoteStore(tmp_path / "one", "s3://nobucket/team", says=lambda _: None)
    run_id = unpack(store)
    with pytest.raises(ToolError):
        store.send(run_id)
    assert store.run_ids() == [run_id]
    with pytest.raises(UserError):
        RemoteStore(tmp_path / "two", "http://example.org", says=lambda _: None)
