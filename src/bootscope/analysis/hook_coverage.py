# SPDX-License-Identifier: Apache-2.0
"""What a recording does not tell: hooks that its kernel or boot loader had no function for, or that
were not known when it was made."""

from __future__ import annotations

from collections.abc import Iterable

from bootscope.analysis.evidence import Evidence
from bootscope.capture import objects
from bootscope.core.errors import UserError

SWITCHES = {"switch": "which process ran"}
_PROCESSES = SWITCHES | {"fork": "who started whom"}
_WAKES = SWITCHES | {"wake": "who woke whom"}
_DELAYS = {"delay": "delays of the kernel", "uboot.delay": "delays of U-Boot"}
# View -> hook -> what it does not know without it.
_NEEDED = {
    "initcalls": {
        "initcall": "the kernel's initcalls",
        "probe": "driver probes",
        "uboot.initcall": "U-Boot's steps",
        "uboot.probe": "U-Boot's probes",
        "uboot.command": "U-Boot's commands",
    },
    "functions": SWITCHES,
    "processes": _PROCESSES,
    "storage": SWITCHES | {"bio": "who asked the kernel for what"},
    "console": SWITCHES | {"printk": "which code wrote a message, and of what level it is"},
    "waits": _WAKES | _DELAYS,
    "critical-path": _WAKES,
    "floor": _DELAYS | {"bio": "what the application read"},
}
_PROGRAMS = {
    objects.SPL: "the SPL",
    objects.UBOOT: "U-Boot",
    objects.KERNEL: "the kernel",
}


def missing(evidence: Evidence, hooks: Iterable[str]) -> list[str]:
    """Those of some hooks that the recording does not have."""
    there = set(evidence.run.watch.hooks.values())
    return [hook for hook in hooks if hook not in there]


def notes(view: str, evidence: Evidence) -> tuple[str, ...]:
    """What a view cannot know about this boot, in words."""
    known = _NEEDED.get(view, {})
    lacking = missing(evidence, known)
    built = shipped(evidence)
    nameless = [hook for hook in lacking if built and hook.startswith("uboot.")]
    found = [known[hook] for hook in lacking if hook not in nameless]
    said = [f"Not in this recording: {', '.join(found)}. Record it again to see that."] if found else []
    if nameless:
        what = ", ".join(known[hook] for hook in nameless)
        said.append(f"Not to be seen: {what}. This U-Boot came built, without symbols.")
    if view == "functions":
        said += _unkept(evidence, built)
    return tuple(said)


def shipped(evidence: Evidence) -> bool:
    """Whether the boot loader was taken as others have built it. The first recordings kept no program."""
    kept = evidence.run.system.symbols
    return objects.KERNEL in kept and objects.UBOOT not in kept


def _nameless(evidence: Evidence) -> list[str]:
    """Programs of which nothing with symbols was kept."""
    kept = evidence.run.system.symbols
    return [name for program, name in _PROGRAMS.items() if program not in kept]


def _unkept(evidence: Evidence, built: bool) -> list[str]:
    gone = _nameless(evidence)
    if not gone:
        return []
    why = "came built, without symbols" if built else "was not kept"
    return [f"No call paths: the code of {', '.join(gone)} {why}."]


def need(evidence: Evidence, what: str, *hooks: str) -> None:
    """Raises UserError when the recording lacks a hook without which nothing can be said of `what`."""
    lacking = missing(evidence, hooks)
    if lacking and shipped(evidence) and all(hook.startswith("uboot.") for hook in lacking):
        raise UserError(f"nothing is known of {what}: this U-Boot came built, without symbols")
    if lacking:
        raise UserError(f"this recording tells nothing of {what}", hint="record the system again")
