# SPDX-License-Identifier: Apache-2.0
"""What takes the time of a boot: each kind of culprit, from boots whose story is known and from real logs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from rich.console import Console

from bootscope.analysis.views import view
from bootscope.analysis.whatif_plan import Ground
from bootscope.artefacts.identify import together
from bootscope.artefacts.logs import read
from bootscope.audit.culprits import calls, console, processes, storage
from bootscope.audit.culprits.find import culprits
from bootscope.audit.culprits.logged import printed, spans
from bootscope.audit.culprits.model import Culprit
from bootscope.audit.culprits.recorded import RecordedBoot
from bootscope.audit.culprits.units import of_trace
from bootscope.capture.imported import Raw
from bootscope.capture.store import Store
from bootscope.inventory.indicators import indicator_evidence
from bootscope.inventory.recorded import facts
from bootscope.timeline.trace import Span, Trace, Track
from tests.fixtures import stock_boot

from .builders import ROOT
from .conftest import Command
from .real_boards import heard, keep_measured, profile
from .scenes import Story, evidence_of, stacks_of

MS = 1_000_000
SCRIPT = "#!/bin/sh\necho hello\ndd if=/dev/urandom of=/x\n"


def recorded(story: Story, **more: object) -> RecordedBoot:
    evidence = evidence_of(story.records, **more)  # type: ignore[arg-type]
    return RecordedBoot(evidence, Ground(evidence, stacks_of(evidence)))


def user_land() -> Story:
    """A kernel that starts init, whose script waits 500 ms for dd and 20 ms for another."""
    story = Story().hook("spl.start").work(MS).hook("uboot.start").work(MS).hook("kernel.image").work(MS)
    story.hook("kernel.start").work(5 * MS).fork(1, b"swapper").switch(1).work(2 * MS)
    story.hook("kernel.init", text=b"/sbin/init").exec(b"/sbin/init").work(MS)
    story.fork(20).sleep(20).exec(b"/bin/sh", b"/etc/init.d/S30seed").work(MS)
    story.fork(21).sleep(21).exec(b"/bin/dd", b"if=/dev/urandom", b"of=/x").work(500 * MS)
    story.exit().wake(20).switch(20, 0x80).work(MS).exit().wake(1).switch(1, 0x80).work(20 * MS)
    return story.exec(b"/usr/bin/app").hook("application.start").work(10 * MS).sample()


def test_the_line_of_the_script_that_takes_the_time_is_named() -> None:
    boot = recorded(user_land(), scripts={"/etc/init.d/S30seed": SCRIPT})
    worst = max(processes.find(boot), key=lambda c: c.cost_ns)
    assert "/etc/init.d/S30seed:3" in worst.where
    assert "`/bin/dd if=/dev/urandom of=/x`" in worst.where
    assert 500 * MS <= worst.cost_ns < 501 * MS
    assert worst.cure.what_if == ("later:S30seed",)


def loader() -> Story:
    story = Story().hook("spl.start").work(MS).hook("uboot.start").work(MS)
    for _ in range(2):
        story.enter("uboot.probe", 1, 2, text=b"sunxi_de").work(50 * MS).leave(
            "uboot.probe", -22 & 0xFFFFFFFF
        )
    return story.hook("kernel.image").work(MS).hook("kernel.start").work(30 * MS).sample()


def test_two_probes_that_fail_are_one_culprit() -> None:
    found = [c for c in calls.find(recorded(loader())) if c.kind == "loader"]
    assert [c.cost_ns for c in found] == [100 * MS]
    assert "sunxi_de" in found[0].what
    assert "2 times" in found[0].where


def overlap(found: Sequence[Culprit]) -> int:
    return sum(c.cost_ns for c in found)


def test_no_two_culprits_hold_the_same_time() -> None:
    boot = recorded(user_land())
    kinds = (calls.find, calls.sleeps, console.find, storage.find, processes.find)
    found = [c for kind in kinds for c in kind(boot)]
    assert 0 < overlap(found) <= boot.evidence.timeline.total_ns


def test_a_recording_without_hooks_says_what_its_console_bounds(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The first recordings do not tell process switches: nothing is made up for them."""
    store = Store(tmp_path_factory.mktemp("store"))
    known = facts(store, view(store, store.load(stock_boot.unpack(store))))
    found = culprits(known)
    assert [(c.kind, c.at_most) for c in found[:3]] == [
        ("silences", True), ("silences", True), ("console", False),
    ]  # fmt: skip
    assert "Seeding the random number generator" in found[0].where
    assert abs(found[0].cost_ns - 2_568 * MS) < 2 * MS
    assert "waits for a key" in found[1].what
    assert abs(found[2].cost_ns - 1_901 * MS) < MS
    assert overlap(found) <= known.view.timeline.total_ns


