# SPDX-License-Identifier: Apache-2.0
"""Programs that find their libraries by a cache, against a search through folders; boots made by hand."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.whatif import Prediction, predict
from bootscope.analysis.whatif_calls import CACHE
from bootscope.capture.record import RETURNED, SYSCALL, SYSCALL_FILE, RunInfo, WatchNames
from bootscope.capture.stream import Hook
from bootscope.core.errors import UserError

from .builders import DEVICES, EVERY_HOOK
from .scenes import Story, evidence_of, run_of

MS = 1_000_000
CALLS = ("execve", "openat", "fstat64", "mmap2", "close", "set_tid_address", "access")
NAMES = (*(f"{SYSCALL}{call}{end}" for call in CALLS for end in ("", RETURNED)), SYSCALL_FILE)
HOOKS = dict(enumerate((*EVERY_HOOK, *NAMES), start=1))
NUMBERS = {name: number for number, name in HOOKS.items()}
NOT_THERE, STACK = (1 << 32) - 2, 0xC8000000
PAGE_NS = 500_000 + 4096
"""What the card takes for a page (see run_of)."""


@dataclass
class Calls(Story):
    """A story with system calls."""

    looked_up: list[str] = field(default_factory=list)

    def called(self, call: str, file: str = "", ns: int = MS, result: int = 3, read: int = 0) -> Calls:
        self._hook(f"{SYSCALL}{call}", STACK, 1, 2, 3)
        if file:
            self._hook(SYSCALL_FILE, text=file.encode())
        if read:
            self.read(read, 4096)
        self.work(ns)
        self._hook(f"{SYSCALL}{call}{RETURNED}", STACK, result)
        return self

    def _hook(self, name: str, *values: int, text: bytes = b"") -> None:
        self.records.append(Hook(self.now_ns, NUMBERS[name], values, text))


def run(hooks: dict[int, str] = HOOKS) -> RunInfo:
    plain = run_of()
    fields = {name: getattr(plain, name) for name in plain.__struct_fields__}
    return RunInfo(**{**fields, "watch": WatchNames(devices=DEVICES, hooks=hooks, texts={})})


def boot(*searched: str, cached: bool = False, others: bool = True) -> Calls:
    """A program starts, asks for its libraries where they are not, and in the end where one is."""
    story = Calls().hook("kernel.start").work(5 * MS)
    assert isinstance(story, Calls)
    story.switch(5, name=b"app")
    story.called("execve", "/bin/app", 2 * MS, 0)
    story.called("access", "/etc/ld.so.preload", MS, NOT_THERE)
    if cached:
        story.called("openat", CACHE, read=9000).called("fstat64").called("mmap2", ns=2 * MS).called("close")
    else:
        story.called("openat", CACHE, MS, NOT_THERE)
    for at, file in enumerate(searched):
        story.called("openat", file, 3 * MS, NOT_THERE, read=10_000 + 100 * at)
    story.called("openat", "/lib/libc.so.6").called("fstat64").called("mmap2", ns=2 * MS).called("close")
    story.called("set_tid_address", ns=MS // 10, result=5)
    if others:
        story.called("openat", "/etc/app.conf", 4 * MS, NOT_THERE)
    story.work(20 * MS).sample()
    return story


def predicted(story: Calls) -> Prediction:
    evidence = seen(story)
    return predict(evidence, Stacks(evidence), ["library-cache"])


def seen(story: Calls) -> Evidence:
    return evidence_of(story.records, run())


def test_a_search_costs_what_its_calls_and_its_reads_take() -> None:
    """The cache is mapped instead, and read once; other files that are not there are asked for still."""
    found = predicted(boot("/lib/tls/libc.so.6", "/usr/lib/libc.so.6"))
    assert found.predicted_ns == seen(boot(cached=True)).timeline.total_ns
    assert "2 calls in which 1 programs looked for libraries in vain are gone" in found.assumptions


def test_what_a_search_costs_beside_the_cache_is_saved_alone() -> None:
    many = [f"/lib/{number}/libc.so.6" for number in range(9)]
    difference = predicted(boot(*many)).saving_ns - predicted(boot(many[0])).saving_ns
    assert difference == 8 * (3 * MS + PAGE_NS)


def test_without_a_search_or_without_calls_it_is_refused() -> None:
    with pytest.raises(UserError, match="no program of this boot searched"):
        predicted(boot(cached=True))
    plain = Story().hook("kernel.start").work(MS).sample()
    evidence = evidence_of(plain.records)
    with pytest.raises(UserError, match="has no system calls"):
        predict(evidence, Stacks(evidence), ["library-cache"])
