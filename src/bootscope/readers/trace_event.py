# SPDX-License-Identifier: Apache-2.0
"""One event of a kernel trace."""

from __future__ import annotations

import msgspec


class Event(msgspec.Struct, frozen=True, gc=False):
    """One line: when (ns), on which CPU, what ran there, which event (without its group) and its text."""

    at_ns: int
    cpu: int
    task: str
    pid: int
    name: str
    text: str
