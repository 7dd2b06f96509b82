# SPDX-License-Identifier: Apache-2.0
"""Boots that count from different moments, or end at different milestones, are put on common ground."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import msgspec

from bootscope.analysis.ground import common_zero
from bootscope.analysis.samples import MILESTONE, PHASE, WHOLE, BootTimes, Quantity, SampleSet
from bootscope.analysis.significance import against
from bootscope.capture import record
from bootscope.capture.measured import MEASURED, TAP
from bootscope.capture.store import Store
from bootscope.runs.run import sample_set

from . import real_boards

Command = Callable[..., CompletedProcess[str]]
MS = 1_000_000
LOGIN, READY = Quantity(MILESTONE, "login"), Quantity(MILESTONE, "app-ready")
INIT, APPLICATION = Quantity(PHASE, "init"), Quantity(PHASE, "application")
TEXT = (
    b"\r\nU-Boot SPL 2025.01 (Nov 21 2026)\r\n\r\nU-Boot 2025.01 (Nov 21 2026)\r\n\r\nStarting kernel ...\r\n"
    b"[    0.000000] Linux version 6.12.1\r\n[    0.710000] Run /sbin/init as init process\r\nboard login: "
)


def console(late_ns: int = 0, first_ns: int = 300 * MS) -> real_boards.Bytes:
    """A short boot whose first byte comes `first_ns` after power on; `late_ns` later at its end."""
    return [(first_ns + at * 10 * MS + (late_ns if at > 150 else 0), byte) for at, byte in enumerate(TEXT)]


def rewritten(store: Store, run_id: str, number: int, data: bytes) -> None:
    (store.runs / run_id / "boots" / f"{number:03}" / TAP).write_bytes(data)


# ---- zeros ----


def test_what_came_before_power_on_is_no_part_of_the_boot(main_here: Command, store: Store) -> None:
    """Bytes of the boot before made its first byte time zero, which looked more exact than the others."""
    run_id = real_boards.keep_measured(store, [console(n * MS) for n in range(4)])
    early = [(-40 * MS + at * MS, byte) for at, byte in enumerate(b"board login: ")]
    for number in (3, 4):
        rewritten(store, run_id, number, real_boards.capture([*early, *console(number * MS)]))
    found = [json.loads(main_here("show", f"{run_id}/{n}", "--json").stdout) for n in (1, 3)]
    at_ns = [boot["milestones"]["login"] for boot in found]
    assert abs(at_ns[1] - at_ns[0]) < 10 * MS
    assert "power on" in found[1]["clock"]
    assert any("not part of this boot: 13 bytes from before" in note for note in found[1]["notes"])
    shown = main_here("show", run_id).stdout
    assert "had different origins" not in shown


def mixed(store: Store) -> str:
    """A run of four boots of which the last is one that nobody saw being switched on."""
    run_id = real_boards.keep_measured(store, [console(n * MS) for n in range(4)])
    rewritten(store, run_id, 4, real_boards.capture(console(), switched=False))
    return run_id


def test_boots_that_count_from_different_moments_are_counted_from_the_first_line(
    main_here: Command, store: Store
) -> None:
    shown = main_here("show", mixed(store)).stdout
    assert "power on for boots 1, 2, 3; the first byte received for boot 4" in shown
    assert "all now count from the first line" in shown
    row = next(line.split() for line in shown.splitlines() if line.startswith("login "))
    assert row[1] == "4"
    assert float(row[-1]) - float(row[-2]) < 0.010


def test_runs_that_count_from_different_moments_are_compared_from_the_first_line(
    main_here: Command, store: Store
) -> None:
    a = real_boards.keep_measured(store, [console(n * MS) for n in range(4)])
    b = real_boards.keep_measured(store, [console(n * MS) for n in range(4)], switched=False)
    found = json.loads(main_here("compare", a, b, "--json").stdout)
    assert found["goal"]["verdict"] == "no difference shown"
    assert "power on for boots 1, 2, 3, 4 of A; the first byte received" in " ".join(found["notes"])


def test_a_boot_after_the_lines_of_the_system_before_counts_from_its_own_first_line(store: Store) -> None:
    run_id = real_boards.keep_measured(store, [console(n * MS) for n in range(2)], switched=False)
    before = [(at * MS, byte) for at, byte in enumerate(b"reboot: Restarting system\r\n")]
    rewritten(store, run_id, 2, real_boards.capture([*before, *console(first_ns=5_000 * MS)], switched=False))
    first, second = sample_set(store, run_id).boots
    assert (first.zero, second.zero, second.first_ns) == ("the first byte received", "the first line", 0)
    assert abs(second.times[LOGIN] - first.times[LOGIN]) < 25 * MS
    ground = common_zero((sample_set(store, run_id),))
    a, b = ground.sets[0].values(LOGIN)
    assert abs(a - b) < 25 * MS


def test_a_boot_without_times_stays_as_it_is() -> None:
    """It has lines, so the moment of the first one is known, and did not reach its end."""
    good = tuple(
        BootTimes(f"r/{n:03}", {LOGIN: 9 + n, WHOLE: 9 + n}, zero=zero, first_ns=n)
        for n, zero in enumerate("ab", 1)
    )
    died = BootTimes("r/003", {}, False, "the kernel panicked", zero="a", first_ns=3)
    ground = common_zero((SampleSet("r", (*good, died)),))
    assert [boot.times[LOGIN] for boot in ground.sets[0].complete] == [9, 9]
    assert ground.sets[0].boots[2] == died


def test_boots_without_a_known_end_count_from_their_first_line_and_get_no_total() -> None:
    cut = tuple(
        BootTimes(f"r/{n:03}", {LOGIN: 9 + n, INIT: 5}, spans={INIT: ((n, n + 5),)}, zero=zero, first_ns=n)
        for n, zero in enumerate("ab", 1)
    )
    ground = common_zero((SampleSet("r", cut),))
    assert [boot.times for boot in ground.sets[0].boots] == [{LOGIN: 9, INIT: 5}] * 2


def test_where_no_first_line_is_known_there_is_no_verdict() -> None:
    boots = tuple(BootTimes(f"r/{n:03}", {LOGIN: n, WHOLE: n}, zero=zero) for n, zero in enumerate("abab", 1))
    ground = common_zero((SampleSet("r", boots),))
    assert ground.refused == "times have different origins: a for boots 1, 3; b for boots 2, 4"


# ---- ends ----


def boots(run: str, until: str, end_ns: int, rng: random.Random) -> SampleSet:
    made = []
    for number in range(10):
        noise = rng.randrange(5 * MS)
        times = {LOGIN: 3000 * MS + noise, INIT: 1000 * MS + noise}
        spans = {INIT: ((2000 * MS, 3000 * MS + noise),)}
        if end_ns > 3000 * MS:
            times |= {READY: end_ns + noise, APPLICATION: end_ns - 3000 * MS}
            spans |= {APPLICATION: ((3000 * MS + noise, end_ns + noise),)}
        made.append(BootTimes(f"{run}/{number:03}", {**times, WHOLE: end_ns + noise}, spans=spans))
    return SampleSet(run, tuple(made), until=until)


def test_a_run_that_stops_earlier_is_not_faster_for_that() -> None:
    rng = random.Random(1)
    found = against(boots("a", "app-ready", 5000 * MS, rng), boots("b", "login", 3000 * MS, rng))
    assert (found.goal.quantity, found.goal.word) == (LOGIN, "no difference shown")
    assert {str(v.quantity) for v in found.details} == {"phase init", "total"}
    assert {v.word for v in found.details} == {"no difference shown"}
    assert found.notes[0] == (
        "the runs end at different milestones: app-ready (A), login (B); both are cut at login"
    )


def test_runs_without_a_common_milestone_get_no_verdict() -> None:
    def run(name: str, ns: int) -> SampleSet:
        times = {Quantity(MILESTONE, name): ns, WHOLE: ns}
        return SampleSet(name, tuple(BootTimes(f"{name}/{n}", times) for n in range(4)))

    found = against(run("spl", 5), run("login", 9))
    assert found.refused == (
        "the runs end at different milestones: spl (A), login (B), and no milestone is in both"
    )


# ---- the headline ----


def test_the_headline_is_the_milestones_own_figure(main_here: Command, store: Store, tmp_path: Path) -> None:
    """Somebody took 5 s to reach the switch; a stored message of earlier versions holds these, too."""
    run_id = real_boards.keep_measured(store, [console()], switched=False)
    boot = store.load_measured(run_id).boots[0]
    record.write_json(
        boot.path / record.BOOT,
        msgspec.structs.replace(
            boot.info, message="login at 7.787 s; the board started more than once: 2 times spl"
        ),
    )
    assert (store.runs / run_id / MEASURED).exists()
    found = json.loads(main_here("show", run_id, "--json").stdout)
    own_ns = found["milestones"]["login"]
    assert own_ns < 3_000 * MS
    assert (found["reached_ns"], found["error_ns"]) == (own_ns, found["milestone_errors_ns"]["login"])
    assert found["message"] == f"login at {own_ns / 1e9:.3f} s; the board started more than once: 2 times spl"
    shown = main_here("show", run_id).stdout
    assert f"login at {own_ns / 1e9:.3f} s" in shown
    assert "7.787" not in shown
