# SPDX-License-Identifier: Apache-2.0
"""What decoding JSON or MessagePack raises for data that may be of anybody."""

from __future__ import annotations

import msgspec

DAMAGED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""It is none, or of another type; a text is no UTF-8; it is nested too deeply."""
