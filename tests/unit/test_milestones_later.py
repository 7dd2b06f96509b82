# SPDX-License-Identifier: Apache-2.0
"""Milestones of one's own: misspelt ones are noticed, and stored consoles get them afterwards."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from bootscope.capture.store import Store
from tests.fixtures import stock_boot

from .builders import ROOT
from .conftest import Command, Done
from .real_boards import heard, keep_measured, profile, varied

BOOTS = ROOT / "tests" / "fixtures" / "boots"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Ten boots in a file, each of which says `app: ready`."""
    shutil.copy(BOOTS / "before.log", tmp_path)
    (tmp_path / "check.toml").write_text('milestone = "app-ready"\n[budget]\napp-ready = "9 s"\n')
    return tmp_path


def document(done: Done) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_misspelt_milestone_is_told_with_the_lines_that_are_like_it(main_here: Command, logs: Path) -> None:
    done = main_here("import", "before.log", "--milestone", "app-ready=app: raedy")
    assert done.returncode == 0
    assert "milestone app-ready: no line has 'app: raedy'\n  lines like it: app: ready\n" in done.stdout
    found = document(main_here("import", "before.log", "--milestone", "app-ready=app: raedy", "--json"))
    assert found["missing"] == [
        {"name": "app-ready", "text": "app: raedy", "boots": [*range(1, 11)], "similar": ["app: ready"]}
    ]
    right = document(main_here("import", "before.log", "--milestone", "app-ready=app: ready", "--json"))
    assert right["missing"] == []


def test_check_names_the_text_and_not_the_board(main_here: Command, logs: Path) -> None:
    main_here("import", "before.log", "--milestone", "app-ready=app: ready", "-o", "good")
    main_here("check", "good", "--save-baseline", "base.json")
    main_here("import", "before.log", "--milestone", "app-ready=app: raedy", "-o", "typo")
    alone = main_here("check", "typo", "-f", "check.toml")
    assert alone.returncode == 2
    assert "no line has 'app: raedy'; lines like it: app: ready" in alone.stderr
    with (logs / "check.toml").open("a") as f:
        f.write('[baseline]\nfile = "base.json"\nmax_regression = "2 %"\n')
    beside = main_here("check", "typo", "-f", "check.toml", "--json")
    assert beside.returncode == 3
    assert "0 of 10 boots reached app-ready (no line has 'app: raedy'" in beside.stdout


def test_an_import_gets_a_milestone_afterwards(main_here: Command, logs: Path, store: Store) -> None:
    main_here("import", "before.log", "--milestone", "app-ready=app: raedy", "-o", "boots")
    wrong = main_here("import", "--run", "boots", "--milestone", "app-ready=app ready")
    assert wrong.returncode == 2
    assert "nothing was changed" in wrong.stderr
    added = document(main_here("import", "--run", "boots", "--milestone", "app-ready=app: ready", "--json"))
    assert (added["run_id"], added["missing"]) == (store.run_ids()[0], [])
    assert document(main_here("show", "boots", "--json"))["milestones"]["app-ready"] == 5_056_000_000
    assert main_here("check", "boots", "-f", "check.toml").returncode == 0


def test_a_boot_of_a_real_board_gets_one_too(main_here: Command, tmp_path: Path, store: Store) -> None:
    elsewhere = Store(tmp_path / "made")
    run = elsewhere.load(stock_boot.unpack(elsewhere))
    listened = heard(list(run.boots[0].records()), run.info, profile())
    kept = keep_measured(store, [varied(listened, random.Random(n)) for n in (1, 2)])
    before = document(main_here("show", kept, "--json"))["milestones"]
    assert "seeding" not in before
    added = document(
        main_here("import", "--run", kept, "--milestone", "seeding=Seeding the random number", "--json")
    )
    assert added["missing"] == []
    after = document(main_here("show", kept, "--json"))["milestones"]
    assert after.pop("seeding") > after["kernel-entry"]
    assert after == before


def test_a_recording_and_files_are_refused(main_here: Command, logs: Path, store: Store) -> None:
    kept = stock_boot.unpack(store)
    done = main_here("import", "--run", kept, "--milestone", "a=b")
    assert done.returncode == 2
    assert "recording of the emulated board" in done.stderr
    for more in (["before.log", "--milestone", "a=b"], ["--milestone", "a=b", "-o", "x"], []):
        assert main_here("import", "--run", kept, *more).returncode == 2
