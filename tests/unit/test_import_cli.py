# SPDX-License-Identifier: Apache-2.0
"""bootscope import as a user meets it, and imported runs in every verb."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import Any

import pytest

from bootscope.capture.store import Store

from .builders import BOOT, keep_run
from .conftest import Command, Done, Give
from .import_builders import LOG

pytestmark = pytest.mark.usefixtures("formats")


def document(done: Done) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# ---- a good import ----


def test_an_import_says_what_it_read_and_what_is_next(main_here: Command, give: Give, store: Store) -> None:
    give("console.log")
    done = main_here("import", "console.log")
    assert done.returncode == 0, done.stderr
    (run_id,) = store.run_ids()
    stamp = "a stamp is when the first byte of its line came"
    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        "console.log 198 B",
        "  format    a log for tests (stamped); likely (80 of 100); it could also be: other 40",
        f"  clock     host clock, {stamp}, resolution 1 ms, 0 is power on",
        "  read      8 lines: 6 understood (85.7 %), 1 not, 1 empty",
        "            not understood: line 6: what is this?",
        "  question  which clock is it? --option clock=host or clock=kernel",
        "",
        f"stored as {run_id}; next: bootscope show {run_id}",
    ]
    assert run_id.endswith("-console")


def test_the_files_are_kept_unchanged(main_here: Command, give: Give, store: Store) -> None:
    packed = gzip.compress(LOG)
    give("my logs/a b;$(x).gz", packed)
    document(main_here("import", "my logs/a b;$(x).gz", "--json"))
    (kept,) = (store.runs / store.run_ids()[0] / "files").iterdir()
    assert (kept.name, kept.read_bytes()) == ("0001-a-b-x-.gz", packed)


def test_a_dry_run_keeps_nothing(main_here: Command, give: Give, store: Store) -> None:
    give("console.log")
    done = main_here("import", "console.log", "--dry-run")
    assert done.stdout.endswith("nothing was stored (--dry-run)\n")
    assert document(main_here("import", "console.log", "--dry-run", "--json"))["run_id"] is None
    assert store.run_ids() == []


def test_the_json_tells_all(main_here: Command, give: Give) -> None:
    give("console.log")
    found = document(main_here("import", "console.log", "--json", "-o", "rear camera"))
    assert found["kind"] == "import"
    assert found["run_id"].endswith("-rear-camera")
    (file,) = found["files"]
    assert (file["format"], file["told"], file["lines_missed"]) == ("stamped", False, 1)
    assert file["missed"] == [{"line": 6, "text": "what is this?"}]
    assert file["guesses"] == [{"format": "stamped", "sure": 80}, {"format": "other", "sure": 40}]
    (boot,) = found["boots"]
    assert [p["name"] for p in boot["phases"]] == [
        "bootloader",
        "kernel (its first line not seen)",
        "init",
        "application",
    ]
    assert boot["milestones"] == {
        "bootloader": 0, "kernel-start": 1_500_000_000, "init": 2_000_000_000, "login": 4_000_000_000,
    }  # fmt: skip


def test_formats_are_listed(main_here: Command) -> None:
    assert [line.split()[0] for line in main_here("import", "--formats").stdout.splitlines()] == [
        "format", "other", "stamped",
    ]  # fmt: skip
    assert document(main_here("import", "--formats", "--json"))["formats"][1] == {
        "name": "stamped", "title": "a log for tests", "made_by": "echo",
    }  # fmt: skip


def test_standard_input_is_a_file(main_here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LOG)))
    assert document(main_here("import", "-", "--json"))["files"][0]["name"] == "stdin"


# ---- options ----


def test_options_reach_the_reader_and_are_kept(main_here: Command, give: Give, store: Store) -> None:
    give("a.log")
    arguments = ["--stamp", "end-of-line", "--option", "clock=kernel", "--milestone", "shell=board login"]
    found = document(main_here("import", "a.log", *arguments, "--json"))
    assert found["files"][0]["boots"][0]["clock"] == "kernel"
    shown = document(main_here("show", "--json"))
    assert shown["milestones"]["shell"] == 4_000_000_000
    assert shown["clock"] == "kernel clock of a.log, 0 is power on"
    given = json.loads((store.runs / store.run_ids()[0] / "import.json").read_bytes())["answers"]
    assert (given["stamps"], given["values"]) == ({"": "end of line"}, {"clock": "kernel"})


def test_an_option_can_be_for_one_file(main_here: Command, give: Give) -> None:
    give("a.log")
    give("sub/b.log")
    found = document(
        main_here(
            "import",
            "a.log",
            "sub/b.log",
            "--stamp",
            "b.log=end-of-line",
            "--format",
            "a.log=other",
            "--json",
        )
    )
    assert [(f["format"], f["told"], f["boots"][0]["stamp"]) for f in found["files"]] == [
        ("other", True, "first byte"),
        ("stamped", False, "end of line"),
    ]


def test_an_offset_joins_two_files(main_here: Command, give: Give) -> None:
    give("a.log")
    give("b.log", b"stamped log\n0.500 other thing\n")
    found = document(main_here("import", "a.log", "b.log", "--offset", "b.log=-0.25", "--json"))
    assert [(x["by"], x["to_ns"]) for x in found["links"]] == [("offset told", -250_000_000)]
    assert len(found["boots"]) == 1
    text = main_here("import", "a.log", "b.log", "--offset", "b.log=-0.25").stdout
    assert (
        "joined on one clock\n  b.log onto a.log: by --offset; its 0 is at -0.250000 s; error as told\n"
        in text
    )


def test_what_cannot_be_joined_stands_side_by_side(main_here: Command, give: Give) -> None:
    give("a.log")
    give("b.log")
    done = main_here("import", "a.log", "b.log")
    assert (
        "2 boots, shown side by side\n  b.log and a.log are not joined: two files of one kind" in done.stdout
    )
    assert "--offset FILE=SECONDS" in done.stdout
    titles = [document(main_here("show", "--boot", str(n), "--json"))["title"] for n in (1, 2)]
    assert titles == ["a.log", "b.log"]


def test_two_boots_in_one_file_are_two_boots(main_here: Command, give: Give) -> None:
    give("a.log", LOG + b"\nagain\n0.000 U-Boot 2025.01 (x)\n9.000 done\n")
    assert "boots     2 boots in one file, separated" in main_here("import", "a.log").stdout
    assert document(main_here("show", "last/2", "--json"))["total_ns"] == 9_000_000_000
    assert document(main_here("list", "--json"))["runs"][0]["boots"] == 2


# ---- archives and folders ----


def test_the_files_of_an_archive_and_of_a_folder_are_read_one_by_one(main_here: Command, give: Give) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as made:
        for name, data in (("logs/a.log", LOG), ("logs/picture.png", b"\x89PNG\r\n\x1a\n\0\0")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    give("logs.tgz", out.getvalue())
    give("folder/b.log", gzip.compress(LOG))
    give("folder/notes.txt", b"nothing of use\n")
    found = document(main_here("import", "logs.tgz", "folder", "--json"))
    assert [f["name"] for f in found["files"]] == ["logs.tgz/logs/a.log", "folder/b.log"]
    assert [item["name"] for item in found["left_out"]] == ["logs.tgz/logs/picture.png", "folder/notes.txt"]
    assert "logs.tgz/logs/picture.png is a picture" in found["left_out"][0]["why"]
    assert len(document(main_here("show", "--json"))["notes"]) == 1
    assert "left out: 2 files (kept, but not read)" in main_here("import", "logs.tgz", "folder").stdout


# ---- what is refused ----


def refused(done: Done, *words: str) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.replace("\n", "").isprintable()
    assert len(done.stderr.splitlines()) <= 2
    for word in words:
        assert word in done.stderr


def test_an_unknown_format_is_described(main_here: Command, give: Give, store: Store) -> None:
    give("a.txt", b"\n(00:00:01) caf\xc3\xa9 \x1b]0;title\x07\n(00:00:02) more\n")
    words = (
        "a.txt has no known format: text (UTF-8), 3 lines, beginning '(00:00:01) café \\x1b]0;title\\x07', "
        "2 of its first lines with a time stamp in brackets: '[00:00:01]'"
    )
    refused(
        main_here("import", "a.txt"),
        words,
        "bootscope import --formats lists what it reads; force one with --format",
    )
    assert store.run_ids() == []


def test_a_file_of_another_program_is_named_with_the_command_that_converts_it(
    main_here: Command, give: Give, store: Store
) -> None:
    give("perf.data", b"PERFILE2" + bytes(200))
    command = "`perf script --ns -i perf.data > perf.txt` makes what bootscope reads"
    refused(main_here("import", "perf.data"), f"perf.data is perf.data of perf: {command}")
    give("trace/kernel/metadata", b"/* CTF 1.8 */")
    give("trace/kernel/channel0_0", b"\xc1\x1f\xfc\xc1")
    refused(
        main_here("import", "trace"),
        "`babeltrace2 --clock-cycles trace > trace.txt` makes what bootscope reads",
    )
    assert store.run_ids() == []


def test_a_file_that_is_not_what_was_told_is_named_with_its_line(main_here: Command, give: Give) -> None:
    give("a.txt", b"hello\n")
    refused(
        main_here("import", "a.txt", "--format", "stamped"),
        "a.txt cannot be read as stamped: line 1: it is not 'stamped log'",
        "leave out --format",
    )


def test_one_bad_file_stops_all_unless_told_to_keep_going(
    main_here: Command, give: Give, store: Store
) -> None:
    give("a.log")
    give("bad.log", b"hello\n")
    refused(main_here("import", "a.log", "bad.log"), "bad.log has no known format")
    assert store.run_ids() == []
    found = document(main_here("import", "a.log", "bad.log", "--keep-going", "--json"))
    assert [item["name"] for item in found["left_out"]] == ["bad.log"]
    assert document(main_here("show", "--json"))["title"] == "a.log"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["import what?"]),
        (["gone.log"], ["cannot read gone.log"]),
        (["a.log", "--format", "nonsense"], ["unknown format 'nonsense'", "other, stamped"]),
        (["a.log", "--stamp", "sometimes"], ["unknown stamp 'sometimes'", "first-byte"]),
        (["a.log", "--stamp", "b.log=first-byte"], ["unknown file 'b.log'", "a.log"]),
        (["a.log", "--option", "clock"], ["not NAME=VALUE: 'clock'"]),
        (["a.log", "--milestone", "=x"], ["not NAME=VALUE"]),
        (["a.log", "--offset", "a.log=soon"], ["not a number of seconds: 'soon'"]),
        (["a.log", "--offset", "a.log=1e9"], ["not a number of seconds"]),
        (["a.log", "--offset", "b.log=1"], ["--offset b.log: no such file in this import", "a.log"]),
        (["a.log", "--offset", "a.log=1"], ["--offset must be against another file"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_what_makes_no_sense_is_refused(
    main_here: Command, give: Give, store: Store, arguments: list[str], words: list[str]
) -> None:
    give("a.log")
    refused(main_here("import", *arguments), *words)
    assert store.run_ids() == []


# ---- imported runs in other verbs ----


def test_imported_runs_stand_beside_recorded_ones(main_here: Command, give: Give, store: Store) -> None:
    recorded = keep_run(store, BOOT, day=1)
    give("a.log")
    imported = document(main_here("import", "a.log", "--json"))["run_id"]
    for _ in range(2):  # from the folder, then from the index
        runs = document(main_here("list", "--json"))["runs"]
        assert [(r["run_id"], r["kind"], r["boots"]) for r in runs] == [
            (recorded, "recorded", 1),
            (imported, "imported", 1),
        ]
    assert "imported" in main_here("list").stdout
    assert document(main_here("show", "a", "--json"))["run_id"] == imported
    assert document(main_here("rm", imported, "--json"))["removed"] == [imported]
    assert store.run_ids() == [recorded]


def test_many_boots_of_one_kind_are_not_told_pair_by_pair(main_here: Command, give: Give) -> None:
    names = [f"boot{n}.log" for n in range(5)]
    for name in names:
        give(name)
    done = main_here("import", *names)
    assert done.stdout.count("are not joined:") == 6
    assert "  and 4 more pairs, which --json lists\n" in done.stdout


def test_show_tells_where_the_time_goes_and_nothing_hostile_gets_through(
    main_here: Command, give: Give
) -> None:
    give("a.log")
    main_here("import", "a.log")
    done = main_here("show")
    assert done.returncode == 0, done.stderr
    assert "[red]world[/red]" in done.stdout
    assert "\x1b" not in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["init", "2.000", "2.000", "50.0", "%", "█" * 30] in lines
    assert ["login", "4.000000", "≥1.0", "ms"] in lines
    assert "2.000 s" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "last/2"], "has no boot 2"),
        (["show", "--board", "cubieboard"], "--board recomputes costs"),
        (["compare", "last", "last/1", "--view", "console"], "--view is for single boots"),
        (["what-if", "last", "quiet"], "was imported; this needs a recording of an emulated board"),
    ],
    ids=lambda value: str(value),
)
def test_what_an_imported_run_cannot_do_is_said(
    main_here: Command, give: Give, arguments: list[str], words: str
) -> None:
    give("a.log")
    main_here("import", "a.log")
    refused(main_here(*arguments), words)
