# SPDX-License-Identifier: Apache-2.0
"""What logs alone tell of what takes time: silences, messages on a serial line, spans that they time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from bootscope.analysis.gaps import reason
from bootscope.analysis.nesting import Nested, nested
from bootscope.audit.culprits.calls import DRIVER
from bootscope.audit.culprits.console import QUIET, SILENT
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.core.text import cut, size
from bootscope.inventory.bootlog import BootLog, total_bytes
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.log_indicators import hidden_by_quiet
from bootscope.loaders.registry import BUILT
from bootscope.timeline.kernel_lines import BEGINS, FREED, INIT
from bootscope.timeline.trace import Trace

_LONGEST, _MOST = 50, 200
"""Characters of a line; silences that are looked at, since a log may have a million lines."""
_LOOK_KERNEL = Cure("add initcall_debug to the command line: it shows what runs there")
_LOOK_PROGRAMS = Cure("bootscope-agent on the board shows what runs there (bootscope help agent)")
_LOOK_LOADER = Cure(BUILT.cures.look, BUILT.cures.trim)
_UNIT = Cure("does the application need it? defer or remove it", ("systemd-long-units",))
_CALL = Cure("remove it or defer it", DRIVER)
_TIMED = {
    "initcall": ("kernel: initcall", "--view initcalls", _CALL),
    "probe": ("kernel: probe of", "--view initcalls", _CALL),
    "service": ("unit", "--view processes", _UNIT),
}


def silences(log: BootLog) -> Iterator[Culprit]:
    """The longest steps from one line to the next, by the kernel's own stamps where it has them."""
    kernel, init = log.index(BEGINS), log.index(f"{INIT}|^{FREED}")
    gaps = ((log.gap_ns(index) or 0, -index) for index in range(len(log.lines) - 1))
    for gap_ns, place in heapq.nlargest(_MOST, gaps):
        index = -place
        # What initcall_debug says of an initcall is told with the initcall.
        if gap_ns and not log.lines[index].text.startswith("calling "):
            look = _LOOK_PROGRAMS if 0 <= init <= index else _LOOK_KERNEL
            yield _silence(log, index, gap_ns, _LOOK_LOADER if kernel > index else look)


def _silence(log: BootLog, index: int, gap_ns: int, look: Cure) -> Culprit:
    """The silence after line `index`; `look` is how to find out what runs there."""
    # An empty line ends what was said before it.
    said = (line for line in reversed(log.lines[max(0, index - 3) : index + 1]) if line.text.strip())
    before, after = log.lines[index], log.lines[index + 1]
    last = next(said, before)
    why = reason(last.text, after.text, gap_ns)
    start_ns = before.at_ns if log.timed else max(0, before.kernel_ns)
    return Culprit(
        kind="silences",
        what=why.words if why else "no console output",
        where=f"after '{_shown(last.text)}', before '{_shown(after.text)}'",
        cost_ns=gap_ns,
        start_ns=start_ns,
        end_ns=start_ns + gap_ns,
        cure=Cure(why.do.partition("; ")[0], why.techniques) if why else look,
        at_most=True,
    )


def _shown(text: str) -> str:
    """The beginning of a line, without what was written over."""
    return cut(text.partition("\b")[0].strip(), _LONGEST)


def printed(known: Inventory) -> Iterator[Culprit]:
    """The kernel's messages and the boot loaders', where the log is one of a serial line, by how long their
    bytes take on it."""
    log, (baud, why) = known.log, known.baud
    if not log or not log.timed:
        return
    for who, lines, cure in (
        ("kernel messages", hidden_by_quiet(log), QUIET),
        ("boot loaders' messages", log.loader_lines, SILENT),
    ):
        if lines:
            yield Culprit(
                kind="printed",
                what=f"{len(lines)} {who}, {size(total_bytes(lines))}, over the serial line",
                where=f"at {baud} baud: {why}",
                cost_ns=known.line_ns(total_bytes(lines)),
                start_ns=lines[0].at_ns,
                end_ns=lines[-1].at_ns,
                cure=cure,
                at_most=True,
            )


def spans(trace: Trace) -> Iterator[Culprit]:
    """Initcalls, probes and systemd's units, each by its own time; the boot waited that long at most, since
    others may have run beside it."""
    # A device's unit starts when the kernel has found it: nothing of systemd's takes that time.
    tracks = [t for t in trace.tracks if t.kind in _TIMED and not t.title.endswith(".device")]
    for found in nested(tracks):
        word, view, cure = _TIMED[found.track.kind]
        unit = found.track.kind == "service"
        yield Culprit(
            kind="spans",
            what=f"{word} {found.track.title if unit else found.span.name}",
            where=found.span.name if unit else _in_what(found),
            cost_ns=found.own_ns,
            start_ns=found.span.start_ns,
            end_ns=found.span.end_ns,
            seen_in=view,
            cure=cure,
            at_most=True,
        )


def _in_what(found: Nested) -> str:
    """The initcall that a probe lies in, else its track."""
    return f"in initcall {found.inside.span.name}" if found.inside else found.track.title
