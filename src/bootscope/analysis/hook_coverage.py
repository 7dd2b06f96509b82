# SPDX-License-Identifier: Apache-2.0
"""What a recording cannot tell: hooks without a function in its programs, or newer than the recording."""

from __future__ import annotations

from collections.abc import Iterable

from bootscope.analysis.evidence import Evidence
from bootscope.capture import objects
from bootscope.core.errors import UserError
from bootscope.loaders.model import Hooked
from bootscope.loaders.registry import program_of

SWITCHES = {"switch": "process switches"}
_PROCESSES = SWITCHES | {"fork": "parents of processes"}
_WAKES = SWITCHES | {"wake": "wake-ups"}
_DELAYS = {"delay": "delays of the kernel"}
# View -> hook -> what the view does not know without it.
_NEEDED = {
    "initcalls": {
        "initcall": "the kernel's initcalls",
        "probe": "driver probes",
    },
    "functions": SWITCHES,
    "processes": _PROCESSES,
    "storage": SWITCHES | {"bio": "requesters of reads and writes"},
    "console": SWITCHES | {"printk": "origin and level of kernel messages"},
    "waits": _WAKES | _DELAYS,
    "critical-path": _WAKES,
    "floor": _DELAYS | {"bio": "files read by the application"},
}
_IN_LOADER = {
    "initcalls": {
        Hooked.INITCALL: "{title}'s steps",
        Hooked.PROBE: "{title}'s probes",
        Hooked.COMMAND: "{title}'s commands",
    },
    "waits": {Hooked.DELAY: "delays of {title}"},
    "floor": {Hooked.DELAY: "delays of {title}"},
}
"""The same for hooks in the last program of the boot loader."""


def _nameless_loader(hooks: Iterable[str], evidence: Evidence) -> list[str]:
    """Those of the hooks that lie in a prebuilt boot loader without symbols."""
    main = evidence.run.board.boot_loader.last
    return [hook for hook in hooks if shipped(evidence) and program_of(hook) is main]


def missing(evidence: Evidence, hooks: Iterable[str]) -> list[str]:
    """Those of the hooks that the recording lacks."""
    there = set(evidence.run.watch.hooks.values())
    return [hook for hook in hooks if hook not in there]


def notes(view: str, evidence: Evidence) -> tuple[str, ...]:
    """What a view cannot know about this boot, in words."""
    loader, known = evidence.run.board.boot_loader, dict(_NEEDED.get(view, {}))
    for hook, text in _IN_LOADER.get(view, {}).items() if loader.last else ():
        known[loader.main.hook(hook)] = text.format(title=loader.main.title)
    lacking = missing(evidence, known)
    nameless = _nameless_loader(lacking, evidence)
    found = [known[hook] for hook in lacking if hook not in nameless]
    said = [f"Not in this recording: {', '.join(found)}. Record again to see this."] if found else []
    if nameless:
        what = ", ".join(known[hook] for hook in nameless)
        said.append(f"Not visible: {what}. This {loader.title} is prebuilt, without symbols.")
    if view == "functions":
        said += _unkept(evidence)
    return tuple(said)


def shipped(evidence: Evidence) -> bool:
    """Whether the boot loader is prebuilt. The first recordings kept no program."""
    kept, main = evidence.run.system.symbols, evidence.run.board.boot_loader.last
    return main is not None and objects.KERNEL in kept and main.code not in kept


def _unkept(evidence: Evidence) -> list[str]:
    """Programs of which nothing with symbols was kept, in words."""
    kept = evidence.run.system.symbols
    programs = {p.code: p.phrase for p in evidence.run.board.boot_loader.programs}
    programs[objects.KERNEL] = "the kernel"
    named = {p.code for p in evidence.run.board.boot_loader.programs if p.pieces in kept}
    gone = ", ".join(name for program, name in programs.items() if program not in {*kept, *named})
    why = "is prebuilt, without symbols" if shipped(evidence) else "was not kept"
    said = [f"No call paths: the code of {gone} {why}."] if gone else []
    flat = ", ".join(programs[program] for program in programs if program in named)
    return [*said, *([f"No call paths of {flat}: only its functions are known."] if flat else [])]


def need(evidence: Evidence, what: str, *hooks: str) -> None:
    """Raises UserError when the recording lacks one of the hooks, without which `what` is unknown."""
    lacking = missing(evidence, hooks)
    if lacking and _nameless_loader(lacking, evidence) == lacking:
        title = evidence.run.board.boot_loader.title
        raise UserError(
            f"nothing is known of {what}: this {title} is prebuilt, without symbols",
            hint="bootscope audit names what is known, and the changes whose effect can be predicted",
        )
    if lacking:
        raise UserError(f"this recording has no data on {what}", hint="record the system again")
