# SPDX-License-Identifier: Apache-2.0
"""The source of zstd: Python's library from 3.14 on, its backport before."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bootscope.core.errors import UserError


def module() -> Any:
    """The module, loaded on first use: loading takes longer than reading a short log.

    Raises UserError if neither is installed.
    """
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise UserError("zstd is not installed", hint="pip install backports.zstd")
