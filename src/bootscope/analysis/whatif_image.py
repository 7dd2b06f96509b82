# SPDX-License-Identifier: Apache-2.0
"""What if the boot loader got the kernel in another form: with or without a header, with its device tree?"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from bootscope.analysis.console_cost import Line
from bootscope.analysis.critical import Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.whatif_kernel import image, without
from bootscope.analysis.whatif_loader import DEVICE_TREE, KERNEL_UNSEEN, reads_in
from bootscope.analysis.whatif_plan import Plan
from bootscope.analysis.whatif_samples import briefer
from bootscope.core.errors import UserError
from bootscope.core.settings import Setting, Sourced, load
from bootscope.devices.model import SECTOR_BYTES
from bootscope.loaders.model import LOAD, Loader
from bootscope.timeline.phases import KERNEL_IMAGE, touches

RATES = Path(__file__).with_name("loader_rates.toml")


class LoaderRates(Setting, frozen=True):
    """The time of a boot loader's work on an image, in picoseconds per byte, on the emulated board."""

    schema: int
    checksum_ps: Sourced


def bootz(plan: Plan, evidence: Evidence) -> None:
    """The kernel has no header: none is printed, checked or moved."""
    lines, loader = _loading(plan, evidence), evidence.run.board.boot_loader
    said = loader.images
    first = next((i for i, line in enumerate(lines) if line.text.startswith(said.header)), None)
    if first is None:
        raise UserError(f"{loader.title} did not boot a kernel with a header here")
    end = next((i for i in range(first + 1, len(lines)) if not lines[i].text.startswith("   ")), len(lines))
    told = lines[first:end] + [line for line in lines[end:] if line.text.startswith(said.moves)]
    plan.hide(told)
    briefer(plan, [(said.checks, Fraction(0))])
    plan.last.append(lambda: _say(plan, loader, len(said.plain), lines))
    plan.assume(f"{len(told)} lines about the kernel's header are replaced by one about the kernel")


def uimage(plan: Plan, evidence: Evidence) -> None:
    """The kernel gets a header, which is printed; the kernel behind it is checked and moved.

    Raises UserError if the recording does not show how the kernel was loaded.
    """
    size = _loaded_bytes(evidence, KERNEL_IMAGE)
    if not size:
        raise UserError(KERNEL_UNSEEN)
    plan.last.append(lambda: _check(plan, evidence, size))


def _check(plan: Plan, evidence: Evidence, size: int) -> None:
    lines, loader = _lines(plan, evidence), evidence.run.board.boot_loader
    said = loader.images
    headed = any(line.text.startswith(said.header) for line in lines)
    more = int(size * (plan.kernel_share - (1 if headed else 0)))
    rate = load(RATES, LoaderRates).checksum_ps.value
    plan.counted_ns -= more * rate // 1000
    if not headed:
        _say(plan, loader, sum(map(len, said.headed)) - len(said.plain), lines)
    plan.assume(
        f"{more} bytes{' more' if headed else ''} are checked at the {rate / 1000:.1f} ns for a byte that "
        "another boot showed"
    )


def _say(plan: Plan, loader: Loader, letters: int, lines: list[Line]) -> None:
    cost_ns = plan.letters_ns(letters, lines)
    plan.counted_ns -= cost_ns
    if cost_ns:
        plan.assume(f"{loader.title} prints {letters} more characters")


def _loaded_bytes(evidence: Evidence, name: str) -> int:
    """Bytes of an extent that are read while the kernel is loaded; files may lie in several pieces."""
    load = evidence.timeline.phase(LOAD)
    reads = [event for event, _, _ in reads_in(evidence, load)] if load else []
    found = [x for x in evidence.run.system.extents if x.name == name and any(touches(e, x) for e in reads)]
    return sum(extent.sectors for extent in found) * SECTOR_BYTES


def appended_tree(plan: Plan, evidence: Evidence, steps: list[Step], command: str) -> None:
    """The device tree follows the kernel in one file: the boot loader neither reads nor prepares it.

    `command` is the one that reads it now.
    """
    lines, loader = _loading(plan, evidence), evidence.run.board.boot_loader
    first = next((line for line in lines if line.text.startswith(loader.images.tree)), None)
    last = next((line for line in lines if line.text.startswith(loader.images.starts)), None)
    if not first or not last:
        raise UserError(f"this boot does not show how {loader.title} prepared the device tree")
    without(plan, evidence, steps, command)
    plan.gone += _without_move(first.start_ns, last.start_ns, lines, loader.images.moves)
    tree, kernel = _loaded_bytes(evidence, DEVICE_TREE), _loaded_bytes(evidence, KERNEL_IMAGE)
    if tree and kernel:
        image(plan, evidence, 1 + Fraction(tree, kernel), Fraction(1))
    plan.assume(f"the kernel does not need what {loader.title} adds to the device tree")


def _without_move(start_ns: int, end_ns: int, lines: list[Line], moves: str) -> list[tuple[int, int]]:
    """A stretch without the move of a kernel with a header, which lasts from its line to the next."""
    for line, after in pairwise(lines):
        if line.text.startswith(moves) and start_ns < line.start_ns < end_ns:
            return [(start_ns, line.start_ns), (after.start_ns, end_ns)]
    return [(start_ns, end_ns)]


def _loading(plan: Plan, evidence: Evidence) -> list[Line]:
    """The console's lines while the kernel is loaded. Raises UserError if there are none."""
    found = _lines(plan, evidence)
    if not found:
        raise UserError(f"{evidence.run.board.boot_loader.title} prints nothing on the console in this boot")
    return found


def _lines(plan: Plan, evidence: Evidence) -> list[Line]:
    found = [line for line in plan.ground.lines if evidence.phase_at(line.start_ns) == LOAD]
    return found if any(line.cost_ns for line in found) else []
