# SPDX-License-Identifier: Apache-2.0
"""`bootscope save` and `load`: runs reach another computer as they were; a file of runs is never believed."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest

from bootscope.capture import labels, record, saved
from bootscope.capture.saved import Contents, SavedFile, SavedRun
from bootscope.capture.store import Store
from bootscope.core import zstd
from bootscope.core.errors import UserError

from ..fixtures.stock_boot import unpack
from .builders import BOOT, boot_info, keep_run, run_info, stream_file
from .conftest import Command
from .real_boards import keep_measured
from .test_cli import assert_refused
from .test_cli_verbs import json_of
from .test_labels import files

LOG = (
    "U-Boot SPL 2025.01\n[    0.000000] Linux version 6.1.0\n[    1.500000] Run /sbin/init as init process\n"
)
CONSOLE = list(enumerate(b"U-Boot SPL 2025.01\r\n\r\nproduct login: ", start=10_000_000))


@pytest.fixture
def other(tmp_path: Path) -> Store:
    """The store of another computer."""
    return Store(tmp_path / "other")


@pytest.fixture
def there(main_here: Command, monkeypatch: pytest.MonkeyPatch, other: Store) -> Command:
    """The command on the other computer."""

    def run(*arguments: str | Path) -> object:
        with monkeypatch.context() as inside:
            inside.setenv("BOOTSCOPE_STORE", str(other.root))
            return main_here(*arguments)

    return run  # type: ignore[return-value]


def kinds(store: Store, main_here: Command, tmp_path: Path) -> list[str]:
    """A run of each kind: recorded (with symbols), measured, imported."""
    (tmp_path / "boot.log").write_text(LOG)
    imported = json_of(main_here("import", tmp_path / "boot.log", "--json"), "import")["run_id"]
    return [unpack(store), keep_measured(store, [CONSOLE] * 3), imported]


def test_runs_of_every_kind_tell_the_same_on_another_computer(
    main_here: Command, there: Command, store: Store, other: Store, tmp_path: Path
) -> None:
    ids = kinds(store, main_here, tmp_path)
    store.label(ids[0], {"branch": "main", "note": "so ist das"})
    shown = {run: main_here("show", run, "--json").stdout for run in ids}
    listed = json_of(main_here("list", "--json"), "list")["runs"]
    done = json_of(main_here("save", *ids, "-o", "runs.bsz", "--json"), "save")
    assert done["runs"] == sorted(ids)
    assert done["bytes"] == (tmp_path / "runs.bsz").stat().st_size < done["unpacked_bytes"]
    loaded = json_of(there("load", "runs.bsz", "--json"), "load")
    assert (loaded["loaded"], loaded["same"], loaded["differ"]) == (sorted(ids), [], [])
    assert {run: there("show", run, "--json").stdout for run in ids} == shown
    assert json_of(there("list", "--json"), "list")["runs"] == listed
    assert labels.read(other.runs / ids[0]) == {"branch": "main", "note": "so ist das"}
    assert not list(other.root.glob(".loading-*"))


def test_the_same_runs_give_the_same_bytes_which_tar_reads(
    main_here: Command, there: Command, store: Store, tmp_path: Path
) -> None:
    ids = kinds(store, main_here, tmp_path)
    for run in ids:  # what is made again does not count
        main_here("show", run)
    main_here("save", "--all", "-o", "one.bsz")
    main_here("save", *reversed(ids), "-o", "two.bsz")
    there("load", "one.bsz")
    there("save", "--all", "-o", "three.bsz")
    first, second, third = (Path(tmp_path / f"{name}.bsz").read_bytes() for name in ("one", "two", "three"))
    assert first == second == third
    with tarfile.open(fileobj=io.BytesIO(zstd.module().decompress(first))) as opened:
        names = opened.getnames()
    assert names[0] == saved.CONTENTS
    assert {name.split("/")[1] for name in names if name.startswith("runs/")} == set(ids)
    assert not [name for name in names if "figure.json" in name or "/index/" in name]


def test_nothing_is_overwritten(
    main_here: Command, there: Command, store: Store, other: Store, tmp_path: Path
) -> None:
    same, differs, new = (keep_run(store, BOOT, day=day) for day in (20, 21, 22))
    assert main_here("save", "--all", "-o", "runs.bsz").returncode == 0
    assert_refused(main_here("save", same, "-o", "runs.bsz"), "runs.bsz exists already", "another name")
    assert_refused(main_here("save", same, "-o", "gone/x.bsz"), "there is no folder gone", "mkdir -p gone")
    there("load", "runs.bsz", same)
    other.label(same, {"note": "mine"})
    assert keep_run(other, BOOT[:-1], day=21) == differs
    before = files(other.runs)
    done = there("load", "runs.bsz")
    assert done.returncode == 2
    assert f"loaded {new}" in done.stdout
    assert f"already here: {same}" in done.stdout
    assert f"different content, and unchanged: {differs}" in done.stderr
    after = files(other.runs)
    assert {name: after[name] for name in before} == before
    assert labels.read(other.runs / same) == {"note": "mine"}
    assert json_of(there("load", "runs.bsz", new, "--json"), "load")["same"] == [new]


def test_some_of_the_store_is_saved_by_label_and_not_what_grows_or_is_damaged(
    main_here: Command, store: Store
) -> None:
    first, second, damaged = (keep_run(store, BOOT, day=day) for day in (20, 21, 22))
    (store.runs / damaged / "run.json").write_text("{")
    store.label(second, {"branch": "main"})
    done = main_here("save", "--all", "-o", "all.bsz", "--json")
    assert json_of(done, "save")["runs"] == [first, second]
    assert f"left out {damaged}: it is damaged" in done.stderr
    some = main_here("save", "--all", "--label", "branch=main", "-o", "some.bsz", "--json")
    assert json_of(some, "save")["runs"] == [second]
    with store.recording(second):
        assert_refused(main_here("save", second, "-o", "x.bsz"), "is being recorded")
    assert_refused(main_here("save", "-o", "x.bsz"), "which runs?")
    assert_refused(main_here("save", "--all", first, "-o", "x.bsz"), "which runs?")
    assert_refused(main_here("save", first, "--label", "a", "-o", "x.bsz"), "--label chooses")
    none = main_here("save", "--all", "--label", "a", "-o", "x.bsz")
    assert (none.returncode, "no run to save" in none.stderr) == (2, True)


def test_a_run_that_the_file_does_not_have_is_told(main_here: Command, there: Command, store: Store) -> None:
    run = keep_run(store, BOOT)
    main_here("save", run, "-o", "runs.bsz")
    assert_refused(there("load", "runs.bsz", run[:-1]), f"did you mean {run}?")
    assert_refused(there("load", "none.bsz"), "none.bsz cannot be read: No such file")


# ---- hostile files ----

RUN = "20261121-120000-test"
Members = list[tuple[str, bytes]]


def honest() -> Members:
    """The files of a run."""
    described = msgspec.json.encode(run_info(RUN))
    boot = msgspec.json.encode(boot_info(RUN))
    own = [
        ("boots/001/boot.json", boot),
        ("boots/001/stream.bin", stream_file(BOOT)),
        ("run.json", described),
    ]
    return [(f"runs/{RUN}/{name}", data) for name, data in own]


def listing(members: Members, run_id: str = RUN, schema: int = saved.SCHEMA) -> bytes:
    """The list of such files."""
    told = [SavedFile(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in members]
    objects = tuple(f for f in told if f.name.startswith("objects/"))
    rest = tuple(f for f in told if not f.name.startswith("objects/"))
    run = SavedRun(run_id=run_id, files=rest)
    return msgspec.json.encode(Contents(bootscope="0.1.0", schema=schema, objects=objects, runs=(run,)))


def archive(list_of: bytes, members: Iterable[tuple[str, bytes] | tarfile.TarInfo]) -> bytes:
    """An archive with that list and these members."""
    out = io.BytesIO()
    for member in [(saved.CONTENTS, list_of), *members]:
        if isinstance(member, tarfile.TarInfo):
            out.write(member.tobuf(tarfile.USTAR_FORMAT))
        else:
            name, data = member
            out.write(saved.header(name, len(data)) + data + bytes(saved.padding(len(data))))
    packed: bytes = zstd.module().compress(out.getvalue() + bytes(1024))
    return packed


def of_members(change: Callable[[Members], Members]) -> bytes:
    members = change(honest())
    return archive(listing(members), members)


def renamed(to: str) -> bytes:
    return of_members(lambda m: [(to, m[0][1]), *m[1:]])


def with_run(**changed: object) -> bytes:
    """An archive whose run's description says something else."""
    described = msgspec.json.encode(msgspec.structs.replace(run_info(RUN), **changed))
    return of_members(lambda m: [*m[:2], (m[2][0], described)])


