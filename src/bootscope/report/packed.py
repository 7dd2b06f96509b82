# SPDX-License-Identifier: Apache-2.0
"""Parts of a page that stay compressed until they are needed: all boots but the first.

A part is gzip as base64 in a script element that no browser runs; packed.js unpacks it with the browser's own
means (https://compression.spec.whatwg.org/). Equal parts are stored once.
"""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Packed:
    """`text` is base64; empty if the part is the same as that of boot number `same`."""

    text: str
    same: int = 0


@dataclass
class Packer:
    """Packs the parts of one page; a part must already be escaped as it is in the page."""

    _known: dict[str, int] = field(default_factory=dict)

    def pack(self, part: str, boot: int) -> Packed:
        """A part of boot number `boot`."""
        same = self._known.setdefault(part, boot)
        if same != boot:
            return Packed("", same)
        # No time in the header: equal pages have equal bytes.
        return Packed(base64.b64encode(gzip.compress(part.encode(), 9, mtime=0)).decode())
