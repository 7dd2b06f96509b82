# SPDX-License-Identifier: Apache-2.0
"""Changes of a core and its memory, as given to `what-if`: `dram=2x`, `clock=600MHz`, `l2=off`, ...

Another clock or memory changes the cost of events, but no count. Other caches, or caches switched otherwise,
change the geometry: counts for another geometry do not apply to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from bootscope.core.errors import UserError, printable
from bootscope.core.settings import Sourced
from bootscope.cores.profile import Cache, Core, Costs, InPhase, Switched, check, without_second

_SAID = "a requested change"
KNOWN = {
    "dram=Nx": "memory N times faster in latency and bandwidth (needs a core, as all below but clock=Nx)",
    "dram=LATENCY": "a line out of memory takes LATENCY, for example dram=120ns",
    "dram=RATE": "memory has this bandwidth, for example dram=800MB/s; also dram=120ns,800MB/s",
    "clock=HZ": "the core has another clock, for example clock=600MHz",
    "clock=Nx": "a clock N times as fast; without a core, memory speeds up, too",
    "l2=off": "the second cache is off",
    "l2=SIZE": "the second cache has another size, for example l2=512K",
    "dcache=on-in-PHASE": "the data cache is on in a phase, whatever the software does; off-in-PHASE: off",
    "icache=on-in-PHASE": "the same for the code cache",
}
_PREFIXES = ("dram=", "clock=", "l2=", "dcache=", "icache=")


@dataclass(frozen=True)
class Changed:
    """A core with changes, and their assumptions."""

    core: Core
    assumptions: tuple[str, ...] = ()

    def also(self, core: Core, *assumptions: str) -> Changed:
        """With one more change, which keeps the geometry valid."""
        return Changed(core, (*self.assumptions, *assumptions))


def is_of_core(change: str) -> bool:
    """Whether a change of `what-if` concerns the core."""
    return change.startswith(_PREFIXES)


def clock_times(changes: Sequence[str]) -> Fraction | None:
    """The factor of the clock if the changes only change that, by a factor, `clock=2x`: this needs no core.
    None for others. Raises UserError for two that exclude each other."""
    _check_contradictions(changes)
    name, _, value = changes[0].partition("=") if changes else ("", "", "")
    match = _TIMES.fullmatch(value)
    return _factor(match, changes[0]) if name == "clock" and match and len(changes) == 1 else None


def changed(core: Core, changes: Sequence[str]) -> Changed:
    """A core with changes. Raises UserError for one that is not understood or not possible for this core, and
    for two that exclude each other."""
    _check_contradictions(changes)
    made = Changed(core)
    for change in changes:
        name, _, value = change.partition("=")
        made = _CHANGES[name](made, value)
    check(made.core, f"{core.name} with {', '.join(changes)}")
    return made


def _check_contradictions(changes: Sequence[str]) -> None:
    for name in ("dram=", "clock=", "l2="):
        found = [change for change in changes if change.startswith(name)]
        if len(found) > 1:
            listed = " and ".join(f"'{printable(change)}'" for change in found)
            raise UserError(f"{listed} exclude each other", hint=f"one {name}")
    told: dict[tuple[str, str], str] = {}
    for change in changes:
        name, _, value = change.partition("=")
        if name in ("dcache", "icache") and (match := _SWITCHED.fullmatch(value)):
            other = told.setdefault((name, match[2]), change)
            if other != change:
                raise UserError(f"'{other}' and '{change}' exclude each other", hint="use one of them")


# ---- memory ----

_TIMES = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,3}))?x", re.ASCII)
_LATENCY = re.compile(r"([0-9]{1,5})ns", re.ASCII)
_RATE = re.compile(r"([0-9]{1,6})([MG])B/s", re.ASCII)
_RATE_UNITS = {"M": 10**6, "G": 10**9}
_NS = 10**9
_OF_LATENCY = ("read_ns", "uncached_load_ns", "uncached_store_ns", "uncached_fetch_ns")
_OF_MEMORY = (*_OF_LATENCY, "stream_read_ns", "written_line_ns", "store_fill_ns")


def _dram(made: Changed, value: str) -> Changed:
    for part in value.split(","):
        if match := _TIMES.fullmatch(part):
            made = _faster_memory(made, _factor(match, f"dram={value}"), part)
        elif match := _LATENCY.fullmatch(part):
            made = _latency(made, int(match[1]))
        elif (match := _RATE.fullmatch(part)) and int(match[1]):
            made = _bandwidth(made, int(match[1]) * _RATE_UNITS[match[2]], part)
        else:
            raise UserError(
                f"'{printable(value)}' is not a valid memory speed",
                hint="for example dram=2x, dram=120ns, dram=800MB/s or dram=120ns,800MB/s",
            )
    return made


def _factor(match: re.Match[str], change: str) -> Fraction:
    factor = Fraction(int(match[1]) * 1000 + int((match[2] or "").ljust(3, "0")), 1000)
    if not factor:
        raise UserError("the speed factor must be positive", hint=f"{change.partition('=')[0]}=2x")
    return factor


def _faster_memory(made: Changed, factor: Fraction, said: str) -> Changed:
    costs = made.core.costs
    figures = {name: round(getattr(costs, name).value / factor) for name in _OF_MEMORY}
    told = f"memory is {said} as fast in latency and bandwidth, also for accesses past the caches"
    return made.also(_with_costs(made.core, figures), told)


def _latency(made: Changed, ns: int) -> Changed:
    costs = made.core.costs
    if not costs.read_ns.value:
        raise UserError(f"core {made.core.name} never waits for memory: costs.read_ns is 0")
    scale = Fraction(ns, costs.read_ns.value)
    names = [*_OF_LATENCY, *(("stream_read_ns",) if _has_no_prefetcher(costs) else ())]
    figures = {name: round(getattr(costs, name).value * scale) for name in names}
    told = (
        f"a line out of memory takes {ns} ns, not {costs.read_ns.value}, and accesses past the caches as "
        "much more or less; writes take as long as before"
    )
    return made.also(_with_costs(made.core, figures), told)


def _has_no_prefetcher(costs: Costs) -> bool:
    """Whether consecutive lines come no faster than others, so that latency determines both."""
    return costs.stream_read_ns.value >= costs.read_ns.value


def _bandwidth(made: Changed, bytes_per_s: int, said: str) -> Changed:
    costs, caches = made.core.costs, made.core.caches
    last = caches.second if isinstance(caches.second, Cache) else caches.data
    line_ns = round(Fraction(last.line_bytes.value * _NS, bytes_per_s))
    figures = {"written_line_ns": line_ns}
    told = f"lines are written at {said}"
    if _has_no_prefetcher(costs):
        told += f"; {made.core.name} does not prefetch, so reads depend on latency alone"
    else:
        figures["stream_read_ns"] = min(line_ns, costs.read_ns.value)
        told += ", and read where one follows the other"
    return made.also(_with_costs(made.core, figures), told)


def _with_costs(core: Core, figures: dict[str, int]) -> Core:
    sourced = {name: Sourced(value=value, source=_SAID) for name, value in figures.items()}
    return msgspec.structs.replace(core, costs=msgspec.structs.replace(core.costs, **sourced))


# ---- the clock ----

_HZ = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,3}))?(M|G)Hz", re.ASCII)
_HZ_UNITS = {"M": 10**6, "G": 10**9}


def _clock(made: Changed, value: str) -> Changed:
    now = made.core.costs.clock_hz.value
    if match := _TIMES.fullmatch(value):
        hz = round(now * _factor(match, "clock="))
    elif match := _HZ.fullmatch(value):
        hz = round(_factor(match, "clock=") * _HZ_UNITS[match[3]])
    else:
        raise UserError(
            f"'{printable(value)}' is not a valid clock",
            hint="for example clock=600MHz, clock=1.2GHz, clock=2x",
        )
    told = (
        f"the core runs at {_megahertz(hz)}, not {_megahertz(now)}, all the time; memory is as fast as before"
    )
    return made.also(_with_costs(made.core, {"clock_hz": hz}), told)


def _megahertz(hz: int) -> str:
    return f"{hz / 10**6:,.0f} MHz"


# ---- caches ----

_SIZE = re.compile(r"([0-9]{1,5})([KM])", re.ASCII)
_SIZE_UNITS = {"K": 1 << 10, "M": 1 << 20}
_SWITCHED = re.compile(r"(on|off)-in-([a-z0-9-]{1,40})", re.ASCII)


def _l2(made: Changed, value: str) -> Changed:
    core, match = made.core, _SIZE.fullmatch(value)
    second = core.caches.second
    if value != "off" and not match:
        raise UserError(
            f"'{printable(value)}' is not a valid second cache", hint="l2=off, or a size as in l2=512K"
        )
    if not isinstance(second, Cache):
        raise UserError(
            f"core {core.name} has no second cache",
            hint="copy its profile, describe `caches.second` and its cost, and name it with --core",
        )
    if not match:
        return made.also(without_second(core), "the second cache is off from the beginning to the end")
    size = Sourced(value=int(match[1]) * _SIZE_UNITS[match[2]], source=_SAID)
    caches = msgspec.structs.replace(core.caches, second=msgspec.structs.replace(second, size_bytes=size))
    told = f"a second cache of {value} takes as long to answer, and has as many ways, as that of {core.name}"
    return made.also(msgspec.structs.replace(core, caches=caches), told)


def _switched(side: str, title: str) -> Callable[[Changed, str], Changed]:
    def change(made: Changed, value: str) -> Changed:
        match = _SWITCHED.fullmatch(value)
        if not match:
            name = "dcache" if side == "data" else "icache"
            raise UserError(
                f"'{printable(value)}' does not say where the {title} is on or off",
                hint=f"for example {name}=on-in-spl, {name}=off-in-bootloader",
            )
        on, phase = match[1] == "on", match[2]
        now = made.core.switched.get(phase, InPhase())
        new = msgspec.structs.replace(now, **{side: Switched(value=on, source=_SAID)})
        core = msgspec.structs.replace(made.core, switched={**made.core.switched, phase: new})
        return made.also(core, f"the {title} is {match[1]} all through {phase}", *_ASIDE.get((side, on), ()))

    return change


_ASIDE: dict[tuple[str, bool], tuple[str, ...]] = {
    ("data", True): (
        "switching it on, its page tables and cleaning it by software take no time",
        "memory inside the chip stays uncached",
    ),
}
_CHANGES: dict[str, Callable[[Changed, str], Changed]] = {
    "dram": _dram,
    "clock": _clock,
    "l2": _l2,
    "dcache": _switched("data", "data cache"),
    "icache": _switched("code", "code cache"),
}
