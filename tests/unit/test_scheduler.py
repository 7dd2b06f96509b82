# SPDX-License-Identifier: Apache-2.0
"""Building and booting side by side: the same answers, sooner; and nothing is lost or done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bootscope.analysis.views import view
from bootscope.audit.findings import audit
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.inventory.recorded import facts
from bootscope.search import journal as journal_module
from bootscope.search.emulated import EmulatedBench
from bootscope.search.job import Candidate
from bootscope.search.journal import Journal
from bootscope.search.scheduler import Scheduler
from bootscope.system.changes import Change
from bootscope.system.load import LoadedSystem

from .builders import ROOT
from .lab_scenes import stock
from .search_scenes import FOUND, WORTH, FakeBench, Make, bench_of, made_up, removals, story


@pytest.mark.parametrize("boots", [2, 4])
def test_more_hands_find_the_same(scene: Make, boots: int) -> None:
    here = scene(*FOUND, *removals("part1", "part2", "part3"))
    worth = WORTH | {"PART1=n": 1, "PART2=n": -7, "PART3=n": 1}
    alone = story(here.search(worth))
    here.store = Store(here.store.root.parent / "another")
    together = here.search(worth, boots=boots, boot_s=0.05)
    assert story(together) == alone
    assert 1 < bench_of(together).most_at_once <= boots


def test_one_board_is_on_at_a_time_unless_more_are_asked_for(scene: Make) -> None:
    search = scene(*FOUND).search({name: 0 for name in WORTH}, boot_s=0.05)
    search.run()
    assert bench_of(search).most_at_once == 1


def test_a_build_goes_on_while_another_system_boots(scene: Make) -> None:
    search = scene(*FOUND).search({name: 0 for name in WORTH}, build_s=0.05, boot_s=0.05)
    search.run()
    assert bench_of(search).overlapped


def wait_for(begun: list[frozenset[str]]) -> None:
    """Waits until the scheduler has begun a build or a boot."""
    until = time.monotonic() + 60
    while not begun:
        assert time.monotonic() < until
        time.sleep(0.005)


def test_what_was_foreseen_wrongly_is_stopped(scene: Make) -> None:
    """The scheduler is at work on something long that nobody asks for any more."""
    scheduler = scene(*FOUND).search(WORTH, build_s=30).bench.scheduler
    long, short = (Candidate((name,), changed(name), name) for name in ("T0", "T1"))
    bench = scheduler.bench
    assert isinstance(bench, FakeBench)
    scheduler.hint([long])
    wait_for(bench.built)
    scheduler.hint([])
    bench.build_s = 0
    begun = time.monotonic()
    assert scheduler.measured(short).reached
    assert time.monotonic() - begun < 5
    assert bench.booted == [frozenset({"T1=on"})]


def test_what_cannot_be_planned_is_refused_only_when_it_is_asked_for(scene: Make) -> None:
    scheduler = scene(*FOUND).search(WORTH, wrong={"T0=on": "plan"}).bench.scheduler
    foreseen, wanted = (Candidate((name,), changed(name), name) for name in ("T0", "T1"))
    scheduler.hint([foreseen])
    assert scheduler.measured(wanted).reached
    with pytest.raises(UserError, match="no such system can be planned"):
        scheduler.measured(foreseen)


def test_what_is_only_foreseen_makes_way_and_is_taken_up_again(scene: Make) -> None:
    scheduler = scene(*FOUND).search(WORTH, build_s=2).bench.scheduler
    foreseen, wanted = (Candidate((name,), changed(name), name) for name in ("T0", "T1"))
    bench = scheduler.bench
    assert isinstance(bench, FakeBench)
    scheduler.hint([foreseen])
    wait_for(bench.built)
    bench.build_s = 0
    begun = time.monotonic()
    assert scheduler.measured(wanted).reached
    assert time.monotonic() - begun < 1
    assert scheduler.measured(foreseen).reached
    assert bench.built == [frozenset({"T0=on"}), frozenset({"T1=on"}), frozenset({"T0=on"})]
    assert bench.booted == [frozenset({"T1=on"}), frozenset({"T0=on"})]


def changed(symbol: str) -> LoadedSystem:
    return EmulatedBench(None, stock()).system(  # type: ignore[arg-type]
        {symbol.lower(): Change(kernel={symbol: "on"})}
    )


def test_closing_ends_what_is_under_way(scene: Make) -> None:
    search = scene(*FOUND).search(WORTH, boot_s=30)
    scheduler = search.bench.scheduler
    scheduler.hint([Candidate(("t0",), changed("T0"), "t0")])
    wait_for(bench_of(search).booted)
    begun = time.monotonic()
    scheduler.close()
    assert time.monotonic() - begun < 5
    assert not any(thread.is_alive() for thread in scheduler._threads)


def test_a_fault_of_ours_is_not_taken_for_a_result(scene: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    search = scene(*FOUND).search(WORTH)

    def order(_self: object, _loaded: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(FakeBench, "order", order)
    with pytest.raises(ZeroDivisionError):
        search.run()


# ---- again ----


def test_a_second_search_builds_and_boots_nothing(scene: Make) -> None:
    wrong = {"T1=on": "build", "T3=on": "hang", "T5=on": "panic"}
    here = scene(*FOUND)
    first = here.search(WORTH, wrong=wrong)
    told = story(first)
    first.bench.scheduler.close()
    bench = bench_of(first)
    before = len(bench.built), len(bench.booted)
    assert story(here.again()) == told
    assert (len(bench.built), len(bench.booted)) == before


def test_it_does_not_even_look_at_the_recordings_again(scene: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    here = scene(*FOUND)
    told = story(here.search(WORTH))

    def look(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("bootscope.search.emulated.view", look)
    monkeypatch.setattr("bootscope.search.scheduler.view", look)
    assert story(here.again()) == told


def test_a_recording_that_was_removed_is_made_again(scene: Make) -> None:
    here = scene(*FOUND)
    first = here.search(WORTH)
    told = story(first)
    verdict = next(e for e in first.experiments if e.accepted).verdict
    assert verdict is not None
    removed = verdict.variant
    here.store.remove(removed.run_id)
    # The clock of these scenes stands still: without this, what is booted next is given the same name.
    (here.store.runs / removed.run_id).touch()
    assert story(here.again()) == told
    booted = bench_of(first).booted
    twice = {" ".join(sorted(symbols)) for symbols in booted if booted.count(symbols) > 1}
    assert twice == {" ".join(sorted(f"{name.upper()}=on" for name in removed.what))}


def test_another_program_reckons_anew_but_boots_nothing(scene: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    here = scene(*FOUND)
    first = here.search(WORTH)
    told = story(first)
    monkeypatch.setattr(journal_module, "tree_id", lambda _root: "another program")
    booted = len(bench_of(first).booted)
    again = here.again()
    assert story(again) == told
    assert len(bench_of(first).booted) == booted
    outcome = again.bench.scheduler.journal.outcome(first.bench.scheduler.bench.key(stock()))
    assert outcome is not None
    assert outcome[1]


def test_other_techniques_are_found_in_the_same_recording(
    scene: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene(*FOUND).search(WORTH).run()
    here = scene(*FOUND, made_up("fresh"))
    monkeypatch.setattr(journal_module, "tree_id", lambda _root: "another catalogue")
    search = here.search({**WORTH, "FRESH=on": 50})
    search.run()
    assert "fresh" in search.accepted


KILLED = """
import sys
from pathlib import Path
import pytest
from tests.unit.search_scenes import FOUND, WORTH, Scene

