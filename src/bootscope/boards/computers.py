# SPDX-License-Identifier: Apache-2.0
"""Names of the computers that boards are connected to, as ssh takes them."""

from __future__ import annotations

import re

from bootscope.core.errors import UserError, printable

AUTO = "auto"
"""Stands for the computer that a farm tells."""
_HOST = re.compile(r"(?:[A-Za-z0-9._][A-Za-z0-9._-]{0,63}@)?[A-Za-z0-9:][A-Za-z0-9._:%-]{0,252}", re.ASCII)


def checked(host: str) -> str:
    """The name of a computer, as ssh takes it. Raises UserError for what cannot be one."""
    if not _HOST.fullmatch(host):
        raise UserError(
            f"'{printable(host)}' is not a host name",
            hint="--tap-host lab1, or user@lab1, or an entry of ~/.ssh/config",
        )
    return host


def is_host(host: str) -> bool:
    """Whether this can be a computer's name."""
    return bool(_HOST.fullmatch(host))
