# SPDX-License-Identifier: Apache-2.0
"""The input of every export, and its description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bootscope.timeline.trace import Trace


@dataclass(frozen=True)
class BootRow:
    """One boot of a run: milestones and phases, name -> ns. `why` it failed; empty if it completed."""

    boot_id: str
    why: str
    times: Mapping[str, int]


@dataclass(frozen=True)
class SourceLines:
    """A source file of one program, which `test` names: line -> how often it ran, and (line, function, how
    often it was entered)."""

    test: str
    path: str
    lines: Mapping[int, int]
    functions: tuple[tuple[int, str, int], ...]


@dataclass(frozen=True)
class Subject:
    """The subject of an export: a boot's trace, and what the trace does not contain.

    `failure` says why the boot failed; empty if it completed. `facts` describe the boot (`run`, `system`,
    `board`, `build`): label -> text. `boots` are those of its run, for formats of a whole run. `lines`: which
    source lines ran, for formats of these.
    """

    trace: Trace
    failure: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    boots: tuple[BootRow, ...] = ()
    lines: tuple[SourceLines, ...] = ()


@dataclass(frozen=True)
class Exporter:
    """A format: its name, a description, what opens it, the file names that identify it.

    `make` returns the bytes of the file. `text`: a terminal can show them; `whole_run`: the file has all
    boots of a run; `sources`: it is about source lines.
    """

    name: str
    title: str
    opened_by: str
    suffixes: tuple[str, ...]
    make: Callable[[Subject], bytes]
    text: bool = True
    whole_run: bool = False
    sources: bool = False
