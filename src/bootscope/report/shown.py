# SPDX-License-Identifier: Apache-2.0
"""The content of a report's page: boots with what their caller knows of them, and what is above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bootscope.analysis.samples import SampleSet
from bootscope.analysis.views import View
from bootscope.export.text import plain
from bootscope.report.answer import Answer
from bootscope.timeline.trace import Table, Trace


@dataclass(frozen=True)
class Shown:
    """A boot, recorded or known only as a trace, and what the page cannot derive from it.

    `which` boot of its run it is, in words; the `total` (s, as text) and `until` of its headline, empty for
    the boot's own; what to do `first` (answer.py); the `consoles` of other boots of its run (consoles.py);
    the `labels` of its run. With `run` it represents that run of several boots: the page shows all of them
    above it.
    """

    boot: View | Trace
    which: str = ""
    total: str = ""
    until: str = ""
    first: Sequence[Answer] = ()
    consoles: Sequence[Mapping[str, object]] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    run: SampleSet | None = None

    @property
    def name(self) -> str:
        """Its name beside other boots. The text may come from a board."""
        if self.run:
            return self.run.run_id
        return (
            self.boot.boot.info.boot_id.removesuffix("/001")
            if isinstance(self.boot, View)
            else self.boot.title
        )

    def told(self) -> dict[str, object]:
        """Template values that add to, or replace, those of the boot."""
        headline = {"total": self.total, "until": self.until} if self.total else {}
        return {
            "which": self.which,
            "first": self.first,
            "consoles": self.consoles,
            "labels": [f"{key}={plain(value)}" for key, value in self.labels.items()],
            "name": plain(self.name),
            "of_run": self.run is not None,
            **headline,
        }


@dataclass(frozen=True)
class About:
    """The content of the page above its boots.

    `compared` is the second of two boots or runs against the first (runs_html.py); `changed` are tables of
    the differences between two boots, function by function and the like. `home` is the address of the list of
    runs, for a page shown by a server.
    """

    compared: Mapping[str, object] | None = None
    changed: Sequence[Table] = ()
    home: str = ""


ALONE = About()
"""Boots with nothing above them."""
