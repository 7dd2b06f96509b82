# SPDX-License-Identifier: Apache-2.0
"""All texts that every console's and kernel's log is searched for."""

from __future__ import annotations

from bootscope.readers import failure, firmware_tables
from bootscope.readers.boot_begin import SYSTEMD
from bootscope.readers.markers import MARKERS
from bootscope.readers.startup_line import FINISHED
from bootscope.timeline.kernel_lines import INIT_TEXTS

TEXTS = (
    *(text.encode() for marker in MARKERS for text in marker.texts),
    *(text.encode() for text in (*INIT_TEXTS, *failure.TEXTS, FINISHED)),
    *firmware_tables.SIGNS,
    SYSTEMD,
)