def test_a_log_gives_bounds_only() -> None:
    path = ROOT / "tests" / "fixtures" / "readers" / "grabserial" / "t.log"
    known = together(read([Raw("t.log", path.read_bytes())]))
    found = culprits(known)
    assert all(c.at_most for c in found)
    assert {"silences", "printed"} == {c.kind for c in found}
    best = found[0]
    assert "Seeding" in best.where and 2_500 * MS < best.cost_ns < 2_700 * MS
    (kernel, _) = printed(known)
    assert kernel.cost_ns == pytest.approx(1_950 * MS, rel=0.01)


def test_units_and_initcalls_of_a_trace_are_told_by_their_own_time() -> None:
    tracks = (
        Track("u", "service", "network.service", (Span(0, 900, "starting"),)),
        Track("d", "service", "dev-ttyS0.device", (Span(0, 950, "starting"),)),
        Track("i", "initcall", "initcalls", (Span(0, 500, "outer"), Span(100, 400, "inner"))),
    )
    probes = Track("p", "probe", "Driver probes", (Span(120, 380, "1c0f000.mmc"), Span(600, 650, "late")))
    trace = Trace("t", "c", 1_000, (*tracks, probes))
    culprits_of = {c.what: c for c in (*of_trace(trace), *spans(trace))}
    assert culprits_of["kernel: probe of 1c0f000.mmc"].where == "in initcall inner"
    assert {what: c.cost_ns for what, c in culprits_of.items()} == {
        "unit network.service": 900,
        "kernel: probe of 1c0f000.mmc": 260,
        "kernel: probe of late": 50,
        "kernel: initcall outer": 200,
        "kernel: initcall inner": 40,
    }


def test_what_is_printed_fits_into_forty_lines_of_eighty_columns(
    main_here: Command, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock_boot.unpack(store)
    monkeypatch.setattr("bootscope.cli.audit.terminal", lambda: Console(width=80))
    done = main_here("audit", "stock")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 42
    assert max(map(len, lines)) <= 80
    figures = [line for line in lines[2:22] if re.match(r"\s*(up to )?\s*\d+\.\d+ m?s  ", line)]
    assert len(figures) == 5
    assert "removes" not in done.stdout
    assert "removes" in main_here("audit", "stock", "--losses").stdout
    assert len(main_here("audit", "stock", "--top", "1").stdout.splitlines()) < len(lines) - 15


def test_a_run_of_ten_boots_is_not_told_that_one_boot_tells_no_spread(
    main_here: Command, store: Store
) -> None:
    elsewhere = Store(store.runs.parent.parent / "made")
    run = elsewhere.load(stock_boot.unpack(elsewhere))
    listened = heard(list(run.boots[0].records()), run.info, profile())
    for boots, warned in ((10, False), (1, True)):
        kept = keep_measured(store, [listened] * boots)
        found = json.loads(main_here("audit", kept, "--json").stdout)
        assert ("three-runs" in {w["pitfall"] for w in found["pitfalls"]}) == warned
        assert "U-Boot waits for a key" in {f["what"] for f in found["findings"]}


def test_a_silent_boot_loader_is_told_to_silence_linux_too(main_here: Command, store: Store) -> None:
    stock_boot.unpack(store)
    path = ROOT / "tests" / "fixtures" / "readers" / "grabserial" / "t.log"
    known = together(read([Raw("t.log", path.read_bytes())]))
    assert "it silences Linux too: 293 lines, 22.5 kB" in (indicator_evidence("loader-console", known) or "")
    some = facts(store, view(store, store.find("last")))
    shown = indicator_evidence("loader-console", some) or ""
    assert re.search(r"88.9 ms; it silences Linux too: 302 lines, .*: 1.901 s", shown)
