# SPDX-License-Identifier: Apache-2.0
"""What a report's page shows: boots with what their caller knows of them, and what stands above them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bootscope.analysis.samples import SampleSet
from bootscope.analysis.views import View
from bootscope.report.answer import Answer
from bootscope.timeline.trace import Table, Trace


@dataclass(frozen=True)
class Shown:
    """A boot, recorded or only known as a trace, and what the page cannot know by itself.

    `which` of its run it is, in words; the `total` (s, as text) and `until` of its headline, empty for the
    boot's own; what to do `first` (answer.py); the `consoles` of other boots of its run (consoles.py).
    """

    boot: View | Trace
    which: str = ""
    total: str = ""
    until: str = ""
    first: Sequence[Answer] = ()
    consoles: Sequence[Mapping[str, object]] = ()

    def told(self) -> dict[str, object]:
        """What the template is told besides, or instead of what the boot says."""
        headline = {"total": self.total, "until": self.until} if self.total else {}
        return {"which": self.which, "first": self.first, "consoles": self.consoles, **headline}


@dataclass(frozen=True)
class About:
    """What the page shows above its boots.

    `runs` are those of several boots, of which it shows all; `compared` is the second beside the first
    (runs_html.py); `changed` are tables of what differs between two boots, function by function and the like.
    `home` is the address of the list of runs, for a page that a server shows.
    """

    runs: Sequence[SampleSet] = ()
    compared: Mapping[str, object] | None = None
    changed: Sequence[Table] = ()
    home: str = ""


ALONE = About()
"""Boots with nothing above them."""
