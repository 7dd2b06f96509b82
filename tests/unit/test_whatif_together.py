# SPDX-License-Identifier: Apache-2.0
"""Predictions of several changes at once: what two of them remove counts once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from bootscope.analysis.critical import SLEEPS, Step, path, view
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.kernel_activity import Mapping
from bootscope.analysis.moment import moment
from bootscope.analysis.names import Names
from bootscope.analysis.storage import accesses
from bootscope.analysis.whatif import Extra, predict
from bootscope.analysis.whatif_core import predict_on_core
from bootscope.analysis.whatif_kernel import code_gone, compressors
from bootscope.analysis.whatif_plan import Plan
from bootscope.analysis.whatif_samples import briefer
from bootscope.capture.store import Store
from bootscope.core.errors import UserError

from .lab_scenes import kept_view
from .scenes import Story, evidence_of
from .test_whatif_clock import CALLS, looping, no_core
from .test_whatif_parts import CALIBRATE, KERNEL, OTHER, SCRIPTS, TREE, loaders, predicted, scripts, seen

MS = 1_000_000


# ---- the kernel's image ----


def test_half_of_a_kernel_that_is_not_unpacked_saves_nothing_of_the_unpacking() -> None:
    """All 20 ms of it are gone; half of the larger image is read."""
    found = predicted(seen(loaders()), "compression=none", "kernel-bytes=-500k")
    larger = 1_000_000 / compressors()["gzip"].packed_ppm.value
    assert found.saving_ns == pytest.approx(20 * MS + (1 - larger / 2) * 5_500_000, rel=1e-6)


def test_a_kernel_cannot_shrink_by_more_than_it_has() -> None:
    once = predicted(seen(loaders()), "kernel-bytes=-1000k").saving_ns
    assert predicted(seen(loaders()), "kernel-bytes=-1000k", "kernel-bytes=-999k").saving_ns == once


# ---- samples ----

EVERYWHERE = [(0, 1 << 32)]


@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize("stays", [0, Fraction(1, 2)])
def test_code_that_is_gone_is_not_made_briefer(
    monkeypatch: pytest.MonkeyPatch, every: int, stays: Fraction
) -> None:
    """The function's 4 ms of 8 are seen by a counter each tenth of a ms, and by a stack at every fifth."""
    story = Story().hook("kernel.start")
    for number in range(80):
        pc = CALIBRATE if number < 40 else OTHER
        story.work(MS // 10).sample(pc)
        if number % every == every - 1:
            story.stack(pc)
    evidence = seen(story)
    monkeypatch.setattr(Names, "spans", lambda self, name: EVERYWHERE)
    monkeypatch.setattr(
        Stacks, "functions", lambda self, record, phase: (["slow" if record.pc == CALIBRATE else "b"], 0)
    )

    def without(plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
        code_gone(plan, evidence, lambda pc: pc == CALIBRATE)

    def shorter(plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
        briefer(plan, [(("slow",), Fraction(stays))])

    def saving_ns(*extra: Extra) -> int:
        return predict(evidence, Stacks(evidence), [], extra).saving_ns

    assert saving_ns(without) == 4 * MS
    assert saving_ns(shorter) == 4 * MS * (1 - stays)
    assert saving_ns(without, shorter) == saving_ns(shorter, without) == 4 * MS


# ---- the clock ----


def test_waiting_that_is_removed_is_not_waited_for_at_another_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20 ms the loop for random numbers takes 16, on any clock."""
    monkeypatch.setattr(Stacks, "functions", lambda self, record, phase: (CALLS[record.pc], True))
    monkeypatch.setattr(Names, "spans", lambda self, name: EVERYWHERE)
    v = kept_view(Store(tmp_path), looping(kernel=(5, 5, 5, 5, 6)).records)

    def saving_ns(*changes: str) -> int:
        return predict_on_core(v, changes, no_core).prediction.saving_ns

    twice, none = saving_ns("clock=2x"), saving_ns("function:try_to_generate_entropy=0")
    assert (twice, none) == (2 * MS, 16 * MS)
    assert saving_ns("clock=2x", "function:try_to_generate_entropy=0") == twice + none


def test_waiting_in_a_stretch_that_is_gone_is_not_waited_for_at_another_clock(tmp_path: Path) -> None:
    """The boot ends after 12 ms of computing: task 2 computes for 12 more while the boot sleeps for 30."""
    story = Story().hook("kernel.start").switch(1, name=b"init").fork(2).work(8 * MS).sample()
    story.wake(2).switch(2, 1).work(12 * MS).sample().switch(0, 1, b"swapper").idle(18 * MS)
    story.interrupt(name=b"timer").wake(1).switch(1, 0, b"init").work(6 * MS).sample()
    v = kept_view(Store(tmp_path), story.records)

    def asleep(plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
        plan.gone += [(step.start_ns, step.end_ns) for step in steps if step.how == SLEEPS]

    saved_ns = predict_on_core(v, ["clock=2x"], no_core, [asleep]).prediction.saving_ns
    assert saved_ns == 30 * MS + (8 + 6) * MS // 2


# ---- boot loaders and programs ----


def test_what_is_of_no_use_is_saved_at_the_speed_of_the_other_card() -> None:
    """Three quarters of a read are in vain, which is gone itself if U-Boot is."""
    story = Story().hook("uboot.start").work(MS).read(KERNEL, 512).work(MS).read(TREE, 160 * 512).work(MS)
    evidence = seen(story.hook("kernel.start").work(MS).sample())
    fetching_ns = MS
    both = predicted(evidence, "exact-read", "card=4x").saving_ns
    less_ns = both - predicted(evidence, "card=4x").saving_ns
    assert less_ns == pytest.approx((160 * 512 // 4 + fetching_ns) * 3 // 4, abs=5)

    def without_load(plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
        load = next(phase for phase in evidence.timeline.phases if phase.name == "load")
        plan.gone.append((load.start_ns, load.end_ns))

    def saving_ns(*changes: str) -> int:
        return predict(evidence, Stacks(evidence), changes, [without_load]).saving_ns

    assert saving_ns("exact-read") == saving_ns()


def test_commands_that_a_script_does_itself_are_no_applets_too() -> None:
    evidence = seen(scripts(), scripts=SCRIPTS)
    for task in evidence.scene.tasks:
        task.maps.append(Mapping(0, "/bin/busybox", 0x10000, 0x1000, 0))
    builtins = "builtins:/etc/init.d/S01a"
    assert predicted(evidence, "applets").saving_ns == 2 * 5 * MS
    alone = predicted(evidence, builtins).saving_ns
    assert predicted(evidence, builtins, "applets").saving_ns == alone
    assert predicted(evidence, "applets", builtins).saving_ns == alone


# ---- figures that others rely on ----


def test_on_the_path_a_card_that_works_for_another_cpu_is_no_cpu_time() -> None:
    story = Story().several(2).switch(1).cpu(1).switch(2).work(10).cpu(0).read(0, 512).work(20)
    evidence = evidence_of(story.cpu(1).work(30).sample().records)
    step = path(evidence, Stacks(evidence), evidence.timeline.total_ns)[-1]
    assert step.task.pid == 2
    found = view(evidence, Stacks(evidence), steps=[step])
    assert sum(int(row["cpu_ns"] or 0) for row in found.rows) == 60


def test_reads_that_are_no_whole_sectors_keep_their_bytes() -> None:
    story = Story().hook("uboot.start").read(KERNEL, 1000).work(MS).read(KERNEL + 2, 1020).work(MS).sample()
    assert [a.size_bytes for a in accesses(seen(story)) if a.sector is not None] == [1000, 1020]


def test_an_empty_recording_has_no_moments() -> None:
    with pytest.raises(UserError, match="is empty"):
        moment(evidence_of([]), "1ms")
