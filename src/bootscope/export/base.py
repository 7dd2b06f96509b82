# SPDX-License-Identifier: Apache-2.0
"""What every export is given and what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bootscope.timeline.trace import Trace


@dataclass(frozen=True)
class Subject:
    """What is exported: a boot's trace, and what the trace does not know.

    `failure` says why the boot did not get to where it should; empty when it did. `facts` name the
    boot (`run`, `system`, `board`, `build`): label -> text.
    """

    trace: Trace
    failure: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Exporter:
    """A format: its name, what it is, what opens it, the file names that can mean nothing else.

    `make` returns the bytes of the file. `text` says that a terminal can show them.
    """

    name: str
    title: str
    opened_by: str
    suffixes: tuple[str, ...]
    make: Callable[[Subject], bytes]
    text: bool = True
