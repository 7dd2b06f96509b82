# SPDX-License-Identifier: Apache-2.0
"""Parts of a page that are carried compressed until they are wanted: all boots but the first.

A part is gzip as base64 in a script element that no browser runs; packed.js unpacks it by what browsers have
(https://compression.spec.whatwg.org/). Equal parts are carried once.
"""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Packed:
    """`text` is base64; empty where the part is the same as that of boot number `same`."""

    text: str
    same: int = 0


@dataclass
class Packer:
    """Packs the parts of one page; a part must be as it stands in the page, escaped."""

    _known: dict[str, int] = field(default_factory=dict)

    def pack(self, part: str, boot: int) -> Packed:
        """A part of boot number `boot`."""
        same = self._known.setdefault(part, boot)
        if same != boot:
            return Packed("", same)
        # No time in the header: the same page is the same bytes.
        return Packed(base64.b64encode(gzip.compress(part.encode(), 9, mtime=0)).decode())
