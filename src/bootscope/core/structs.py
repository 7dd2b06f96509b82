# SPDX-License-Identifier: Apache-2.0
"""Prepares msgspec types for threads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec


def ready() -> None:
    """Makes msgspec resolve the fields of every type imported so far; to be called before threads start.

    msgspec does that on a type's first use, and other threads can see the unfinished result: when two used a
    type for the first time at the same moment, the process ended with a segmentation fault (msgspec 0.22.0).
    """
    for kind in set(_kinds(msgspec.Struct)):
        # A type that cannot be resolved reports that when it is used.
        with contextlib.suppress(TypeError, NameError):
            msgspec.json.Decoder(kind)


def _kinds(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for below in kind.__subclasses__():
        yield below
        yield from _kinds(below)
