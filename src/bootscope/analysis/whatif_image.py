# SPDX-License-Identifier: Apache-2.0
"""What if U-Boot were given the kernel in another form: with a header or without, with its device tree?"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from bootscope.analysis.bill import Line
from bootscope.analysis.critical import Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.whatif_kernel import image, without
from bootscope.analysis.whatif_loader import DEVICE_TREE
from bootscope.analysis.whatif_plan import Plan
from bootscope.analysis.whatif_samples import briefer
from bootscope.errors import UserError
from bootscope.settings import Setting, Sourced, load
from bootscope.timeline.devices import SECTOR_BYTES
from bootscope.timeline.phases import KERNEL_IMAGE

RATES = Path(__file__).with_name("loader_rates.toml")
_CHECKED = ("image_check_dcrc", "memmove_wd")
_LEGACY, _TREE = "## Booting kernel from Legacy Image", "## Flattened Device Tree"
_START = "Starting kernel"
_PLAIN = "Kernel image @ 0x42000000 [ 0x000000 - 0x54a300 ]\r\n"
"""What bootz says of a kernel."""
_HEADED = (
    "## Booting kernel from Legacy Image at 42000000 ...\r\n",
    "   Image Name:   Linux-6.12\r\n",
    "   Image Type:   ARM Linux Kernel Image (uncompressed)\r\n",
    "   Data Size:    5546752 Bytes = 5.3 MiB\r\n",
    "   Load Address: 41000000\r\n",
    "   Entry Point:  41000000\r\n",
    "   Verifying Checksum ... OK\r\n",
    "   Loading Kernel Image to 41000000\r\n",
)
"""What bootm says of one with a header."""


class LoaderRates(Setting, frozen=True):
    """What U-Boot's work on an image takes, in picoseconds for a byte, on the emulated board."""

    schema: int
    checksum_ps: Sourced


def bootz(plan: Plan, evidence: Evidence) -> None:
    """The kernel has no header: none is printed, and it is neither checked nor moved."""
    lines = _loading(plan, evidence)
    first = next((i for i, line in enumerate(lines) if line.text.startswith(_LEGACY)), None)
    if first is None:
        raise UserError("U-Boot was not given a kernel with a header in this boot")
    told = [lines[first]]
    for line in lines[first + 1 :]:
        if not line.text.startswith("   "):
            break
        told.append(line)
    told += [line for line in lines if line.text.startswith("   Loading Kernel Image")]
    plan.hide({line.first: line for line in told}.values())
    briefer(plan, evidence, plan.ground.stacks, _CHECKED, _not_done)
    plan.counted_ns -= len(_PLAIN) * _letter_ns(lines)
    plan.assume(f"{len(told)} lines about the kernel's header are not printed, but one about the kernel is")


def _not_done(found: frozenset[str]) -> Fraction | None:
    return None if found.isdisjoint(_CHECKED) else Fraction(0)


def uimage(plan: Plan, evidence: Evidence) -> None:
    """The kernel gets a header: that is printed, and what comes after it is checked."""
    lines = _lines(plan, evidence)
    rate = load(RATES, LoaderRates).checksum_ps.value
    sectors = sum(e.sectors for e in evidence.run.system.extents if e.name == KERNEL_IMAGE)
    size = int(sectors * SECTOR_BYTES * plan.kernel_share)  # of the kernel with what is changed besides
    letters = sum(map(len, _HEADED)) - len(_PLAIN) if lines else 0  # a silent loader stays silent
    plan.counted_ns -= letters * _letter_ns(lines) + size * rate // 1000
    plan.assume(
        f"{size} bytes are checked, at the {rate / 1000:.1f} ns for a byte that another boot showed",
        f"U-Boot prints {letters} letters more",
    )


def appended_tree(plan: Plan, evidence: Evidence, steps: list[Step], command: str) -> None:
    """The device tree is behind the kernel, in one file: U-Boot neither reads nor prepares it.

    `command` is the one that reads it today.
    """
    lines = _loading(plan, evidence)
    first = next((line for line in lines if line.text.startswith(_TREE)), None)
    last = next((line for line in lines if line.text.startswith(_START)), None)
    if not first or not last:
        raise UserError("this boot does not show how U-Boot prepared the device tree")
    without(plan, evidence, steps, command)
    plan.gone.append((first.start_ns, last.start_ns))
    sectors = {e.name: e.sectors for e in evidence.run.system.extents}
    if sectors.get(DEVICE_TREE) and sectors.get(KERNEL_IMAGE):
        more = Fraction(sectors[DEVICE_TREE], sectors[KERNEL_IMAGE])
        image(plan, evidence, 1 + more, Fraction(1))
    plan.assume("what U-Boot would put into the device tree, the kernel finds in it or does without")


def _loading(plan: Plan, evidence: Evidence) -> list[Line]:
    """The console's lines while the kernel is loaded. Raises UserError where there are none."""
    found = _lines(plan, evidence)
    if not found:
        raise UserError("U-Boot says nothing on the console of this boot")
    return found


def _lines(plan: Plan, evidence: Evidence) -> list[Line]:
    found = [line for line in plan.ground.lines if evidence.phase_at(line.start_ns) == "load"]
    return found if any(line.cost_ns for line in found) else []


def _letter_ns(lines: list[Line]) -> int:
    """What a letter on the console takes."""
    return sum(line.cost_ns for line in lines) // max(1, sum(line.bytes for line in lines))