def linked(kind: bytes) -> bytes:
    info = tarfile.TarInfo(honest()[0][0])
    info.type, info.linkname = kind, "/etc/passwd"
    return archive(listing(honest()), [info, *honest()[1:]])


def bomb() -> bytes:
    members = [*honest(), (f"runs/{RUN}/boots/001/zeros.bin", bytes(300 << 20))]
    return archive(listing(members), members)


def object_of(data: bytes, name: str, named: bool = True) -> bytes:
    """An archive with an object that the run names, or only the list does."""
    facts = msgspec.structs.replace(run_info(RUN).system, symbols={"kernel": name} if named else {})
    described = msgspec.json.encode(msgspec.structs.replace(run_info(RUN), system=facts))
    members = [(f"objects/{name}.gz", data), *honest()[:2], (f"runs/{RUN}/run.json", described)]
    told = msgspec.json.decode(listing(members), type=Contents)
    run = msgspec.structs.replace(told.runs[0], objects=(name,))
    return archive(msgspec.json.encode(msgspec.structs.replace(told, runs=(run,))), members)


GOOD = archive(listing(honest()), honest())
A64 = "a" * 64
HOSTILE: dict[str, tuple[bytes, str]] = {
    "no archive": (b"U-Boot SPL 2025.01\n", "was not written by bootscope save"),
    "empty": (b"", "was not written by bootscope save"),
    "another tar": (zstd.module().compress(bytes(2048)), "was not written by bootscope save"),
    "a list that is no list": (archive(b"[1, 2]", []), "its list of files cannot be read"),
    "a list of another kind": (archive(b'{"kind": "baseline"}', []), "its list of files cannot be read"),
    "deep list": (archive(b"[" * 100_000, []), "its list of files cannot be read"),
    "newer": (archive(listing(honest(), schema=2), honest()), "it has schema 2, newer than"),
    "newer run": (with_run(schema=99), "has schema 99, newer than this bootscope reads"),
    "cut off": (GOOD[:-20], "it is cut off"),
    "damaged": (GOOD[:60] + bytes(8) + GOOD[68:], "is refused"),
    "absolute": (renamed("/etc/cron.d/x"), "'/etc/cron.d/x' is not a file of a run"),
    "upwards": (renamed(f"runs/{RUN}/../../x.json"), "is not a file of a run"),
    "upwards inside": (renamed(f"runs/{RUN}/boots/../boot.json"), "is not a file of a run"),
    "into another run": (renamed("runs/20261121-120000-mine/run.json"), "is not a file of a run"),
    "hidden": (renamed(f"runs/{RUN}/.bashrc"), "is not a file of a run"),
    "a newline": (renamed(f"runs/{RUN}/a\nb"), "a\\nb' is not a file of a run"),
    "a run upwards": (archive(listing(honest(), run_id=".."), honest()), "'..' is not a run id"),
    "twice": (of_members(lambda m: [m[0], *m]), "its list of files has"),
    "symbolic link": (linked(tarfile.SYMTYPE), "something else than"),
    "hard link": (linked(tarfile.LNKTYPE), "something else than"),
    "device": (linked(tarfile.CHRTYPE), "something else than"),
    "folder": (linked(tarfile.DIRTYPE), "something else than"),
    "more than is listed": (archive(listing(honest()), [*honest(), ("x", b"y")]), "between its files"),
    "less than is listed": (archive(listing(honest()), honest()[:-1]), "something else than"),
    "other order": (archive(listing(honest()), honest()[::-1]), "something else than"),
    "other bytes": (
        archive(listing(honest()), [(n, d[:-1] + b"?") for n, d in honest()]), "(its SHA-256 differs)"
    ),
    "bomb": (bomb(), "bytes would unpack to 31"),
    "no description": (of_members(lambda m: m[:2]), "has 0 descriptions"),
    "two descriptions": (
        of_members(lambda m: [*m, (f"runs/{RUN}/import.json", b"{}")]), "has 2 descriptions"
    ),
    "description of another run": (with_run(run_id="20261121-120000-mine"), "is of another run"),
    "damaged description": (
        of_members(lambda m: [*m[:2], (m[2][0], b"{")]), "run.json cannot be read"
    ),
    "damaged labels": (of_members(lambda m: [*m, (f"runs/{RUN}/labels.json", b"{")]), "cannot be read"),
    "an object that is another": (object_of(gzip.compress(b"x"), A64), "is not what its name says"),
    "an object that is damaged": (object_of(b"\x1f\x8b", A64), "is not what its name says"),
    "an object that the run does not name": (
        object_of(gzip.compress(b"x"), A64, named=False), "brings object aaaaaaaaaaaa, which it does not name"
    ),
    "an object that is not there": (
        with_run(system=msgspec.structs.replace(run_info(RUN).system, symbols={"kernel": A64})), "is missing"
    ),
    "an object elsewhere": (
        with_run(system=msgspec.structs.replace(run_info(RUN).system, symbols={"kernel": "../../x"})),
        "'../../x' is not an object name",
    ),
}  # fmt: skip


