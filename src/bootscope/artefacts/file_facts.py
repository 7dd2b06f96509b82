# SPDX-License-Identifier: Apache-2.0
"""What one file says about a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bootscope.inventory.inventory import Part
from bootscope.timeline.trace import Trace


@dataclass(frozen=True)
class Piece:
    """A file that was understood: its name as given, its kind, a description (untrusted parts made
    printable), and what it adds to the Inventory: `fields` by name, and the `parts` that it covers.

    `notes` are doubts about it. `trace` is what logs say beyond their lines; the first piece of the logs has
    it.
    """

    name: str
    kind: str
    told: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    parts: frozenset[Part] = frozenset()
    notes: tuple[str, ...] = ()
    trace: Trace | None = None
