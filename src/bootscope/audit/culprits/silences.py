# SPDX-License-Identifier: Apache-2.0
"""Where a console says nothing: all that a log alone tells of what takes time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.core.text import cut
from bootscope.inventory.bootlog import BootLog
from bootscope.loaders import console
from bootscope.loaders.registry import BUILT
from bootscope.timeline.kernel_lines import BEGINS, FREED, INIT

_LONGEST = 50
_LOOK_KERNEL = Cure("add initcall_debug to the command line: it shows what runs there")
_LOOK_PROGRAMS = Cure("bootscope-agent on the board shows what runs there (bootscope help agent)")
_LOOK_LOADER = Cure(BUILT.cures.look, BUILT.cures.trim)
_KNOWN: tuple[tuple[re.Pattern[str], str, Cure], ...] = (
    (
        re.compile(console.COUNTDOWN),
        f"{BUILT.title} waits for a key",
        Cure("a boot delay of 0", BUILT.cures.countdown),
    ),
    (
        re.compile(f"^{console.HANDOVER}"),
        "the kernel unpacks itself and starts, before its console works",
        Cure(
            "a smaller or better compressed kernel",
            ("kernel-compression", "kernel-uncompressed", "kernel-remove-unused"),
        ),
    ),
    (
        re.compile(r"^Calibrating delay loop"),
        "the kernel calibrates its delay loop",
        Cure("lpj= on the command line", ("kernel-lpj",)),
    ),
    (
        re.compile(r"[Rr]andom (?:number|seed)|uninitialized urandom"),
        "something waits for random numbers",
        Cure(
            "start it after the application, or give the kernel a seed",
            ("postpone-rc-scripts", "init-app-first"),
        ),
    ),
)
_INIT_BEGINS = f"{INIT}|^{FREED}"


def find(log: BootLog) -> Iterator[Culprit]:
    """Every step from one line to the next, by the kernel's own stamps where it has them."""
    kernel, init = log.index(BEGINS), log.index(_INIT_BEGINS)
    for index in range(len(log.lines) - 1):
        gap_ns = log.gap_ns(index)
        # What initcall_debug says of an initcall is told with the initcall.
        if gap_ns and not log.lines[index].text.startswith("calling "):
            yield culprit(log, index, gap_ns, (kernel, init))


def culprit(log: BootLog, index: int, gap_ns: int, begins: tuple[int, int]) -> Culprit:
    """The silence after line `index`; `begins` are the first lines of the kernel and of init, -1 for none."""
    # An empty line ends what was said before it.
    said = (line for line in reversed(log.lines[max(0, index - 3) : index + 1]) if line.text.strip())
    before, after = log.lines[index], log.lines[index + 1]
    last = next(said, before)
    known = next((k for k in _KNOWN if k[0].search(last.text)), None)
    what, cure = (known[1], known[2]) if known else ("no console output", _look(index, begins))
    start_ns = before.at_ns if log.timed else max(0, before.kernel_ns)
    return Culprit(
        kind="silences",
        what=what,
        where=f"after '{_shown(last.text)}', before '{_shown(after.text)}'",
        cost_ns=gap_ns,
        start_ns=start_ns,
        end_ns=start_ns + gap_ns,
        seen_in="",
        cure=cure,
        at_most=True,
    )


def _shown(text: str) -> str:
    """The beginning of a line, without what was written over."""
    return cut(text.partition("\b")[0].strip(), _LONGEST)


def _look(index: int, begins: tuple[int, int]) -> Cure:
    """How to find out what runs there."""
    kernel, init = begins
    if kernel > index:
        return _LOOK_LOADER
    return _LOOK_PROGRAMS if 0 <= init <= index else _LOOK_KERNEL