root, log = Path(sys.argv[1]), Path(sys.argv[2])
with pytest.MonkeyPatch.context() as patch:
    here = Scene(root, patch, FOUND)
    search = here.search(WORTH, boots=2, boot_s=0.1, wrong={"T1=on": "build"}, log=log)
    search.run()
    print(" ".join(search.accepted))
"""


@pytest.mark.parametrize("after", [1, 4, 7])
def test_a_kill_loses_only_what_was_under_way(scene: Make, tmp_path: Path, after: int) -> None:
    log, script = tmp_path / "log", tmp_path / "killed.py"
    script.write_text(KILLED)

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, script, tmp_path, log],
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
            stdout=subprocess.PIPE,
            text=True,
        )

    journal = tmp_path / "store" / "searches" / "stock.jsonl"
    child = start()
    until = time.monotonic() + 60
    while not journal.exists() or journal.read_text().count('"outcome":') < after:
        assert time.monotonic() < until
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    # What the kill may have left of a line.
    with journal.open("a") as f:
        f.write('{"kind":"outcome","at":"2026')
    done = start()
    out, _ = done.communicate(timeout=60)
    assert done.returncode == 0
    alone = scene(*FOUND)
    alone.store = Store(tmp_path / "alone")
    search = alone.search(WORTH, wrong={"T1=on": "build"})
    search.run()
    assert out.split() == list(search.accepted)
    # What was built lies in the cache, which this bench does not have; two boards were on at most.
    said = [line for line in log.read_text().splitlines() if line.startswith("boot")]
    twice = {line for line in said if said.count(line) > 1}
    assert len(twice) <= 2
    assert all(said.count(line) <= 2 for line in twice)


THREADS = """
import sys
import threading
from pathlib import Path
import pytest
from tests.unit.search_scenes import FOUND, WORTH, Scene

main, calls = threading.get_ident(), []

def look(frame, event, _):
    if event == "call" and frame.f_code.co_name in ("get_class_annotations", "get_dataclass_info"):
        calls.append(threading.get_ident() == main)

threading.setprofile(look)
sys.setprofile(look)
with pytest.MonkeyPatch.context() as patch:
    here = Scene(Path(sys.argv[1]), patch, FOUND)
    here.search(WORTH, boots=2).run()
    here.close()
print(len(calls), calls.count(False))
"""


def test_types_are_ready_before_threads_use_them(tmp_path: Path) -> None:
    """Two threads that had msgspec work out the same type at once made the process die."""
    script = tmp_path / "threads.py"
    script.write_text(THREADS)
    done = subprocess.run(
        [sys.executable, script, tmp_path],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    worked_out, by_threads = map(int, done.stdout.split())
    assert worked_out > 50
    assert by_threads == 0


def test_findings_come_back_with_their_changes(scene: Make) -> None:
    here = scene(*FOUND)
    search = here.search(WORTH)
    search.run()
    run_id = search.base.run_id
    store = here.store
    made = audit(facts(store, view(store, store.load(run_id)))).findings

    def never() -> tuple[()]:
        raise AssertionError

    assert tuple(Journal(store.root, "stock").findings(run_id, never)) == made


def test_a_scheduler_is_gone_when_it_is_closed(scene: Make) -> None:
    with scene(*FOUND).search(WORTH).bench.scheduler as scheduler:
        assert isinstance(scheduler, Scheduler)
    assert not any(thread.is_alive() for thread in scheduler._threads)
