# SPDX-License-Identifier: Apache-2.0
"""A card for an image of any size: a qcow2 file of ours, backed by the user's file, which is only read.

QEMU accepts cards of certain sizes only. Beyond the image, the overlay reads as zeros. Source: QEMU
docs/interop/qcow2.txt.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

from bootscope.core.errors import UserError
from bootscope.core.text import size
from bootscope.devices import sd_card

FORMAT = "qcow2"
_MAGIC, _VERSION, _CLUSTER_BITS = b"QFI\xfb", 3, 16
_CLUSTER = 1 << _CLUSTER_BITS
_HEADER = struct.Struct(">4sIQIIQIIQQIIQQQQII")
_HEADER_BYTES = 104
_BACKING_FORMAT = 0xE2792ACA
_REFCOUNT_ORDER = 4
_ENTRY = 8
_MOST_NAME_BYTES = 1023
_LINK = "card.raw"


def card_bytes(image_bytes: int) -> int:
    """The size of the card for an image. Raises UserError where no card is large enough."""
    wanted = sd_card.size_for(image_bytes)
    if wanted > sd_card.MOST_BYTES:
        raise UserError(
            f"the image has {size(image_bytes)}, and no card is larger than {size(sd_card.MOST_BYTES)}",
            hint="truncate the image after its last partition",
        )
    return wanted


def over(image: Path, folder: Path) -> tuple[Path, str]:
    """(file, QEMU's name for its format) of a card with the content of an image; `folder` is one of ours.

    Raises UserError where no card is large enough.
    """
    image_bytes = image.stat().st_size
    wanted = card_bytes(image_bytes)
    if wanted == image_bytes:
        return image, "raw"
    # The name in the header is short, however long the user's is.
    link = folder / _LINK
    link.symlink_to(image.resolve())
    path = folder / "card.qcow2"
    path.write_bytes(_empty(wanted, link))
    return path, FORMAT


def _empty(card: int, behind: Path) -> bytes:
    """A qcow2 image without clusters of its own: header, reference count table, reference counts, L1
    table."""
    file = {"driver": "file", "filename": str(behind)}
    name = f"json:{json.dumps({'driver': 'raw', 'file': file})}".encode()
    if len(name) > _MOST_NAME_BYTES:
        raise UserError(f"the path {behind} is too long for QEMU", hint="set TMPDIR to a shorter one")
    tables = -(-card // (_CLUSTER * (_CLUSTER // _ENTRY)))
    table_clusters = -(-tables * _ENTRY // _CLUSTER)
    told = struct.pack(">II", _BACKING_FORMAT, 3) + b"raw".ljust(8, b"\0") + bytes(8)
    name_at = _HEADER_BYTES + len(told)
    counts, first = _CLUSTER, 3 * _CLUSTER
    head = _HEADER.pack(
        _MAGIC, _VERSION, name_at, len(name), _CLUSTER_BITS, card, 0, tables, first, counts, 1, 0, 0, 0, 0, 0,
        _REFCOUNT_ORDER, _HEADER_BYTES,
    )  # fmt: skip
    used = 3 + table_clusters
    references = struct.pack(">Q", 2 * _CLUSTER).ljust(_CLUSTER, b"\0")
    ones = (b"\0\1" * used).ljust(_CLUSTER, b"\0")
    return (head + told + name).ljust(_CLUSTER, b"\0") + references + ones + bytes(table_clusters * _CLUSTER)