def test_what_the_hostile_ones_are_made_of_is_loaded(there: Command, other: Store, tmp_path: Path) -> None:
    (tmp_path / "x.bsz").write_bytes(GOOD)
    assert there("load", "x.bsz").returncode == 0
    assert other.run_ids() == [RUN]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_and_leaves_nothing(
    there: Command, store: Store, other: Store, tmp_path: Path, name: str
) -> None:
    data, words = HOSTILE[name]
    (tmp_path / "x.bsz").write_bytes(data)
    before = {path for path in tmp_path.rglob("*") if path.name != ".loading.lock"}
    assert_refused(there("load", "x.bsz"), words)
    assert {path for path in tmp_path.rglob("*") if path.name != ".loading.lock"} == before
    assert other.run_ids() == []


def test_a_name_that_the_archive_cannot_hold_is_told() -> None:
    with pytest.raises(UserError, match="cannot be saved"):
        saved.header("x" * 300, 1)


def test_a_pin_capture_that_points_elsewhere_is_refused(
    main_here: Command, there: Command, store: Store, tmp_path: Path
) -> None:
    run = keep_measured(store, [CONSOLE])
    pins = store.runs / run / "boots/001/pins.json"
    pins.write_text('{"command": ["x"], "file": "../../../../secret", "schema": 1}')
    main_here("save", run, "-o", "x.bsz")
    assert_refused(there("load", "x.bsz"), "names a file outside of it")
    pins.write_text('{"command": ["x"], "file": "pins.sr", "schema": 1}')
    main_here("save", run, "-o", "y.bsz")
    assert there("load", "y.bsz").returncode == 0


def test_what_a_killed_load_left_goes_with_the_next(
    main_here: Command, there: Command, store: Store, other: Store
) -> None:
    main_here("save", keep_run(store, BOOT), "-o", "x.bsz")
    (other.root / ".loading-killed/runs").mkdir(parents=True)
    assert there("load", "x.bsz").returncode == 0
    assert not list(other.root.glob(".loading-*/"))


def test_objects_come_along_and_a_run_that_lost_one_is_not_saved(
    main_here: Command, there: Command, store: Store, other: Store
) -> None:
    run = keep_run(store, BOOT)
    name = store.keep_object(b"symbols")
    facts = msgspec.structs.replace(run_info(run).system, symbols={"kernel": name})
    record.write_json(store.runs / run / "run.json", msgspec.structs.replace(run_info(run), system=facts))
    main_here("save", run, "-o", "x.bsz")
    assert there("load", "x.bsz").returncode == 0
    assert other.object(name) == b"symbols"
    (store.root / f"objects/{name}.gz").unlink()
    done = main_here("save", run, "-o", "y.bsz")
    assert done.returncode == 3
    assert f"which run {run} needs" in done.stderr
    assert store.run_ids() == [run]
