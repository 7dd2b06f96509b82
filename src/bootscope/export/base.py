# SPDX-License-Identifier: Apache-2.0
"""What every export is given and what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bootscope.timeline.trace import Trace


@dataclass(frozen=True)
class BootRow:
    """One boot of a run: milestones reached and phases taken, name -> ns. `why` it did not get to where it
    should; empty when it did."""

    boot_id: str
    why: str
    times: Mapping[str, int]


@dataclass(frozen=True)
class SourceLines:
    """A file of the sources of one program, which `test` names: line -> how often it ran, and (line,
    function, how often it was entered)."""

    test: str
    path: str
    lines: Mapping[int, int]
    functions: tuple[tuple[int, str, int], ...]


@dataclass(frozen=True)
class Subject:
    """What is exported: a boot's trace, and what the trace does not know.

    `failure` says why the boot did not get to where it should; empty when it did. `facts` name the
    boot (`run`, `system`, `board`, `build`): label -> text. `boots` are those of its run, for formats of a
    whole run. `lines`: what ran of the sources, for formats of that.
    """

    trace: Trace
    failure: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    boots: tuple[BootRow, ...] = ()
    lines: tuple[SourceLines, ...] = ()


@dataclass(frozen=True)
class Exporter:
    """A format: its name, what it is, what opens it, the file names that can mean nothing else.

    `make` returns the bytes of the file. `text` says that a terminal can show them, `whole_run` that all
    boots of a run are in it, `sources` that it is of lines of the sources.
    """

    name: str
    title: str
    opened_by: str
    suffixes: tuple[str, ...]
    make: Callable[[Subject], bytes]
    text: bool = True
    whole_run: bool = False
    sources: bool = False
