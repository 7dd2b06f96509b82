# SPDX-License-Identifier: Apache-2.0
"""Gauges in the OpenMetrics text format, for Prometheus (textfile collector, Pushgateway) and others.

https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
"""

from __future__ import annotations

from collections.abc import Mapping

from bootscope.export import sums
from bootscope.export.base import Subject
from bootscope.export.text import identifier, plain, seconds


def _quoted(text: str) -> str:
    r"""A label's value, with backslash, quote and end of line escaped."""
    return plain(text).replace("\\", "\\\\").replace('"', '\\"')


def _labels(labels: Mapping[str, str]) -> str:
    named: dict[str, str] = {}
    for name, value in labels.items():
        named.setdefault(identifier(name), value)
    return ",".join(f'{name}="{_quoted(value)}"' for name, value in named.items())


def family(name: str, words: str, samples: list[tuple[dict[str, str], str]], unit: str = "") -> list[str]:
    """The lines of one gauge with all its samples (labels, value). If shortening made labels equal, the last
    sample counts."""
    if not samples:
        return []
    seen = {_labels(labels): value for labels, value in samples}
    head = [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else []), f"# HELP {name} {words}"]
    return [*head, *(f"{name}{{{labels}}} {value}" for labels, value in seen.items())]


def make(subject: Subject) -> bytes:
    """The bytes of a .prom file."""
    trace = subject.trace
    boot = {"boot": trace.title}

    def timed(name: str, label: str, words: str, times: Mapping[str, int]) -> list[str]:
        if not trace.timed:
            return []
        samples = [({**boot, label: each}, seconds(ns)) for each, ns in times.items()]
        return family(f"bootscope_{name}_seconds", words, samples, "seconds")

    complete, total_ns = "0" if subject.failure else "1", trace.known_total_ns
    whole = [] if total_ns is None else [(boot, seconds(total_ns))]
    facts = {**boot, "clock": trace.clock, **subject.facts}
    active = "Time with activity of this kind, whether the boot waited for it or not."
    lines = [
        *family("bootscope_boot_seconds", "Time from power-on to the end of the boot.", whole, "seconds"),
        *family("bootscope_boot_complete", "1 if the boot reached its goal.", [(boot, complete)]),
        *timed("phase", "phase", "Length of a phase.", sums.known_phases(trace)),
        *timed("milestone", "milestone", "Time from power-on to a milestone.", trace.known_milestones()),
        *timed("spent", "kind", "Time by kind; adds up to the boot.", sums.spent(trace)),
        *timed("busy", "kind", active, sums.busy(trace)),
        *family("bootscope_boot_facts", "What booted; always 1.", [(facts, "1")]),
        "# EOF",
    ]
    return ("\n".join(lines) + "\n").encode()
