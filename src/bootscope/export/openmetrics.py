# SPDX-License-Identifier: Apache-2.0
"""Gauges in the OpenMetrics text format, for Prometheus (textfile collector, Pushgateway) and others.

https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
"""

from __future__ import annotations

from collections.abc import Mapping

from bootscope.export import sums
from bootscope.export.base import Exporter, Subject
from bootscope.export.text import identifier, plain, seconds


def _quoted(text: str) -> str:
    r"""A label's value: backslash, quote and end of line are what has to be escaped."""
    return plain(text).replace("\\", "\\\\").replace('"', '\\"')


def _labels(labels: Mapping[str, str]) -> str:
    named: dict[str, str] = {}
    for name, value in labels.items():
        named.setdefault(identifier(name), value)
    return ",".join(f'{name}="{_quoted(value)}"' for name, value in named.items())


def family(name: str, words: str, samples: list[tuple[dict[str, str], str]], unit: str = "") -> list[str]:
    """The lines of one gauge with all its samples (labels, value); of labels that became the same by
    shortening, the last counts."""
    if not samples:
        return []
    seen = {_labels(labels): value for labels, value in samples}
    head = [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else []), f"# HELP {name} {words}"]
    return [*head, *(f"{name}{{{labels}}} {value}" for labels, value in seen.items())]


def make(subject: Subject) -> bytes:
    """The bytes of a .prom file."""
    trace, title = subject.trace, subject.trace.title

    def timed(label: str, times: Mapping[str, int]) -> list[tuple[dict[str, str], str]]:
        return [({"boot": title, label: name}, seconds(ns)) for name, ns in times.items()]

    whole: list[tuple[dict[str, str], str]] = [({"boot": title}, seconds(trace.total_ns))]
    complete: list[tuple[dict[str, str], str]] = [({"boot": title}, "0" if subject.failure else "1")]
    facts = {"boot": title, "clock": trace.clock, **subject.facts}
    lines = [
        *family("bootscope_boot_seconds", "Time from power-on to the end of the boot.", whole, "seconds"),
        *family("bootscope_boot_complete", "1 if the boot reached its goal.", complete),
        *family(
            "bootscope_phase_seconds", "Length of a phase.", timed("phase", sums.phases(trace)), "seconds"
        ),
        *family(
            "bootscope_milestone_seconds",
            "Time from power-on to a milestone.",
            timed("milestone", trace.milestones()),
            "seconds",
        ),
        *family(
            "bootscope_spent_seconds",
            "Time by kind; adds up to the boot.",
            timed("kind", sums.spent(trace)),
            "seconds",
        ),
        *family(
            "bootscope_busy_seconds",
            "Time with activity of this kind, whether the boot waited for it or not.",
            timed("kind", sums.busy(trace)),
            "seconds",
        ),
        *family("bootscope_boot_facts", "What booted; always 1.", [(facts, "1")]),
        "# EOF",
    ]
    return ("\n".join(lines) + "\n").encode()


EXPORTER = Exporter(
    name="openmetrics",
    title="OpenMetrics gauges",
    opened_by="Prometheus (textfile collector, Pushgateway)",
    suffixes=(".prom", ".txt"),
    make=make,
)
