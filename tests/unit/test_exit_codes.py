# SPDX-License-Identifier: Apache-2.0
"""The exit codes as documented: 0 fine, 1 a bug, 2 the user's to mend, 3 board or tool, 130 interrupted."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from bootscope.capture.record import write_json
from bootscope.capture.store import Store
from bootscope.cli.main import show_error
from bootscope.cli.runs import List
from bootscope.core.errors import UserError

from ..fixtures.stock_boot import unpack
from .conftest import Command, Write
from .lab_scenes import boot, keep, run_of_stock, stock
from .real_boards import keep_measured

WHOLE, CUT, MEASURED, FEW = "-stock", "-test", "desk~1", "desk"

CODES: list[tuple[int, str, str]] = [
    (0, WHOLE, '"first-frame" = "20 s"'),
    (0, WHOLE, '"phase kernel" = "20 s"'),
    (3, WHOLE, '"first-frame" = "1 ms"'),
    (2, WHOLE, '"frist-frame" = "20 s"'),
    (2, WHOLE, '"phase kernl" = "20 s"'),
    (2, WHOLE, '"first-frame" = 20'),
    (2, WHOLE, '"first-frame" = "20"'),
    (2, WHOLE, "first-frame 20"),
    # A run that came to no end: what it may have had is missed, what it cannot have is mistyped.
    (3, CUT, '"first-frame" = "20 s"'),
    (3, CUT, '"app-ready" = "20 s"'),
    (3, CUT, '"phase kernel" = "20 s"'),
    (2, CUT, '"frist-frame" = "20 s"'),
    (2, CUT, '"phase kernl" = "20 s"'),
    (2, CUT, '"first-frame" = 20'),
    (3, MEASURED, '"login" = "20 s"'),
    (3, MEASURED, '"kernel-entry" = "20 s"'),
    (3, MEASURED, '"phase kernel" = "20 s"'),
    (2, MEASURED, '"logni" = "20 s"'),
    (2, FEW, '"login" = "20 s"'),
]


@pytest.fixture
def there(store: Store) -> dict[str, str]:
    """Runs: a whole one, one whose boot was cut off, three boots of a real board that were, and one boot."""
    stock = unpack(store)
    cut = keep(store, boot().records[:30], ended="hang")
    heard = list(enumerate(b"U-Boot SPL 2025.01\r\n\r\nproduct login: ", start=10_000_000))
    boots = [heard] * 3
    return {
        WHOLE: stock,
        CUT: cut,
        MEASURED: keep_measured(store, boots, ended="timeout"),
        FEW: keep_measured(store, boots[:1]),
    }


@pytest.mark.parametrize(("code", "run", "budget"), CODES, ids=[f"{r} {b}: {c}" for c, r, b in CODES])
def test_the_exit_code_of_a_check_says_who_is_to_act(
    main_here: Command, there: dict[str, str], tmp_path: Path, code: int, run: str, budget: str
) -> None:
    (tmp_path / "bootscope-check.toml").write_text(f"[budget]\n{budget}\n")
    done = main_here("check", there[run])
    assert done.returncode == code, (done.stdout, done.stderr)
    assert main_here("check", there[run], "--json").returncode == code


def test_what_was_meant_is_named_for_a_run_that_came_to_no_end(
    main_here: Command, there: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "bootscope-check.toml").write_text('[budget]\n"frist-frame" = "20 s"\n')
    done = main_here("check", there[CUT])
    assert "unknown milestone or phase (budget) 'frist-frame'" in done.stderr
    assert "did you mean first-frame?" in done.stderr
    assert done.stdout == ""


def test_a_check_without_a_name_is_of_the_run_that_failed_last(
    main_here: Command, store: Store, write: Write, tmp_path: Path
) -> None:
    """An older run that was good is not checked, and is no baseline, in its place."""
    good = keep(store, boot().records)
    failed = keep(store, boot().records[:30], ended="died")
    write('[budget]\n"phase kernel" = "20 s"\n')
    done = main_here("check")
    assert (done.returncode, done.stdout.split(",")[0], done.stderr) == (3, failed, "")
    done = main_here("check", "--save-baseline", "base.json")
    assert (done.returncode, (tmp_path / "base.json").exists()) == (2, False)
    assert f"run {failed} has no complete boot" in done.stderr
    # The name `last` is of complete runs, and says which it passes over.
    done = main_here("check", "last")
    assert (done.returncode, done.stdout.split(",")[0]) == (0, good)
    assert f"skipped {failed}: ended by died" in done.stderr


def test_a_check_without_a_name_passes_over_what_is_being_recorded(
    main_here: Command, store: Store, write: Write
) -> None:
    write('[budget]\n"first-frame" = "20 s"\n')
    assert "no boot has been recorded" in main_here("check").stderr
    failed = keep(store, boot().records[:30], ended="died")
    run_id = store.new_run_id("stock", datetime(2026, 11, 22, 12, 0, 0))
    with store.recording(run_id) as path:
        write_json(path / "run.json", run_of_stock(store, run_id, stock().system))
        done = main_here("check")
    assert (done.returncode, done.stdout.split(",")[0]) == (3, failed)
    assert f"skipped {run_id}: it is being recorded" in done.stderr


OTHERS: list[tuple[int, list[str]]] = [
    (0, ["list"]),
    (0, ["--help"]),
    (0, ["record", "--help"]),
    (2, ["shwo"]),
    (2, ["show", "nonsense"]),
    (2, ["record", "stock", "--power-on", "x"]),
    (2, ["record", "--board", "gone.toml"]),
    (3, ["record", "--board", "serial:/dev/no-such-port"]),
    (2, ["compare", "last", "last"]),
    (2, ["system", "show", "x" * 300]),
    (2, ["show", "x" * 300]),
    (2, ["record", "x" * 300]),
    (2, ["import", "x" * 300]),
    (2, ["audit", "x" * 300]),
    (2, ["image", "x" * 300, "--board", "virt-arm64"]),
    (2, ["check", "-f", "x" * 300]),
]


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(("code", "words"), OTHERS, ids=[" ".join(w)[:40] for _, w in OTHERS])
def test_other_exit_codes(bootscope: Command, code: int, words: list[str]) -> None:
    assert bootscope(*words).returncode == code


@pytest.mark.parametrize(
    ("on", "off", "words"),
    [
        ("./on 'x", "./off", "--power-on: No closing quotation: ./on 'x"),
        ("./on", "'", "--power-off: No closing quotation: '"),
        (" ", "./off", "--power-on: expected a command"),
        ("", "", "--power-on: expected a command"),
        ("./on", "''", "--power-off: expected a command"),
    ],
)
def test_a_command_that_switches_power_is_refused_when_it_is_invalid(
    main_here: Command, on: str, off: str, words: str
) -> None:
    done = main_here("record", "--board", "serial:/dev/x", "--power-on", on, "--power-off", off)
    assert (done.returncode, done.stderr.startswith(f"bootscope: {words}")) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (1, ZeroDivisionError("x"), "this is a bug"),
        (1, OSError(5000, "odd"), "this is a bug"),
        (130, KeyboardInterrupt(), "interrupted"),
        (3, OSError(28, "No space left on device", "/x"), "hint: recordings are in "),
        (2, OSError(36, "Too long", "/x/" + "n" * 300), f": {'n' * 60}... (300 characters): Too long"),
        (3, PermissionError(13, "Permission denied", "/x"), "/x: Permission denied"),
    ],
    ids=repr,
)
def test_what_a_verb_raises_becomes_a_code(
    main_here: Command, monkeypatch: pytest.MonkeyPatch, code: int, error: BaseException, words: str
) -> None:
    def fails(self: List, args: object) -> int:
        raise error

    monkeypatch.setattr(List, "run", fails)
    done = main_here("list")
    assert done.returncode == code
    assert words in done.stderr


def test_an_error_that_quotes_an_image_does_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    quoted = "conf\x1b]0;owned\x07\u202e"
    assert show_error(UserError(f"no kernel: {quoted}\nin two\tlines", hint=f"{quoted}\nname one")) == 2
    told = capsys.readouterr().err
    assert told.splitlines() == [
        r"bootscope: no kernel: conf\x1b]0;owned\x07\u202e",
        "in two  lines",
        r"  hint: conf\x1b]0;owned\x07\u202e",
        "name one",
    ]
