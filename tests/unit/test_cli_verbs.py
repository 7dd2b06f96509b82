# SPDX-License-Identifier: Apache-2.0
"""The verbs as a user meets them: help, JSON, and all that works without a build."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bootscope import __version__
from bootscope.capture.store import Store
from bootscope.cli import complete
from bootscope.cli.parsers import verb_parser
from bootscope.cli.verbs import GROUPS, VERBS

from .builders import BOOT, environment, keep_run
from .conftest import Command, Done

NAMES = list(VERBS)


def json_of(done: Done, kind: str, schema: int = 1) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(done.stdout)
    assert (document["schema"], document["kind"]) == (schema, kind)
    return document


@pytest.mark.parametrize("kind", complete.NAMES)
def test_a_shell_can_complete_names_of_every_kind(
    kind: str, store: Store, main_here: Command, tmp_path: Path
) -> None:
    if kind == "trees":
        (tmp_path / "tree/linux").mkdir(parents=True)
        (tmp_path / "tree/linux/.config").write_text("# Linux/arm 6.1.0 Kernel Configuration\nCONFIG_ARM=y\n")
        assert main_here("system", "import", "tree", "--as", "mine").returncode == 0
    names = complete.names([kind])
    assert names
    assert all(isinstance(name, str) and name for name in names)


# ---- help ----


@pytest.mark.parametrize("verb", NAMES)
def test_every_verb_has_help_with_an_example(main_here: Command, verb: str) -> None:
    done = main_here(verb, "--help")
    assert done.returncode == 0
    example = done.stdout.splitlines()[-1]
    assert example.startswith("example: ")
    assert f"bootscope {verb}" in example
    assert "--json" in done.stdout


def test_the_help_lists_every_verb_and_says_how_to_begin(bootscope: Command) -> None:
    done = bootscope("--help")
    assert done.returncode == 0
    assert set(re.findall(r"^  ([a-z][a-z-]*) ", done.stdout, re.MULTILINE)) == set(NAMES)
    assert "bootscope record debian" in done.stdout


def test_the_version_is_printed(bootscope: Command) -> None:
    assert bootscope("--version").stdout == f"bootscope {__version__}\n"


# ---- what works without a build ----


def test_an_empty_list_says_how_to_begin(bootscope: Command) -> None:
    assert bootscope("list").stdout == "no runs; start with: bootscope record debian\n"
    assert json_of(bootscope("list", "--json"), "list")["runs"] == []


def test_a_plan_can_be_made_with_nothing_there(bootscope: Command) -> None:
    steps = json_of(bootscope("build", "stock", "--plan", "--json"), "plan")["steps"]
    assert [step["name"] for step in steps[:3]] == ["fetch-uboot", "fetch-linux", "fetch-busybox"]
    assert steps[-1]["name"] == "card"
    assert not any(step["cached"] for step in steps)
    assert all(step["to_do"] for step in steps)


def test_a_plan_says_about_how_long_it_takes(bootscope: Command) -> None:
    found = json_of(bootscope("build", "stock", "--plan", "-j", "1", "--json"), "plan")
    steps, estimate = {step["name"]: step for step in found["steps"]}, found["estimate"]
    assert estimate["builds"] == estimate["elsewhere"] == ["U-Boot", "BusyBox", "the kernel"]
    assert estimate["fetches"] == ["uboot", "linux", "busybox"]
    assert (estimate["bound"], estimate["cores"]) == ("about", 1)
    assert (estimate["unknown"], estimate["continued"]) == ([], [])
    assert estimate["objects"] == sum(step["objects"] or 0 for step in steps.values())
    assert estimate["time_ns"] == sum(step["time_ns"] or 0 for step in steps.values())
    assert steps["kernel"]["objects"] > steps["uboot"]["objects"] > 0
    assert steps["card"]["objects"] is steps["card"]["time_ns"] is steps["fetch-linux"]["time_ns"] is None
    text = bootscope("build", "stock", "--plan", "-j", "1").stdout
    last = " ".join(text[text.index("will build") :].split())
    assert last.startswith(
        "will build U-Boot, BusyBox and the kernel (first fetches uboot, linux and busybox): "
        f"about {estimate['objects']:,} objects, about "
    )
    assert " on 1 core; a first build here" in last


def test_a_build_without_a_network_names_every_place(bootscope: Command) -> None:
    done = bootscope("build", "stock", "--json")
    assert done.returncode == 3
    assert done.stderr.startswith("bootscope: cannot fetch the source of uboot: upstream: ")
    assert "; Debian's archive: " in done.stderr


def test_a_recorded_boot_goes_through_every_verb(bootscope: Command, store: Store, tmp_path: Path) -> None:
    first, second = keep_run(store, BOOT, day=20), keep_run(store, BOOT[:-1], day=21)
    assert [run["run_id"] for run in json_of(bootscope("list", "--json"), "list")["runs"]] == [first, second]
    shown = json_of(bootscope("show", first, "--json"), "show")
    assert [phase["name"] for phase in shown["phases"]] == ["rom", "spl", "bootloader", "load", "kernel"]
    assert "[red]hello[/nonsense] \\x1b[31m" in bootscope("show", first).stdout
    compared = json_of(bootscope("compare", first, "last/1", "--json"), "compare")
    assert compared["total_a_ns"] - compared["total_b_ns"] == 1_000
    assert "faster" in bootscope("compare", first, second).stdout
    detail = bootscope("compare", first, second, "--view", "console").stdout
    assert f"A  {first}/001\nB  {second}/001\n" in detail
    assert "Changes of less than 10 µs are left out." in detail
    written = json_of(bootscope("report", first, second, "-o", "r.html", "--json"), "report")
    assert (tmp_path / "r.html").stat().st_size == written["bytes"]
    removed = json_of(bootscope("rm", first, second, "--json"), "rm")
    assert removed["removed"] == [first, second]
    assert store.run_ids() == []


def test_a_damaged_run_is_listed_and_can_be_removed(main_here: Command, store: Store) -> None:
    good, bad = keep_run(store, BOOT, day=20), keep_run(store, BOOT, day=21)
    (store.runs / bad / "run.json").write_text("{")
    runs = json_of(main_here("list", "--json"), "list")["runs"]
    assert [(run["run_id"], run["ended"]) for run in runs] == [(good, "milestone"), (bad, "damaged")]
    assert main_here("show", bad).returncode == 2
    assert main_here("rm", bad).returncode == 0
    assert store.run_ids() == [good]


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["show"]], ids=" ".join)
def test_a_reader_that_has_seen_enough_is_no_error(
    store: Store, tmp_path: Path, arguments: list[str]
) -> None:
    keep_run(store, BOOT)
    env = environment(BOOTSCOPE_STORE=str(tmp_path / "store"))
    with subprocess.Popen(
        [sys.executable, "-m", "bootscope", *arguments],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout
        assert child.stderr
        child.stdout.close()
        assert (child.stderr.read(), child.wait()) == (b"", 0)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_verbs_are_listed_by_what_they_are_for(
    main_here: Command, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(VERBS)
    monkeypatch.setenv("COLUMNS", str(width))
    listed = main_here("--help").stdout.splitlines()
    assert max(map(len, listed)) <= max(width, 48)
    at = [listed.index(f"{group}:") for group in GROUPS]
    assert at == sorted(at)
    for group, names in GROUPS.items():
        below = listed[listed.index(f"{group}:") + 1 :]
        shown = [
            line.split()[0] for line in below[: below.index("")] if line.startswith("  ") and line[2] != " "
        ]
        assert shown[: len(names)] == list(names)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_two_dashes_are_completed_to_options(shell: str, main_here: Command) -> None:
    line = ("completion", "--line", shell, "--")
    options = [row.partition("\t")[0] for row in main_here(*line, "record", "--").stdout.splitlines()]
    assert {"--board", "--until", "--json"} <= set(options)
    assert all(option.startswith("--") for option in options)
    assert main_here(*line, "record", "--", "stock", "--tim").stdout.startswith("--timeout\t")
    # These are completed, and do not ask for help or JSON of `completion`.
    assert main_here(*line, "record", "--json", "--help").stdout.startswith("--help\t")
    refused = main_here("completion", "bash", "--", "record")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "completion does not take record" in refused.stderr


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_the_help_of_a_verb_fits_80_columns(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for line in verb_parser(verb).format_help().splitlines():
        # What is to be typed is never broken.
        assert len(line) <= 80 or line.startswith("example: ")


def test_a_search_of_hours_begins_only_where_its_result_can_be_written(main_here: Command) -> None:
    done = main_here(
        "bisect", "stock", "--tree", "uboot", ".", "--good", "a", "--bad", "b", "-o", "gone/found.md"
    )
    assert done.returncode == 2
    assert "cannot write gone/found.md: there is no folder gone" in done.stderr
