# SPDX-License-Identifier: Apache-2.0
"""All formats there are: every module in `readers/formats` is one or more of them."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from bootscope.core.errors import unknown
from bootscope.readers import formats
from bootscope.readers.base import Reader


@cache
def readers() -> tuple[Reader, ...]:
    """Every reader, by name."""
    found: dict[str, Reader] = {}
    for module in pkgutil.iter_modules(formats.__path__):
        for reader in getattr(import_module(f"{formats.__name__}.{module.name}"), "READERS", ()):
            if reader.name in found:
                raise ValueError(f"two readers are called {reader.name}")
            found[reader.name] = reader
    return tuple(found[name] for name in sorted(found))


def reader(name: str) -> Reader:
    """The reader of that name. Raises UserError, with those there are, when there is none."""
    known = {reader.name: reader for reader in readers()}
    if name not in known:
        raise unknown("format", name, list(known), "bootscope import --formats")
    return known[name]
