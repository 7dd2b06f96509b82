# SPDX-License-Identifier: Apache-2.0
"""Parameters of the drivers that cost most in a boot: those that the kernel has, and values that save time.

The effect of a parameter is described in the driver's source; values below are based on that (Linux 6.12).
Other parameters are only reported, with their driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.initcalls import name_of
from bootscope.builder.linkmap import Objects, read
from bootscope.capture import objects
from bootscope.core.text import listed, span
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.recorded import Recorded, Unrecorded

_LEAST_NS = 1_000_000
"""A driver that takes less is left as it is."""
_MOST_OTHERS = 3
_PARAMETER = re.compile(r"^([0-9a-f]+) \w __param_(?!str_|ops_)(\w+)$", re.M)
_PORT = r"\bttyS(\d{1,4}) at "
_CONSOLE = re.compile(r"console=ttyS(\d{1,4})\b")


@dataclass(frozen=True)
class Value:
    """A value for a parameter of a driver: its module, its name, the initcall that it affects, and the text;
    empty: the number of serial ports that the boot found. `as_without`: the symbol without which the kernel
    would do as little; `of`: the symbol with the number that it makes by default."""

    module: str
    name: str
    initcall: str
    text: str
    as_without: str = ""
    of: str = ""


@dataclass(frozen=True)
class Effect:
    """The effect of a value: the initcall that does less, and the share of its time that is left; or the
    symbol that the kernel is then as if without."""

    initcall: str
    share: Fraction
    as_without: str


VALUES = (
    # The old pseudo-terminal pairs; /dev/ptmx does not need them.
    Value("pty", "legacy_count", "pty_init", "0", as_without="LEGACY_PTYS"),
    # Ports without a description are probed one by one.
    Value("8250", "nr_uarts", "serial8250_init", "", of="SERIAL_8250_RUNTIME_UARTS"),
    Value("loop", "max_loop", "loop_init", "0"),  # made in advance; others are made on demand
    Value("brd", "rd_nr", "brd_init", "1"),
    Value("nbd", "nbds_max", "nbd_init", "0"),
    Value("null_blk", "nr_devices", "null_init", "0"),
    Value("dummy", "numdummies", "dummy_init_module", "0"),
    Value("ifb", "numifbs", "ifb_init_module", "0"),
    Value("bonding", "max_bonds", "bonding_init", "0"),
)


def driver_parameters(known: Inventory) -> str:
    """Words for the kernel's command line; empty where no driver that takes long has such a parameter."""
    return " ".join(_word(value, text) for value, text, _ in _found(_recorded(known)))


def effects(facts: Recorded) -> list[Effect]:
    """The effects of these parameters in the recorded boot."""
    config = facts.configs.get("kernel", {})

    def share(value: Value, text: str) -> Fraction:
        now = config.get(value.of, "")
        every = int(now) if now.isdecimal() else 0
        return min(Fraction(1), Fraction(int(text), every)) if every else Fraction(0)

    return [Effect(v.initcall, share(v, text), v.as_without) for v, text, _ in _found(facts)]


def shown(facts: Recorded) -> str | None:
    """What the boot shows of them, and slow drivers with other parameters."""
    found = _found(facts)
    told = [f"{value.initcall} {span(ns)}: {_word(value, text)}" for value, text, ns in found]
    others = list(_others(facts.view.evidence, {value.initcall for value, _, _ in found}))
    return "; ".join([*told, *others[:_MOST_OTHERS]]) if told else ""


def _recorded(known: Inventory) -> Recorded:
    if not isinstance(known, Recorded):
        raise Unrecorded("which drivers take time is not known without a recording")
    return known


def _word(value: Value, text: str) -> str:
    """A word of the kernel's command line."""
    return f"{value.module}.{value.name}={text}"


def _found(facts: Recorded) -> list[tuple[Value, str, int]]:
    """(parameter, its text, time of its initcall in ns), the slowest first."""
    evidence, known = facts.view.evidence, _parameters(facts.view.evidence)
    took = _took(evidence)
    found = []
    for value in VALUES:
        ns = took.get(value.initcall, 0)
        # Some symbol tables have no data symbols.
        if ns >= _LEAST_NS and (not known or any(name == value.name for _, name in known)):
            text = value.text or _ports(facts)
            if text:
                found.append((value, text, ns))
    return sorted(found, key=lambda row: -row[2])


def _ports(facts: Recorded) -> str:
    """How many serial ports of that driver the boot found or the console needs; empty where the log does not
    show it, as in a quiet boot."""
    lines = facts.log.lines if facts.log else ()
    ports = [int(m[1]) for line in lines for m in re.finditer(_PORT, line.text)]
    consoles = (_CONSOLE.match(word) for word in facts.words)
    return str(max([*ports, *(int(m[1]) for m in consoles if m)]) + 1) if ports else ""


def _took(evidence: Evidence) -> dict[str, int]:
    """The inclusive time of each initcall by name, in ns of the CPU and of devices."""
    found: dict[str, int] = {}
    for call in evidence.scene.of("initcall"):
        if call.first >= 0:
            spent = evidence.ledger.of_call(call)
            ns = spent.cpu_ns + spent.storage_ns + spent.console_ns
            name = name_of(call, evidence)
            found[name] = found.get(name, 0) + ns
    return found


def _parameters(evidence: Evidence) -> list[tuple[int, str]]:
    """(address, name) of every parameter that is built into the kernel."""
    text = evidence.load(objects.KERNEL_SYMBOLS).decode("utf-8", "replace")
    return [(int(address, 16), name) for address, name in _PARAMETER.findall(text)]


def _others(evidence: Evidence, done: set[str]) -> Iterator[str]:
    """Slow drivers with parameters for which no value is known; the slowest first."""
    linked = Objects(read(evidence.load(objects.KERNEL_OBJECTS).decode("utf-8", "replace")))
    names: dict[str, list[str]] = {}
    for address, name in _parameters(evidence):
        if piece := linked.at(address):
            names.setdefault(piece.object, []).append(name)
    took = _took(evidence)
    where = {
        name_of(call, evidence): linked.at(evidence.arch.code_address(call.value))
        for call in evidence.scene.of("initcall")
    }
    for call, ns in sorted(took.items(), key=lambda item: -item[1]):
        piece = where.get(call)
        if ns >= _LEAST_NS and call not in done and piece and piece.object in names:
            yield f"{call} {span(ns)}, {piece.object} has {listed(names[piece.object])}"


FOUND = {"driver_parameters": driver_parameters}
"""Placeholders, and functions for their values in a system."""
