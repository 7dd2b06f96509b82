# SPDX-License-Identifier: Apache-2.0
"""`bootscope list` shows the runs that are asked for, `rm --failed` removes those that are of no use."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest

from bootscope.capture import record
from bootscope.capture.record import BootEnd
from bootscope.capture.store import Store
from bootscope.cli.runs import moment

from .builders import BOOT, boot_info, keep_run, run_info
from .conftest import Command
from .test_cli import assert_refused
from .test_cli_verbs import json_of


def keep(store: Store, day: int, ended: BootEnd = BootEnd.MILESTONE, short: bool = False) -> str:
    """A run of that day, of which one boot ended so."""
    run_id = keep_run(store, BOOT[:-1] if short else BOOT, day=day)
    run = msgspec.structs.replace(run_info(run_id), created=f"2026-11-{day}T12:00:00+00:00")
    record.write_json(store.runs / run_id / record.RUN, run)
    boot = msgspec.structs.replace(boot_info(run_id, 1), ended=ended)
    record.write_json(store.runs / run_id / "boots/001" / record.BOOT, boot)
    return run_id


def test_the_list_is_of_the_runs_that_are_asked_for(main_here: Command, store: Store) -> None:
    ids = [keep(store, 20), keep(store, 21, short=True), keep(store, 22)]

    def listed(*words: str) -> list[str]:
        return [run["run_id"] for run in json_of(main_here("list", *words, "--json"), "list")["runs"]]

    first = json_of(main_here("list", "--json"), "list")["runs"][0]
    assert listed("--board", first["board"], "--system", first["system"], "--kind", "recorded") == ids
    assert listed("--kind", "imported") == listed("--board", "other") == listed("--since", "1h") == []
    assert listed("--since", "2026-11-21") == ids[1:]
    assert listed("--top", "1") == ids[-1:]
    assert listed("--sort", "median", "--top", "2") == ids[:2]
    assert "... and 1 more: --top 3" in main_here("list", "--sort", "median", "--top", "2").stdout
    assert "... and 2 older: --top 3" in main_here("list", "--top", "1").stdout
    assert main_here("list", "--kind", "imported").stdout.startswith("none of the 3 runs matches")
    assert_refused(main_here("list", "--since", "soon"), "--since soon is not a date or time", "3d")
    assert_refused(main_here("list", "--sort", "mediam"), "unknown column 'mediam'", "did you mean median?")


def test_runs_that_failed_are_removed_together_and_only_those(main_here: Command, store: Store) -> None:
    good, bad = keep(store, 20), keep(store, 21, BootEnd.HANG)
    damaged = keep(store, 22)
    (store.runs / damaged / "run.json").write_text("{")
    assert main_here("rm", "--failed", "--dry-run").stdout == f"would remove {bad}\n"
    assert store.run_ids() == [good, bad, damaged]
    assert json_of(main_here("rm", "--failed", "--json"), "rm")["removed"] == [bad]
    # Of a damaged one nobody can tell.
    assert store.run_ids() == [good, damaged]
    assert main_here("rm", "--failed").stdout == "nothing to remove\n"
    assert_refused(main_here("rm", "--failed", "last"), "--failed finds the runs", "")


NOW = datetime.fromisoformat("2026-11-24T13:00:00").astimezone()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("2026-11-20", "2026-11-20T00:00"),
        ("2026-11-20 14:30", "2026-11-20T14:30"),
        ("today", "2026-11-24T00:00"),
        ("yesterday", "2026-11-23T00:00"),
        ("30m", "2026-11-24T12:30"),
        ("3d", "2026-11-21T13:00"),
        ("2w", "2026-11-10T13:00"),
    ],
)
def test_a_moment_is_a_date_or_so_long_ago(words: str, found: str) -> None:
    assert moment(words, NOW) == datetime.fromisoformat(found).astimezone()
