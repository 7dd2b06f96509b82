# SPDX-License-Identifier: Apache-2.0
"""What a saved file or a copied run must not bring into a store: names that no file can have, objects that
nobody checked, figures that somebody else computed."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.capture import record
from bootscope.capture.imported import Answers, ImportInfo, KeptFile, raw_files, read_import
from bootscope.capture.loading import load
from bootscope.capture.measured import PINS, PinCapture
from bootscope.capture.saving import save
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.importing.pin_correlation import kept_pins

from .builders import BOOT, keep_run
from .conftest import Command
from .real_boards import keep_measured
from .test_serve_pages import worked_out
from .test_sharing import RUN, archive, honest, listing

LOG = b"[    0.000000] Linux version 6.12.1\n[    1.500000] Run /sbin/init as init process\n"
NO_NAMES = ["a\0b", "", "..", "../run.json", "/etc/passwd", "a\x1b[31m"]
Keep = Callable[[str], str]


@pytest.fixture
def keep(store: Store) -> Keep:
    """Stores an import whose description calls its file by a name, which the file does not have."""

    def kept(stored: str) -> str:
        run = store.new_run("log")
        (run / "files").mkdir()
        (run / "files/0001-boot.log").write_bytes(LOG)
        file = KeptFile(
            name="boot.log",
            folder="",
            stored=stored,
            sha256=hashlib.sha256(LOG).hexdigest(),
            size_bytes=len(LOG),
        )
        info = ImportInfo(
            run_id=run.name,
            created="2026-11-21T12:00:00+00:00",
            bootscope="0.1.0",
            name="log",
            files=(file,),
            answers=Answers(),
            boots=1,
        )
        record.write_json(run / "import.json", info)
        return run.name

    return kept


@pytest.mark.parametrize("stored", NO_NAMES)
def test_an_import_that_names_no_file_of_its_own_is_not_loaded(
    store: Store, keep: Keep, tmp_path: Path, stored: str
) -> None:
    save(store, [keep(stored)], tmp_path / "x.bsz")
    other = Store(tmp_path / "other")
    with pytest.raises(UserError, match=r"import\.json names '.*', which is not a file of a run") as error:
        load(other, tmp_path / "x.bsz")
    assert error.value.message.isprintable()
    assert other.run_ids() == []


def test_an_import_that_names_its_files_is_loaded(store: Store, keep: Keep, tmp_path: Path) -> None:
    run = keep("0001-boot.log")
    save(store, [run], tmp_path / "x.bsz")
    other = Store(tmp_path / "other")
    assert load(other, tmp_path / "x.bsz").loaded == (run,)
    assert raw_files(other.runs / run, read_import(other.runs / run))[0].data == LOG


@pytest.mark.parametrize("stored", NO_NAMES)
def test_such_an_import_in_the_store_is_an_error_and_hides_no_run(
    main_here: Command, store: Store, keep: Keep, stored: str
) -> None:
    good, bad = keep_run(store, BOOT), keep(stored)
    with pytest.raises(UserError, match=r"cannot be read|has changed since") as error:
        raw_files(store.runs / bad, read_import(store.runs / bad))
    assert error.value.message.isprintable()
    done = main_here("list")
    assert done.returncode == 0
    assert good in done.stdout
    assert bad in done.stdout
    found = {known.run.run_id: known.figure for known in worked_out(store)}
    assert found[good] is not None
    assert found[bad] is None


def test_a_pin_capture_under_no_name_is_not_loaded_and_not_read(store: Store, tmp_path: Path) -> None:
    run = keep_measured(store, [list(enumerate(b"login: ", start=10_000_000))])
    boot = store.runs / run / "boots/001"
    record.write_json(boot / PINS, PinCapture(command=("x",), file="a\0b"))
    (note,) = kept_pins(boot).notes
    assert "cannot be read" in note
    save(store, [run], tmp_path / "x.bsz")
    with pytest.raises(UserError, match="names a file outside of it"):
        load(Store(tmp_path / "other"), tmp_path / "x.bsz")


@pytest.mark.parametrize(
    "name", ["figure.json", "recording.lock", "boots/001/records.bin", "boots/001/pins-read.bin"]
)
def test_a_file_that_brings_what_is_computed_from_the_recording_is_refused(store: Store, name: str) -> None:
    """Every verb would take it for its own."""
    members = [*honest(), (f"runs/{RUN}/{name}", b"{}")]
    (store.root / "x.bsz").write_bytes(archive(listing(members), members))
    with pytest.raises(UserError, match=f"{name}' is not a file of a run"):
        load(store, store.root / "x.bsz")
    assert store.run_ids() == []


@pytest.mark.parametrize("copy", [shutil.copy, shutil.copy2])
def test_the_figures_in_a_copied_run_are_computed_again(
    main_here: Command, store: Store, tmp_path: Path, copy: Callable[[str, str], str]
) -> None:
    run = keep_run(store, BOOT)
    found = json.loads(main_here("list", "--json").stdout)["runs"]
    theirs = tmp_path / "theirs"
    (store.runs / run).rename(theirs)
    told = json.loads((theirs / "figure.json").read_text())
    (theirs / "figure.json").write_text(json.dumps({**told, "median_ns": 1}))
    shutil.copytree(theirs, store.runs / run, copy_function=copy)
    assert found[0]["median_ns"] > 1
    assert json.loads(main_here("list", "--json").stdout)["runs"] == found
    assert json.loads((store.runs / run / "figure.json").read_text())["median_ns"] == found[0]["median_ns"]
