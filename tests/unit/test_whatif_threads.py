# SPDX-License-Identifier: Apache-2.0
"""Threads that the kernel makes for a driver go with it: what they do and sleep in; boots made by hand."""

from __future__ import annotations

import pytest

from bootscope.analysis.functions import Stacks
from bootscope.analysis.whatif import Prediction, predict
from bootscope.image.symbols import Symbols

from .scenes import Story, evidence_of, run_of

MS = 1_000_000
AHCI, OTHER = 0xC0100000, 0xC0200000
TABLES = {"kernel": Symbols([(AHCI, "ahci_init"), (OTHER, "other_init"), (0xC0300000, "end")])}
MAKER = b"kthreadd"


def boot(*, made_in: str, name: bytes = b"scsi_eh_0", asked_by: int = 1) -> Story:
    """An initcall of 12 ms, in which thread 7 is made (or in the one behind it, of 3 ms); the boot waits for
    what that thread does in 5 ms and sleeps for in 35."""
    story = Story().hook("kernel.start").work(2 * MS).switch(1, name=b"swapper/0")
    story.fork(3, b"other", kernel=True).wake(3).switch(3, 1, b"other", kernel=True).switch(
        1, 1, b"swapper/0"
    )
    story.fork(2, MAKER, kernel=True).wake(2).switch(2, 2, MAKER, kernel=True).wake(1)
    story.switch(1, 1, b"swapper/0")

    def make() -> None:
        if asked_by == 1:
            story.wake(2).switch(2, 2, MAKER, kernel=True)
        else:
            story.wake(3).switch(3, 2, b"other", kernel=True).wake(2).switch(2, 1, MAKER, kernel=True)
        story.fork(7, MAKER, kernel=True)
        # It has its name from its maker until it runs, and then waits for work.
        story.wake(7).switch(7, 1, name, kernel=True).wake(1).switch(1, 1, b"swapper/0")

    for initcall, called, ms in ((AHCI, "ahci_init", 12), (OTHER, "other_init", 3)):
        story.enter("initcall", initcall).work((ms - 1) * MS)
        if made_in == called:
            make()
        story.work(MS).leave("initcall")
    story.work(MS)
    story.wake(7).switch(7, 2, name, kernel=True).work(4 * MS).switch(0, 2, b"swapper").idle(35 * MS)
    story.interrupt(name=b"timer").wake(7).switch(7, name=name, kernel=True).work(MS).wake(1)
    return story.switch(1, 2, b"swapper/0").work(6 * MS).sample()


def without_ahci(story: Story) -> Prediction:
    evidence = evidence_of(story.records, run_of(), TABLES)
    return predict(evidence, Stacks(evidence), ["without:ahci_init"])


def test_what_the_boot_waited_for_in_a_thread_goes_with_its_driver() -> None:
    found = without_ahci(boot(made_in="ahci_init"))
    assert found.saving_ns == (12 + 5 + 35) * MS
    assert "nothing waits for scsi_eh_0, which slept 35.0 ms" in found.assumptions


@pytest.mark.parametrize(("made_in", "name", "asked_by"), [
    ("other_init", b"scsi_eh_0", 1), ("ahci_init", b"kworker/0:1", 1), ("ahci_init", b"irq/26", 3),
])  # fmt: skip
def test_threads_of_others_stay(made_in: str, name: bytes, asked_by: int) -> None:
    """Also workers, which do what anybody asks, whoever was the first to need one more."""
    assert without_ahci(boot(made_in=made_in, name=name, asked_by=asked_by)).saving_ns == 12 * MS
